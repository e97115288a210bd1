//! Names from untrusted sources, of any length and with any characters, in the output of `rml`.

mod support;

use support::{Folder, Run};

/// Longer than the largest width of formatted text.
const LONG: usize = 70_000;

/// Clears the screen in seven bits and in eight, moves the cursor, and turns the direction of writing.
const HOSTILE: &str = "\u{1b}[2J\u{9b}31m\u{8}\u{202e}";

/// Checks that the output contains no character that a terminal obeys.
#[track_caller]
fn harmless(run: &Run) {
    for text in [&run.out, &run.err] {
        let bad = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!text.contains(bad), "{text:?}");
    }
}

/// A program with this name in the names of its node and variables.
fn program(name: &str) -> String {
    format!(
        "-- {HOSTILE}\nnode main_{name}(x_{name}: num []) -> (o_{name}: num [])\n  k_{name} = param(2.0);\n  \
         d_{name} = 0.0 fby x_{name};\n  o_{name} = k_{name} * x_{name} + d_{name};\n"
    )
}

#[test]
fn names_of_any_length_are_printed() {
    let name = "n".repeat(LONG);
    let inputs = format!("{{\"x_{name}\": [1.0, 2.0]}}");
    let folder = Folder::new().file("p.rml", program(&name)).file("i.json", &inputs);
    for command in [
        "run p.rml --inputs i.json --format table",
        "trace p.rml --inputs i.json",
        "trace p.rml --inputs i.json --stages",
        "trace p.rml --inputs i.json --vars expressions",
        "trace p.rml --inputs i.json --semantics kahn",
        "check p.rml",
        "check p.rml --types",
        "check p.rml --explain",
        "grad p.rml --inputs i.json",
        "gradcheck p.rml --inputs i.json",
        "params list p.rml",
        "doc p.rml",
    ] {
        let out = folder.rml(command).ok();
        assert!(out.contains("nn…nn") && out.len() < 20_000, "{command}: {} bytes", out.len());
    }
    for command in [
        "run p.rml --inputs i.json",
        "run p.rml --inputs i.json --format csv",
        "check p.rml --format json",
        "grad p.rml --inputs i.json --format json",
        "params list p.rml --format json",
        "dump p.rml --after fold",
    ] {
        let out = folder.rml(command).ok();
        assert!(out.contains(&name) && !out.contains('…'), "{command}");
    }
    folder.rml("trace p.rml --inputs i.json --svg o.svg").ok();
    folder.rml("trace p.rml --inputs i.json --vcd o.vcd").ok();
    let folder = folder.file("i.json", "{\"y\": [1.0]}");
    let missing = folder.rml("run p.rml --inputs i.json").fails(1, &["missing-column", "nn…nn"]);
    assert!(missing.err.len() < 5_000);
    let missing = folder.rml("run p.rml --inputs i.json --message-format json");
    assert!(missing.err.contains(&name));
}

#[test]
fn tensors_have_names_of_any_length() {
    let (long, hostile) = ("t".repeat(LONG), HOSTILE.replace('\u{1b}', "\\u001b").replace('\u{8}', "\\n\\b"));
    let weights = format!("{{\"{long}\": [1.0, 2.0], \"{hostile}\": [3.5], \"{hostile}{long}\": 3}}");
    let folder = Folder::new().file("w.json", weights);
    let table = folder.rml("params list w.json");
    harmless(&table);
    let table = table.ok();
    assert!(table.contains("tt…tt") && table.contains("␛[2J�31m␊␈�") && table.contains("3.5"), "{table}");
    assert!(table.lines().all(|l| l.chars().count() < 400));
    let json = folder.rml("params list w.json --format json");
    harmless(&json);
    let json = json.json();
    let names: Vec<&str> =
        json["tensors"].as_array().unwrap().iter().filter_map(|t| t["name"].as_str()).collect();
    assert!(names.contains(&long.as_str()) && names.contains(&HOSTILE.replace('\u{8}', "\n\u{8}").as_str()));
}

#[test]
fn a_terminal_obeys_no_name() {
    let quoted = HOSTILE.replace('\u{1b}', "\\u001b").replace('\u{8}', "\\b");
    let folder = Folder::new()
        .file("p.rml", program("a"))
        .file(
            "bad.rml",
            format!("-- {HOSTILE}\nnode main(x: num []) -> (o)\n  o = {HOSTILE} y + x; (* {HOSTILE} *)\n"),
        )
        .file("i.csv", format!("\"{HOSTILE}\",y\n1,2\n"))
        .file("cell.csv", format!("x_a\n{HOSTILE}\n"))
        .file("i.json", format!("{{\"{quoted}\": [1.0]}}"))
        .file("cell.json", format!("{{\"x_a\": [\"{quoted}\"]}}"))
        .file("i.jsonl", format!("{{\"{quoted}\": 1.0}}\n"));
    for inputs in ["i.csv", "cell.csv", "i.json", "cell.json", "i.jsonl"] {
        for format in ["human", "json"] {
            let run = folder.rml(&format!("run p.rml --inputs {inputs} --message-format {format}"));
            harmless(&run);
            run.fails(1, &[]);
        }
    }
    for command in ["check bad.rml", "check bad.rml --color always", "doc p.rml", "check p.rml --explain"] {
        let run = folder.rml(command);
        let plain =
            |text: String| if command.contains("always") { text.replace("\u{1b}[", "") } else { text };
        harmless(&Run { out: plain(run.out), err: plain(run.err), code: run.code });
    }
    for args in [
        vec!["check", HOSTILE],
        vec!["run", HOSTILE],
        vec!["train", HOSTILE, "--data", HOSTILE],
        vec![HOSTILE],
    ] {
        let output = folder.command("").args(args).output().expect("rml ends");
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        let run = Run { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) };
        assert!(run.err.contains("31m"), "{}", run.err);
        harmless(&run);
    }
    let lines = format!("{{\"x\": 1.0}}\n{{\"{quoted}\": 1.0}}\n{{\"x\": \"{quoted}\"}}\n{HOSTILE}\n");
    let folder = folder.file("s.rml", "node main(x: num []) -> (o)\n  o = x;\n");
    let stream = folder.rml_with("infer s.rml --node main --stream", &lines);
    harmless(&stream);
    assert_eq!(stream.out.matches("{\"line\"").count(), 3, "{}", stream.out);
}
