//! Parser of the text form.
use super::Flat;

/// Reads what [`print`](super::print) writes; an error names line and expectation.
pub fn parse(text: &str) -> Result<Flat, String> {
    let _ = text;
    unimplemented!()
}
