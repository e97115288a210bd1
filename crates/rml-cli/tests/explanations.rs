//! The exact output of `rml check --explain` and `rml dump --after analyse`: for each program `explanations/<name>.rml`
//! the file `<name>.txt` contains both, as a terminal shows them. `RML_BLESS=1` rewrites them.

mod support;

use std::path::Path;

use support::Folder;

#[test]
fn explanations_read_as_written() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/explanations");
    let bless = std::env::var_os("RML_BLESS").is_some();
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .expect("programs")
        .filter_map(|e| Some(e.ok()?.file_name().to_str()?.strip_suffix(".rml")?.to_owned()))
        .collect();
    names.sort();
    assert_eq!(names, ["at_once", "bounded", "closed", "dynamic", "lstm", "nested", "rejected", "until"]);
    for name in names {
        let program = std::fs::read_to_string(folder.join(format!("{name}.rml"))).expect("a program");
        let found = transcript(&name, &program);
        let expected = folder.join(format!("{name}.txt"));
        if bless {
            std::fs::write(expected, found).expect("a writable file");
        } else {
            let expected = std::fs::read_to_string(expected).unwrap_or_default();
            assert_eq!(found, expected, "{name} (RML_BLESS=1 rewrites it)");
        }
    }
}

/// Both commands with their output: findings, followed by the text.
fn transcript(name: &str, program: &str) -> String {
    let file = format!("{name}.rml");
    let folder = Folder::new().file(&file, program);
    let shown = [format!("check --explain {file}"), format!("dump --after analyse {file}")].map(|command| {
        let run = folder.rml(&command);
        format!("$ rml {command}\n{}{}", run.err, run.out)
    });
    let lines = shown.iter().flat_map(|text| text.lines());
    lines.map(|line| line.trim_end().to_owned() + "\n").collect()
}
