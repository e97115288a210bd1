//! The passes after the front end.

use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};
use rml_base::{Diagnostic, Diagnostics, Span};
use rml_ir::flat::{ConstKind, Drawn, Flat, Rhs, State};
use rml_ir::normal::{self, Differentiated};
use rml_ir::pass::{self, Keep};

use crate::front::differentiates;
use crate::options::{Options, root};
use crate::probe;
use crate::source::Source;

/// From the normal form to the flat form with all calls inlined.
pub(crate) fn back(module: normal::Module, options: &Options) -> Result<Flat, Diagnostics> {
    let mut flat = pass::inline(&rml_autodiff::differentiate(module)?)?;
    probe::probe(&mut flat, &options.probes)?;
    Ok(flat)
}

/// Where the parameters of a program are declared, by checkpoint key: a parameter that is trained is held by an
/// equation of its optimiser. Empty if the program does not compile.
pub fn parameter_places(source: &Source, options: &Options) -> IndexMap<Arc<str>, Span> {
    let Some(held) = held(source, options) else { return IndexMap::new() };
    let place = |(key, state): (&Arc<str>, &State)| (Arc::clone(key), held.equations[state.equation].span);
    held.states.iter().filter(|(_, state)| state.parameter).map(place).collect()
}

/// The parameters, by checkpoint key, whose value is a single number that the program writes down and that nothing in
/// its texts trains. None if the program does not compile.
pub fn written_parameters(source: &Source, options: &Options) -> IndexSet<Arc<str>> {
    let Some(held) = held(source, options).filter(|_| !differentiates(source)) else {
        return IndexSet::new();
    };
    let is_number = |state: &&State| {
        let Rhs::Param { init } = held.equations[state.equation].rhs else { return false };
        let initial = held.equations.iter().find(|e| e.lhs == init).map(|e| &e.rhs);
        let constant = if let Some(Rhs::Const(id)) = initial { Some(&held.consts[*id]) } else { None };
        constant.is_some_and(|c| c.ty.shape.is_scalar() && matches!(c.kind, ConstKind::Value(_)))
    };
    let parameters = held.states.iter().filter(|(_, state)| state.parameter);
    parameters.filter(|(_, state)| is_number(state)).map(|(key, _)| Arc::clone(key)).collect()
}

/// A program whose parameters keep their values; `None` if it does not compile.
fn held(source: &Source, options: &Options) -> Option<Flat> {
    let front = source.front().ok()?;
    let module = front.elaborate_alone(options, root(options)).ok()?;
    let module = rml_autodiff::differentiate(pass::normalize(&module)).ok()?;
    Some(pass::inline_held(&module).ok()?.flat)
}

/// What is made of a module with the gradients of its parameters.
pub(crate) struct Learning {
    pub(crate) flat: Flat,
    /// By checkpoint key, which outputs are the squared norms of gradients, if they are asked for.
    pub(crate) norms: IndexMap<Arc<str>, usize>,
    /// The keys of the parameters that adjoints update.
    pub(crate) learned: IndexSet<Arc<str>>,
}

/// As [`back`], with what is known of gradients.
pub(crate) fn with_gradients(module: &Differentiated, options: &Options) -> Result<Learning, Diagnostics> {
    let mut made = pass::inline_with_gradients(module)?;
    probe::probe(&mut made.flat, &options.probes)?;
    let learned = made.gradients.keys().cloned().collect();
    if !options.gradients {
        return Ok(Learning { flat: made.flat, norms: IndexMap::new(), learned });
    }
    let (flat, norms) = pass::show_norms(made);
    Ok(Learning { flat, norms, learned })
}

/// From the inlined form to what runs.
pub(crate) fn runnable(inlined: Flat, options: &Options) -> Result<Drawn, Diagnostic> {
    pass::draw(pass::lower(inlined, keep(options)), options.seed)
}

/// Which variables the options ask for.
pub(crate) fn keep(options: &Options) -> Keep {
    if options.all_vars { Keep::All } else { Keep::Needed }
}
