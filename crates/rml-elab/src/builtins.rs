//! The builtin functions: their surface names, how many arguments they take and which of those are static.
//! Their types and shapes are the operator table's matter (`rml_ir::op`).

use rml_ir::op::Op;

/// A function of the language that is no node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Builtin {
    /// One operand, no attribute.
    Unary(Unary),
    /// A reduction over one axis or all.
    Reduce(Reduce),
    /// Several operands, element by element.
    Pointwise(Pointwise),
    /// A convolution or one of its transposes, over that many axes.
    Conv(Conv, usize),
    /// Pooling or patches, over that many axes.
    Pool(Pool, usize),
    /// `cumsum(x[, axis[, reverse]])`
    CumSum,
    /// `gather(x, i[, axis])`
    Gather,
    /// `scatter_add(shape, i, d[, axis])`
    ScatterAdd,
    /// `pick(x, i)`
    Pick,
    /// `stack(axis, a, b, ..)`
    Stack,
    /// `einsum(labels, a[, b])`
    Einsum,
    /// `a, b = split(x[, axis])`: one of equal parts. `of` is 0 where no equation takes the parts.
    Split {
        /// Which.
        part: usize,
        /// Of how many.
        of: usize,
    },
    /// `range(n)`
    Range,
    /// `random_uniform(shape)`
    RandomUniform,
    /// `random_normal(shape)`
    RandomNormal,
    /// `one_hot(n, i)`
    OneHot,
    /// `matmul(a, b)`
    MatMul,
    /// `transpose(x[, perm])`
    Transpose,
    /// `reshape(shape, x)`
    Reshape,
    /// `broadcast(shape, x)`
    Broadcast,
    /// `sum_to(shape, x)`
    SumTo,
    /// `unindex(shape, x, entry, ..)`
    Unindex,
    /// `concat(a, b[, axis])`
    Concat,
    /// `zeros(shape)`
    Zeros,
    /// `ones(shape)`
    Ones,
    /// `glorot_uniform(shape)`
    GlorotUniform,
    /// `orthogonal(shape)`
    Orthogonal,
    /// `uniform(shape, lo, hi)`
    Uniform,
    /// `normal(shape, mean, std)`
    Normal,
    /// `shape(x)`: a static array.
    Shape,
    /// `param(init)`
    Param,
}

/// Operators of one operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unary {
    Exp,
    Expm1,
    Log,
    Log1p,
    Sqrt,
    Sin,
    Cos,
    Erf,
    Gelu,
    Softplus,
    Floor,
    Ceil,
    Round,
    Abs,
    Sign,
    Sigmoid,
    Tanh,
    Relu,
    Flush,
    Softmax,
    LogSoftmax,
    ToNum,
    ToInt,
    ToBool,
    StopGradient,
}

/// Reductions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reduce {
    Sum,
    Mean,
    Max,
    ArgMax,
    Min,
    ArgMin,
    Any,
    All,
}

/// Operators of several operands, which broadcast.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pointwise {
    Pow,
    Mod,
    Minimum,
    Maximum,
    Clip,
    Where,
}

/// A convolution and its transposes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Conv {
    Forward,
    Transpose,
    Kernel,
}

/// What is done with windows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pool {
    Max,
    Avg,
    Patches,
    Unpatches,
}

/// Every builtin by its surface name.
const TABLE: &[(&str, Builtin)] = &[
    ("exp", Builtin::Unary(Unary::Exp)),
    ("expm1", Builtin::Unary(Unary::Expm1)),
    ("log", Builtin::Unary(Unary::Log)),
    ("log1p", Builtin::Unary(Unary::Log1p)),
    ("sqrt", Builtin::Unary(Unary::Sqrt)),
    ("sin", Builtin::Unary(Unary::Sin)),
    ("cos", Builtin::Unary(Unary::Cos)),
    ("erf", Builtin::Unary(Unary::Erf)),
    ("gelu", Builtin::Unary(Unary::Gelu)),
    ("softplus", Builtin::Unary(Unary::Softplus)),
    ("floor", Builtin::Unary(Unary::Floor)),
    ("ceil", Builtin::Unary(Unary::Ceil)),
    ("round", Builtin::Unary(Unary::Round)),
    ("abs", Builtin::Unary(Unary::Abs)),
    ("sign", Builtin::Unary(Unary::Sign)),
    ("sigmoid", Builtin::Unary(Unary::Sigmoid)),
    ("tanh", Builtin::Unary(Unary::Tanh)),
    ("relu", Builtin::Unary(Unary::Relu)),
    ("flush", Builtin::Unary(Unary::Flush)),
    ("softmax", Builtin::Unary(Unary::Softmax)),
    ("log_softmax", Builtin::Unary(Unary::LogSoftmax)),
    ("to_num", Builtin::Unary(Unary::ToNum)),
    ("to_int", Builtin::Unary(Unary::ToInt)),
    ("to_bool", Builtin::Unary(Unary::ToBool)),
    ("stop_gradient", Builtin::Unary(Unary::StopGradient)),
    ("sum", Builtin::Reduce(Reduce::Sum)),
    ("mean", Builtin::Reduce(Reduce::Mean)),
    ("max", Builtin::Reduce(Reduce::Max)),
    ("argmax", Builtin::Reduce(Reduce::ArgMax)),
    ("min", Builtin::Reduce(Reduce::Min)),
    ("argmin", Builtin::Reduce(Reduce::ArgMin)),
    ("any", Builtin::Reduce(Reduce::Any)),
    ("all", Builtin::Reduce(Reduce::All)),
    ("cumsum", Builtin::CumSum),
    ("pow", Builtin::Pointwise(Pointwise::Pow)),
    ("mod", Builtin::Pointwise(Pointwise::Mod)),
    ("minimum", Builtin::Pointwise(Pointwise::Minimum)),
    ("maximum", Builtin::Pointwise(Pointwise::Maximum)),
    ("clip", Builtin::Pointwise(Pointwise::Clip)),
    ("where", Builtin::Pointwise(Pointwise::Where)),
    ("conv1d", Builtin::Conv(Conv::Forward, 1)),
    ("conv2d", Builtin::Conv(Conv::Forward, 2)),
    ("conv1d_transpose", Builtin::Conv(Conv::Transpose, 1)),
    ("conv2d_transpose", Builtin::Conv(Conv::Transpose, 2)),
    ("conv1d_kernel", Builtin::Conv(Conv::Kernel, 1)),
    ("conv2d_kernel", Builtin::Conv(Conv::Kernel, 2)),
    ("max_pool1d", Builtin::Pool(Pool::Max, 1)),
    ("max_pool2d", Builtin::Pool(Pool::Max, 2)),
    ("avg_pool1d", Builtin::Pool(Pool::Avg, 1)),
    ("avg_pool2d", Builtin::Pool(Pool::Avg, 2)),
    ("patches1d", Builtin::Pool(Pool::Patches, 1)),
    ("patches2d", Builtin::Pool(Pool::Patches, 2)),
    ("unpatches1d", Builtin::Pool(Pool::Unpatches, 1)),
    ("unpatches2d", Builtin::Pool(Pool::Unpatches, 2)),
    ("gather", Builtin::Gather),
    ("scatter_add", Builtin::ScatterAdd),
    ("pick", Builtin::Pick),
    ("stack", Builtin::Stack),
    ("einsum", Builtin::Einsum),
    ("split", Builtin::Split { part: 0, of: 0 }),
    ("range", Builtin::Range),
    ("random_uniform", Builtin::RandomUniform),
    ("random_normal", Builtin::RandomNormal),
    ("one_hot", Builtin::OneHot),
    ("matmul", Builtin::MatMul),
    ("transpose", Builtin::Transpose),
    ("reshape", Builtin::Reshape),
    ("broadcast", Builtin::Broadcast),
    ("sum_to", Builtin::SumTo),
    ("unindex", Builtin::Unindex),
    ("concat", Builtin::Concat),
    ("zeros", Builtin::Zeros),
    ("ones", Builtin::Ones),
    ("glorot_uniform", Builtin::GlorotUniform),
    ("orthogonal", Builtin::Orthogonal),
    ("uniform", Builtin::Uniform),
    ("normal", Builtin::Normal),
    ("shape", Builtin::Shape),
    ("param", Builtin::Param),
];

/// The builtin of that name.
pub(crate) fn find(name: &str) -> Option<Builtin> {
    TABLE.iter().find(|(n, _)| *n == name).map(|(_, b)| *b)
}

/// All surface names.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    TABLE.iter().map(|(n, _)| *n)
}

impl Builtin {
    /// Its surface name.
    pub(crate) fn name(self) -> &'static str {
        let own = if let Builtin::Split { .. } = self { Builtin::Split { part: 0, of: 0 } } else { self };
        TABLE.iter().find(|(_, b)| *b == own).map_or("", |(n, _)| n)
    }

    /// Least and greatest number of arguments, and how a call is written.
    pub(crate) fn arity(self) -> (usize, usize, &'static str) {
        match self {
            Builtin::Unary(_) | Builtin::Param | Builtin::Shape => (1, 1, "(x)"),
            Builtin::Reduce(_) => (1, 2, "(x) or (x, axis)"),
            Builtin::OneHot => (2, 2, "(classes, i)"),
            Builtin::MatMul => (2, 2, "(a, b)"),
            Builtin::Pointwise(Pointwise::Clip) => (3, 3, "(x, lo, hi)"),
            Builtin::Pointwise(Pointwise::Where) => (3, 3, "(condition, a, b)"),
            Builtin::Pointwise(_) => (2, 2, "(a, b)"),
            Builtin::Conv(Conv::Forward, _) => (2, 6, "(x, kernel, stride, padding, dilation, groups)"),
            Builtin::Conv(Conv::Transpose, _) => {
                (3, 7, "(shape, d, kernel, stride, padding, dilation, groups)")
            }
            Builtin::Conv(Conv::Kernel, _) => (3, 7, "(shape, x, d, stride, padding, dilation, groups)"),
            Builtin::Pool(Pool::Unpatches, _) => (3, 5, "(shape, d, size, stride, padding)"),
            Builtin::Pool(..) => (2, 4, "(x, size, stride, padding)"),
            Builtin::CumSum => (1, 3, "(x), (x, axis) or (x, axis, reverse)"),
            Builtin::Gather => (2, 3, "(x, i) or (x, i, axis)"),
            Builtin::ScatterAdd => (3, 4, "(shape, i, d) or (shape, i, d, axis)"),
            Builtin::Pick => (2, 2, "(x, i)"),
            Builtin::Stack => (2, usize::MAX, "(axis, a, b, ..)"),
            Builtin::Einsum => (2, 3, "(labels, a) or (labels, a, b)"),
            Builtin::Split { .. } => (1, 2, "(x) or (x, axis)"),
            Builtin::Range => (1, 1, "(n)"),
            Builtin::Transpose => (1, 2, "(x) or (x, permutation)"),
            Builtin::Reshape | Builtin::Broadcast | Builtin::SumTo => (2, 2, "(shape, x)"),
            Builtin::Unindex => (3, usize::MAX, "(shape, x, entry, ..)"),
            Builtin::Concat => (2, 3, "(a, b) or (a, b, axis)"),
            Builtin::Zeros | Builtin::Ones | Builtin::GlorotUniform | Builtin::Orthogonal => {
                (1, 1, "(shape)")
            }
            Builtin::RandomUniform | Builtin::RandomNormal => (1, 1, "(shape)"),
            Builtin::Uniform => (3, 3, "(shape, lo, hi)"),
            Builtin::Normal => (3, 3, "(shape, mean, std)"),
        }
    }

    /// Whether argument `i` is a static num.
    pub(crate) fn is_num(self, i: usize) -> bool {
        matches!(self, Builtin::Uniform | Builtin::Normal) && i > 0
    }

    /// Whether argument `i` is a static int, or an array of them.
    pub(crate) fn is_size(self, i: usize) -> bool {
        self.is_static(i) && !self.is_num(i) && self != Builtin::Einsum
    }

    /// Whether argument `i` is a static position.
    pub(crate) fn is_static(self, i: usize) -> bool {
        match self {
            Builtin::Unary(_) | Builtin::Pointwise(_) | Builtin::MatMul | Builtin::Pick => false,
            Builtin::Param | Builtin::Shape => false,
            Builtin::Reduce(_) | Builtin::Transpose | Builtin::Split { .. } => i == 1,
            Builtin::OneHot | Builtin::Reshape | Builtin::Broadcast | Builtin::SumTo => i == 0,
            Builtin::Stack | Builtin::Einsum => i == 0,
            Builtin::CumSum => i > 0,
            Builtin::Unindex => i != 1,
            Builtin::Concat | Builtin::Gather => i == 2,
            Builtin::Conv(Conv::Forward, _) => i > 1,
            Builtin::Conv(..) | Builtin::ScatterAdd => i == 0 || i > 2,
            Builtin::Pool(Pool::Unpatches, _) => i != 1,
            Builtin::Pool(..) => i > 0,
            Builtin::Range
            | Builtin::RandomUniform
            | Builtin::RandomNormal
            | Builtin::Zeros
            | Builtin::Ones
            | Builtin::GlorotUniform
            | Builtin::Orthogonal
            | Builtin::Uniform
            | Builtin::Normal => true,
        }
    }
}

impl Unary {
    /// The operator.
    pub(crate) fn op(self) -> Op {
        match self {
            Unary::Exp => Op::Exp,
            Unary::Expm1 => Op::Expm1,
            Unary::Log => Op::Log,
            Unary::Log1p => Op::Log1p,
            Unary::Sqrt => Op::Sqrt,
            Unary::Sin => Op::Sin,
            Unary::Cos => Op::Cos,
            Unary::Erf => Op::Erf,
            Unary::Gelu => Op::Gelu,
            Unary::Softplus => Op::Softplus,
            Unary::Floor => Op::Floor,
            Unary::Ceil => Op::Ceil,
            Unary::Round => Op::Round,
            Unary::Abs => Op::Abs,
            Unary::Sign => Op::Sign,
            Unary::Sigmoid => Op::Sigmoid,
            Unary::Tanh => Op::Tanh,
            Unary::Relu => Op::Relu,
            Unary::Flush => Op::Flush,
            Unary::Softmax => Op::Softmax,
            Unary::LogSoftmax => Op::LogSoftmax,
            Unary::ToNum => Op::ToNum,
            Unary::ToInt => Op::ToInt,
            Unary::ToBool => Op::ToBool,
            Unary::StopGradient => Op::StopGradient,
        }
    }
}

impl Reduce {
    /// The operator over that axis, or over all.
    pub(crate) fn op(self, axis: Option<usize>) -> Op {
        match self {
            Reduce::Sum => Op::Sum { axis },
            Reduce::Mean => Op::Mean { axis },
            Reduce::Max => Op::Max { axis },
            Reduce::ArgMax => Op::ArgMax { axis },
            Reduce::Min => Op::Min { axis },
            Reduce::ArgMin => Op::ArgMin { axis },
            Reduce::Any => Op::Any { axis },
            Reduce::All => Op::All { axis },
        }
    }
}

impl Pointwise {
    /// The operator.
    pub(crate) fn op(self) -> Op {
        match self {
            Pointwise::Pow => Op::Pow,
            Pointwise::Mod => Op::Mod,
            Pointwise::Minimum => Op::Minimum,
            Pointwise::Maximum => Op::Maximum,
            Pointwise::Clip => Op::Clip,
            Pointwise::Where => Op::Where,
        }
    }
}
