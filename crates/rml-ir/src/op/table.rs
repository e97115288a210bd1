//! The surface names: what a program calls the operators, initialisers and primitives, and what a user should
//! know about each.
//!
//! Data only. It feeds `docs/operators.md`, completions and suggestions; types and meaning are enforced
//! elsewhere, by [`result_type`](super::result_type) and [`eval`](super::eval()).

use super::{Binary, Op, Unary};

mod pointwise;
mod primitives;
mod reductions;
mod tensors;

/// How a program writes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Notation {
    /// A call, `name(..)`.
    Function,
    /// Between its two operands.
    Infix,
    /// Before its operand.
    Prefix,
    /// Brackets: array literals and indexing.
    Brackets,
}

/// The subject of an entry; each is a section of the documentation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Topic {
    /// Arithmetic, comparison, logic.
    Infix,
    /// Functions of one number or a few, element by element.
    Elementary,
    /// Between bool, int and num.
    Conversion,
    /// Shapes and parts.
    Layout,
    /// Matrix products, convolutions, pooling.
    Product,
    /// Sums, extremes, normalisations.
    Reduction,
    /// Constants, also those that are drawn once.
    Initialiser,
    /// Streams of random numbers.
    Random,
    /// Parameters, gradients, static information.
    Primitive,
}

impl Topic {
    /// All, in the order of the documentation.
    pub const ALL: [Topic; 9] = [
        Topic::Infix,
        Topic::Elementary,
        Topic::Conversion,
        Topic::Layout,
        Topic::Product,
        Topic::Reduction,
        Topic::Initialiser,
        Topic::Random,
        Topic::Primitive,
    ];

    /// The heading.
    pub fn title(self) -> &'static str {
        match self {
            Topic::Infix => "Arithmetic, comparison, logic",
            Topic::Elementary => "Functions element by element",
            Topic::Conversion => "Conversions",
            Topic::Layout => "Shapes and parts",
            Topic::Product => "Products, convolutions, pooling",
            Topic::Reduction => "Reductions and normalisations",
            Topic::Initialiser => "Constants and initial values",
            Topic::Random => "Random streams",
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
    pub form: Notation,
    /// Its section.
    pub topic: Topic,
    /// A call with named operands; optional ones in brackets.
    pub signature: &'static str,
    /// The meaning, in one line.
    pub meaning: &'static str,
    /// Element types and shapes.
    pub shapes: &'static str,
    /// The gradient of each operand that has one, as equations in the language: `do` is that of the result `o`. Empty
    /// where no gradient passes.
    pub adjoint: &'static str,
    /// An expression, perhaps after equations that end with `; `.
    pub example: &'static str,
    /// The result of the example.
    pub value: &'static str,
}

impl OpInfo {
    /// Whether gradients pass from the result to (some of) its num operands.
    pub fn is_differentiable(&self) -> bool {
        !self.adjoint.is_empty()
    }
}

/// The entry of a surface name. `-` is the infix operator; the prefix one means the same of `0 - x`.
pub fn info(name: &str) -> Option<&'static OpInfo> {
    entries().find(|entry| entry.name == name)
}

/// All surface names of functions.
pub fn names() -> impl Iterator<Item = &'static str> {
    entries().filter(|entry| entry.form == Notation::Function).map(|entry| entry.name)
}

/// All entries, topic by topic.
pub fn entries() -> impl Iterator<Item = &'static OpInfo> {
    [pointwise::TABLE, tensors::TABLE, reductions::TABLE, primitives::TABLE].into_iter().flatten()
}

impl Op {
    /// The surface name, which has an entry in the table; `None` for what a program cannot write as an
    /// operator.
    pub fn surface(&self) -> Option<&'static str> {
        match self {
            Op::Copy => None,
            Op::Unary(Unary::Neg) | Op::Binary(Binary::Sub) => Some("-"),
            Op::Binary(Binary::Add) => Some("+"),
            Op::Binary(Binary::Mul) => Some("*"),
            Op::Binary(Binary::Div) => Some("/"),
            Op::Compare(by) => Some(by.symbol()),
            Op::Stack { axis: 0 } => Some("[..]"),
            Op::Index { .. } => Some("x[..]"),
            _ => Some(self.name()),
        }
    }
}

/// Writes the entries of one file: `Form "name" "signature" "meaning" "shapes" "adjoint" "example" "value";`, one
/// section a topic.
macro_rules! table {
    ($($topic:ident {
        $($form:ident $name:literal $signature:literal $meaning:literal $shapes:literal
          $adjoint:literal $example:literal $value:literal;)+
    })+) => {
        pub(super) const TABLE: &[$crate::op::OpInfo] = &[$($($crate::op::OpInfo {
            name: $name,
            form: $crate::op::Notation::$form,
            topic: $crate::op::Topic::$topic,
            signature: $signature,
            meaning: $meaning,
            shapes: $shapes,
            adjoint: $adjoint,
            example: $example,
            value: $value,
        },)+)+];
    };
}
use table;
