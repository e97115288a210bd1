//! From source text to the normal form.

use rml_base::Sources;
use rml_elab::{NoFiles, Options, Root, elaborate};
use rml_ir::normal::Module;
use rml_ir::pass;

use super::P;

/// As in the embedded prelude.
pub(crate) const PRELUDE: &str = "node diff_param(init, bp, do) -> (o)
  o = init fby o1;
  o1 = o + merge bp do 0.0;
";

/// The normal form of a program; its findings where it has errors.
pub(crate) fn normal(text: &str, root: Root) -> Result<Module, String> {
    let mut sources = Sources::new();
    let main = sources.add("test", text);
    let options = Options { root, precision: P, prelude: PRELUDE, ..Options::default() };
    match elaborate(&mut sources, main, &options, &mut NoFiles) {
        (Some(module), _) => Ok(pass::normalize(&module)),
        (None, found) => Err(found.to_string()),
    }
}
