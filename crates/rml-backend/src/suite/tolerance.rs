//! The allowed difference between a result of a backend and that of the reference, for each operator.
//!
//! `eps` is the distance from 1 to the next number: 2^-23 in single precision, 2^-52 in double precision. Truth values
//! and ints must always be equal. A NaN is equal to every NaN, and an infinity only to itself. A backend may treat
//! subnormal operands as zeros, and a result below the smallest normal number may differ by that number; both
//! exceptions do not apply to operators that are exact to the bit.

use std::fmt;

use rml_ir::op::{Binary, Op, Reduction, Unary, samples};

/// The allowed difference between a number and that of the reference.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Tolerance {
    /// The same bits, including the sign of zero.
    Bits,
    /// An equal number; zeros of both signs are equal.
    Equal,
    /// This number of `eps` times the result.
    Result(f64),
    /// This number of `eps` times the result or 1, whichever is larger.
    ResultOrOne(f64),
    /// This number of `eps` times the result or the operand, whichever is larger.
    Operand(f64),
    /// This number of `eps`, times 1 + the square root of the number of terms, times the sum of their magnitudes.
    Terms(f64),
}

impl fmt::Display for Tolerance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tolerance::Bits => f.write_str("exact, also the sign of zero"),
            Tolerance::Equal => f.write_str("exact, but for the sign of zero"),
            Tolerance::Result(n) => write!(f, "{n} eps · \\|result\\|"),
            Tolerance::ResultOrOne(n) => write!(f, "{n} eps · max(\\|result\\|, 1)"),
            Tolerance::Operand(n) => write!(f, "{n} eps · max(\\|result\\|, \\|operand\\|)"),
            Tolerance::Terms(n) => write!(f, "{n} eps · (1 + √n) · Σ\\|terms\\|, of n terms"),
        }
    }
}

/// The tolerance of an operator, in both precisions.
pub fn tolerance(op: &Op) -> Tolerance {
    match op {
        Op::Copy | Op::StopGradient | Op::Unary(Unary::Neg | Unary::Abs) => Tolerance::Bits,
        Op::Transpose { .. } | Op::Reshape { .. } | Op::Broadcast { .. } => Tolerance::Bits,
        Op::Concat { .. } | Op::Stack { .. } | Op::Index { .. } | Op::Unindex { .. } => Tolerance::Bits,
        Op::Gather { .. } | Op::Pick | Op::Where | Op::Patches(_) => Tolerance::Bits,
        Op::Sort { .. } => Tolerance::Bits,
        Op::ArgSort { .. } | Op::SortBy { .. } => Tolerance::Equal,
        Op::RandomUniform { .. } | Op::RandomNormal { .. } => Tolerance::Bits,
        Op::Not | Op::And | Op::Or | Op::Reduce(Reduction::Any | Reduction::All, _) => Tolerance::Equal,
        Op::Compare(_) => Tolerance::Equal,
        Op::Convert(_) | Op::OneHot { .. } | Op::Binary(Binary::Mod) => Tolerance::Equal,
        Op::Unary(Unary::Sign | Unary::Relu | Unary::Flush | Unary::Floor | Unary::Ceil | Unary::Round) => {
            Tolerance::Equal
        }
        Op::Binary(Binary::Add | Binary::Sub | Binary::Mul) => Tolerance::Equal,
        // XLA multiplies by the reciprocal of a divisor that is broadcast.
        Op::Binary(Binary::Div) => Tolerance::Result(1.0),
        Op::Unary(Unary::Sqrt) => Tolerance::Result(1.0),
        Op::Binary(Binary::Minimum | Binary::Maximum) | Op::Clip | Op::MaxPool(_) => Tolerance::Equal,
        Op::Reduce(Reduction::Max | Reduction::Min | Reduction::ArgMax | Reduction::ArgMin, _) => {
            Tolerance::Equal
        }
        Op::Unary(Unary::Exp | Unary::Expm1 | Unary::Log | Unary::Log1p | Unary::Tanh | Unary::Erf) => {
            Tolerance::Result(8.0)
        }
        Op::Unary(Unary::Sigmoid | Unary::Softplus) => Tolerance::Result(16.0),
        Op::Unary(Unary::Sin | Unary::Cos) => Tolerance::ResultOrOne(4.0),
        Op::Unary(Unary::Gelu) => Tolerance::Operand(8.0),
        Op::Binary(Binary::Pow) => Tolerance::Result(64.0),
        Op::Binary(Binary::Atan2) => Tolerance::Result(8.0),
        Op::Binary(Binary::LogAddExp) => Tolerance::ResultOrOne(16.0),
        // Each factor may add one rounding.
        Op::Reduce(Reduction::Prod, _) => Tolerance::Result(512.0),
        Op::Reduce(Reduction::LogSumExp, _) => Tolerance::ResultOrOne(64.0),
        Op::MatMul | Op::Einsum(_) => Tolerance::Terms(4.0),
        Op::Conv(_) | Op::ConvTranspose { .. } | Op::ConvKernel { .. } => Tolerance::Terms(4.0),
        Op::AvgPool(_) | Op::Unpatches { .. } | Op::ScatterAdd { .. } => Tolerance::Terms(4.0),
        Op::Reduce(Reduction::Sum | Reduction::Mean, _) | Op::SumTo { .. } | Op::CumSum { .. } => {
            Tolerance::Terms(4.0)
        }
        Op::Softmax => Tolerance::Result(64.0),
        Op::LogSoftmax | Op::Cholesky | Op::Solve => Tolerance::ResultOrOne(64.0),
        Op::Rfft | Op::Irfft { .. } => Tolerance::ResultOrOne(64.0),
    }
}

/// The tolerances as a table in Markdown; operators of the same tolerance are in one row.
pub fn table() -> String {
    let mut rows: Vec<(String, Vec<&str>)> = Vec::new();
    for (op, _) in samples() {
        let text = tolerance(&op).to_string();
        let row = match rows.iter().position(|(t, _)| *t == text) {
            Some(i) => i,
            None => {
                rows.push((text, Vec::new()));
                rows.len() - 1
            }
        };
        if !rows[row].1.contains(&op.name()) {
            rows[row].1.push(op.name());
        }
    }
    let mut out = "| operators | how far from the reference |\n|---|---|\n".to_owned();
    for (text, names) in rows {
        let names: Vec<String> = names.iter().map(|n| format!("`{n}`")).collect();
        out.push_str(&format!("| {} | {text} |\n", names.join(", ")));
    }
    out
}
