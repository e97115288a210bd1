//! File tests: each `text/*.txt` is a plan, a line `---`, and the C of its nodes. `RML_BLESS=1` rewrites the files.

#[test]
fn programs_as_c() {
    let folder = format!("{}/tests/text", env!("CARGO_MANIFEST_DIR"));
    let bless = std::env::var_os("RML_BLESS").is_some();
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() >= 4, "{paths:?}");
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        let (given, expected) = text.split_once("---\n").unwrap_or((&text, ""));
        // The first line says what is tested.
        let (_, plan) = given.split_once('\n').unwrap();
        let plan = rml_plan::parse(plan).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
        assert_eq!(rml_plan::verify(&plan), Ok(()), "{}", path.display());
        let found = match rml_native::Native::text(&plan) {
            Ok(text) => {
                let (_, nodes) = text.split_once("#define LOOPS static __attribute__((noinline))\n").unwrap();
                nodes.to_owned()
            }
            Err(why) => format!("{why}\n"),
        };
        if bless {
            std::fs::write(&path, format!("{given}---\n{found}")).unwrap();
        } else {
            assert_eq!(found, expected, "{} (RML_BLESS=1 rewrites it)", path.display());
        }
    }
}
