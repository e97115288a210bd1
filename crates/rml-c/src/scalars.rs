//! Operators of scalars as C expressions, also for programs that other crates print.

use rml_ir::op::Op;
use rml_ir::{DType, Precision};

use crate::Math;
use crate::exprs::pointwise;
use crate::prelude::Prelude;

/// Prints operators of scalars as C, with the bits of `rml`, and records which functions the text calls.
///
/// The text expects `stdint.h`, `stdbool.h` and `math.h`, the type `num`, the numbers `RML_INFINITY` and `RML_NAN`, and
/// a variable `bool bad`, which becomes true if an operator fails.
///
/// ```
/// use rml_c::Scalars;
/// use rml_ir::op::{Binary, Op, Unary};
/// use rml_ir::{DType, Precision};
///
/// let c = Scalars::new(Precision::F32);
/// let sum = c.apply(&Op::Binary(Binary::Add), DType::Num, &["x".into(), "y".into()]);
/// assert_eq!(sum, "(x + y)");
/// assert_eq!(c.apply(&Op::Unary(Unary::Tanh), DType::Num, &[sum]), "rml_tanh((x + y))");
/// assert!(c.text().contains("rml_tanh(num x)"));
/// ```
#[derive(Debug)]
pub struct Scalars(Prelude);

impl Scalars {
    /// Operators for numbers of a precision.
    pub fn new(precision: Precision) -> Self {
        Self::with(precision, Math::Own)
    }

    /// The same, with elementary functions from `math`.
    pub(crate) fn with(precision: Precision, math: Math) -> Self {
        Self(Prelude::new(precision, math))
    }

    /// The product of two nums added to a third one, with one rounding. A product with 1 is exact.
    pub(crate) fn added(&self, [a, b]: [&str; 2], sum: &str) -> String {
        let is_one = |x: &str| matches!(x, "1.0f" | "1.0");
        match (is_one(a), is_one(b)) {
            (true, _) => format!("{sum} + {b}"),
            (_, true) => format!("{sum} + {a}"),
            (false, false) => format!("{}({a}, {b}, {sum})", self.function("rml_fma")),
        }
    }

    /// Whether the text needs `math.h`.
    pub(crate) fn needs_library(&self) -> bool {
        self.0.needs_library()
    }

    /// A [pointwise](Op::is_pointwise) operator of expressions, the last of which has the type `dtype`.
    ///
    /// # Panics
    /// The operator is not pointwise.
    pub fn apply(&self, op: &Op, dtype: DType, args: &[String]) -> String {
        pointwise(op, dtype, args, &self.0)
    }

    /// The function of the library with this name, `rml_add` for example, which is then part of the text.
    ///
    /// # Panics
    /// There is no function with this name.
    pub fn function(&self, name: &str) -> &'static str {
        self.0.helper(name)
    }

    /// The functions that were called so far, each after those that it calls.
    pub fn text(&self) -> String {
        self.0.text()
    }
}
