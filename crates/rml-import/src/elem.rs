//! The element types of the format, and what they are in the language.

use rml_ir::DType;
use rml_weights::Stored;

/// The type of a tensor's elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Elem {
    /// Numbers of that width in bits: 16, 32, 64.
    Float(u8),
    /// `bfloat16`.
    BFloat,
    /// Integers of that width in bits.
    Int(u8),
    /// Integers without a sign.
    Unsigned(u8),
    /// Truth values.
    Bool,
}

impl Elem {
    pub(crate) const F32: Elem = Elem::Float(32);
    pub(crate) const I64: Elem = Elem::Int(64);

    /// The type of a number in `TensorProto.DataType`.
    ///
    /// # Errors
    /// One that the language has nothing for.
    pub(crate) fn of(code: i32) -> Result<Elem, String> {
        Ok(match code {
            1 => Elem::F32,
            2 => Elem::Unsigned(8),
            3 => Elem::Int(8),
            4 => Elem::Unsigned(16),
            5 => Elem::Int(16),
            6 => Elem::Int(32),
            7 => Elem::I64,
            9 => Elem::Bool,
            10 => Elem::Float(16),
            11 => Elem::Float(64),
            12 => Elem::Unsigned(32),
            13 => Elem::Unsigned(64),
            16 => Elem::BFloat,
            21 => Elem::Unsigned(4),
            22 => Elem::Int(4),
            8 => return Err("texts".into()),
            14 | 15 => return Err("complex numbers".into()),
            17..=20 | 23 | 24 => return Err("numbers in 4 or 8 bits".into()),
            other => return Err(format!("of type number {other}")),
        })
    }

    /// The element type of the language.
    pub(crate) fn dtype(self) -> DType {
        match self {
            Elem::Float(_) | Elem::BFloat => DType::Num,
            Elem::Int(_) | Elem::Unsigned(_) => DType::Int,
            Elem::Bool => DType::Bool,
        }
    }

    /// Whether elements are numbers, neither integers nor truth values.
    pub(crate) fn is_num(self) -> bool {
        self.dtype() == DType::Num
    }

    /// How a file of tensors stores elements of that type.
    pub(crate) fn stored(self) -> Stored {
        match self {
            Elem::Float(16) => Stored::F16,
            Elem::Float(64) => Stored::F64,
            Elem::Float(_) => Stored::F32,
            Elem::BFloat => Stored::Bf16,
            Elem::Int(..=8) => Stored::I8,
            Elem::Int(..=16) => Stored::I16,
            Elem::Int(..=32) => Stored::I32,
            Elem::Int(_) => Stored::I64,
            Elem::Unsigned(..=8) => Stored::U8,
            Elem::Unsigned(..=16) => Stored::U16,
            Elem::Unsigned(..=32) => Stored::U32,
            Elem::Unsigned(_) => Stored::U64,
            Elem::Bool => Stored::Bool,
        }
    }

    /// The least and the largest integer of the type, as far as 64 bits have them.
    pub(crate) fn range(self) -> (i64, i64) {
        match self {
            Elem::Int(bits) if bits < 64 => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
            Elem::Unsigned(bits) if bits < 64 => (0, (1 << bits) - 1),
            Elem::Unsigned(_) => (0, i64::MAX),
            Elem::Int(_) | Elem::Float(_) | Elem::BFloat | Elem::Bool => (i64::MIN, i64::MAX),
        }
    }
}
