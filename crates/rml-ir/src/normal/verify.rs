//! Verifier.
use super::Module;

/// Checks N1 to N6; one line for each violation.
pub fn verify(module: &Module) -> Result<(), Vec<String>> {
    let _ = module;
    unimplemented!()
}

/// Checks N1 to N7.
pub fn verify_differentiated(module: &Module) -> Result<(), Vec<String>> {
    let _ = module;
    unimplemented!()
}
