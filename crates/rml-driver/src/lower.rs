//! The column of passes behind the front end.

use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};
use rml_base::{Diagnostic, Diagnostics, Error};
use rml_ir::flat::{Drawn, Flat};
use rml_ir::normal;
use rml_ir::pass::{self, Keep};

use crate::front::Front;
use crate::options::{Options, root};
use crate::probe;

/// From the normal form to the flat form with all calls inlined.
pub(crate) fn back(module: normal::Module, options: &Options) -> Result<Flat, Diagnostics> {
    let mut flat = pass::inline(&rml_autodiff::differentiate(module)?)?;
    probe::probe(&mut flat, &options.probes)?;
    Ok(flat)
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
pub(crate) fn back_with_gradients(
    module: normal::Module,
    options: &Options,
) -> Result<Learning, Diagnostics> {
    let mut made = pass::inline_with_gradients(&rml_autodiff::differentiate(module)?)?;
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

/// Compiles a program as far as its static analyses need it: inlined, with every variable and every constant as written.
///
/// # Errors
/// Whatever the front end finds wrong.
pub(crate) fn inlined(front: &Front, options: &Options) -> Result<Flat, Error> {
    let flat = front
        .elaborate(options, root(options))
        .and_then(|(module, _)| pass::inline(&rml_autodiff::differentiate(pass::normalize(&module))?));
    front.fail(flat)
}

/// As [`inlined`], whatever is wrong with nodes that the one that runs does not need, and where its inputs may be constants, as they
/// may where it is called; `None` if there is an error in what it needs.
pub(crate) fn inlined_alone(front: &Front, options: &Options) -> Option<Flat> {
    let module = front.elaborate_alone(options, root(options))?;
    let module = rml_autodiff::differentiate(pass::normalize(&module)).ok()?;
    pass::inline_open(&module, &|_| true).ok()
}
