//! Tensor functions, which backends prepare.
//!
//! Invariants, checked by [`verify`](crate::verify):
//! - **B1** Inputs are the first values: argument `i` is value `i`. Operands come before their uses.
//! - **B2** The type of every value is the result type of its operator on its operands, or the type of its constant.
//! - **B3** Results are values of the function.

use std::sync::Arc;

use rml_base::{EntityId, IndexVec, Span, entity_id};
use rml_ir::op::{Op, TypeError, result_type};
use rml_ir::{DType, Precision, Type, Value};

entity_id!(
    /// A value of a function.
    Val,
    "x"
);

/// The definition of a value.
#[derive(Clone, Debug)]
pub enum DefKind {
    /// An argument of the call.
    Input,
    /// A constant.
    Const(Value),
    /// An operator applied to values.
    Apply {
        /// The operator.
        op: Op,
        /// The operands.
        args: Vec<Val>,
    },
}

/// A value: its definition, its type and its place in the source.
#[derive(Clone, Debug)]
pub struct Def {
    /// The definition.
    pub kind: DefKind,
    /// The type; numbers have the function's precision.
    pub ty: Type,
    /// The place in the source, for messages.
    pub span: Span,
}

/// A tensor function: a graph in static single assignment form.
#[derive(Clone, Debug)]
pub struct Function {
    /// The name in messages and profiles.
    pub name: Arc<str>,
    /// The precision in which `num` is stored and computed.
    pub precision: Precision,
    /// All values: inputs first, operands before uses.
    pub values: IndexVec<Val, Def>,
    /// The results of a call, in order.
    pub results: Vec<Val>,
}

impl Function {
    /// A function without values.
    pub fn new(name: impl Into<Arc<str>>, precision: Precision) -> Self {
        Self { name: name.into(), precision, values: IndexVec::new(), results: Vec::new() }
    }

    /// Appends an input; all inputs come before other values (B1).
    pub fn input(&mut self, ty: Type, span: Span) -> Val {
        self.values.push(Def { kind: DefKind::Input, ty, span })
    }

    /// Appends a constant whose numbers are rounded to the function's precision.
    pub fn constant(&mut self, value: &Value, span: Span) -> Val {
        let value = value.to_precision(self.precision);
        self.values.push(Def { ty: value.ty(), kind: DefKind::Const(value), span })
    }

    /// Appends an operator.
    ///
    /// # Errors
    /// The operands do not fit the operator.
    pub fn apply(&mut self, op: Op, args: Vec<Val>, span: Span) -> Result<Val, TypeError> {
        let types: Vec<Type> = args.iter().map(|&x| self.values[x].ty.clone()).collect();
        let ty = result_type(&op, &types)?;
        Ok(self.values.push(Def { kind: DefKind::Apply { op, args }, ty, span }))
    }

    /// The inputs, in order.
    pub fn inputs(&self) -> impl Iterator<Item = (Val, &Def)> {
        self.values.iter_enumerated().take_while(|(_, d)| matches!(d.kind, DefKind::Input))
    }

    /// Whether some operator of the function may have no result for operands of the right types, because an integer
    /// does not fit or a position is outside its axis.
    pub fn may_stop(&self) -> bool {
        self.values.iter().any(|def| match &def.kind {
            DefKind::Apply { op: Op::Gather { .. } | Op::Pick | Op::ScatterAdd { .. }, .. } => true,
            DefKind::Apply { .. } => def.ty.dtype == DType::Int,
            DefKind::Input | DefKind::Const(_) => false,
        })
    }

    /// For each value, the last value that uses it; `None` for results, which the caller receives. For a value without
    /// uses, this is the value itself.
    pub fn last_uses(&self) -> IndexVec<Val, Option<Val>> {
        let mut last: IndexVec<Val, Option<Val>> = self.values.ids().map(Some).collect();
        for (user, def) in self.values.iter_enumerated() {
            if let DefKind::Apply { args, .. } = &def.kind {
                args.iter().for_each(|&x| last[x] = Some(user));
            }
        }
        self.results.iter().for_each(|&x| last[x] = None);
        last
    }

    /// The start of text 0, as the span of values that are not in any source.
    pub fn nowhere() -> Span {
        Span::new(rml_base::FileId::from_index(0), 0, 0)
    }
}
