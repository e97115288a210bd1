//! Draws the random constants of a flat program.

use super::fold::fold_behind;
use crate::flat::{ConstKind, Flat, Rhs, verify_initialised};
use crate::random::draw;

/// Draws every random constant from the seed and its key, and computes what initial values of parameters are
/// made of, so that a parameter starts from a constant wherever the program gives one.
///
/// Requires: `flat::verify`. Ensures: `flat::verify_initialised`; variables, equations' ids and states are
/// unchanged.
pub fn initialise(mut flat: Flat, seed: u64) -> Flat {
    let _span = tracing::debug_span!("initialise", seed, random = flat.random_keys.len()).entered();
    for (id, key) in std::mem::take(&mut flat.random_keys) {
        let constant = &mut flat.consts[id];
        if let ConstKind::Random(distribution) = &constant.kind {
            let value = draw(distribution, &constant.ty, flat.precision, seed, &key);
            constant.kind = ConstKind::Value(value);
        }
    }
    let inits =
        flat.equations.iter().filter_map(|e| if let Rhs::Param { init } = e.rhs { Some(init) } else { None });
    let inits: Vec<_> = inits.collect();
    fold_behind(&mut flat, &inits);
    super::checked("initialise", || verify_initialised(&flat));
    flat
}
