//! Random streams: the tick of each is an ordinary state, outside of all windows, so that no window repeats the draws
//! of another (DRAW-3, WINDOW-5).
//!
//! ```text
//! tick = 0 fby (tick + 1)                     (* counts the cycles of the stream's own clock *)
//! o    = random_uniform{shape} (key, tick)    (* key: drawn from the seed and the instance path *)
//! ```

use rml_base::Span;

use super::Inliner;
use super::states::Named;
use crate::flat::{Init, Rhs, Var};
use crate::normal::{ConstId, Eq};
use crate::op::{Binary, Op};
use crate::types::{DType, Type};
use crate::value::Value;

/// Whether an operator is a random one that has its key alone.
pub(super) fn lacks_tick(op: &Op, operands: usize) -> bool {
    matches!(op, Op::RandomUniform { .. } | Op::RandomNormal { .. }) && operands == 1
}

impl Inliner<'_> {
    /// Defines `lhs` as the draw of the key at the tick of its clock.
    pub(super) fn draw(&mut self, eq: Eq, lhs: Var, op: &Op, mut args: Vec<Var>, span: Span) {
        let ty = Type::scalar(DType::Int);
        let (tick, next, one) =
            (self.temporary(ty.clone(), span), self.temporary(ty.clone(), span), self.temporary(ty, span));
        let (zero, step) = (self.int(0), self.int(1));
        let count = self.emit(tick, Rhs::Fby { init: Init::Const(zero), next, window: None }, span);
        self.emit(one, Rhs::Const(step), span);
        self.emit(next, Rhs::Apply { op: Op::Binary(Binary::Add), args: vec![tick, one] }, span);
        let path = self.frame().named(eq).child("tick", "tick");
        self.states.insert(count, Named { path, parameter: false });
        args.push(tick);
        self.emit(lhs, Rhs::Apply { op: op.clone(), args }, span);
    }

    fn int(&mut self, i: i64) -> ConstId {
        self.flat.consts.push(Value::Int(i).into())
    }
}
