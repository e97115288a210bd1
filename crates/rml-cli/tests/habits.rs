//! Forms of other languages, mostly of Python: for each program `habits/<name>.rml` the file `<name>.txt` contains the
//! output of `rml check`, as a terminal shows it. Each help line gives the R(ML)² form. `RML_BLESS=1` rewrites the
//! files.

mod support;

use std::path::Path;

use support::Folder;

#[test]
fn habits_are_answered_with_the_form_of_this_language() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/habits");
    let bless = std::env::var_os("RML_BLESS").is_some();
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .expect("programs")
        .filter_map(|e| Some(e.ok()?.file_name().to_str()?.strip_suffix(".rml")?.to_owned()))
        .collect();
    names.sort();
    assert!(names.len() > 40, "{names:?}");
    let mut unhelped = Vec::new();
    for name in names {
        let program = std::fs::read_to_string(folder.join(format!("{name}.rml"))).expect("a program");
        let run = Folder::new().file("habit.rml", &program).rml("check habit.rml");
        let found: String = run.err.lines().map(|line| line.trim_end().to_owned() + "\n").collect();
        let expected = folder.join(format!("{name}.txt"));
        if bless {
            std::fs::write(expected, &found).expect("a writable file");
        } else {
            let expected = std::fs::read_to_string(expected).unwrap_or_default();
            assert_eq!(found, expected, "{name} (RML_BLESS=1 rewrites it)");
        }
        assert_eq!(run.code, Some(1), "{name} is a program\n{}{found}", run.out);
        unhelped.extend((!found.contains("Help:") && !found.contains("Help 1:")).then_some(name));
    }
    assert!(unhelped.is_empty(), "no help for {unhelped:?}");
}
