//! Compares constants by value, where that is cheap.

use rml_ir::flat::{ConstId, ConstKind, Flat};
use rml_ir::{Data, Shape, Value};

/// The key of a constant; two constants with the same key have the same value.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum ConstKey {
    /// All elements are one scalar, given by its type and its bits.
    Uniform(Shape, u8, u64),
    /// A constant that is only equal to itself.
    Own(ConstId),
}

impl ConstKey {
    /// The key of a scalar.
    pub(super) fn scalar(value: &Value) -> ConstKey {
        let (kind, bits) = bits(&value.to_data(), 0);
        ConstKey::Uniform(value.shape(), kind, bits)
    }
}

/// The key of a constant of a program.
pub(crate) fn const_key(flat: &Flat, k: ConstId) -> ConstKey {
    match &flat.consts[k].kind {
        ConstKind::Value(Value::Tensor(tensor)) => {
            let data = tensor.data();
            let mut elements = (0..data.len()).map(|i| bits(data, i));
            match elements.next() {
                Some((kind, first)) if elements.all(|e| e == (kind, first)) => {
                    ConstKey::Uniform(tensor.shape().clone(), kind, first)
                }
                _ => ConstKey::Own(k),
            }
        }
        ConstKind::Value(scalar) => ConstKey::scalar(scalar),
        ConstKind::Random(_) | ConstKind::Apply { .. } => ConstKey::Own(k),
    }
}

#[allow(clippy::cast_sign_loss, reason = "the bits are meant")]
fn bits(data: &Data, i: usize) -> (u8, u64) {
    match data {
        Data::Bool(v) => (0, u64::from(v[i])),
        Data::Int(v) => (1, v[i] as u64),
        Data::F32(v) => (2, u64::from(v[i].to_bits())),
        Data::F64(v) => (3, v[i].to_bits()),
    }
}
