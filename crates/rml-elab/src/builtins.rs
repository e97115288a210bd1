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
    Log,
    Sqrt,
    Abs,
    Sign,
    Sigmoid,
    Tanh,
    Relu,
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
}

/// Every builtin by its surface name.
const TABLE: &[(&str, Builtin)] = &[
    ("exp", Builtin::Unary(Unary::Exp)),
    ("log", Builtin::Unary(Unary::Log)),
    ("sqrt", Builtin::Unary(Unary::Sqrt)),
    ("abs", Builtin::Unary(Unary::Abs)),
    ("sign", Builtin::Unary(Unary::Sign)),
    ("sigmoid", Builtin::Unary(Unary::Sigmoid)),
    ("tanh", Builtin::Unary(Unary::Tanh)),
    ("relu", Builtin::Unary(Unary::Relu)),
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
        TABLE.iter().find(|(_, b)| *b == self).map_or("", |(n, _)| n)
    }

    /// Least and greatest number of arguments, and how a call is written.
    pub(crate) fn arity(self) -> (usize, usize, &'static str) {
        match self {
            Builtin::Unary(_) | Builtin::Param | Builtin::Shape => (1, 1, "(x)"),
            Builtin::Reduce(_) => (1, 2, "(x) or (x, axis)"),
            Builtin::OneHot => (2, 2, "(classes, i)"),
            Builtin::MatMul => (2, 2, "(a, b)"),
            Builtin::Transpose => (1, 2, "(x) or (x, permutation)"),
            Builtin::Reshape | Builtin::Broadcast | Builtin::SumTo => (2, 2, "(shape, x)"),
            Builtin::Unindex => (3, usize::MAX, "(shape, x, entry, ..)"),
            Builtin::Concat => (2, 3, "(a, b) or (a, b, axis)"),
            Builtin::Zeros | Builtin::Ones | Builtin::GlorotUniform | Builtin::Orthogonal => {
                (1, 1, "(shape)")
            }
            Builtin::Uniform => (3, 3, "(shape, lo, hi)"),
            Builtin::Normal => (3, 3, "(shape, mean, std)"),
        }
    }

    /// Whether argument `i` is a static position.
    pub(crate) fn is_static(self, i: usize) -> bool {
        match self {
            Builtin::Unary(_) | Builtin::MatMul | Builtin::Param | Builtin::Shape => false,
            Builtin::Reduce(_) | Builtin::Transpose => i == 1,
            Builtin::OneHot | Builtin::Reshape | Builtin::Broadcast | Builtin::SumTo => i == 0,
            Builtin::Unindex => i != 1,
            Builtin::Concat => i == 2,
            Builtin::Zeros
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
            Unary::Log => Op::Log,
            Unary::Sqrt => Op::Sqrt,
            Unary::Abs => Op::Abs,
            Unary::Sign => Op::Sign,
            Unary::Sigmoid => Op::Sigmoid,
            Unary::Tanh => Op::Tanh,
            Unary::Relu => Op::Relu,
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
        }
    }
}
