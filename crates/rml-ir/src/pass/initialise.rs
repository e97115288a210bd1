//! Draws the random constants of a flat program.

use rml_base::{Diagnostic, Span, memory};

use super::fold::{fold_behind, initial_values};
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
            ask(&flat, id, 0)?;
            let value = draw(distribution, &constant.ty, flat.precision, seed, &key);
            flat.consts[id].kind = ConstKind::Value(value);
        }
    }
    let inits = initial_values(&flat).collect();
    fold_behind(&mut flat, inits);
    super::checked("initialise", || verify_initialised(&flat));
    Ok(flat)
}

/// Asks for the memory that all draws take together.
///
/// # Errors
/// It is more than is allowed.
pub(super) fn ask_for_draws(flat: &Flat) -> Result<(), Diagnostic> {
    let mut kept = 0_u64;
    for id in flat.random_keys.keys() {
        ask(flat, *id, kept)?;
        kept = kept.saturating_add(flat.consts[*id].ty.bytes(flat.precision));
    }
    Ok(())
}

/// Asks for the memory of one draw beside so many bytes.
fn ask(flat: &Flat, id: ConstId, kept: u64) -> Result<(), Diagnostic> {
    let constant = &flat.consts[id];
    let ConstKind::Random(distribution) = &constant.kind else { return Ok(()) };
    let bytes = draw_bytes(distribution, &constant.ty, flat.precision);
    memory::ask(bytes.saturating_add(kept)).map_err(|short| {
        let d = short.diagnostic("drawing an initial value");
        let what = format!("this is {}", constant.ty);
        match place(flat, id) {
            Some(span) => d.label(span, what),
            None => d.note(what),
        }
    })
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
