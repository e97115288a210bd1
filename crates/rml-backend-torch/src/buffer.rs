//! Tensors on the device, and copies to and from it.

use std::any::Any;
use std::fmt;

use rml_backend::{Buffer, Failure};
use rml_ir::{Data, Precision, Type, Value};
use tch::{Device, Kind, TchError, Tensor};

use crate::failure::failure;
use crate::ffi::{Shared, tensor_of};
use crate::kernel;

/// A tensor of libtorch that is never written to.
pub(crate) struct Resident {
    tensor: Shared,
    ty: Type,
}

impl Resident {
    /// A tensor and its type.
    pub(crate) fn new(tensor: Tensor, ty: Type) -> Self {
        Self { tensor: Shared::new(tensor), ty }
    }

    /// The tensor, for reading.
    pub(crate) fn tensor(&self) -> &Tensor {
        self.tensor.get()
    }
}

impl fmt::Debug for Resident {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resident").field("ty", &self.ty).finish_non_exhaustive()
    }
}

impl Buffer for Resident {
    fn ty(&self) -> &Type {
        &self.ty
    }

    fn precision(&self) -> Precision {
        match self.tensor().f_kind() {
            Ok(Kind::Double) => Precision::F64,
            _ => Precision::F32,
        }
    }

    fn download(&self) -> Result<Value, Failure> {
        download(self.tensor(), &self.ty).map_err(|e| failure(&e))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Copies a value to the device.
pub(crate) fn upload(value: &Value, device: Device) -> Result<Tensor, TchError> {
    let tensor = match value {
        Value::Bool(x) => tensor_of(&[*x], &[], Kind::Bool),
        Value::Int(x) => tensor_of(&[*x], &[], Kind::Int64),
        Value::F32(x) => tensor_of(&[*x], &[], Kind::Float),
        Value::F64(x) => tensor_of(&[*x], &[], Kind::Double),
        Value::Tensor(t) => {
            let size = kernel::size(t.shape());
            match t.data() {
                Data::Bool(v) => tensor_of(v, &size, Kind::Bool),
                Data::Int(v) => tensor_of(v, &size, Kind::Int64),
                Data::F32(v) => tensor_of(v, &size, Kind::Float),
                Data::F64(v) => tensor_of(v, &size, Kind::Double),
            }
        }
    }?;
    if device == Device::Cpu { Ok(tensor) } else { tensor.f_to(device) }
}

/// Copies a tensor of this type to the host, bit by bit.
pub(crate) fn download(tensor: &Tensor, ty: &Type) -> Result<Value, TchError> {
    fn read<T: tch::kind::Element + Copy>(tensor: &Tensor, zero: T, n: usize) -> Result<Vec<T>, TchError> {
        let mut items = vec![zero; n];
        if n > 0 {
            tensor.f_copy_data(&mut items, n)?;
        }
        Ok(items)
    }
    let n = ty.shape.len();
    let data = match tensor.f_kind()? {
        Kind::Bool => Data::Bool(read(tensor, false, n)?),
        Kind::Int64 => Data::Int(read(tensor, 0, n)?),
        Kind::Float => Data::F32(read(tensor, 0.0, n)?),
        Kind::Double => Data::F64(read(tensor, 0.0, n)?),
        other => return Err(TchError::Kind(format!("a result has elements of kind {other:?}"))),
    };
    Ok(Value::new(ty.shape.clone(), data))
}
