//! File tests: each `files/*.txt` is a plan, a line `---`, and the nests that are made of it. `RML_BLESS=1` writes
//! these again.

use std::path::PathBuf;

#[test]
fn nests_of_plans() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/files");
    let bless = std::env::var_os("RML_BLESS").is_some();
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() >= 9, "{paths:?}");
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        let (plan, expected) = text.split_once("---\n").unwrap_or((&text, ""));
        let name = path.display();
        let parsed = rml_plan::parse(plan).unwrap_or_else(|why| panic!("{name}: {why}"));
        assert_eq!(rml_plan::verify(&parsed), Ok(()), "{name}");
        let program = rml_nest::lower(&parsed);
        assert_eq!(rml_nest::verify(&program), Ok(()), "{name}: {}", rml_nest::print(&program));
        let found = rml_nest::print(&program);
        if bless {
            std::fs::write(&path, format!("{plan}---\n{found}")).unwrap();
        } else {
            assert_eq!(found, expected, "{name} (RML_BLESS=1 rewrites it)");
        }
    }
}
