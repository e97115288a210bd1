//! Imports at scale.

mod common;

use rml_base::Sources;
use rml_elab::{Loader, elaborate};

/// Files `f1`, `f2`, .. up to `f<n>`, each importing the next.
struct Chain(usize);

impl Loader for Chain {
    fn load(&mut self, _importing: &str, path: &str) -> Result<(String, String), String> {
        let i: usize = path.trim_start_matches('f').parse().map_err(|_| "no such file".to_owned())?;
        let next = if i < self.0 { format!("import \"f{}\";\n", i + 1) } else { String::new() };
        Ok((path.to_owned(), format!("{next}node g{i}(x: num []) -> (y) y = x;\n")))
    }
}

#[test]
fn no_chain_of_imports_is_too_long() {
    let mut sources = Sources::new();
    let main = sources.add("main.rml", "import \"f1\";\nnode main(x: num []) -> (y) y = g1(x);\n");
    let (module, diagnostics) = elaborate(&mut sources, main, &common::options(), &mut Chain(20_000));
    assert!(module.is_some(), "{diagnostics}");
}
