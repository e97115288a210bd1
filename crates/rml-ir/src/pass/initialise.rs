//! Draws the random constants of a flat program.

use rml_base::{Diagnostic, Span, memory};

use super::fold::fold_behind;
use crate::flat::{ConstId, ConstKind, Flat, Init, Rhs, verify_initialised};
use crate::random::{draw, draw_bytes};

/// Draws every random constant from the seed and its key, and computes what initial values of parameters are
/// made of, so that a parameter starts from a constant wherever the program gives one.
///
/// Requires: `flat::verify`. Ensures: `flat::verify_initialised`; variables, equations' ids and states are
/// unchanged.
///
/// # Errors
/// If a draw would take more memory than is allowed.
pub fn initialise(mut flat: Flat, seed: u64) -> Result<Flat, Diagnostic> {
    let _span = tracing::debug_span!("initialise", seed, random = flat.random_keys.len()).entered();
    for (id, key) in std::mem::take(&mut flat.random_keys) {
        let constant = &flat.consts[id];
        if let ConstKind::Random(distribution) = &constant.kind {
            memory::ask(draw_bytes(distribution, &constant.ty, flat.precision)).map_err(|short| {
                let d = short.diagnostic("drawing an initial value");
                let what = format!("this is {}", constant.ty);
                match place(&flat, id) {
                    Some(span) => d.label(span, what),
                    None => d.note(what),
                }
            })?;
            let value = draw(distribution, &constant.ty, flat.precision, seed, &key);
            flat.consts[id].kind = ConstKind::Value(value);
        }
    }
    let inits =
        flat.equations.iter().filter_map(|e| if let Rhs::Param { init } = e.rhs { Some(init) } else { None });
    let inits: Vec<_> = inits.collect();
    fold_behind(&mut flat, &inits);
    super::checked("initialise", || verify_initialised(&flat));
    Ok(flat)
}

/// Where a constant stands.
fn place(flat: &Flat, id: ConstId) -> Option<Span> {
    let reads = |rhs: &Rhs| match rhs {
        Rhs::Const(k) => *k == id,
        Rhs::Fby { init: Init::Const(k), .. } | Rhs::FbyBack { init: Init::Const(k), .. } => *k == id,
        _ => false,
    };
    flat.equations.iter().find(|eq| reads(&eq.rhs)).map(|eq| eq.span)
}
