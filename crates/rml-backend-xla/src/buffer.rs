//! Tensors on a device.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use rml_backend::{Buffer, Failure};
use rml_ir::{DType, Data, Precision, Type, Value};

use crate::error::said;
use crate::ffi::{Client, Element, Tensor};

/// A tensor; a tensor without elements stays on the host.
pub(crate) struct Stored {
    ty: Type,
    precision: Precision,
    storage: Storage,
}

enum Storage {
    Device(Tensor),
    Host(Value),
}

impl fmt::Debug for Stored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.ty, self.precision)
    }
}

/// Copies a value with elements to the device.
pub(crate) fn upload(client: &Arc<Client>, value: &Value) -> Result<Tensor, Failure> {
    fn put<T: Element>(client: &Arc<Client>, items: &[T], dims: &[usize]) -> Result<Tensor, Failure> {
        client.upload(items, dims).map_err(|e| said(&e))
    }
    fn put_data(client: &Arc<Client>, data: &Data, dims: &[usize]) -> Result<Tensor, Failure> {
        match data {
            Data::Bool(v) => put(client, &v.iter().map(|&b| u8::from(b)).collect::<Vec<_>>(), dims),
            Data::Int(v) => put(client, v, dims),
            Data::F32(v) => put(client, v, dims),
            Data::F64(v) => put(client, v, dims),
        }
    }
    match value {
        Value::Bool(b) => put(client, &[u8::from(*b)], &[]),
        Value::Int(i) => put(client, &[*i], &[]),
        Value::F32(x) => put(client, &[*x], &[]),
        Value::F64(x) => put(client, &[*x], &[]),
        Value::Tensor(t) => put_data(client, t.data(), t.shape().dims()),
    }
}

fn elements<T: Element>(tensor: &Tensor, n: usize) -> Result<Vec<T>, Failure> {
    tensor.download(n).map_err(|e| said(&e))
}

/// A truth value on the device.
pub(crate) fn truth(tensor: &Tensor) -> Result<bool, Failure> {
    Ok(elements::<u8>(tensor, 1)?.iter().any(|t| *t != 0))
}

impl Stored {
    /// A buffer with a result of a call.
    pub(crate) fn on_device(ty: Type, precision: Precision, tensor: Tensor) -> Self {
        Self { ty, precision, storage: Storage::Device(tensor) }
    }

    /// A buffer with a copy of a value.
    pub(crate) fn of(client: &Arc<Client>, value: &Value) -> Result<Self, Failure> {
        let ty = value.ty();
        let storage = if ty.shape.is_empty() {
            Storage::Host(value.clone())
        } else {
            Storage::Device(upload(client, value)?)
        };
        Ok(Self { ty, precision: value.precision(), storage })
    }

    /// The tensor on the device, if it has elements.
    pub(crate) fn device(&self) -> Option<&Tensor> {
        match &self.storage {
            Storage::Device(buffer) => Some(buffer),
            Storage::Host(_) => None,
        }
    }
}

impl Buffer for Stored {
    fn ty(&self) -> &Type {
        &self.ty
    }

    fn precision(&self) -> Precision {
        self.precision
    }

    fn download(&self) -> Result<Value, Failure> {
        let buffer = match &self.storage {
            Storage::Host(value) => return Ok(value.clone()),
            Storage::Device(buffer) => buffer,
        };
        let n = self.ty.shape.len();
        let data = match (self.ty.dtype, self.precision) {
            (DType::Bool, _) => Data::Bool(elements::<u8>(buffer, n)?.into_iter().map(|t| t != 0).collect()),
            (DType::Int, _) => Data::Int(elements(buffer, n)?),
            (DType::Num, Precision::F32) => Data::F32(elements(buffer, n)?),
            (DType::Num, Precision::F64) => Data::F64(elements(buffer, n)?),
        };
        Ok(Value::new(self.ty.shape.clone(), data))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
