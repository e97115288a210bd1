//! Text form.
use super::Flat;

/// The flat as text.
pub fn print(flat: &Flat) -> String {
    let _ = flat;
    unimplemented!()
}
