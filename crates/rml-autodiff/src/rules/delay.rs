//! `fby`, `fby back` and `post`: a delay transposes to a delay in the other direction of time (ADJ-8 to ADJ-10).

use rml_ir::Type;
use rml_ir::normal::{Init, Rhs, Var};
use rml_ir::op::{Op, Unary};

use crate::build::Builder;

/// The contribution of a delay to the gradient of its operand, given the gradient `d` of its result: `flush(0 fby back
/// (merge bp d 0))` for `fby` (`back` is true), and `flush(0 fby (merge bp d 0))` for `fby back` and `post`. `flush`
/// turns a vanishing gradient into 0, so that it does not stay subnormal. The contribution is present together with the
/// operand, and zero where no gradient comes from the other cycle.
pub(crate) fn transposed(b: &mut Builder, back: bool, d: Var, bp: Var) -> Var {
    let padded = b.pad(bp, d);
    let carried = b.delay(back, padded);
    b.apply(Op::Unary(Unary::Flush), &[carried])
}

/// `true fby false`, or `true fby back false`: true in the cycles in which a delay takes its initial value.
pub(crate) fn first(b: &mut Builder, back: bool) -> Var {
    let no = b.truth(false);
    let init = Init::Const(b.filled(&Type::condition(), 1.0));
    let v = b.named(if back { "last" } else { "first" }, Type::condition());
    b.define(v, if back { Rhs::FbyBack { init, next: no } } else { Rhs::Fby { init, next: no } });
    v
}
