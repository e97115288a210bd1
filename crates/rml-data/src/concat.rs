//! Concatenates elements.

use rml_ir::Precision;

use crate::builder::exact;
use crate::columns::Elements;

/// Concatenates elements in a type that can represent all of them; `None` if there is no such type.
pub(crate) fn joined(first: Elements, second: Elements) -> Option<Elements> {
    use Elements::{Bool, F32, F64, Int};
    Some(match (first, second) {
        (Bool(mut a), Bool(b)) => {
            a.extend(b);
            Bool(a)
        }
        (Int(mut a), Int(b)) => {
            a.extend(b);
            Int(a)
        }
        (F32(mut a), F32(b)) => {
            a.extend(b);
            F32(a)
        }
        (Bool(_), _) | (_, Bool(_)) => return None,
        (a, b) => {
            let mut a = doubles(a)?;
            a.extend(doubles(b)?);
            F64(a)
        }
    })
}

/// The same numbers in double precision; `None` if it cannot represent one of them.
fn doubles(elements: Elements) -> Option<Vec<f64>> {
    match elements {
        Elements::Bool(_) => None,
        Elements::Int(v) => v.into_iter().map(|x| exact(x, Precision::F64)).collect(),
        Elements::F32(v) => Some(v.into_iter().map(f64::from).collect()),
        Elements::F64(v) => Some(v),
    }
}
