//! `fby`, `fby back` and `post`: a delay transposes to an anticipation and back (ADJ-8 to ADJ-10).

use rml_ir::Type;
use rml_ir::normal::{Init, Rhs, Var};

use crate::build::Builder;

/// `0 fby back (merge bp d 0)` for the operand of `fby` (`back`), `0 fby (merge bp d 0)` for that of `fby back` and `post`.
///
/// Present with the operand, and zero wherever no gradient comes from the other cycle.
pub(crate) fn transposed(b: &mut Builder, back: bool, d: Var, bp: Var) -> Var {
    let padded = b.pad(bp, d);
    b.delay(back, padded)
}

/// `true fby false`, or `true fby back false`: where a delay takes its initial value from a stream.
pub(crate) fn first(b: &mut Builder, back: bool) -> Var {
    let no = b.truth(false);
    let init = Init::Const(b.filled(&Type::condition(), 1.0));
    let v = b.named(if back { "last" } else { "first" }, Type::condition());
    b.define(v, if back { Rhs::FbyBack { init, next: no } } else { Rhs::Fby { init, next: no } });
    v
}
