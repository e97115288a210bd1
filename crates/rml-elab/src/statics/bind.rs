//! Named dimensions: their sizes come from the shapes of inputs.

use rml_ir::Shape;
use rml_ir::typed::StaticValue;

use super::Statics;
use crate::hir::{ExprKind, Item, Local, LocalKind, TypeDecl};
use crate::instance::{InstanceId, Tree};

impl Statics {
    /// Binds the named dimensions of a formal to its shape, if they are still free and the shape fits.
    pub(super) fn bind(&mut self, tree: &Tree<'_>, id: InstanceId, ty: &TypeDecl, shape: &Shape) {
        let node = tree.node(id);
        let mut fixed = 0;
        let mut open = 0;
        for item in &ty.dims {
            match *item {
                Item::Expr(_) => fixed += 1,
                Item::Splice(local, _) => match &self.values[tree.slot(id, local)] {
                    Ok(StaticValue::Array(items)) => fixed += items.len(),
                    _ => open += 1,
                },
            }
        }
        let Some(rest) = shape.rank().checked_sub(fixed).filter(|r| open == 1 || (open == 0 && *r == 0))
        else {
            return;
        };
        let mut dims = shape.dims().iter().map(|&d| StaticValue::Int(i64::try_from(d).unwrap_or(i64::MAX)));
        for item in &ty.dims {
            match *item {
                Item::Expr(expr) => {
                    let size = dims.next();
                    if let (ExprKind::Local(local), Some(size)) = (&node.exprs[expr].kind, size) {
                        self.bind_one(tree, id, *local, size);
                    }
                }
                Item::Splice(local, _) => {
                    let known = match &self.values[tree.slot(id, local)] {
                        Ok(StaticValue::Array(items)) => items.len(),
                        _ => rest,
                    };
                    let sizes: Vec<StaticValue> = dims.by_ref().take(known).collect();
                    self.bind_one(tree, id, local, StaticValue::Array(sizes));
                }
            }
        }
    }

    fn bind_one(&mut self, tree: &Tree<'_>, id: InstanceId, local: Local, value: StaticValue) {
        let slot = tree.slot(id, local);
        if tree.node(id).locals[local].kind == LocalKind::Dim && self.values[slot].is_err() {
            self.values[slot] = Ok(value);
        }
    }
}
