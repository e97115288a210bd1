//! Verifier.
use super::Flat;

/// Checks F1 to F6; one line for each violation.
pub fn verify(flat: &Flat) -> Result<(), Vec<String>> {
    let _ = flat;
    unimplemented!()
}

/// Checks F1 to F7.
pub fn verify_initialised(flat: &Flat) -> Result<(), Vec<String>> {
    let _ = flat;
    unimplemented!()
}
