//! Element types, shapes and the types of streams (TYPE-1, TYPE-2). All are concrete: elaboration has chosen every
//! dimension.

use std::fmt;

use rml_base::memory::{UNCOUNTABLE, bytes_of};
use smallvec::SmallVec;

/// The element type of a stream.
///
/// ```
/// # use rml_ir as rml;
/// use rml::{DType, Precision};
///
/// assert_eq!(DType::Num.size(Precision::F64), 8);
/// assert_eq!(DType::Bool.to_string(), "bool");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum DType {
    /// Truth values.
    Bool,
    /// 64-bit signed integers; overflow is an error.
    Int,
    /// Differentiable numbers, stored in the module's [`Precision`].
    Num,
}

impl DType {
    /// How many bytes an element takes in memory.
    pub fn size(self, precision: Precision) -> usize {
        match (self, precision) {
            (DType::Bool, _) => 1,
            (DType::Num, Precision::F32) => 4,
            (DType::Int, _) | (DType::Num, Precision::F64) => 8,
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DType::Bool => "bool",
            DType::Int => "int",
            DType::Num => "num",
        })
    }
}

/// How `num` is stored and computed.
///
/// ```
/// # use rml_ir as rml;
/// use rml::{DType, Precision};
///
/// assert_eq!(Precision::default(), Precision::F32);
/// assert_eq!(DType::Num.size(Precision::F32), 4);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Precision {
    /// 32-bit floating point, the default.
    #[default]
    F32,
    /// 64-bit floating point.
    F64,
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Precision::F32 => "f32",
            Precision::F64 => "f64",
        })
    }
}

/// The dimensions of a tensor, outermost first; empty for a scalar. Prints as `[2, 3]`.
///
/// ```
/// # use rml_ir as rml;
/// use rml::Shape;
///
/// let shape = Shape::new(&[2, 3]);
/// assert_eq!((shape.rank(), shape.len()), (2, 6));
/// assert_eq!(shape.broadcast(&Shape::new(&[3])), Some(shape));
/// assert_eq!(Shape::new(&[2]).broadcast(&Shape::new(&[3])), None);
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Shape(SmallVec<[usize; 4]>);

impl Shape {
    /// The shape of a scalar.
    pub fn scalar() -> Self {
        Self::default()
    }

    /// The shape with those dimensions.
    pub fn new(dims: &[usize]) -> Self {
        Self(SmallVec::from_slice(dims))
    }

    /// The dimensions.
    pub fn dims(&self) -> &[usize] {
        &self.0
    }

    /// How many dimensions.
    pub fn rank(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no dimension.
    pub fn is_scalar(&self) -> bool {
        self.0.is_empty()
    }

    /// How many elements there would be if each dimension of 0 were 1; `None` if a `usize` does not hold the number.
    /// Whatever walks the dimensions takes at most that many steps, also where there is no element, and no reordering
    /// of the axes changes it.
    pub fn extent(&self) -> Option<usize> {
        self.0.iter().filter(|&&d| d != 0).try_fold(1_usize, |n, &d| n.checked_mul(d))
    }

    /// How many elements; `None` if there is no [`extent`](Self::extent).
    pub fn checked_len(&self) -> Option<usize> {
        self.extent().map(|extent| if self.is_empty() { 0 } else { extent })
    }

    /// How many elements (elaboration bounds shapes, so this does not overflow there).
    pub fn len(&self) -> usize {
        self.0.iter().product()
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.0.contains(&0)
    }

    /// The shape both operands of a pointwise operator are brought to: NumPy's rule, dimensions are equal, 1, or
    /// missing on the left. `None` if they do not fit.
    pub fn broadcast(&self, other: &Shape) -> Option<Shape> {
        let rank = self.rank().max(other.rank());
        let at = |s: &Shape, i: usize| (i + s.rank()).checked_sub(rank).map_or(1, |k| s.0[k]);
        (0..rank)
            .map(|i| match (at(self, i), at(other, i)) {
                (a, b) if a == b => Some(a),
                (1, b) => Some(b),
                (a, 1) => Some(a),
                _ => None,
            })
            .collect::<Option<SmallVec<_>>>()
            .map(Shape)
    }
}

impl FromIterator<usize> for Shape {
    fn from_iter<T: IntoIterator<Item = usize>>(dims: T) -> Self {
        Self(dims.into_iter().collect())
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (i, d) in self.0.iter().enumerate() {
            write!(f, "{}{d}", if i > 0 { ", " } else { "" })?;
        }
        f.write_str("]")
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The type of a stream: what each present value is. Prints as `num [2, 3]`.
///
/// ```
/// # use rml_ir as rml;
/// use rml::{DType, Precision, Type};
///
/// let ty = Type::new(DType::Num, &[32, 10]);
/// assert_eq!(ty.to_string(), "num [32, 10]");
/// assert_eq!(ty.bytes(Precision::F32), 1280);
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Type {
    /// Element type.
    pub dtype: DType,
    /// Dimensions.
    pub shape: Shape,
}

impl Type {
    /// The type of those elements and dimensions.
    pub fn new(dtype: DType, dims: &[usize]) -> Self {
        Self { dtype, shape: Shape::new(dims) }
    }

    /// A scalar type.
    pub fn scalar(dtype: DType) -> Self {
        Self { dtype, shape: Shape::scalar() }
    }

    /// `bool []`, the type of conditions.
    pub fn condition() -> Self {
        Self::scalar(DType::Bool)
    }

    /// How many bytes of memory a value counts for: its elements', each dimension of 0 taken as 1.
    pub fn bytes(&self, precision: Precision) -> u64 {
        self.shape.extent().map_or(UNCOUNTABLE, |n| bytes_of(n, self.dtype.size(precision)))
    }

    /// Whether gradients flow through it.
    pub fn is_num(&self) -> bool {
        self.dtype == DType::Num
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.dtype, self.shape)
    }
}

impl fmt::Debug for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dimension_of_zero_hides_no_overflow_wherever_it_stands() {
        let huge = 1_usize << 40;
        assert_eq!(Shape::new(&[0, huge, huge]).checked_len(), None);
        assert_eq!(Shape::new(&[huge, huge, 0]).checked_len(), None);
        assert_eq!(Shape::new(&[3, 0, 5]).checked_len(), Some(0));
        assert_eq!(Shape::scalar().checked_len(), Some(1));
        assert_eq!(Shape::new(&[3, 0, 5]).extent(), Some(15));
    }

    #[test]
    fn bytes_of_values() {
        assert_eq!(Type::new(DType::Num, &[3, 5]).bytes(Precision::F32), 60);
        assert_eq!(Type::new(DType::Num, &[3, 0]).bytes(Precision::F64), 24);
        assert_eq!(Type::scalar(DType::Bool).bytes(Precision::F64), 1);
        assert_eq!(Type::new(DType::Int, &[1 << 62, 4]).bytes(Precision::F32), UNCOUNTABLE);
        assert_eq!(Type::new(DType::Int, &[1 << 62, 2]).bytes(Precision::F32), UNCOUNTABLE);
    }
}
