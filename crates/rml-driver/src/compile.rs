//! From source text to a runnable program: all passes in order.
//!
//! text → syntax tree → typed → normal → differentiated → inlined (flat) → settled → folded → cone of the outputs →
//! drawn.

use std::sync::Arc;

use rml_base::Error;
use rml_ir::pass;

use crate::front::Front;
use crate::lower::{Learning, back_with_gradients, runnable};
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
        let module = pass::normalize(&module);
        let mut warnings = warnings;
        warnings.extend(front.learning(&module, options.trained));
        let Learning { flat, norms, learned } = back_with_gradients(module, options)?;
        Ok((runnable(flat, options)?, norms, learned, warnings))
    });
    let (flat, gradients, learned, warnings) = front.fail(compiled)?;
    Ok(Program { gradients, learned: Arc::new(learned), ..Program::new(flat, &front, warnings) })
}
