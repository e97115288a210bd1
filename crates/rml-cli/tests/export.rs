//! `rml export`: files that a C compiler accepts and that behave like the program, and graphs for other tools.

mod support;

use std::process::Command;

use support::Folder;

const LINE: &str = "
node line(x: num []) -> (o)
  k = param(zeros([1]));
  o = sum(k) * x + (0.0 fby x);
node train(x: num [], y: num [], end: bool []) -> (loss)
  o, _ = diff_line(x, true, 0.2 * (y - o));
  loss = tanh((o - y) * (o - y));
node held(x: num []) -> (y)
  y = x + (0.0 fby back y);
node windows(x: num [], end: bool []) -> (y)
  y = held(x) every end;
node counted(i: int []) -> (suspect)
  suspect = i + (0 fby suspect);
node parts(x: num []) -> (o)
  k = param(0.5);
  rounds = param(2.0);
  o = k * x + floor(rounds);
node fits(x: num [], y: num []) -> (loss)
  o, _ = diff_parts(x, true, 0.2 * (y - o));
  loss = (o - y) * (o - y);
";

/// A program that graphs cannot express.
const ERF: &str = "
node smooth(x: num []) -> (y)
  y = erf(x);
node held(x: num [], c: bool [], d: bool []) -> (y, z)
  y = if c then x else post y;
  z = if d then x else post z;
node inner(x: num []) -> (y)
  y = x + (0.0 fby back y);
node found(x: num []) -> (y)
  sum = (0.0 fby sum) + x;
  end = sum > 3.0;
  y = inner(x) every end;
";

/// A C main function with three cycles, one call each.
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
    assert_eq!(printed(&folder, &["infer.c", "main.c"]), "2\n5\n8\n");
}

/// A window that ends in the cycle before a condition holds needs no later cycle in C.
#[test]
fn what_restarts_does_so_in_its_own_cycle() {
    let text = "
node sum(x: num []) -> (y)
  y = x + (0.0 fby y);
node restarts(x: num [], r: bool []) -> (o)
  o = sum(x) every (false fby back r);
";
    let main = MAIN.replace("{(float)(t + 1)}", "{(float)(t + 1), t == 1}");
    let folder = Folder::new().file("r.rml", text).file("main.c", &main);
    folder.rml("export r.rml --node restarts --name infer").ok();
    assert!(folder.read("infer.h").contains("#define INFER_AHEAD 0"));
    assert_eq!(printed(&folder, &["infer.c", "main.c"]), "1\n2\n5\n");
}

/// A disk with room for only a part of the output. The test limits the size of files instead, which is reported in the
/// same way.
#[cfg(unix)]
#[test]
fn a_full_disk_leaves_what_was_there() {
    let folder = folder();
    // A block is 512 or 1024 bytes: five are enough for the header, but too few for the program.
    for (format, files, blocks) in [
        ("c", &["train.h", "train.c"][..], 5),
        ("onnx", &["train.onnx"], 0),
        ("stablehlo", &["train.mlir"], 0),
    ] {
        let export = format!("rml export p.rml --node train --cycles 4 --format {format}");
        folder.shell(&export).output().expect("a shell");
        let limited = format!("trap '' XFSZ; ulimit -f {blocks}; exec {export}");
        let run = |old: &str| {
            files.iter().for_each(|file| std::fs::write(folder.path(file), old).expect("a file"));
            let output = folder.shell(&limited).output().expect("a shell");
            let err = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(1), "{format}: {err}");
            assert!(err.contains("error[unwritable-file]") && err.contains("too large"), "{format}: {err}");
            files.iter().for_each(|file| assert_eq!(folder.read(file), old, "{format}"));
        };
        if format == "c" {
            let [header, program] = ["train.h", "train.c"].map(|file| folder.read(file).len());
            assert!(header < 5 * 512 && program > 5 * 1024, "{header} {program}");
        }
        run("old");
        files.iter().for_each(|file| std::fs::remove_file(folder.path(file)).expect("it exists"));
        let left = || std::fs::read_dir(folder.path(".")).expect("a folder").count();
        let before = left();
        let output = folder.shell(&limited).output().expect("a shell");
        assert_eq!((output.status.code(), left()), (Some(1), before), "{format}: nothing is half there");
    }
}

/// The output of a program compiled from these files, without a library.
fn printed(folder: &Folder, files: &[&str]) -> String {
    let run = |program: &str, args: &[&str]| {
        let output =
            Command::new(program).args(args).current_dir(folder.path(".")).output().expect("it starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    };
    let flags = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I.", "-o", "main"];
    run("cc", &[&flags[..], files].concat());
    run(&folder.path("main").to_string_lossy(), &[])
}

/// A C main function that prints the checksum of the example over the trained states.
const TRAINED: &str = "
#include \"trained.h\"
#include <stdio.h>
static trained_state state;
int main(void) {
    const unsigned char *bytes = (const unsigned char *)&state;
    uint32_t sum = 2166136261u;
    trained_start(&state);
    for (unsigned long i = 0; i < sizeof state; i++) {
        sum = (sum ^ bytes[i]) * 16777619u;
    }
    printf(\"state %08lx\\n\", (unsigned long)sum);
    return 0;
}
";

#[test]
fn what_learns_in_c_has_the_bits_of_a_training() {
    let example =
        |name: &str| format!("{}/../../examples/microcontroller/{name}", env!("CARGO_MANIFEST_DIR"));
    let folder = Folder::new().file("trained_main.c", TRAINED);
    let (program, data) = (example("gru.rml"), example("signal.json"));
    folder
        .rml(&format!(
            "train {program} --node train --data {data} --test 0 --no-shuffle --epochs 20 --save c.safetensors"
        ))
        .ok();
    folder.rml(&format!("export {program} --node train --cycles 16 --name train")).ok();
    folder
        .rml(&format!("export {program} --node train --cycles 16 --params c.safetensors --name trained"))
        .ok();
    let learned = printed(&folder, &["train.c", &example("main.c"), &example("host.c")]);
    let trained = printed(&folder, &["trained.c", "trained_main.c"]);
    assert!(learned.contains("epoch 20  loss 0.0117") && learned.ends_with(&trained), "{learned}{trained}");
}

#[test]
fn what_cannot_be_exported_is_said_before_a_file_is_written() {
    let folder = folder().file("e.rml", ERF);
    folder
        .rml("export e.rml --node held")
        .fails(1, &["export-refused", "y = if c then x else post y;", "every"]);
    folder.rml("export p.rml --node windows").fails(1, &["bad-option", "--cycles"]);
    folder.rml("export p.rml --node line").fails(1, &["no-parameters", "`k`: num [1]", "--params"]);
    folder
        .rml("export p.rml --node windows --cycles 4 --name 4x")
        .fails(1, &["bad-option", "`4x`", "a letter", "--name"]);
    folder
        .rml("export p.rml --node windows --cycles 4 --name math")
        .fails(1, &["bad-option", "hide", "--name"]);
    folder
        .rml("export p.rml --node windows --cycles 4 --out p.rml/nowhere")
        .fails(1, &["unwritable-file", "nowhere"]);
    folder.rml("export p.rml --node windows --cycles 999999999999").fails(1, &["export-refused", "--cycles"]);
    folder.rml("export p.rml --node windows --cycles 4 --seed x").fails(2, &["--seed"]);
    assert!(!folder.path("windows.c").exists() && !folder.path("line.c").exists());
    folder.rml("export p.rml --node train").ok();
    assert!(folder.read("train.h").contains("float line_0_k[1]; /* line_0.k: [1] */"));
}

#[test]
fn the_folder_is_made_for_what_is_written_only() {
    let folder = folder();
    for (format, file) in [("c", "windows.c"), ("onnx", "windows.onnx"), ("stablehlo", "windows.mlir")] {
        let out = format!("{format}/made");
        folder
            .rml(&format!("export p.rml --node windows --format {format} --out {out}"))
            .fails(1, &["--cycles"]);
        assert!(!folder.path(format).exists());
        folder.rml(&format!("export p.rml --node windows --cycles 4 --format {format} --out {out}")).ok();
        assert!(folder.path(&format!("{out}/{file}")).exists());
    }
}

#[test]
fn names_that_c_has_are_changed_and_said() {
    let main = "
#include \"main.h\"
#include <stdio.h>
static main_state state;
static main_work work;
int main(void) {
    main_in in = {3};
    main_out out;
    main_start(&state);
    if (main_run(&state, &work, &in, 1, &out) != 1) return 1;
    printf(\"%g %g %g %g\\n\", (double)out.last, (double)out.last_2, (double)out.int__, (double)out.MAIN_LONG_);
    return out.y_present_ && !out.y_present;
}
";
    let program = "node main(int: num []) -> (last, last_2, int_, MAIN_LONG, y, y_present)
  last = int + 1.0;
  last_2 = int + 2.0;
  int_ = int + 3.0;
  MAIN_LONG = int + 4.0;
  y_present = int > 0.0;
  y = int when y_present;
";
    let folder = Folder::new().file("names.rml", program).file("names.c", main);
    // The node has a name that its C function `main` cannot have.
    let out = folder.rml("export names.rml").ok();
    let said =
        "int is int_ in C\nint_ is int__ in C\nMAIN_LONG is MAIN_LONG_ in C\ny_present is y_present_ in C\n";
    assert!(out.ends_with(said), "{out}");
    let header = folder.read("main.h");
    for line in ["float int_; /* int */", "float int__; /* int_ */", "bool y_present_; /* y_present */"] {
        assert!(header.contains(line), "{header}");
    }
    assert_eq!(printed(&folder, &["main.c", "names.c"]), "4 5 6 7\n");
}

#[test]
fn what_a_training_does_not_learn_is_as_the_program_says() {
    let folder = folder();
    folder
        .rml("export p.rml --node parts")
        .fails(1, &["no-parameters", "`rounds`: num []", "needs no `param`"]);
    folder.rml("export p.rml --node fits").ok();
    folder.rml("export p.rml --node fits --format onnx").ok();
}

/// `check` says that an export needs a checkpoint exactly if the export fails without one and succeeds with one.
#[test]
fn check_says_what_an_export_needs() {
    let text = "
node total(x: num []) -> (y)
  y = x + (0.0 fby y);
node restarts(x: num [], r: bool []) -> (o)
  k = param(zeros([1]));
  o = total(sum(k) * x) every (false fby back r);
node waits(x: num [], c: bool [], d: bool []) -> (y, z)
  k = param(zeros([1]));
  y = if c then sum(k) * x else post y;
  z = if d then x else post z;
";
    let folder =
        folder().file("r.rml", text).file("n.rml", "node n(x: num []) -> (y)  k = param(2.0);  y = k * x;\n");
    folder.rml("params import p.rml --node line --from w.json --map m.toml --save c.safetensors").ok();
    for (node, needs) in [
        ("p.rml --node line", true),
        ("p.rml --node parts", true),
        ("p.rml --node train", false),
        ("p.rml --node fits", false),
        ("p.rml --node counted", false),
        ("n.rml --node n", false),
        ("r.rml --node restarts", true),
        ("r.rml --node waits", false),
    ] {
        let check = folder.rml(&format!("check {node}")).ok();
        assert_eq!(check.matches("export: needs `--params FILE`").count(), usize::from(needs), "{check}");
        let explained = folder.rml(&format!("check {node} --explain")).ok();
        assert_eq!(explained.contains("export: needs `--params FILE`"), needs, "{explained}");
        let json = folder.rml(&format!("check {node} --format json")).json();
        assert_eq!(json["plan"]["export_needs_params"], needs, "{json}");
        let export = folder.rml(&format!("export {node} --out made"));
        match needs {
            true => drop(export.fails(1, &["no-parameters", "--params FILE"])),
            false if node.ends_with("waits") => drop(export.fails(1, &["export-refused"])),
            false => drop(export.ok()),
        }
    }
    folder.rml("export r.rml --node restarts --params c.safetensors").ok();
}

#[test]
fn graphs_say_what_goes_in_and_out() {
    let folder = folder();
    let out = folder.rml("export p.rml --node train --format onnx").ok();
    assert_eq!(
        out,
        "./train.onnx\nin: x, y, line_0.o.fby0, line_0.k\nout: loss, line_0.o.fby0.next, line_0.k.next\n"
    );
    let out = folder.rml("export p.rml --node counted --format onnx").ok();
    assert_eq!(out, "./counted.onnx\nin: i, suspect.fby0\nout: suspect_2, suspect.fby0.next, suspect\n");
    folder.rml("export p.rml --node windows --cycles 4 --format stablehlo --name net").ok();
    let text = folder.read("net.mlir");
    assert!(text.contains("// in  x: tensor<4xf32> (cycles 0 to 3)\n"), "{text}");
    assert!(text.contains("jax.result_info = \"y\""), "{text}");
}

#[test]
fn a_mapping_names_what_goes_in_and_out() {
    let mut folder =
        folder().file("names.toml", "[ports]\nx = \"x.1\"\nloss = \"22\"\n\"line_0.o.fby0\" = \"h\"\n");
    let out = folder.rml("export p.rml --node train --format onnx --map names.toml").ok();
    let names = "in: x.1, y, h, line_0.k\nout: 22, h.next, line_0.k.next\n";
    assert_eq!(out, format!("./train.onnx\n{names}"));
    let out = folder.rml("export p.rml --node train --format stablehlo --map names.toml").ok();
    assert_eq!(out, format!("./train.mlir\n{names}"));
    for (text, said) in [
        ("[ports]\nz = \"x\"\n", ["no input, output or state `z`", "`x`, `y`"]),
        ("[ports]\nx = \"y\"\n", ["two ports would be called \"y\"", "the name of `x`"]),
        ("[ports]\nx = 1\n", ["must be a text", "this is"]),
        ("[port]\nx = \"y\"\n", ["`port`", "ports"]),
    ] {
        folder = folder.file("wrong.toml", text);
        let ran = folder.rml("export p.rml --node train --format onnx --map wrong.toml");
        ran.fails(1, &["malformed-mapping", "wrong.toml:", said[0], said[1]]);
    }
    folder.rml("export p.rml --node train --map names.toml").fails(1, &["bad-option", "--map"]);
    folder.rml("export p.rml --node train --format onnx --map none.toml").fails(1, &["none.toml"]);
    // An int may overflow, which an output tells.
    folder = folder.file("suspect.toml", "[ports]\ni = \"suspect\"\n");
    let ran = folder.rml("export p.rml --node counted --format onnx --map suspect.toml");
    ran.fails(1, &["malformed-mapping", "suspect"]);
}

#[test]
fn graphs_that_cannot_be_are_refused_before_a_file_is_written() {
    let folder = folder().file("e.rml", ERF);
    folder.rml("export p.rml --node windows --format onnx").fails(1, &["bad-option", "--cycles"]);
    folder.rml("export p.rml --node line --format stablehlo").fails(1, &["no-parameters", "`k`: num [1]"]);
    folder
        .rml("export p.rml --node train --format onnx --out p.rml/nowhere")
        .fails(1, &["unwritable-file", "nowhere"]);
    folder.rml("export p.rml --node train --format keras").fails(2, &["--format", "onnx, stablehlo"]);
    folder
        .rml("export e.rml --node smooth --format onnx --f64")
        .fails(1, &["export-refused", "`erf`", "y = erf(x);", "without `--f64`"]);
    folder.rml("export e.rml --node held --format onnx").fails(1, &["export-refused", "waits"]);
    folder
        .rml("export e.rml --node found --format onnx --cycles 4")
        .fails(1, &["export-refused", "ends of its windows"]);
    for file in ["windows.onnx", "line.mlir", "train.onnx", "smooth.onnx", "held.onnx", "found.onnx"] {
        assert!(!folder.path(file).exists(), "{file}");
    }
    folder.rml("export e.rml --node smooth --format onnx").ok();
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_leaves_no_half_of_a_graph() {
    let folder = folder();
    std::os::unix::fs::symlink("/dev/full", folder.path("train.onnx")).expect("a link");
    folder.rml("export p.rml --node train --format onnx").fails(1, &["unwritable-file", "train.onnx"]);
}

#[test]
fn a_number_that_nothing_can_train_needs_no_checkpoint() {
    let alone = "node main(x: num []) -> (y)  scale = param(2.0);  y = scale * x;\n";
    let folder = Folder::new().file("p.rml", alone);
    folder.rml("export p.rml --node main --out deep/down").ok();
    assert!(folder.path("deep/down/main.c").exists());
    let trained = format!("{alone}node train(x: num []) -> (y)  y, _ = diff_main(x, true, -0.1 * y);\n");
    let folder = Folder::new().file("p.rml", trained);
    folder.rml("export p.rml --node main").fails(1, &["no-parameters", "`scale`"]);
    let drawn = "node main(x: num []) -> (y)  scale = param(normal([], 0.0, 1.0));  y = scale * x;\n";
    let folder = Folder::new().file("p.rml", drawn);
    folder.rml("export p.rml --node main").fails(1, &["no-parameters", "`scale`"]);
}

/// A network of two numbers of different scales. The mean of the first one is large beside its deviation.
const SCALED: &str = "
node net(x: num [2]) -> (o: num [])
  k = param([0.5, -0.25]);
  o = sum(k * x);
node train(x: num [2], y: num []) -> (loss: num [])
  o, _ = diff_net(x, true, 0.1 * (y - o));
  loss = (o - y) * (o - y);
node infer(x: num [2]) -> (o: num [])
  o = net(x);
node other(z: num [2]) -> (o: num [])
  o = net(z);
node wider(x: num [3]) -> (o: num [])
  o = net(x[0:2]);
";

/// Reads two numbers for each cycle, and prints what is found.
const SCALED_MAIN: &str = "
#include \"infer.h\"
#include <stdio.h>
int main(void) {
    static infer_state state;
    static infer_work work;
    static const infer_num given[3][2] = {{60000.25f, 0.5f}, {60001.5f, 0.0f / 0.0f}, {59999.0f, 0.75f}};
    infer_start(&state);
    for (int t = 0; t < 3; t++) {
        infer_in in;
        infer_out out;
        in.x[0] = given[t][0];
        in.x[1] = given[t][1];
        if (infer_run(&state, &work, &in, 1, &out) != 1) {
            return 1;
        }
        printf(\"%.17g\\n\", (double)out.o);
    }
    return 0;
}
";

#[test]
fn an_exported_program_prepares_its_inputs_as_the_training_did() {
    let rows = "a,b,y\n60000.25,0.5,1\n60001.5,,2\n59999,0.75,0\n60000.75,0.25,1\n";
    let folder = Folder::new().file("p.rml", SCALED).file("t.csv", rows);
    let columns = "--columns x=a,b --columns y=y";
    for (f64_flag, number, tolerance) in [("", "float", 3e-6), ("--f64", "double", 0.0)] {
        let train =
            format!("train p.rml {f64_flag} --data t.csv {columns} --test 0 --fill x=mean --standardise x");
        folder.rml(&format!("{train} --epochs 3 --save c.safetensors")).ok();
        folder.rml("infer p.rml --params c.safetensors --data t.csv --split all --out o.json").ok();
        let expected: serde_json::Value = serde_json::from_str(&folder.read("o.json")).expect("JSON");
        let run = folder.rml("export p.rml --node infer --params c.safetensors --name infer");
        let note =
            "`x` gets values as in the data: NaN is a gap, which is filled, and values are standardised";
        assert!(run.err.contains(note) && !run.err.contains("not-prepared"), "{}", run.err);
        run.ok();
        assert!(folder.read("infer.h").contains(note), "the header says it, too");
        let main = SCALED_MAIN.replace("infer_num", number);
        std::fs::write(folder.path("main.c"), main).expect("a file");
        let found = printed(&folder, &["infer.c", "main.c"]);
        let found: Vec<f64> = found.lines().map(|line| line.parse().expect("a number")).collect();
        assert_eq!(found.len(), 3);
        for (i, found) in found.iter().enumerate() {
            let expected = expected["o"][i].as_f64().expect("a number");
            assert!((found - expected).abs() <= tolerance, "{number} {i}: {found} {expected}");
        }
        for format in ["onnx", "stablehlo"] {
            let run =
                folder.rml(&format!("export p.rml --node infer --params c.safetensors --format {format}"));
            assert!(run.err.contains(note), "{}", run.err);
            run.ok();
        }
    }
    let other = folder.rml("export p.rml --node other --params c.safetensors");
    assert!(!other.err.contains("prepared") && !other.err.contains("standardised"), "{}", other.err);
    other.ok();
    folder
        .rml("export p.rml --node wider --params c.safetensors")
        .fails(1, &["export-refused", "input `x: num [3]` was standardised or filled by 2 numbers"]);
    // Nor is it run with the numbers of other elements.
    let folder = folder.file("w.csv", "a,b,c\n1,2,3\n4,5,6\n").file("w.jsonl", "{\"x\": [1, 2, 3]}\n");
    let misfit = ["checkpoint-mismatch", "input `x: num [3]` was standardised or filled by 2 numbers"];
    for args in [
        "infer p.rml --node wider --params c.safetensors --data w.csv --columns x=a,b,c",
        "infer p.rml --node wider --params c.safetensors --stream",
        "run p.rml --node wider --params c.safetensors --inputs w.jsonl --columns x=x",
    ] {
        folder.rml_with(args, "{\"x\": [1, 2, 3]}\n").fails(1, &misfit);
    }
}
