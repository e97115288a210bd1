//! The command line itself: help, versions, wrong flags, readers that close the pipe.

mod support;

use std::process::Stdio;

use support::Folder;

#[test]
fn help_says_what_there_is() {
    let folder = Folder::new();
    let help = folder.rml("--help").ok();
    let commands = [
        "check",
        "run",
        "trace",
        "diff",
        "dump",
        "grad",
        "gradcheck",
        "fmt",
        "train",
        "infer",
        "backends",
        "explain",
    ];
    for word in commands.into_iter().chain(["Exit codes", "RML_LOG"]) {
        assert!(help.contains(word), "{word}");
    }
    for command in commands {
        assert!(folder.rml(&format!("{command} --help")).ok().contains("Usage: rml"), "{command}");
    }
    assert!(folder.rml("--version").ok().starts_with("rml "));
}

#[test]
fn wrong_command_lines_are_usage_errors() {
    let folder = Folder::new();
    for args in [
        "",
        "nothing",
        "check",
        "run",
        "run a.rml --cycles -1",
        "check a.rml --batch 0",
        "run a.rml --format xml",
        "fmt",
        "--color red check a.rml",
        "check a.rml --memory much",
    ] {
        folder.rml(args).fails(2, &["--help"]);
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let folder = Folder::new();
    for args in ["explain", "--help", "explain --message-format json"] {
        let mut child =
            folder.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("rml starts");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("rml ends");
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && err.is_empty(), "{args}: {err}");
    }
    // Nobody reads standard error either.
    let mut child = folder
        .command("check none.rml")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("rml starts");
    drop(child.stderr.take());
    drop(child.stdout.take());
    assert_eq!(child.wait().expect("rml ends").code(), Some(1));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let folder = Folder::new();
    let full = std::fs::File::create("/dev/full").expect("the device");
    let output = folder.command("explain").stdout(full).output().expect("rml ends");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("unwritable-file"));
}

#[test]
fn passes_are_logged_where_asked_for() {
    let folder = Folder::new().file("c.rml", "node counter() -> (o)\n  o = 0 fby (o + 1);\n");
    let output = folder.command("run c.rml --cycles 1").env("RML_LOG", "debug").output().expect("rml ends");
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && err.contains("normalize"), "{err}");
}
