//! Devices without an end, pipes that nobody writes to, and folders instead of files.

#![cfg(unix)]

mod support;

use std::process::Command;

use support::Folder;

const PROGRAM: &str = "node main(x: num []) -> (o)\n  o = x * param(1.0);\n";

/// A folder in which `make` creates the file `bad.*` for each kind of file that `rml` reads.
fn folder(make: impl Fn(&std::path::Path)) -> Folder {
    let folder = Folder::new()
        .file("good.rml", PROGRAM)
        .file("good.toml", "")
        .file("good.json", "{\"x\": [1.0]}")
        .file("imports.rml", format!("import \"bad.rml\";\n{PROGRAM}"));
    folder.rml("params import good.rml --from good.json --map good.toml --save good.safetensors");
    for kind in ["rml", "json", "jsonl", "csv", "npz", "safetensors", "toml"] {
        make(&folder.path(&format!("bad.{kind}")));
    }
    folder
}

const COMMANDS: &[&str] = &[
    "check bad.rml",
    "run bad.rml --inputs good.json",
    "fmt bad.rml",
    "fmt --check bad.rml",
    "doc bad.rml",
    "dump bad.rml --after parse",
    "run good.rml --inputs bad.json",
    "run good.rml --inputs bad.jsonl",
    "run good.rml --inputs bad.csv",
    "trace good.rml --inputs bad.npz",
    "grad good.rml --inputs bad.csv",
    "train good.rml --node main --data bad.npz",
    "train good.rml --node main --data good.json --resume bad.safetensors",
    "infer good.rml --node main --params bad.safetensors --data good.json",
    "params list bad.safetensors",
    "params list bad.npz",
    "params list bad.json",
    "params list good.rml --params bad.safetensors",
    "params import good.rml --from bad.safetensors --map good.toml --save o.safetensors",
    "params import good.rml --from good.json --map bad.toml --save o.safetensors",
];

#[track_caller]
fn refuses_all(folder: &Folder) {
    for command in COMMANDS {
        folder.rml(command).fails(1, &["unreadable-file", "bad."]);
    }
    folder.rml("check imports.rml").fails(1, &["import-not-found", "bad.rml"]);
}

#[test]
fn links_to_devices_without_an_end() {
    refuses_all(&folder(|path| std::os::unix::fs::symlink("/dev/zero", path).expect("a link")));
}

#[test]
fn pipes_that_nobody_writes_to() {
    let make = |path: &std::path::Path| {
        assert!(Command::new("mkfifo").arg(path).status().expect("mkfifo").success());
    };
    refuses_all(&folder(make));
}

#[test]
fn folders() {
    refuses_all(&folder(|path| std::fs::create_dir(path).expect("a folder")));
}

/// Files larger than the memory limit are not read: these files are sparse, of 64 GiB.
#[test]
fn files_larger_than_memory() {
    let folder = folder(|path| {
        let file = std::fs::File::create(path).expect("a file");
        file.set_len(64 << 30).expect("a file with a hole");
    });
    for command in COMMANDS {
        let code = if command.contains("bad.rml") || command.contains("bad.toml") {
            "file-too-large"
        } else {
            "memory-limit"
        };
        folder.rml(&format!("--memory 1G {command}")).fails(1, &[code, "bad."]);
    }
}

#[test]
fn standard_input_without_an_end() {
    let zero = std::fs::File::open("/dev/zero").expect("a device");
    let output = Folder::new().command("fmt -").stdin(zero).output().expect("rml ends");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("file-too-large"));
}
