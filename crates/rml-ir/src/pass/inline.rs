//! x
use crate::flat::Flat;
/// x
pub fn inline(_m: &crate::normal::Module) -> Result<Flat, rml_base::Diagnostics> {
    unimplemented!()
}
