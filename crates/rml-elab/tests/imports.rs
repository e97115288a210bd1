//! Imports at scale.

mod common;

use rml_base::Sources;
use rml_elab::{Loader, NotLoaded, elaborate};

/// Files `f1`, `f2`, .. up to `f<n>`, each of which imports the next one.
struct Chain(usize);

impl Loader for Chain {
    fn load(&mut self, _importing: &str, path: &str) -> Result<(String, String), NotLoaded> {
        let i: usize = path.trim_start_matches('f').parse().map_err(|_| "no such file")?;
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

/// Files by name.
struct Files(&'static [(&'static str, &'static str)]);

impl Loader for Files {
    fn load(&mut self, _importing: &str, path: &str) -> Result<(String, String), NotLoaded> {
        let found = self.0.iter().find(|(name, _)| *name == path).ok_or("no such file")?;
        Ok((path.to_owned(), found.1.to_owned()))
    }
}

/// The types of the outputs of `main`, and the codes of all findings.
fn outputs(main: &str, files: &'static [(&'static str, &'static str)]) -> (Vec<String>, Vec<&'static str>) {
    let mut sources = Sources::new();
    let main = sources.add("main.rml", main);
    let (module, found) = elaborate(&mut sources, main, &common::options(), &mut Files(files));
    let module = module.unwrap_or_else(|| panic!("{found}"));
    (common::outputs(&module), found.iter().map(|d| d.code.name).collect())
}

const CELLS: &[(&str, &str)] = &[
    (
        "cells",
        "private node step(x) -> (o) o = concat(x, x);\nnode cell(x) -> (o) o = step(step(x));\n\
         node diff_param(init, bp, do) -> (o) o = init fby o + merge bp do 0.0;\n",
    ),
    ("others", "node step(x) -> (o) o = concat(x, [1.0]);\nnode cell(x) -> (o) o = step(x);\n"),
];

#[test]
fn names_and_prefixes_tell_imported_nodes_apart() {
    let (types, found) = outputs(
        "import \"cells\" (cell as big);\nimport \"others\" as others;\nimport \"others\" (cell);\n\
         node main(x: num [2]) -> (a, b, c, d, e)\n  a = big(x);\n  b = others.cell(x);\n  c = cell(x);\n\
         d = merge true others.step(x) (big(x)[0:3]);\n\
         e, _ = others.diff_cell(x, true, [1.0, 1.0, 1.0]);\n",
        CELLS,
    );
    assert_eq!(types, ["num [8]", "num [3]", "num [3]", "num [3]", "num [3]"]);
    assert!(found.is_empty(), "{found:?}");
}

/// A private node neither hides nor conflicts with a node of the same name in another file.
#[test]
fn private_nodes_stay_out_of_the_way() {
    let (types, found) = outputs(
        "import \"cells\";\nimport \"others\" (step);\nnode main(x: num [2]) -> (a, b)\n  a = cell(x);\n  b = step(x);\n",
        CELLS,
    );
    assert_eq!(types, ["num [8]", "num [3]"]);
    assert!(found.is_empty(), "{found:?}");
}

/// `diff_<alias>` replaces the adjoint of a node that is imported under another name.
#[test]
fn an_override_goes_by_the_name_in_the_main_file() {
    let mut sources = Sources::new();
    let main = "import \"others\" (cell as unit);\n\
                node diff_unit(x, bp, do) -> (o, dx)\n  o = unit(x);\n  dx = do[0:2];\n\
                node main(x: num [2]) -> (a, dx)\n  a, dx = diff_net(x, true, [1.0, 1.0, 1.0]);\n\
                node net(x) -> (o)\n  o = unit(x);\n";
    let main = sources.add("main.rml", main);
    let (module, found) = elaborate(&mut sources, main, &common::options(), &mut Files(CELLS));
    let module = module.unwrap_or_else(|| panic!("{found}"));
    let names: Vec<_> = module.overrides.values().map(|id| module.nodes[*id].name.to_string()).collect();
    assert_eq!(names, ["diff_unit"]);
}

/// No warning says that an import is unused if it brings something that takes effect without being named.
#[test]
fn unused_imports_are_warned_of() {
    let main = "import \"cells\";\nimport \"others\";\nimport std.losses (mse as error, accuracy);\n\
                node main(x: num [2]) -> (a)\n  a = error(x, x);\n";
    let (types, found) = outputs(main, CELLS);
    assert_eq!(types, ["num []"]);
    assert_eq!(found, ["unused-import", "unused-import"]);
}

/// A loader for which every file is too large.
struct Huge;

impl Loader for Huge {
    fn load(&mut self, _importing: &str, _path: &str) -> Result<(String, String), NotLoaded> {
        Err(NotLoaded::TooLarge)
    }
}

#[test]
fn an_import_may_be_too_large() {
    let mut sources = Sources::new();
    let main = sources.add("main.rml", "import \"data\";\nnode main(x: num []) -> (y) y = x;\n");
    let (module, found) = elaborate(&mut sources, main, &common::options(), &mut Huge);
    assert!(module.is_none());
    assert_eq!(found.iter().map(|d| d.code.name).collect::<Vec<_>>(), ["file-too-large"], "{found}");
}
