//! Tensors on a device.

use std::any::Any;
use std::fmt;

use rml_backend::{Buffer, Failure};
use rml_ir::{DType, Data, Precision, Type, Value};
use xla::{ArrayElement, ElementType, PjRtBuffer, PjRtClient};

use crate::error::failure;

/// A tensor; one without elements stays on the host.
pub(crate) struct Stored {
    ty: Type,
    precision: Precision,
    storage: Storage,
}

enum Storage {
    Device(PjRtBuffer),
    Host(Value),
}

impl fmt::Debug for Stored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.ty, self.precision)
    }
}

/// A truth value as the device stores it.
#[derive(Clone, Copy)]
struct Truth(u8);

impl ArrayElement for Truth {
    const TY: ElementType = ElementType::Pred;
    const ELEMENT_SIZE_IN_BYTES: usize = 1;
    const ZERO: Self = Truth(0);
}

/// Copies a value with elements to the device.
pub(crate) fn upload(client: &PjRtClient, value: &Value) -> Result<PjRtBuffer, Failure> {
    fn put<T: ArrayElement>(client: &PjRtClient, items: &[T], dims: &[usize]) -> Result<PjRtBuffer, Failure> {
        client.buffer_from_host_buffer(items, dims, None).map_err(|e| failure(&e))
    }
    fn put_data(client: &PjRtClient, data: &Data, dims: &[usize]) -> Result<PjRtBuffer, Failure> {
        match data {
            Data::Bool(v) => put(client, &v.iter().map(|&b| Truth(u8::from(b))).collect::<Vec<_>>(), dims),
            Data::Int(v) => put(client, v, dims),
            Data::F32(v) => put(client, v, dims),
            Data::F64(v) => put(client, v, dims),
        }
    }
    match value {
        Value::Bool(b) => put(client, &[Truth(u8::from(*b))], &[]),
        Value::Int(i) => put(client, &[*i], &[]),
        Value::F32(x) => put(client, &[*x], &[]),
        Value::F64(x) => put(client, &[*x], &[]),
        Value::Tensor(t) => put_data(client, t.data(), t.shape().dims()),
    }
}

fn elements<T: ArrayElement>(buffer: &PjRtBuffer, n: usize) -> Result<Vec<T>, Failure> {
    let mut items = vec![T::ZERO; n];
    buffer.copy_raw_to_host_sync(&mut items, 0).map_err(|e| failure(&e))?;
    Ok(items)
}

/// A truth value on the device.
pub(crate) fn truth(buffer: &PjRtBuffer) -> Result<bool, Failure> {
    Ok(elements::<Truth>(buffer, 1)?.iter().any(|t| t.0 != 0))
}

impl Stored {
    /// A result of a call.
    pub(crate) fn on_device(ty: Type, precision: Precision, buffer: PjRtBuffer) -> Self {
        Self { ty, precision, storage: Storage::Device(buffer) }
    }

    /// A copy of a value.
    pub(crate) fn of(client: &PjRtClient, value: &Value) -> Result<Self, Failure> {
        let ty = value.ty();
        let storage = if ty.shape.is_empty() {
            Storage::Host(value.clone())
        } else {
            Storage::Device(upload(client, value)?)
        };
        Ok(Self { ty, precision: value.precision(), storage })
    }

    /// Where it is on the device, if it has elements.
    pub(crate) fn device(&self) -> Option<&PjRtBuffer> {
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
            (DType::Bool, _) => {
                Data::Bool(elements::<Truth>(buffer, n)?.into_iter().map(|t| t.0 != 0).collect())
            }
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
