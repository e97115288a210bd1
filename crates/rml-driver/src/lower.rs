//! The passes after the front end.

use std::collections::BTreeSet;
use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};
use rml_base::{Diagnostic, Diagnostics, Span};
use rml_ir::Type;
use rml_ir::flat::{ConstKind, Drawn, Flat, Rhs, State, Var};
use rml_ir::normal::{self, Differentiated};
use rml_ir::pass::{self, Keep};

use crate::front::Front;
use crate::options::{Options, root};
use crate::probe;
use crate::source::Source;

/// From the normal form to the flat form with all calls inlined.
pub(crate) fn back(module: normal::Module, options: &Options) -> Result<Flat, Diagnostics> {
    let mut flat = pass::inline(&rml_autodiff::differentiate(module)?)?;
    probe::probe(&mut flat, &options.probes)?;
    Ok(flat)
}

/// All parameters that occur in the text of a program, by checkpoint key, with their types and the places of their
/// declarations. The place is that of `param`, also if an optimiser updates the parameter. Parameters that the outputs
/// do not need are included. Empty if the program does not compile.
pub fn declared_parameters(source: &Source, options: &Options) -> IndexMap<Arc<str>, (Type, Span)> {
    let held = source.front().ok().and_then(|front| held(front, options));
    let Some(held) = held else { return IndexMap::new() };
    let place = |(key, state): (&Arc<str>, &State)| {
        let equation = &held.equations[state.equation];
        (Arc::clone(key), (held.vars[equation.lhs].ty.clone(), equation.span))
    };
    held.states.iter().filter(|(_, state)| state.parameter).map(place).collect()
}

/// The inner variables of a node, by instance path: those that [`Options::probes`](crate::Options::probes) can name.
/// Empty if the program does not compile.
pub fn variables(source: &Source, options: &Options) -> IndexMap<Arc<str>, Type> {
    let flat = source.front().ok().and_then(|front| held(front, options));
    let vars = flat.iter().flat_map(|flat| flat.vars.iter());
    vars.filter_map(|var| Some((var.name.clone()?, var.ty.clone()))).collect()
}

/// The parameters, by checkpoint key, whose value is a single number in the program's text, and that its texts never
/// train. Empty if the program does not compile.
pub fn written_parameters(source: &Source, options: &Options) -> IndexSet<Arc<str>> {
    let Ok(front) = source.front() else { return IndexSet::new() };
    held(front, options).map_or_else(IndexSet::new, |held| written(front, &held))
}

/// As [`written_parameters`], for an inlined program.
fn written(front: &Front, inlined: &Flat) -> IndexSet<Arc<str>> {
    if front.differentiates() {
        return IndexSet::new();
    }
    let constants = inlined.equations.iter().filter_map(|e| match e.rhs {
        Rhs::Const(id) => Some((e.lhs, &inlined.consts[id])),
        _ => None,
    });
    let numbers = constants.filter(|(_, c)| c.ty.shape.is_scalar() && matches!(c.kind, ConstKind::Value(_)));
    let numbers: BTreeSet<Var> = numbers.map(|(v, _)| v).collect();
    let is_number = |state: &State| match inlined.equations[state.equation].rhs {
        Rhs::Param { init } => numbers.contains(&init),
        _ => false,
    };
    let parameters = inlined.states.iter().filter(|(_, state)| state.parameter && is_number(state));
    parameters.map(|(key, _)| Arc::clone(key)).collect()
}

/// The parameters, with their types, that a checkpoint has to supply. If a program learns none of its parameters, these
/// are all of them, unless all are [written](written_parameters) in the program.
///
/// Requires: the program that runs, without unneeded parts.
pub fn unlearned(flat: &Flat, written: impl FnOnce() -> IndexSet<Arc<str>>) -> Vec<(&Arc<str>, &Type)> {
    let parameters: Vec<_> = flat.states.iter().filter(|(_, state)| state.parameter).collect();
    let is_held = |state: &State| matches!(flat.equations[state.equation].rhs, Rhs::Param { .. });
    if parameters.is_empty() || !parameters.iter().all(|(_, state)| is_held(state)) {
        return Vec::new();
    }
    let written = written();
    if parameters.iter().all(|(key, _)| written.contains(*key)) {
        return Vec::new();
    }
    let ty = |state: &State| &flat.vars[flat.equations[state.equation].lhs].ty;
    parameters.into_iter().map(|(key, state)| (key, ty(state))).collect()
}

/// Whether a checkpoint has to supply parameters of the program that runs, which was made from an inlined program.
pub(crate) fn needs_checkpoint(front: &Front, inlined: &Flat, runs: &Flat) -> bool {
    !unlearned(runs, || written(front, inlined)).is_empty()
}

/// A program whose parameters keep their values; `None` if it does not compile.
fn held(front: &Front, options: &Options) -> Option<Flat> {
    let module = front.elaborate_alone(options, root(options)).ok()?;
    let module = rml_autodiff::differentiate(pass::normalize(&module)).ok()?;
    Some(pass::inline_held(&module).ok()?.flat)
}

/// A module compiled together with the gradients of its parameters.
pub(crate) struct Learning {
    pub(crate) flat: Flat,
    /// The outputs that are squared norms of gradients, by checkpoint key, if they were requested.
    pub(crate) norms: IndexMap<Arc<str>, usize>,
    /// The outputs that are inner variables, by name.
    pub(crate) probes: IndexMap<Arc<str>, usize>,
    /// The keys of the parameters that adjoints update.
    pub(crate) learned: IndexSet<Arc<str>>,
}

/// As [`back`], with the facts about gradients.
pub(crate) fn with_gradients(module: &Differentiated, options: &Options) -> Result<Learning, Diagnostics> {
    let mut made = pass::inline_with_gradients(module)?;
    let own = made.flat.outputs.len();
    probe::probe(&mut made.flat, &options.probes)?;
    let probes = made.flat.outputs.iter().enumerate().skip(own);
    let probes = probes.filter_map(|(at, var)| Some((made.flat.vars[*var].name.clone()?, at))).collect();
    let learned = made.gradients.keys().cloned().collect();
    if !options.gradients {
        return Ok(Learning { flat: made.flat, norms: IndexMap::new(), probes, learned });
    }
    let (flat, norms) = pass::show_norms(made);
    Ok(Learning { flat, norms, probes, learned })
}

/// Lowers the inlined form to the program that runs.
pub(crate) fn runnable(inlined: Flat, options: &Options) -> Result<Drawn, Diagnostic> {
    pass::draw(pass::lower(inlined, keep(options)), options.seed)
}

/// The variables that the options require.
pub(crate) fn keep(options: &Options) -> Keep {
    if options.all_vars { Keep::All } else { Keep::Needed }
}
