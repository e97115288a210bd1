//! `rml check --watch`: it checks again when a program or a file that it imports changes, disappears or reappears.

mod support;

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use support::Folder;

#[test]
fn changes_are_checked_again() {
    let folder = Folder::new()
        .file("half.rml", "node half(x: num []) -> (y)\n  y = x * 0.5;\n")
        .file("p.rml", "import \"half.rml\" (half);\nnode f(x: num []) -> (y)\n  y = half(x);\n");
    let mut command = folder.command("check p.rml --watch");
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("rml starts");
    let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    // The output until the command waits.
    let mut said = || {
        let text = lines.by_ref().map(|line| line.expect("UTF-8"));
        text.take_while(|line| !line.contains("waiting for a change")).collect::<String>()
    };
    assert_eq!(said(), "");
    std::fs::write(folder.path("half.rml"), "node half(k, x: num []) -> (y)\n  y = k * x;\n")
        .expect("a file");
    assert!(said().contains("arity"));
    std::fs::remove_file(folder.path("p.rml")).expect("it exists");
    assert!(said().contains("unreadable-file"));
    std::fs::write(folder.path("p.rml"), "node f(x: num []) -> (y)\n  y = z;\n").expect("a file");
    assert!(said().contains("unknown-name"));
    child.kill().expect("it runs");
    child.wait().expect("it ends");
}
