//! The surface names: what a program calls the operators, initialisers and primitives, and what a user should
//! know about each.
//!
//! Data only. It feeds `docs/operators.md`, completions and suggestions; types and meaning are enforced
//! elsewhere, by [`result_type`](super::result_type) and [`eval`](super::eval()).

use super::Op;

/// How a program writes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// A call, `name(..)`.
    Function,
    /// Between its two operands.
    Infix,
    /// Before its operand.
    Prefix,
    /// Brackets: array literals and indexing.
    Brackets,
}

/// What an entry is about; the sections of the documentation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Topic {
    /// Arithmetic, comparison, logic.
    Infix,
    /// Functions of one number, element by element.
    Elementary,
    /// Between bool, int and num.
    Conversion,
    /// Products, shapes, parts.
    Layout,
    /// Sums, extremes, normalisations.
    Reduction,
    /// Constants and random draws.
    Initialiser,
    /// Parameters, gradients, static information.
    Primitive,
}

impl Topic {
    /// All, in the order of the documentation.
    pub const ALL: [Topic; 7] = [
        Topic::Infix,
        Topic::Elementary,
        Topic::Conversion,
        Topic::Layout,
        Topic::Reduction,
        Topic::Initialiser,
        Topic::Primitive,
    ];

    /// The heading.
    pub fn title(self) -> &'static str {
        match self {
            Topic::Infix => "Arithmetic, comparison, logic",
            Topic::Elementary => "Elementary functions",
            Topic::Conversion => "Conversions",
            Topic::Layout => "Products, shapes and parts",
            Topic::Reduction => "Reductions and normalisations",
            Topic::Initialiser => "Constants and random draws",
            Topic::Primitive => "Parameters, gradients and static information",
        }
    }
}

/// A documentation entry of the operator table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OpInfo {
    /// The surface name (`matmul`, `+`).
    pub name: &'static str,
    /// How it is written.
    pub form: Form,
    /// Its section.
    pub topic: Topic,
    /// A call with named operands; optional ones in brackets.
    pub signature: &'static str,
    /// What it means, in one line.
    pub meaning: &'static str,
    /// Element types and shapes.
    pub shapes: &'static str,
    /// Whether gradients pass from the result to (some of) its num operands.
    pub differentiable: bool,
}

/// The entry of a surface name. `-` is the infix operator; the prefix one means the same of `0 - x`.
pub fn info(name: &str) -> Option<&'static OpInfo> {
    TABLE.iter().find(|entry| entry.name == name)
}

/// All surface names of functions.
pub fn names() -> impl Iterator<Item = &'static str> {
    TABLE.iter().filter(|entry| entry.form == Form::Function).map(|entry| entry.name)
}

/// All entries, topic by topic.
pub fn entries() -> &'static [OpInfo] {
    TABLE
}

impl Op {
    /// The surface name, which has an entry in the table; `None` for what a program cannot write as an
    /// operator.
    pub fn surface(&self) -> Option<&'static str> {
        match self {
            Op::Copy => None,
            Op::Neg | Op::Sub => Some("-"),
            Op::Add => Some("+"),
            Op::Mul => Some("*"),
            Op::Div => Some("/"),
            Op::Eq => Some("=="),
            Op::Ne => Some("!="),
            Op::Lt => Some("<"),
            Op::Le => Some("<="),
            Op::Gt => Some(">"),
            Op::Ge => Some(">="),
            Op::Stack => Some("[..]"),
            Op::Index { .. } => Some("x[..]"),
            Op::Not | Op::And | Op::Or => Some(self.name()),
            Op::StopGradient | Op::Abs | Op::Sign | Op::Exp | Op::Log | Op::Sqrt => Some(self.name()),
            Op::Sigmoid | Op::Tanh | Op::Relu | Op::ToNum | Op::ToInt | Op::ToBool => Some(self.name()),
            Op::MatMul | Op::Transpose { .. } | Op::Reshape { .. } | Op::Broadcast { .. } => {
                Some(self.name())
            }
            Op::SumTo { .. } | Op::Concat { .. } | Op::Unindex { .. } => Some(self.name()),
            Op::Sum { .. } | Op::Mean { .. } | Op::Max { .. } | Op::ArgMax { .. } => Some(self.name()),
            Op::Softmax | Op::LogSoftmax | Op::OneHot { .. } => Some(self.name()),
        }
    }
}

/// Writes the entries: `Form: "name" "signature" "meaning" "shapes" differentiable;`, one section a topic.
macro_rules! table {
    ($($topic:ident {
        $($form:ident $name:literal $signature:literal $meaning:literal $shapes:literal $diff:ident;)+
    })+) => {
        const TABLE: &[OpInfo] = &[$($(OpInfo {
            name: $name,
            form: Form::$form,
            topic: Topic::$topic,
            signature: $signature,
            meaning: $meaning,
            shapes: $shapes,
            differentiable: table!(@ $diff),
        },)+)+];
    };
    (@ gradient) => { true };
    (@ no_gradient) => { false };
}

table! {
    Infix {
        Infix "+" "a + b" "sum; an int that overflows is an error"
            "int or num, both the same; broadcast" gradient;
        Infix "-" "a - b, -a" "difference, negation; an int that overflows is an error"
            "int or num, both the same; broadcast" gradient;
        Infix "*" "a * b" "product, element by element; an int that overflows is an error"
            "int or num, both the same; broadcast" gradient;
        Infix "/" "a / b" "quotient; int truncates toward zero, and n / 0 is 0"
            "int or num, both the same; broadcast" gradient;
        Infix "==" "a == b" "whether elements are equal; NaN equals nothing"
            "any, both the same -> bool; broadcast" no_gradient;
        Infix "!=" "a != b" "whether elements differ" "any, both the same -> bool; broadcast" no_gradient;
        Infix "<" "a < b" "less than" "int or num, both the same -> bool; broadcast" no_gradient;
        Infix "<=" "a <= b" "at most" "int or num, both the same -> bool; broadcast" no_gradient;
        Infix ">" "a > b" "greater than" "int or num, both the same -> bool; broadcast" no_gradient;
        Infix ">=" "a >= b" "at least" "int or num, both the same -> bool; broadcast" no_gradient;
        Infix "and" "a and b" "conjunction; both operands are computed" "bool; broadcast" no_gradient;
        Infix "or" "a or b" "disjunction; both operands are computed" "bool; broadcast" no_gradient;
        Prefix "not" "not a" "negation" "bool [s..] -> bool [s..]" no_gradient;
    }
    Elementary {
        Function "exp" "exp(x)" "exponential function" "num [s..] -> num [s..]" gradient;
        Function "log" "log(x)" "natural logarithm; NaN below 0, -inf at 0" "num [s..] -> num [s..]" gradient;
        Function "sqrt" "sqrt(x)" "square root; NaN below 0" "num [s..] -> num [s..]" gradient;
        Function "abs" "abs(x)" "absolute value; gradient 0 at 0" "int or num [s..] -> the same" gradient;
        Function "sign" "sign(x)" "-1, 0 or 1; NaN of NaN" "int or num [s..] -> the same" no_gradient;
        Function "sigmoid" "sigmoid(x)" "1 / (1 + exp(-x)), without overflow"
            "num [s..] -> num [s..]" gradient;
        Function "tanh" "tanh(x)" "hyperbolic tangent" "num [s..] -> num [s..]" gradient;
        Function "relu" "relu(x)" "x where x > 0, else 0; gradient 0 at 0" "num [s..] -> num [s..]" gradient;
    }
    Conversion {
        Function "to_num" "to_num(x)" "true is 1.0; integers are rounded to the nearest number"
            "bool or int [s..] -> num [s..]" no_gradient;
        Function "to_int" "to_int(x)"
            "true is 1; numbers are truncated toward zero; what does not fit is an error"
            "bool or num [s..] -> int [s..]" no_gradient;
        Function "to_bool" "to_bool(x)" "whether it differs from 0"
            "int or num [s..] -> bool [s..]" no_gradient;
    }
    Layout {
        Function "matmul" "matmul(a, b)"
            "matrix product; a vector is a row on the left, a column on the right"
            "num [s.., k] x [k, n] -> [s.., n]; [s.., k] x [k] -> [s..]" gradient;
        Function "transpose" "transpose(x[, perm])" "axes reversed, or in the order perm"
            "[d0, .., dn] -> [d(perm[0]), .., d(perm[n])]" gradient;
        Function "reshape" "reshape(shape, x)" "the same elements, row-major, under another shape"
            "[s..] -> shape, of as many elements" gradient;
        Function "broadcast" "broadcast(shape, x)" "repeated to a larger shape"
            "[s..] -> shape; dimensions of x are equal, 1 or missing on the left" gradient;
        Function "sum_to" "sum_to(shape, x)"
            "the transpose of broadcast: sums what broadcasting from shape repeats"
            "int or num [s..] -> shape, which broadcasts to [s..]" gradient;
        Function "concat" "concat(a, b[, axis])" "joined along an axis (0)"
            "[s.., m, r..] and [s.., n, r..] -> [s.., m + n, r..]" gradient;
        Brackets "[..]" "[a, b, ..]" "operands stacked along a new first axis"
            "n operands [s..] -> [n, s..]" gradient;
        Brackets "x[..]" "x[i, lo:hi:step, :, .., -1]"
            "static indexing: a position drops its axis, a slice keeps it, `..` skips axes, negatives count back"
            "[s..] -> the axes that are kept" gradient;
        Function "unindex" "unindex(shape, x, entry, ..)"
            "the transpose of indexing: zeros with x at the entries, each a position or [start, len, step]"
            "what the entries pick -> shape" gradient;
        Function "one_hot" "one_hot(n, i)" "1.0 at position i, else 0.0; nothing but 0.0 for i outside 0..n"
            "int [s..] -> num [s.., n]" no_gradient;
    }
    Reduction {
        Function "sum" "sum(x[, axis])" "sum over an axis, or over everything; 0 of nothing"
            "int or num; the axis is dropped" gradient;
        Function "mean" "mean(x[, axis])" "mean over an axis, or over everything; NaN of nothing"
            "num; the axis is dropped" gradient;
        Function "max" "max(x[, axis])"
            "largest element; NaN wins; the gradient is shared evenly among equals"
            "int or num, at least one element; the axis is dropped" gradient;
        Function "argmax" "argmax(x[, axis])"
            "position of the first largest element (row-major over everything); NaN wins"
            "int or num, at least one element -> int; the axis is dropped" no_gradient;
        Function "softmax" "softmax(x)" "exp(x) / sum(exp(x)) over the last axis, without overflow"
            "num [s.., n] -> num [s.., n]" gradient;
        Function "log_softmax" "log_softmax(x)" "log(softmax(x)) over the last axis, without overflow"
            "num [s.., n] -> num [s.., n]" gradient;
    }
    Initialiser {
        Function "zeros" "zeros(shape)" "all 0.0" "-> num shape" no_gradient;
        Function "ones" "ones(shape)" "all 1.0" "-> num shape" no_gradient;
        Function "glorot_uniform" "glorot_uniform(shape)"
            "uniform in ±sqrt(6 / (sum of the last two dimensions)); drawn once an instance"
            "-> num shape" no_gradient;
        Function "orthogonal" "orthogonal(shape)"
            "orthonormal rows or columns, whichever are fewer; a vector has norm 1; drawn once an instance"
            "-> num shape" no_gradient;
        Function "uniform" "uniform(shape, lo, hi)" "uniform in lo..hi; drawn once an instance"
            "-> num shape" no_gradient;
        Function "normal" "normal(shape, mean, std)" "normal; drawn once an instance"
            "-> num shape" no_gradient;
    }
    Primitive {
        Function "param" "param(init)" "a named, trainable constant, init until it is trained or loaded"
            "num [s..] -> num [s..]" gradient;
        Function "stop_gradient" "stop_gradient(x)" "x; no gradient passes"
            "any [s..] -> the same" no_gradient;
        Function "shape" "shape(x)" "the shape of stream x, a static array" "any" no_gradient;
    }
}
