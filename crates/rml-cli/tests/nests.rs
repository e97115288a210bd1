//! The nests of examples as `rml dump --after nests` and `--after fused` print them, in `tests/nests/NAME.txt`.
//! `RML_BLESS=1` rewrites the files.

mod support;

use std::path::Path;

use support::Folder;

/// The commands, each with the extension of its output.
const DUMPS: [(&str, &str); 3] = [
    ("gdescent", "paper/gdescent.rml --node train --after nests"),
    ("lstm", "paper/lstm.rml --node train --after nests"),
    ("lstm_fused", "paper/lstm.rml --node train --after fused"),
];

#[test]
fn nests_of_examples_are_printed() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/nests");
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    for (name, program) in DUMPS {
        let found = Folder::new().rml(&format!("dump {}/{program}", examples.display())).ok();
        let expected = tests.join(format!("{name}.txt"));
        if std::env::var_os("RML_BLESS").is_some() {
            std::fs::write(expected, found).expect("a writable file");
        } else {
            let expected = std::fs::read_to_string(expected).unwrap_or_default();
            assert_eq!(found, expected, "{name} (RML_BLESS=1 rewrites it)");
        }
    }
}
