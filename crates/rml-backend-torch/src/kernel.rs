//! The prepared form of an operator.

use rml_ir::{DType, Precision, Shape, Type};
use tch::{Device, Kind, TchError, Tensor};

use crate::watch::Watch;

/// Computes one operator from operands on the device. An operator that may fail reports to the watch.
pub(crate) type Kernel = Box<dyn Fn(&[&Tensor], &mut Watch) -> Result<Tensor, TchError> + Send + Sync>;

/// The facts about an operator that are known before any call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context<'a> {
    /// The device of the tensors.
    pub(crate) device: Device,
    /// The precision of nums.
    pub(crate) precision: Precision,
    /// The operands' types.
    pub(crate) args: &'a [&'a Type],
    /// The result's type.
    pub(crate) ty: &'a Type,
}

impl Context<'_> {
    /// Whether the first operand has ints as elements.
    pub(crate) fn is_int(&self) -> bool {
        self.args[0].dtype == DType::Int
    }

    /// The kind of the result's elements, and the device.
    pub(crate) fn options(&self) -> (Kind, Device) {
        (kind(self.ty.dtype, self.precision), self.device)
    }

    /// The result's dimensions.
    pub(crate) fn size(&self) -> Vec<i64> {
        size(&self.ty.shape)
    }
}

/// The libtorch kind of elements.
pub(crate) fn kind(dtype: DType, precision: Precision) -> Kind {
    match (dtype, precision) {
        (DType::Bool, _) => Kind::Bool,
        (DType::Int, _) => Kind::Int64,
        (DType::Num, Precision::F32) => Kind::Float,
        (DType::Num, Precision::F64) => Kind::Double,
    }
}

/// A dimension, an axis or a position as a libtorch integer.
pub(crate) fn dim(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// Dimensions as libtorch integers.
pub(crate) fn dims(dims: &[usize]) -> Vec<i64> {
    dims.iter().map(|&d| dim(d)).collect()
}

/// A shape as libtorch integers.
pub(crate) fn size(shape: &Shape) -> Vec<i64> {
    dims(shape.dims())
}

/// A kernel of one operand that cannot fail.
pub(crate) fn one(f: impl Fn(&Tensor) -> Result<Tensor, TchError> + Send + Sync + 'static) -> Kernel {
    Box::new(move |args, _| f(args[0]))
}

/// A kernel of two operands that cannot fail.
pub(crate) fn two(
    f: impl Fn(&Tensor, &Tensor) -> Result<Tensor, TchError> + Send + Sync + 'static,
) -> Kernel {
    Box::new(move |args, _| f(args[0], args[1]))
}
