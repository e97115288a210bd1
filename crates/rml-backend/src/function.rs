//! Tensor functions, which backends prepare.
//!
//! Invariants, checked by [`verify`](crate::verify):
//! - **B1** inputs are the first values, so that argument `i` is value `i`; operands stand before their uses.
//! - **B2** the type of every value is the result type of its operator on its operands, or the type of its constant.
//! - **B3** results are values of the function.

use std::sync::Arc;

use rml_base::{EntityId, IndexVec, Span, entity_id};
use rml_ir::op::{Op, TypeError, result_type};
use rml_ir::{DType, Precision, Type, Value};

entity_id!(
    /// A value of a function.
    Val,
    "x"
);

/// How a value comes about.
#[derive(Clone, Debug)]
pub enum Kind {
    /// An argument of the call.
    Input,
    /// A constant.
    Const(Value),
    /// An operator applied to values.
    Apply {
        /// The operator.
        op: Op,
        /// Its operands.
        args: Vec<Val>,
    },
}

/// A value: how it comes about, its type, and where it stands in the source.
#[derive(Clone, Debug)]
pub struct Def {
    /// How it comes about.
    pub kind: Kind,
    /// Its type; numbers have the function's precision.
    pub ty: Type,
    /// In the source, for messages.
    pub span: Span,
}

/// A tensor function: a graph in static single assignment form.
#[derive(Clone, Debug)]
pub struct Function {
    /// What it is called in messages and profiles.
    pub name: Arc<str>,
    /// How `num` is stored and computed.
    pub precision: Precision,
    /// All values; inputs first, operands before uses.
    pub values: IndexVec<Val, Def>,
    /// What a call returns, in order.
    pub results: Vec<Val>,
}

impl Function {
    /// A function without values.
    pub fn new(name: impl Into<Arc<str>>, precision: Precision) -> Self {
        Self { name: name.into(), precision, values: IndexVec::new(), results: Vec::new() }
    }

    /// Appends an input; all of them come before other values (B1).
    pub fn input(&mut self, ty: Type, span: Span) -> Val {
        self.values.push(Def { kind: Kind::Input, ty, span })
    }

    /// Appends a constant; its numbers are rounded to the function's precision.
    pub fn constant(&mut self, value: &Value, span: Span) -> Val {
        let value = value.to_precision(self.precision);
        self.values.push(Def { ty: value.ty(), kind: Kind::Const(value), span })
    }

    /// Appends an operator.
    ///
    /// # Errors
    /// If the operands do not fit it.
    pub fn apply(&mut self, op: Op, args: Vec<Val>, span: Span) -> Result<Val, TypeError> {
        let types: Vec<Type> = args.iter().map(|&x| self.values[x].ty.clone()).collect();
        let ty = result_type(&op, &types)?;
        Ok(self.values.push(Def { kind: Kind::Apply { op, args }, ty, span }))
    }

    /// The inputs, in order.
    pub fn inputs(&self) -> impl Iterator<Item = (Val, &Def)> {
        self.values.iter_enumerated().take_while(|(_, d)| matches!(d.kind, Kind::Input))
    }

    /// Whether some operator in it may have no result for operands of the right types: integers that do not fit,
    /// positions outside of their axis.
    pub fn may_stop(&self) -> bool {
        self.values.iter().any(|def| match &def.kind {
            Kind::Apply { op: Op::Gather { .. } | Op::Pick | Op::ScatterAdd { .. }, .. } => true,
            Kind::Apply { .. } => def.ty.dtype == DType::Int,
            Kind::Input | Kind::Const(_) => false,
        })
    }

    /// For each value, after which value nobody needs it; `None` for results, which the caller gets. A value that
    /// nobody needs is dead after itself.
    pub fn last_uses(&self) -> IndexVec<Val, Option<Val>> {
        let mut last: IndexVec<Val, Option<Val>> = self.values.ids().map(Some).collect();
        for (user, def) in self.values.iter_enumerated() {
            if let Kind::Apply { args, .. } = &def.kind {
                args.iter().for_each(|&x| last[x] = Some(user));
            }
        }
        self.results.iter().for_each(|&x| last[x] = None);
        last
    }

    /// The start of text 0: the span of values that stand in no source.
    pub fn nowhere() -> Span {
        Span::new(rml_base::FileId::from_index(0), 0, 0)
    }
}
