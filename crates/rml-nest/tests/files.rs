//! File tests: each `files/*.txt` is a plan, a line `---`, and the nests that are made of it; each `fused/*.txt` is
//! nests, and what is fused of them. `RML_BLESS=1` writes these again.

use std::path::PathBuf;

/// Compares the second part of each file of a folder with what `f` makes of the first one.
fn each(folder: &str, least: usize, f: impl Fn(&str, &str) -> String) {
    let folder = format!("{}/tests/{folder}", env!("CARGO_MANIFEST_DIR"));
    let bless = std::env::var_os("RML_BLESS").is_some();
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() >= least, "{paths:?}");
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        let (given, expected) = text.split_once("---\n").unwrap_or((&text, ""));
        let name = path.display().to_string();
        let found = f(&name, given);
        if bless {
            std::fs::write(&path, format!("{given}---\n{found}")).unwrap();
        } else {
            assert_eq!(found, expected, "{name} (RML_BLESS=1 rewrites it)");
        }
    }
}

#[test]
fn nests_of_plans() {
    each("files", 9, |name, plan| {
        let parsed = rml_plan::parse(plan).unwrap_or_else(|why| panic!("{name}: {why}"));
        assert_eq!(rml_plan::verify(&parsed), Ok(()), "{name}");
        let program = rml_nest::lower(&parsed);
        assert_eq!(rml_nest::verify(&program), Ok(()), "{name}: {}", rml_nest::print(&program));
        rml_nest::print(&program)
    });
}

#[test]
fn fused_nests() {
    each("fused", 13, |name, nests| {
        // The first line says what is tested.
        let (_, nests) = nests.split_once("nests ").unwrap();
        let program =
            rml_nest::parse(&format!("nests {nests}")).unwrap_or_else(|why| panic!("{name}: {why}"));
        assert_eq!(rml_nest::verify(&program), Ok(()), "{name}");
        let fused = rml_nest::fuse(&program);
        let extent = rml_nest::check(&program, &fused).unwrap_or_else(|why| panic!("{name}: {why}"));
        assert!(extent.windows >= 5 && extent.large == 0, "{name}: {extent:?}");
        rml_nest::print(&fused)
    });
}
