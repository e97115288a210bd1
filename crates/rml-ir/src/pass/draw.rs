//! Draws the random constants of a flat program, and computes the constants that depend on them.

use rml_base::memory::{self, Shortage};
use rml_base::{Diagnostic, EntityId, IndexVec, Span};

use super::cone::restrict_constants;
use crate::check::checked;
use crate::flat::{ConstId, ConstKind, Constant, Drawn, Flat, verify};
use crate::op::{EvalError, eval};
use crate::random::{draw as draw_constant, draw_bytes};
use crate::value::Value;

/// Gives every constant its value: random ones are drawn from the seed and their key, applied ones computed in order.
///
/// Requires: `flat::verify`. Ensures: variables, equations and states are as before. Constants that no equation names
/// are dropped.
///
/// # Errors
/// If a constant would take more memory than is allowed.
pub fn draw(mut flat: Flat, seed: u64) -> Result<Drawn, Diagnostic> {
    let _span = tracing::debug_span!("draw", seed, random = flat.random_keys.len()).entered();
    let mut values: IndexVec<ConstId, Value> = IndexVec::new();
    for (id, constant) in flat.consts.iter_enumerated() {
        values.push(match &constant.kind {
            ConstKind::Value(value) => value.clone(),
            ConstKind::Random(distribution) => {
                ask(&flat, id, 0)?;
                let key = &flat.random_keys[&id];
                draw_constant(distribution, &constant.ty, flat.precision, seed, key)
            }
            ConstKind::Apply { op, args } => {
                let operands: Vec<&Value> = args.iter().map(|arg| &values[*arg]).collect();
                match eval(op, &operands, flat.precision) {
                    Ok(value) => value,
                    Err(EvalError::Memory(shortage)) => return Err(short(&flat, id, &shortage)),
                    Err(e) => unreachable!("F7: `{op}` cannot fail, but {e}"),
                }
            }
        });
    }
    flat.random_keys.clear();
    for (id, value) in values.into_vec().into_iter().enumerate() {
        flat.consts[ConstId::from_index(id)].kind = ConstKind::Value(value);
    }
    Ok(Drawn::made("draw", restrict_constants(flat)))
}

/// Asks for the memory that all draws take together.
///
/// Requires: `flat::verify`.
///
/// # Errors
/// It is more than is allowed.
pub fn ask_for_draws(flat: &Flat) -> Result<(), Diagnostic> {
    checked("ask_for_draws", || verify(flat));
    let mut kept = 0_u64;
    for id in flat.random_keys.keys() {
        ask(flat, *id, kept)?;
        kept = kept.saturating_add(flat.consts[*id].ty.bytes(flat.precision));
    }
    Ok(())
}

/// Asks for the memory of one draw beside that many bytes.
fn ask(flat: &Flat, id: ConstId, kept: u64) -> Result<(), Diagnostic> {
    let constant = &flat.consts[id];
    let ConstKind::Random(distribution) = &constant.kind else { return Ok(()) };
    let bytes = draw_bytes(distribution, &constant.ty, flat.precision);
    memory::ask(bytes.saturating_add(kept)).map_err(|shortage| short(flat, id, &shortage))
}

/// The error that there is not enough memory for a constant.
fn short(flat: &Flat, id: ConstId, shortage: &Shortage) -> Diagnostic {
    let Constant { ty, kind, .. } = &flat.consts[id];
    let d = shortage.diagnostic(match kind {
        ConstKind::Random(_) => "drawing an initial value",
        ConstKind::Value(_) | ConstKind::Apply { .. } => "computing an initial value",
    });
    let what = format!("this is {ty}");
    match place(flat, id) {
        Some(span) => d.label(span, what),
        None => d.note(what),
    }
}

/// Where a constant, or the first one that is computed from it, stands.
fn place(flat: &Flat, id: ConstId) -> Option<Span> {
    let mut uses = IndexVec::filled(false, flat.consts.len());
    uses[id] = true;
    for (id, constant) in flat.consts.iter_enumerated() {
        let is_used = constant.operands().iter().any(|arg| uses[*arg]);
        uses[id] |= is_used;
    }
    let of = flat.equations.iter().find(|e| e.rhs.constant() == Some(id));
    let of = of.or_else(|| flat.equations.iter().find(|e| e.rhs.constant().is_some_and(|k| uses[k])));
    of.map(|e| e.span)
}
