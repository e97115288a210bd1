//! What would take more memory than is allowed is an error that names the expression, before it is allocated.

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
fn a_shape_without_elements_has_a_bound() {
    for shape in ["9223372036854775807, 0, 0", "0, 1000000000, 4, 2"] {
        for value in [format!("zeros([{shape}])"), format!("broadcast([{shape}], 1.0)")] {
            let folder = Folder::new().file("p.rml", format!("node main() -> (o)\n  o = {value};\n"));
            folder.rml("run p.rml --cycles 1").fails(1, &["static-value", "a dimension of 0 counting as 1"]);
        }
    }
}

/// Runs a node over one row of inputs; the error names the expression and the bytes that it asks for.
fn refused(node: &str, inputs: &str, expression: &str, asked: &str) {
    let folder = Folder::new().file("p.rml", format!("{node}\n")).file("d.json", inputs);
    let start = node.find(expression).expect("the expression is in the program") + 1;
    let words = ["memory-limit", &format!("p.rml:1:{start}"), asked, "--memory"];
    let over = if inputs.is_empty() { "--cycles 1" } else { "--inputs d.json" };
    // Computed in functions of the backend, and operator by operator.
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
    refused(&node, r#"{"x": [1.0]}"#, nothing, "8000000000 bytes");
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
