//! `rml export`: files that a C compiler takes, which do what the program does.

mod support;

use std::process::Command;

use support::Folder;

const LINE: &str = "
node line(x: num []) -> (o)
  k = param(zeros([1]));
  o = sum(k) * x + (0.0 fby x);
node train(x: num [], y: num [], end: bool []) -> (loss)
  o, _ = diff_line(x, true, 0.2 * (y - o));
  loss = (o - y) * (o - y);
node held(x: num []) -> (y)
  y = x + (0.0 fby back y);
node windows(x: num [], end: bool []) -> (y)
  y = held(x) every end;
";

/// Three cycles, a call for each.
const MAIN: &str = "
#include \"infer.h\"
#include <stdio.h>
int main(void) {
    static infer_state state;
    static infer_work work;
    infer_start(&state);
    for (int t = 0; t < 3; t++) {
        infer_in in = {(float)(t + 1)};
        infer_out out;
        if (infer_run(&state, &work, &in, 1, &out) != 1) {
            return 1;
        }
        printf(\"%g\\n\", (double)out.o);
    }
    return 0;
}
";

fn folder() -> Folder {
    Folder::new()
        .file("p.rml", LINE)
        .file("main.c", MAIN)
        .file("w.json", "{\"k\": [2.0]}")
        .file("m.toml", "[params]\n\"k\" = \"k\"\n")
}

#[test]
fn what_is_exported_does_what_the_program_does() {
    let folder = folder();
    folder.rml("params import p.rml --node line --from w.json --map m.toml --save c.safetensors").ok();
    let out = folder.rml("export p.rml --node line --params c.safetensors --name infer").ok();
    assert!(out.starts_with("./infer.h\n./infer.c\n4 bytes of state"), "{out}");
    let run = |program: &str, args: &[&str]| {
        let output =
            Command::new(program).args(args).current_dir(folder.path(".")).output().expect("it starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    };
    run(
        "cc",
        &["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "infer.c", "main.c", "-o", "main", "-lm"],
    );
    let program = folder.path("main");
    assert_eq!(run(&program.to_string_lossy(), &[]), "2\n5\n8\n");
}

#[test]
fn what_cannot_be_exported_is_said_before_a_file_is_written() {
    let folder = folder();
    folder.rml("export p.rml --node windows").fails(1, &["bad-option", "--cycles"]);
    folder.rml("export p.rml --node line").fails(1, &["no-parameters", "`k`: num [1]", "--params"]);
    folder
        .rml("export p.rml --node windows --cycles 4 --name while")
        .fails(1, &["bad-option", "`while`", "--name"]);
    folder
        .rml("export p.rml --node windows --cycles 4 --out nowhere")
        .fails(1, &["unwritable-file", "nowhere"]);
    folder.rml("export p.rml --node windows --cycles 999999999999").fails(1, &["export-refused", "--cycles"]);
    folder.rml("export p.rml --node windows --cycles 4 --seed x").fails(2, &["--seed"]);
    assert!(!folder.path("windows.c").exists() && !folder.path("line.c").exists());
    folder.rml("export p.rml --node train").ok();
    assert!(folder.read("train.h").contains("float line_0_k[1]; /* [1] */"));
}
