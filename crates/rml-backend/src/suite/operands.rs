//! Random operands for an operator: numbers for which its result is interesting, and ints and positions for which it
//! has a result.

use rml_ir::op::{Binary, Op, Reduction, Unary, conditioned};
use rml_ir::{DType, Data, Precision, Type, Value};

use super::dice::{Dice, Nums};

/// The set of operands on which an operator is tried.
#[derive(Clone, Copy, Debug)]
struct Domain {
    nums: Nums,
    /// The lower bound and the exclusive upper bound.
    ints: (i64, i64),
}

impl Domain {
    const fn nums(nums: Nums) -> Self {
        Self { nums, ints: SMALL }
    }

    const fn ints(ints: (i64, i64)) -> Self {
        Self { nums: Nums::Scales, ints }
    }

    fn positions(size: Option<&usize>) -> Self {
        Self::ints((0, size.and_then(|&n| i64::try_from(n).ok()).unwrap_or(1)))
    }
}

/// Ints whose sums and products fit.
const SMALL: (i64, i64) = (-9, 10);
/// Ints that single precision cannot represent exactly.
const WIDE: (i64, i64) = (-(1 << 62), 1 << 62);

fn domain(op: &Op, operand: usize, types: &[Type]) -> Domain {
    use Nums::{Grid, Large, Near, Positive, Scales, Unit};
    match op {
        Op::Copy
        | Op::StopGradient
        | Op::Unary(Unary::Neg)
        | Op::Not
        | Op::Unary(Unary::Abs | Unary::Flush) => Domain::nums(Scales),
        Op::Unary(Unary::Exp | Unary::Expm1 | Unary::Sin | Unary::Cos | Unary::Erf) => Domain::nums(Scales),
        Op::Unary(Unary::Sigmoid | Unary::Tanh | Unary::Relu | Unary::Gelu | Unary::Softplus) => {
            Domain::nums(Scales)
        }
        Op::Unary(Unary::Log | Unary::Sqrt | Unary::Log1p) => Domain::nums(Positive),
        Op::Binary(Binary::Pow) => Domain::nums(if operand == 0 { Positive } else { Unit }),
        Op::Binary(Binary::Atan2 | Binary::LogAddExp) => Domain::nums(Scales),
        Op::Unary(Unary::Sign | Unary::Floor | Unary::Ceil | Unary::Round) => Domain::nums(Grid),
        Op::Convert(DType::Int) => Domain::nums(Large),
        Op::Convert(DType::Num | DType::Bool) => Domain { nums: Grid, ints: WIDE },
        Op::Binary(Binary::Add | Binary::Sub | Binary::Mul | Binary::Div | Binary::Mod) => {
            Domain::nums(Scales)
        }
        Op::Binary(Binary::Minimum | Binary::Maximum) | Op::Clip | Op::Where => Domain::nums(Grid),
        Op::And | Op::Or => Domain::nums(Scales),
        Op::Compare(_) => Domain::nums(Grid),
        Op::MatMul | Op::Einsum(_) | Op::Cholesky | Op::Solve => Domain::nums(Unit),
        Op::Rfft | Op::Irfft { .. } => Domain::nums(Unit),
        Op::Conv(_) | Op::ConvTranspose { .. } | Op::ConvKernel { .. } => Domain::nums(Unit),
        Op::MaxPool(_) => Domain::nums(Grid),
        Op::AvgPool(_) | Op::Patches(_) | Op::Unpatches { .. } => Domain::nums(Unit),
        Op::Transpose { .. } | Op::Reshape { .. } | Op::Broadcast { .. } => Domain::ints(WIDE),
        Op::Concat { .. } | Op::Stack { .. } | Op::Index { .. } | Op::Unindex { .. } => Domain::ints(WIDE),
        Op::Gather { axis } if operand == 1 => Domain::positions(types[0].shape.dims().get(*axis)),
        Op::Pick if operand == 1 => Domain::positions(types[0].shape.dims().last()),
        Op::Gather { .. } | Op::Pick => Domain::ints(WIDE),
        Op::ScatterAdd { shape, axis } if operand == 0 => Domain::positions(shape.dims().get(*axis)),
        Op::ScatterAdd { .. } => Domain::nums(Unit),
        Op::Reduce(Reduction::Sum | Reduction::Mean, _) | Op::SumTo { .. } | Op::CumSum { .. } => {
            Domain::nums(Unit)
        }
        Op::Reduce(Reduction::Max | Reduction::Min | Reduction::ArgMax | Reduction::ArgMin, _) => {
            Domain::nums(Grid)
        }
        Op::Reduce(Reduction::Prod, _) => Domain::nums(Near),
        Op::Reduce(Reduction::LogSumExp, _) => Domain::nums(Scales),
        Op::Reduce(Reduction::Any | Reduction::All, _) => Domain::nums(Scales),
        Op::Sort { .. } | Op::ArgSort { .. } | Op::SortBy { .. } => Domain::nums(Grid),
        Op::RandomUniform { .. } | Op::RandomNormal { .. } => Domain::ints(WIDE),
        Op::Softmax | Op::LogSoftmax => Domain::nums(Scales),
        Op::OneHot { classes } => Domain::ints((-2, i64::try_from(*classes).unwrap_or(0) + 2)),
    }
}

/// Random operands of the given types.
pub(super) fn operands(op: &Op, types: &[Type], precision: Precision, dice: &mut Dice) -> Vec<Value> {
    let operand = |(i, ty): (usize, &Type)| {
        let domain = domain(op, i, types);
        conditioned(op, i, &value(ty, precision, dice, domain.nums, domain.ints))
    };
    types.iter().enumerate().map(operand).collect()
}

/// Operands of the given types on which the operator has an interesting result. Equal seeds give equal operands.
pub fn random_operands(op: &Op, types: &[Type], precision: Precision, seed: &str) -> Vec<Value> {
    operands(op, types, precision, &mut Dice::new(seed))
}

/// A value of type `ty` with numbers of the distribution `nums` or ints in the range `ints`.
pub(super) fn value(ty: &Type, precision: Precision, dice: &mut Dice, nums: Nums, ints: (i64, i64)) -> Value {
    let n = ty.shape.len();
    let data = match ty.dtype {
        DType::Bool => Data::Bool((0..n).map(|_| dice.flag()).collect()),
        DType::Int => Data::Int((0..n).map(|_| dice.int(ints.0, ints.1)).collect()),
        DType::Num => Data::F64((0..n).map(|_| dice.num(nums)).collect()),
    };
    Value::new(ty.shape.clone(), data).to_precision(precision)
}
