//! Assertions: `assert "name" c;`

use std::sync::Arc;

use rml_base::Diagnostic;
use rml_base::codes::elab as codes;
use rml_ir::op::{Op, eval};
use rml_ir::typed::{self, ConstKind, Constant, ExprKind as T};
use rml_ir::{DType, Data, Type, Value};

use super::Emitter;
use super::expr::Made;
use crate::builtins::Builtin;
use crate::hir::{Equation, ExprKind};
use crate::statics::{Evaluated, Failure};

impl Emitter<'_, '_> {
    /// The name of the property that an equation asserts.
    pub(super) fn asserted(&self, equation: &Equation) -> Option<Arc<str>> {
        let ExprKind::Builtin { which: Builtin::Assert, args } = &self.node.exprs[equation.rhs].kind else {
            return None;
        };
        match args.get(1).map(|name| &self.node.exprs[*name].kind) {
            Some(ExprKind::Text(name)) => Some(name.clone()),
            _ => None, // Lowering always gives an assertion a text.
        }
    }

    /// The expression `gather([0], to_int(not c))`, which is undefined where an element of `c` is false.
    pub(super) fn assertion(&mut self, (cond, ty): &Made) -> T {
        let span = self.exprs[*cond].span;
        let apply = |op: Op, args: Vec<typed::ExprId>| T::Apply { op, args, statics: Vec::new() };
        let (not, _) = self.push(apply(Op::Not, vec![*cond]), ty.clone(), span);
        let int = Type { dtype: DType::Int, shape: ty.shape.clone() };
        let (position, _) = self.push(apply(Op::Convert(DType::Int), vec![not]), int, span);
        let one = Type::new(DType::Int, &[1]);
        let zero = ConstKind::Value(Value::zeros(&one, self.precision));
        let (zero, _) = self.push(T::Const(Constant { kind: zero, ty: one.clone(), text: None }), one, span);
        apply(Op::Gather { axis: 0 }, vec![zero, position])
    }

    /// Reports an assertion that is false in every cycle of every run.
    pub(super) fn check_assertion(
        &self,
        equation: &Equation,
        name: &str,
        made: typed::ExprId,
    ) -> Evaluated<()> {
        let T::Apply { args, .. } = &self.exprs[made].kind else { return Ok(()) };
        let position = args.get(1).and_then(|position| self.value(*position));
        let holds = position.is_none_or(
            |position| matches!(position.into_data(), Data::Int(all) if all.iter().all(|i| *i == 0)),
        );
        if holds {
            return Ok(());
        }
        let cond = self.node.exprs[equation.rhs].kind.children().first().copied().ok_or(Failure::Unknown)?;
        Err(Diagnostic::error(codes::ASSERTION_FALSE, format!("the assertion \"{name}\" is always false"))
            .label(self.node.exprs[cond].span, "this is false, whatever the data")
            .label(equation.span, "asserted here")
            .help("change the values that it is about, or correct the condition")
            .into())
    }

    /// The value of an expression that has the same value in every cycle of every run.
    fn value(&self, expr: typed::ExprId) -> Option<Value> {
        match &self.exprs[expr].kind {
            T::Const(constant) => constant.value().cloned(),
            T::Apply { op, args, .. } => {
                let args: Vec<Value> = args.iter().map(|arg| self.value(*arg)).collect::<Option<_>>()?;
                let args: Vec<&Value> = args.iter().collect();
                if args.is_empty() { None } else { eval(op, &args, self.precision).ok() }
            }
            T::Var(_) | T::If { .. } | T::When { .. } | T::Merge { .. } | T::Fby { .. } => None,
            T::FbyBack { .. } | T::Post { .. } | T::Param { .. } | T::Call { .. } => None,
        }
    }
}
