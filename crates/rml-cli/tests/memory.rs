//! A value that would take more memory than allowed is an error that names the expression, before the value is
//! allocated.

mod support;

use support::Folder;

#[test]
fn constants_are_within_the_limit() {
    let text = "node main(k: num []) -> (o)\n  o = sum(k * ones([2000, 3000]));\n";
    let folder = Folder::new().file("p.rml", text).file("d.json", r#"{"k": [2.0]}"#);
    let words = ["memory-limit", "p.rml:2:15", "num [2000, 3000]", "24000000 bytes (22.9 MiB) asked for"];
    folder.rml("run p.rml --inputs d.json --memory 16M").fails(1, &words);
    folder.rml("check p.rml --memory 16M").fails(1, &words);
    folder.rml("run p.rml --inputs d.json --f64 --memory 32M").fails(1, &["48000000 bytes"]);
    assert!(folder.rml("run p.rml --inputs d.json --memory 128M").ok().contains("12000000"));
}

#[test]
fn a_plan_without_memory_is_an_error_of_memory() {
    let text = "node main(k: num []) -> (o)\n  a = k * ones([1000, 1000]);\n  o = sum(a * a + sin(a));\n";
    let folder = Folder::new().file("p.rml", text).file("d.json", r#"{"k": [2.0]}"#);
    let run = "run p.rml --inputs d.json --engine plan --memory";
    folder.rml(&format!("{run} 10M")).fails(1, &["error[memory-limit]: one tick of its windows", "--memory"]);
    folder.rml(&format!("{run} 64M")).ok();
}

#[test]
fn a_shape_without_elements_has_a_bound() {
    for shape in ["9223372036854775807, 0, 0", "0, 1000000000, 4, 2"] {
        for value in [format!("zeros([{shape}])"), format!("broadcast([{shape}], 1.0)")] {
            let folder = Folder::new().file("p.rml", format!("node main() -> (o)\n  o = {value};\n"));
            folder.rml("run p.rml --cycles 1").fails(1, &["static-value", "a dimension of 0 counting as 1"]);
        }
    }
}

/// Runs a node over one row of inputs, and checks that the error names the expression and the bytes that it needs.
fn refused(node: &str, inputs: &str, expression: &str, asked: &str) {
    let folder = Folder::new().file("p.rml", format!("{node}\n")).file("d.json", inputs);
    let start = node.find(expression).expect("the expression is in the program") + 1;
    let words = ["memory-limit", &format!("p.rml:1:{start}"), asked, "--memory"];
    let over = if inputs.is_empty() { "--cycles 1" } else { "--inputs d.json" };
    // Computed by functions of the backend, and operator by operator.
    folder.rml(&format!("run p.rml {over} --memory 256M")).fails(1, &words);
    folder.rml(&format!("trace p.rml {over} --memory 256M")).fails(1, &words);
}

#[test]
fn operators_ask_before_they_compute() {
    let hot = "one_hot(1000000000, i)";
    refused(
        &format!("node main(i: int []) -> (o) o = sum({hot});"),
        r#"{"i": [1]}"#,
        hot,
        "4000000000 bytes",
    );
    let random = "random_uniform([2147483648])";
    refused(&format!("node main() -> (o) o = sum({random});"), "", random, "bytes (");
    let conv = "conv1d(x, k, 1, [1000000000, 1000000000])";
    let node = format!("node main(x: num [1, 4, 1], k: num [3, 1, 1]) -> (o) o = sum({conv});");
    refused(
        &node,
        r#"{"x": [[[[1.0], [1.0], [1.0], [1.0]]]], "k": [[[[1.0]], [[1.0]], [[1.0]]]]}"#,
        conv,
        "bytes (",
    );
    let einsum = r#"einsum("i,j->ij", a, a)"#;
    let node = format!("node main(x: num []) -> (o) a = broadcast([30000], x); o = sum({einsum});");
    refused(&node, r#"{"x": [1.0]}"#, einsum, "bytes (");
    let nothing = "broadcast([0, 1000000000, 2], x)";
    let node = format!("node main(x: num []) -> (o) o = ({nothing} + 1.0)[0:0, 0, 0];");
    // The simulator requests memory as if no axis were empty; a plan needs none for values without elements.
    let folder = Folder::new().file("p.rml", format!("{node}\n")).file("d.json", r#"{"x": [1.0]}"#);
    for command in ["run --engine sim", "trace"] {
        let words = ["memory-limit", "p.rml:1:", "8000000000 bytes", "--memory"];
        folder.rml(&format!("{command} p.rml --inputs d.json --memory 256M")).fails(1, &words);
    }
    assert!(folder.rml("run p.rml --inputs d.json --memory 256M").ok().contains("[[]]"));
}

#[test]
fn initial_values_ask_before_they_are_drawn() {
    for init in ["normal([10000, 10000], 0.0, 1.0)", "orthogonal([10000, 10000])"] {
        let text = format!("node main() -> (o)\n  p = param({init});\n  o = sum(p);\n");
        let folder = Folder::new().file("p.rml", text);
        let words = ["memory-limit", "p.rml:2:", "this is num [10000, 10000]"];
        folder.rml("run p.rml --cycles 1 --memory 512M").fails(1, &words);
    }
}

/// A program whose output waits for a value that never comes, with a tensor of 400 kB in every cycle.
const WAITING: &str = "\
node main() -> (o)
  n = 0.0 fby n + 1.0;
  a = broadcast([100000], n) * 2.0;
  o = if n > 1000000000.0 then a else post o;
";

#[test]
fn many_tensors_of_medium_size_are_summed_up() {
    let folder = Folder::new().file("p.rml", WAITING);
    let run = folder.rml("run p.rml --cycles 100000 --memory 64M").fails(1, &["memory-limit", "p.rml:3:"]);
    assert!(run.out.contains("\"?\""), "what was computed is printed");
    folder.rml("trace p.rml --cycles 100000 --memory 64M").fails(1, &["memory-limit"]);
    folder.rml("run p.rml --cycles 100 --memory 128M").ok();
}

#[test]
fn cycles_that_wait_are_counted_too() {
    let text = "node main() -> (o)\n  n = 0 fby n + 1;\n  o = if n > 1000000000 then n else post o;\n";
    let folder = Folder::new().file("p.rml", text);
    let words = ["memory-limit", "p.rml:3:", "another cycle in addition to", "`o` in cycle 0 waits for"];
    folder.rml("run p.rml --cycles 100000 --memory 8M").fails(1, &words);
}

#[test]
fn traces_are_as_long_as_there_is_memory() {
    let folder = Folder::new().file("p.rml", "node main() -> (o)\n  o = 1.0 fby o + 1.0;\n");
    let words = ["memory-limit", "p.rml:2:", "--cycles"];
    for cycles in ["100000000", "1000000000000000000", "18446744073709551615"] {
        for command in
            ["run p.rml", "run p.rml --vars all", "trace p.rml", "trace p.rml --stages", "grad p.rml"]
        {
            folder
                .rml(&format!("{command} --cycles {cycles} --memory 512M"))
                .fails(1, &["memory-limit", "cycles"]);
        }
        folder.rml(&format!("run p.rml --cycles {cycles} --memory 512M")).fails(1, &words);
        folder
            .rml(&format!("trace p.rml --semantics kahn --cycles {cycles} --memory 512M"))
            .fails(1, &["memory-limit"]);
    }
    let out = folder.rml("run p.rml --cycles 100000 --memory 4M").ok();
    assert!(out.ends_with("100000.0]}}\n"), "the text is written in pieces");
    assert!(folder.rml("run p.rml --cycles 100000 --memory 4M --format csv").ok().ends_with("\n100000.0\n"));
    let words = ["memory-limit", "a table of 100000 cycles"];
    folder.rml("run p.rml --cycles 100000 --memory 4M --format table").fails(1, &words);
    folder.rml("trace p.rml --cycles 100000 --vcd o.vcd --memory 16M").fails(1, &words);
    folder.rml("trace p.rml --cycles 10000 --memory 8M").fails(1, &["a chronogram of 10000 cycles"]);
}

#[test]
fn gradients_ask_for_their_constants() {
    let f = "node f(x) -> (o)\n  y = broadcast([4000, 4000], x);\n  o = sum((post y) + (0.0 fby y));\n";
    let main = "node main(x: num [], bp: bool []) -> (o, dx)\n  o, dx = diff_f(x, bp, 1.0);\n";
    let folder = Folder::new().file("p.rml", format!("{f}\n{main}"));
    let words = ["memory-limit", "a constant of the gradient", "p.rml:3:", "num [4000, 4000]"];
    folder.rml("check p.rml --memory 32M").fails(1, &words);
}

#[test]
fn kept_outputs_and_texts_ask() {
    let xs: Vec<String> = (0..100).map(|x| format!("{x}.0")).collect();
    let folder = Folder::new()
        .file("p.rml", "node infer(x: num []) -> (o)\n  o = broadcast([10000], x);\n")
        .file("d.json", format!("{{\"x\": [{}]}}", xs.join(", ")))
        .file("q.rml", "node main() -> (o)\n  p = param(normal([1000, 1000], 0.0, 1.0));\n  o = sum(p);\n");
    let infer = "infer p.rml --data d.json --out o.npz";
    folder.rml(&format!("{infer} --memory 2M")).fails(1, &["memory-limit", "keeping output `o`"]);
    folder.rml(&format!("{infer} --memory 64M")).ok();
    let words = ["memory-limit", "the text of 1000000 elements"];
    folder.rml("dump q.rml --after draw --memory 32M").fails(1, &words);
    folder.rml("dump q.rml --after inline --memory 32M").ok();
}

#[test]
fn data_that_does_not_fit_can_stay_on_disk() {
    let program = "node infer(x: num [16]) -> (m)\n  m = mean(x);\n";
    let row = |i: usize| format!("{{\"x\": {:?}}}\n", [0.25 * (i % 7) as f64; 16]);
    let lines: String = (0..70_000).map(row).collect();
    assert!(lines.len() > 6_000_000);
    let folder = Folder::new().file("p.rml", program).file("d.jsonl", lines);
    let infer = "infer p.rml --data d.jsonl --memory";
    folder.rml(&format!("{infer} 6M")).fails(1, &["memory-limit", "d.jsonl", "with `--on-disk`"]);
    let on_disk = folder.rml(&format!("{infer} 6M --on-disk")).ok();
    assert_eq!(on_disk, folder.rml(&format!("{infer} 1G")).ok());
    folder.rml(&format!("{infer} 100K --on-disk")).fails(1, &["memory-limit", "d.jsonl"]);
    folder.rml("train p.rml --node infer --windows 3 --on-disk").fails(2, &["--data"]);
    folder.rml("infer p.rml --data d.jsonl --stream --on-disk").fails(2, &["--stream"]);
}

#[test]
fn columns_that_nothing_uses_stay_packed() {
    let rows: Vec<String> = (0..100).map(|x| format!("{x}.0")).collect();
    let folder = Folder::new()
        .file(
            "make.rml",
            "node infer(x: num []) -> (y, wide)\n  y = x;\n  wide = broadcast([50000], 0.0 * x);\n",
        )
        .file("d.json", format!("{{\"x\": [{}]}}", rows.join(", ")))
        .file("p.rml", "node infer(y: num []) -> (m)\n  m = 2.0 * y;\n")
        .file("q.rml", "node infer(yy: num []) -> (m)\n  m = 2.0 * yy;\n");
    folder.rml("infer make.rml --data d.json --out t.npz").ok();
    for command in ["infer p.rml --data", "infer p.rml --on-disk --data", "run p.rml --inputs"] {
        folder.rml(&format!("{command} t.npz --memory 2M")).ok();
    }
    // The column is still listed.
    let words = ["missing-column", "t.npz has `window`, `y`, `wide`"];
    folder.rml("infer q.rml --data t.npz --memory 2M").fails(1, &words);
}
