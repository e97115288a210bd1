//! From source text to a runnable program: all passes in order.
//!
//! text → syntax tree → typed → normal → differentiated → inlined (flat) → settled → folded → cone of the outputs →
//! drawn.

use rml_base::Error;

use crate::options::Options;
use crate::program::Program;
use crate::source::Source;
use crate::unit::Unit;

/// Compiles a program.
///
/// # Errors
/// All errors of the front end; a file that cannot be read.
pub fn compile(source: &Source, options: &Options) -> Result<Program, Error> {
    let _span = tracing::info_span!("compile").entered();
    Unit::new(source, options)?.program()
}
