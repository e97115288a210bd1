//! The builtin functions: their surface names, their numbers of arguments, and which arguments are static. Their types
//! and shapes are defined by the operator table (`rml_ir::op`).

use rml_ir::DType;
use rml_ir::op::{Binary, Op, Reduction, Unary};

/// A builtin function of the language.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Builtin {
    /// A function of one operand.
    Unary(Unary),
    /// A function of two operands, which broadcast.
    Binary(Binary),
    /// `sum(x[, axes[, keep]])`
    Reduce(Reduction),
    /// `to_num(x)`, `to_int(x)`, `to_bool(x)`
    Convert(DType),
    /// `stop_gradient(x)`
    StopGradient,
    /// `softmax(x)` or `log_softmax(x)`.
    Softmax {
        /// Whether the builtin is `log_softmax`.
        log: bool,
    },
    /// `clip(x, lo, hi)`
    Clip,
    /// `where(condition, a, b)`
    Where,
    /// A convolution or one of its transposes, over the given number of axes.
    Conv(Conv, usize),
    /// Pooling or patches, over the given number of axes.
    Pool(Pool, usize),
    /// `cumsum(x[, axis[, reverse]])`
    CumSum,
    /// `sort(x[, axis[, descending]])`
    Sort,
    /// `argsort(x[, axis[, descending]])`
    ArgSort,
    /// `sort_by(keys, x[, axis[, descending]])`
    SortBy,
    /// `gather(x, i[, axis])`
    Gather,
    /// `scatter_add(shape, i, d[, axis])`
    ScatterAdd,
    /// `pick(x, i)`
    Pick,
    /// `stack(axis, a, b, ..)`
    Stack,
    /// `einsum(labels, a, b, ..)`
    Einsum,
    /// `a, b = split(x[, axis])`: one of several equal parts. `of` is 0 if no equation names the parts.
    Split {
        /// The index of the part.
        part: usize,
        /// The number of parts.
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
    /// `cholesky(a)`
    Cholesky,
    /// `solve(a, b)`
    Solve,
    /// `rfft(x)`
    Rfft,
    /// `irfft(n, y)`
    Irfft,
    /// `transpose(x[, perm])`
    Transpose,
    /// `reshape(shape, x)`
    Reshape,
    /// `expand_dims(x, axes)`
    ExpandDims,
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
    /// `zeros_like(x[, shape])`
    ZerosLike,
    /// `param(init)`
    Param,
    /// `assert "name" c`, whose operands are `c` and the name. In the source it is an equation.
    Assert,
}

/// A convolution and its transposes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Conv {
    Forward,
    Transpose,
    Kernel,
}

/// The operation on each window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pool {
    Max,
    Avg,
    Patches,
    Unpatches,
}

/// The builtins that belong to no family, by their surface names.
const TABLE: &[(&str, Builtin)] = &[
    ("softmax", Builtin::Softmax { log: false }),
    ("log_softmax", Builtin::Softmax { log: true }),
    ("to_num", Builtin::Convert(DType::Num)),
    ("to_int", Builtin::Convert(DType::Int)),
    ("to_bool", Builtin::Convert(DType::Bool)),
    ("stop_gradient", Builtin::StopGradient),
    ("clip", Builtin::Clip),
    ("where", Builtin::Where),
    ("cumsum", Builtin::CumSum),
    ("sort", Builtin::Sort),
    ("argsort", Builtin::ArgSort),
    ("sort_by", Builtin::SortBy),
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
    ("cholesky", Builtin::Cholesky),
    ("rfft", Builtin::Rfft),
    ("irfft", Builtin::Irfft),
    ("solve", Builtin::Solve),
    ("transpose", Builtin::Transpose),
    ("reshape", Builtin::Reshape),
    ("expand_dims", Builtin::ExpandDims),
    ("broadcast", Builtin::Broadcast),
    ("sum_to", Builtin::SumTo),
    ("unindex", Builtin::Unindex),
    ("concat", Builtin::Concat),
    ("zeros", Builtin::Zeros),
    ("zeros_like", Builtin::ZerosLike),
    ("ones", Builtin::Ones),
    ("glorot_uniform", Builtin::GlorotUniform),
    ("orthogonal", Builtin::Orthogonal),
    ("uniform", Builtin::Uniform),
    ("normal", Builtin::Normal),
    ("shape", Builtin::Shape),
    ("param", Builtin::Param),
];

/// All builtins with surface names. Functions that are written as prefix or infix operators have none.
fn all() -> impl Iterator<Item = (&'static str, Builtin)> {
    let called =
        |op: Op, name: &'static str, builtin| (op.surface() == Some(name)).then_some((name, builtin));
    let functions =
        Unary::ALL.iter().filter_map(move |f| called(Op::Unary(*f), f.name(), Builtin::Unary(*f)));
    let pairs = Binary::ALL.iter().filter_map(move |f| called(Op::Binary(*f), f.name(), Builtin::Binary(*f)));
    let folds = Reduction::ALL.into_iter().map(|by| (by.name(), Builtin::Reduce(by)));
    functions.chain(pairs).chain(folds).chain(TABLE.iter().copied())
}

/// The builtin with that name.
pub(crate) fn find(name: &str) -> Option<Builtin> {
    all().find(|(n, _)| *n == name).map(|(_, b)| b)
}

/// All surface names.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    all().map(|(n, _)| n)
}

impl Builtin {
    /// The surface name.
    pub(crate) fn name(self) -> &'static str {
        let own = match self {
            Builtin::Split { .. } => Builtin::Split { part: 0, of: 0 },
            Builtin::Assert => return "assert",
            other => other,
        };
        all().find(|(_, b)| *b == own).map_or("", |(n, _)| n)
    }

    /// The least and the greatest number of arguments, and the form of a call.
    pub(crate) fn arity(self) -> (usize, usize, &'static str) {
        match self {
            Builtin::Unary(_) | Builtin::Convert(_) | Builtin::StopGradient | Builtin::Softmax { .. } => {
                (1, 1, "(x)")
            }
            Builtin::Param | Builtin::Shape => (1, 1, "(x)"),
            Builtin::Reduce(_) => (1, 3, "(x), (x, axes) or (x, axes, keep)"),
            Builtin::ExpandDims => (2, 2, "(x, axes)"),
            Builtin::ZerosLike => (1, 2, "(x) or (x, shape)"),
            Builtin::OneHot => (2, 2, "(classes, i)"),
            Builtin::Assert => (2, 2, " \"name\" c"),
            Builtin::MatMul | Builtin::Solve => (2, 2, "(a, b)"),
            Builtin::Cholesky => (1, 1, "(a)"),
            Builtin::Rfft => (1, 1, "(x)"),
            Builtin::Irfft => (2, 2, "(n, y)"),
            Builtin::Clip => (3, 3, "(x, lo, hi)"),
            Builtin::Where => (3, 3, "(condition, a, b)"),
            Builtin::Binary(_) => (2, 2, "(a, b)"),
            Builtin::Conv(Conv::Forward, _) => (2, 6, "(x, kernel, stride, padding, dilation, groups)"),
            Builtin::Conv(Conv::Transpose, _) => {
                (3, 7, "(shape, d, kernel, stride, padding, dilation, groups)")
            }
            Builtin::Conv(Conv::Kernel, _) => (3, 7, "(shape, x, d, stride, padding, dilation, groups)"),
            Builtin::Pool(Pool::Unpatches, _) => (3, 5, "(shape, d, size, stride, padding)"),
            Builtin::Pool(..) => (2, 4, "(x, size, stride, padding)"),
            Builtin::CumSum => (1, 3, "(x), (x, axis) or (x, axis, reverse)"),
            Builtin::Sort | Builtin::ArgSort => (1, 3, "(x), (x, axis) or (x, axis, descending)"),
            Builtin::SortBy => (2, 4, "(keys, x), (keys, x, axis) or (keys, x, axis, descending)"),
            Builtin::Gather => (2, 3, "(x, i) or (x, i, axis)"),
            Builtin::ScatterAdd => (3, 4, "(shape, i, d) or (shape, i, d, axis)"),
            Builtin::Pick => (2, 2, "(x, i)"),
            Builtin::Stack => (2, usize::MAX, "(axis, a, b, ..)"),
            Builtin::Einsum => (2, usize::MAX, "(labels, a, b, ..)"),
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

    /// Whether the builtin is a function of ints that is computed at compile time if its arguments are known then.
    pub(crate) fn computes_ints(self) -> bool {
        matches!(
            self,
            Builtin::Unary(Unary::Abs | Unary::Sign)
                | Builtin::Binary(Binary::Mod | Binary::Minimum | Binary::Maximum)
        )
    }

    /// Whether the first argument is the name of a variable, and only its type matters.
    pub(crate) fn takes_type(self) -> bool {
        matches!(self, Builtin::Shape | Builtin::ZerosLike)
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
            Builtin::Unary(_) | Builtin::Binary(_) | Builtin::Convert(_) | Builtin::StopGradient => false,
            Builtin::Softmax { .. } | Builtin::Clip | Builtin::Where | Builtin::MatMul | Builtin::Pick => {
                false
            }
            Builtin::Param | Builtin::Shape | Builtin::Cholesky | Builtin::Solve | Builtin::Rfft => false,
            Builtin::Transpose | Builtin::Split { .. } | Builtin::ExpandDims => i == 1,
            Builtin::Assert | Builtin::ZerosLike => i == 1,
            Builtin::OneHot | Builtin::Reshape | Builtin::Broadcast | Builtin::SumTo => i == 0,
            Builtin::Stack | Builtin::Einsum | Builtin::Irfft => i == 0,
            Builtin::Reduce(_) | Builtin::CumSum | Builtin::Sort | Builtin::ArgSort => i > 0,
            Builtin::SortBy => i > 1,
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
