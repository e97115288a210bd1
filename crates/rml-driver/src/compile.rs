//! From source text to a program that can run: the column of passes.
//!
//! text → syntax tree → typed → normal → differentiated → inlined (flat) → settled → folded → cone of the outputs → drawn.

use std::sync::Arc;

use indexmap::IndexMap;
use rml_base::Error;
use rml_ir::{Type, pass};

use crate::front::Front;
use crate::lower::{back, runnable};
use crate::options::{Options, root};
use crate::program::Program;
use crate::source::Source;

/// Compiles a program.
///
/// # Errors
/// Whatever the front end finds wrong, all of it; a file that cannot be read.
pub fn compile(source: &Source, options: &Options) -> Result<Program, Error> {
    let _span = tracing::info_span!("compile").entered();
    let front = Front::new(source)?;
    let compiled = front.elaborate(options, root(options)).and_then(|(module, warnings)| {
        let flat = runnable(back(pass::normalize(&module), options)?, options)?;
        Ok((flat, warnings))
    });
    let (flat, warnings) = front.fail(compiled)?;
    Ok(Program::new(flat, &front, warnings))
}

/// The types of the run node's outputs by name, which the typed stage knows.
///
/// # Errors
/// As [`compile`], as far as the typed stage finds out.
pub fn output_types(source: &Source, options: &Options) -> Result<IndexMap<Arc<str>, Type>, Error> {
    let front = Front::new(source)?;
    let (module, _) = front.fail(front.elaborate(options, root(options)))?;
    let node = &module.nodes[module.root];
    let outputs = node.outputs.iter().map(|&v| &node.vars[v]);
    Ok(outputs.filter_map(|v| Some((v.name.clone()?, v.ty.clone()))).collect())
}
