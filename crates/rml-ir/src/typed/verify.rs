//! Verifier.
use super::Module;

/// Checks T1 to T6; one line for each violation.
pub fn verify(module: &Module) -> Result<(), Vec<String>> {
    let _ = module;
    unimplemented!()
}
