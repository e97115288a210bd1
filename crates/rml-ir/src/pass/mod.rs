//! Functions from stage to stage. Each states what it requires and ensures, and ends by verifying its result in debug builds.

use rml_base::Diagnostics;

use crate::{flat::Flat, normal, typed};

/// One primitive an equation. Requires: `typed::verify`. Ensures: `normal::verify`; named variables keep their names and order.
pub fn normalize(module: &typed::Module) -> normal::Module {
    let _ = module;
    unimplemented!()
}

/// Inlines everything into the root. Requires: `normal::verify_differentiated`. Ensures: `flat::verify`.
pub fn inline(module: &normal::Module) -> Result<Flat, Diagnostics> {
    let _ = module;
    unimplemented!()
}

/// Draws all random constants. Ensures: `flat::verify_initialised`.
pub fn initialise(flat: Flat, seed: u64) -> Flat {
    let _ = (flat, seed);
    unimplemented!()
}

/// Folds constants, propagates copies, merges equal constants. Ensures: the same outputs, bit for bit.
pub fn fold(flat: Flat) -> Flat {
    let _ = flat;
    unimplemented!()
}

/// Keeps what the outputs depend on.
pub fn cone(flat: Flat) -> Flat {
    let _ = flat;
    unimplemented!()
}
