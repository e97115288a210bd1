//! From source text to a program that can run: the column of passes.
//!
//! text → syntax tree → typed → normal → differentiated → inlined (flat) → settled → folded → cone of the outputs → drawn.

use rml_base::Error;
use rml_ir::pass;

use crate::front::Front;
use crate::lower::{back_with_gradients, runnable};
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
        let (flat, gradients) = back_with_gradients(pass::normalize(&module), options)?;
        Ok((runnable(flat, options)?, gradients, warnings))
    });
    let (flat, gradients, warnings) = front.fail(compiled)?;
    Ok(Program { gradients, ..Program::new(flat, &front, warnings) })
}
