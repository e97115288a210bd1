//! Parser of the text form.
use super::Module;

/// Reads what [`print`](super::print) writes; an error names line and expectation.
pub fn parse(text: &str) -> Result<Module, String> {
    let _ = text;
    unimplemented!()
}
