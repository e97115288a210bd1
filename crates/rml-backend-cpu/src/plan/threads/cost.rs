//! Estimates how long instructions take, to decide whether sharing them pays off.

use rml_ir::op::{Binary, Compare, Op, Unary};

use super::super::code::{Added, Code, Instr, Kernel, Unit};

/// The estimated nanoseconds of a unit per tick; of a sum, per summed tick.
pub(super) fn unit(code: &Code, unit: &Unit) -> f64 {
    code.instrs[unit.instrs.clone()].iter().map(cost).sum()
}

/// Measured on a machine with 512-bit vectors, in single precision. Other machines are slower, so sharing pays off
/// there, too.
fn cost(instr: &Instr) -> f64 {
    let product = |m: usize, k: usize, n: usize| (m * k) as f64 * n as f64 * 0.02;
    let width = instr.width as f64;
    match &instr.kernel {
        Kernel::Point(op, _, _) => width * if is_cheap(op) { 0.1 } else { 0.3 },
        Kernel::Copy(_, walk) if walk.row.n > 4 && walk.row.step[..2] == [1, 1] => width * 0.1,
        Kernel::Product([m, k, n], _) | Kernel::Further([m, k, n], _) => product(*m, *k, *n),
        Kernel::Products(times, [m, k, n]) => *times as f64 * product(*m, *k, *n),
        Kernel::Reduce(_, _, around) => (around.outer * around.n * around.inner) as f64 * 0.1,
        Kernel::Choose(_) | Kernel::Read(..) | Kernel::Clear(_) => width * 0.1,
        Kernel::Softmax(..) => width * 2.0,
        // Windows of few channels are short, and copied for one product each.
        Kernel::Convolve(by) => by.work() * 0.04,
        Kernel::Sum { terms, .. } => {
            let of = |added: &Added| match added {
                Added::Outer([m, k, n], _) => product(*m, *k, *n),
                Added::Rows(_, rows) => *rows as f64 * width * 0.1,
                Added::Made(..) => width,
            };
            terms.iter().map(|term| of(&term.added)).fold(0.0, f64::max)
        }
        _ => width,
    }
}

fn is_cheap(op: &Op) -> bool {
    match op {
        Op::Unary(f) => matches!(f, Unary::Neg | Unary::Abs | Unary::Relu | Unary::Flush),
        Op::Binary(f) => !matches!(f, Binary::Pow | Binary::Mod | Binary::Atan2 | Binary::LogAddExp),
        Op::Compare(how) => !matches!(how, Compare::Eq | Compare::Ne),
        Op::Where => true,
        _ => false,
    }
}
