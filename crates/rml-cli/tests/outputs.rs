//! Files that commands write: a command never overwrites a file that it reads, and reports files that it cannot write
//! before the work begins.

mod support;

use std::path::Path;

use serde_json::json;
use support::Folder;

const LINE: &str = "
import \"parts.rml\" (line);
node train(x: num [], y: num []) -> (loss)
  o, _ = diff_line(x, true, 0.2 * (y - o));
  loss = (o - y) * (o - y);
node infer(x: num []) -> (o)
  o = line(x);
";

const PARTS: &str = "
node line(x: num []) -> (o)
  k = param(zeros([1]));
  o = sum(k) * x;
";

const MAP: &str = "[params]\n\"line_0.k\" = \"k\"\n";

fn folder() -> Folder {
    let data = json!({"x": [0.5, 1.0, 0.2, 0.8], "y": [1.0, 2.0, 0.4, 1.6]}).to_string();
    let folder = Folder::new()
        .file("p.rml", LINE)
        .file("parts.rml", PARTS)
        .file("d.json", &data)
        .file("w.json", "{\"k\": [2.0]}")
        .file("m.toml", MAP)
        .file("i.json", "{\"x\": [1.0, 2.0]}");
    folder.rml("params import p.rml --node infer --from w.json --map m.toml --save c.safetensors").ok();
    folder.rml("params export p.rml --node infer --params c.safetensors --map m.toml --out like.npz").ok();
    std::fs::create_dir(folder.path("sub")).expect("a folder");
    folder
}

/// Every command that writes a file, without the file's name, and the files that it reads.
const COMMANDS: [(&str, &[&str]); 7] = [
    ("train p.rml --data d.json --epochs 1 --save ", &["p.rml", "parts.rml", "d.json"]),
    (
        "infer p.rml --data d.json --params c.safetensors --out ",
        &["p.rml", "parts.rml", "d.json", "c.safetensors"],
    ),
    (
        "params import p.rml --node infer --from w.json --map m.toml --save ",
        &["p.rml", "parts.rml", "w.json", "m.toml"],
    ),
    (
        "params export p.rml --node infer --params c.safetensors --map m.toml --like like.npz --out ",
        &["p.rml", "parts.rml", "c.safetensors", "m.toml", "like.npz"],
    ),
    ("trace p.rml --node infer --inputs i.json --svg ", &["p.rml", "parts.rml", "i.json"]),
    ("trace p.rml --node infer --inputs i.json --vcd ", &["p.rml", "parts.rml", "i.json"]),
    ("trace p.rml --node infer --inputs i.json --html ", &["p.rml", "parts.rml", "i.json"]),
];

fn bytes(path: &Path) -> Vec<u8> {
    std::fs::read(path).expect("a file")
}

/// The names in a folder.
fn names(folder: &Path) -> Vec<String> {
    let name = |e: std::io::Result<std::fs::DirEntry>| {
        e.expect("an entry").file_name().to_string_lossy().into_owned()
    };
    let mut names: Vec<String> = std::fs::read_dir(folder).expect("a folder").map(name).collect();
    names.sort();
    names
}

#[cfg(unix)]
#[test]
fn no_command_overwrites_what_it_reads() {
    let folder = folder();
    for (command, inputs) in COMMANDS {
        for input in inputs {
            let path = folder.path(input);
            let before = bytes(&path);
            std::fs::hard_link(&path, folder.path("hard")).expect("a hard link");
            std::os::unix::fs::symlink(&path, folder.path("sub/link")).expect("a link");
            for name in [*input, "hard", &format!("sub/../{input}"), "sub/link"] {
                let run = folder
                    .rml(&format!("{command}{name}"))
                    .fails(1, &["output-is-input", "write to another file"]);
                assert!(!run.err.contains("epoch"), "{}", run.err);
            }
            assert_eq!(bytes(&path), before, "{command}{input}");
            std::fs::remove_file(folder.path("hard")).expect("it exists");
            std::fs::remove_file(folder.path("sub/link")).expect("it exists");
        }
    }
    // A training may continue from its own checkpoint and overwrite it.
    folder.rml("train p.rml --data d.json --epochs 2 --resume c.safetensors --save c.safetensors").ok();
}

#[test]
fn what_cannot_be_written_is_said_before_the_work_begins() {
    let folder = folder();
    for (command, _) in COMMANDS {
        for extension in ["npz", "safetensors", "json"] {
            let fixed = folder.path(&format!("fixed.{extension}"));
            std::fs::write(&fixed, "kept").expect("a file");
            let mut permissions = std::fs::metadata(&fixed).expect("it exists").permissions();
            permissions.set_readonly(true);
            std::fs::set_permissions(&fixed, permissions).expect("it can be fixed");
        }
        let before = names(&folder.path("."));
        // Not even the program is read, so it may be wrong.
        let broken = command.replacen("p.rml", "broken.rml", 1);
        for (name, why) in [
            ("sub", "it is a folder"),
            ("new/", "the name of a folder, not of a file"),
            ("no/such.npz", "there is no folder no"),
            ("fixed.npz", "it is read-only"),
            ("fixed.safetensors", "it is read-only"),
            ("p.rml/x.npz", "p.rml is no folder"),
        ] {
            for command in [command, &broken] {
                let run = folder.rml(&format!("{command}{name}")).fails(1, &["unwritable-file", why]);
                assert!(!run.err.contains("broken.rml") && !run.err.contains("epoch"), "{}", run.err);
            }
        }
        assert_eq!(names(&folder.path(".")), before, "nothing is left behind");
        assert_eq!(folder.read("fixed.npz"), "kept");
    }
    for command in [COMMANDS[1].0, COMMANDS[3].0] {
        let broken = command.replacen("p.rml", "broken.rml", 1);
        folder.rml(&format!("{broken}o.txt")).fails(1, &["unknown-format"]);
    }
}

#[test]
fn read_only_programs_are_not_formatted() {
    let folder = Folder::new().file("p.rml", "node f(x)->(o) o=x;");
    let mut permissions = std::fs::metadata(folder.path("p.rml")).expect("it exists").permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(folder.path("p.rml"), permissions).expect("it can be fixed");
    folder.rml("fmt p.rml").fails(1, &["unwritable-file", "it is read-only"]);
    assert_eq!(folder.read("p.rml"), "node f(x)->(o) o=x;");
}

#[cfg(unix)]
#[test]
fn pictures_go_to_standard_output_as_well() {
    let folder = folder();
    let out = folder.rml("trace p.rml --node infer --inputs i.json --svg /dev/stdout").ok();
    assert!(out.starts_with("<svg") && out.trim_end().ends_with("</svg>"), "{out}");
}

/// Temporary files of a killed run are removed by the next run that writes the same file; those of a run at work are
/// kept.
#[test]
fn leftovers_are_removed() {
    let folder = folder();
    for (command, _) in COMMANDS {
        let name =
            if command.contains("import") || command.contains("train") { "o.safetensors" } else { "o.npz" };
        let [killed, other, at_work] = [(name, "abcdef"), ("other", "abcdef"), (name, "ghijkl")]
            .map(|(name, random)| folder.path(&format!(".{name}.rml-{random}.tmp")));
        for path in [&killed, &other, &at_work] {
            std::fs::write(path, "half").expect("a file");
        }
        let writer = std::fs::File::open(&at_work).expect("it exists");
        writer.lock().expect("a lock");
        folder.rml(&format!("{command}{name}")).ok();
        assert!(!killed.exists() && other.exists() && at_work.exists(), "{command}");
        drop(writer);
        for path in [other, at_work] {
            std::fs::remove_file(path).expect("it exists");
        }
    }
}

/// Two results of a command may not be the same file, or a file and the folder of another result.
#[test]
fn no_result_replaces_another_one() {
    let folder = folder();
    let before = names(&folder.path(""));
    let train = "train p.rml --data d.json --epochs 1 --validate 0.3";
    let refused = |command: String, flags: [&str; 2]| {
        let both = format!("they are `{}` and `{}`", flags[0], flags[1]);
        folder.rml(&command).fails(1, &["bad-option", "two results would be written to", &both]);
        assert_eq!(names(&folder.path("")), before, "{command}");
    };
    // The names of pictures and pages need certain extensions.
    let flags = ["--save", "--best", "--profile", "--plot", "--report"];
    for (i, first) in flags.iter().enumerate() {
        for second in flags[i + 1..].iter().filter(|second| (*first, **second) != ("--plot", "--report")) {
            let name = if [*first, *second].contains(&"--plot") { "y.svg" } else { "y.html" };
            refused(format!("{train} {first}={name} {second}=sub/../{name}"), [first, second]);
        }
    }
    for first in &flags[..3] {
        for file in ["lg", "lg/metrics.jsonl", "lg/metrics.csv", "lg/run.json", "lg/events.out.tfevents.rml"]
        {
            refused(format!("{train} {first}={file} --log sub/../lg"), [first, "--log"]);
        }
    }
    refused(format!("{train} --plot=lg.svg --log lg.svg"), ["--plot", "--log"]);
    refused(format!("{train} --seeds 0,1 --runs r.svg --plot=r.svg"), ["--plot", "--runs"]);
    let infer = "infer p.rml --data d.json --params c.safetensors";
    refused(format!("{infer} --out o.json --profile=o.json"), ["--out", "--profile"]);
    refused("train p.rml --stream --save y --best y".to_owned(), ["--save", "--best"]);
    // Other files in the folder of a log are not results of the log.
    std::fs::create_dir(folder.path("lg")).expect("a folder");
    folder.rml(&format!("{train} --log lg --save lg/model.safetensors --plot lg/curve.svg")).ok();
}
