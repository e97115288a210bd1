//! File tests: each `text/*.txt` is a plan, a line `---`, and the C of its nodes for windows of at most four cycles.
//! `RML_BLESS=1` rewrites the files.

use rml_c::{Math, Options, export};

#[test]
fn nodes_are_printed_as_recorded() {
    let folder = format!("{}/tests/text", env!("CARGO_MANIFEST_DIR"));
    let bless = std::env::var_os("RML_BLESS").is_some();
    let files = std::fs::read_dir(folder).expect("a folder of plans");
    let mut paths: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
    paths.sort();
    assert!(paths.len() >= 4, "{paths:?}");
    for path in paths {
        let text = std::fs::read_to_string(&path).expect("a plan");
        let (given, expected) = text.split_once("---\n").unwrap_or((&text, ""));
        // The first line says what is tested.
        let (_, plan) = given.split_once('\n').expect("a line about the test");
        let plan = rml_plan::parse(plan).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
        assert_eq!(rml_plan::verify(&plan), Ok(()), "{}", path.display());
        let options =
            Options { name: "p".to_owned(), cycles: 4, math: Math::Own, note: "A test.".to_owned() };
        let source = export(&plan, &|_| None, &options).expect("it has a place in C").source;
        let first = ["/* From the ", "/* Searches "].iter().filter_map(|text| source.find(text)).min();
        let end = source.find("void p_start(").expect("a function that starts it");
        let found = &source[first.expect("a node")..end];
        if bless {
            std::fs::write(&path, format!("{given}---\n{found}")).expect("it is written");
        } else {
            assert_eq!(found, expected, "{} (RML_BLESS=1 rewrites it)", path.display());
        }
    }
}
