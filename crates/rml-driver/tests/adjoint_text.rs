//! The printed adjoints of the paper's nodes are valid programs, also if only a caller determines a node's shapes.

use std::path::PathBuf;

use rml_driver::{Options, Source, adjoint, check, differentiate};

fn adjoints(file: &str, nodes: &[&str]) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/paper").join(file);
    for node in nodes {
        let text = differentiate(&Source::file(&path), &Options::default(), node)
            .unwrap_or_else(|e| panic!("{file}, {node}: {e}"));
        assert!(text.contains(&format!("node diff_{node}(")), "{text}");
        let (_, findings) = check(&Source::text(*node, text.clone()), &Options::default());
        assert!(!findings.has_errors(), "{file}, {node}: {findings}\n{text}");
    }
}

#[test]
fn gradient_descent() {
    adjoints("app.rml", &["dense", "multiply", "app", "app_pipe", "mse_grad_i"]);
    adjoints("norm.rml", &["app"]);
}

#[test]
fn recurrent_networks() {
    adjoints("lstm.rml", &["dense1", "lstm_cell", "lstm"]);
    adjoints("lstm_end.rml", &["lstm_bi", "dense1_end", "lstm_cell_end", "post_end"]);
    adjoints("mlp.rml", &["mlp", "window", "timeseries"]);
}

#[test]
fn batch_normalisation_and_experts() {
    adjoints("batchnorm.rml", &["backfill", "fby_end", "mean_var", "norm", "batch_norm"]);
    adjoints("moe.rml", &["gating_network", "expert1", "mixture_of_experts"]);
}

#[test]
fn a_node_that_nothing_settles_is_reported_by_its_statics() {
    let source = Source::text("open", "node f(shape, x) -> (o)\n  o = x + zeros(shape);\n");
    let text = differentiate(&source, &Options::default(), "f");
    let error = text.expect_err("no caller gives a shape").to_string();
    assert!(error.contains("static-not-set") && error.contains("--set shape"), "{error}");
}

#[test]
fn long_equations_are_broken_as_the_formatter_does() {
    let text =
        "import std.layers;\nnode f(x: num [2, 3], end: bool []) -> (h)\n  h = lstm(4, x) every end;\n";
    let text = differentiate(&Source::text("f", text), &Options::default(), "f").unwrap();
    let longest = text.lines().map(|line| line.chars().count()).max();
    assert!(longest.is_some_and(|n| n <= 100), "{text}");
    assert_eq!(rml_driver::format("f", &text).unwrap(), text);
    assert!(text.contains("dc = (forget when bp) * dc_next1;"), "{text}");
    assert!(text.contains("dh_next1 = (merge (bp when bpx) dh_next 0.0) + ("), "{text}");
}

/// Each equation of an adjoint has the lines that it comes from: its own lines, or those that it transposes.
#[test]
fn equations_say_where_they_come_from() {
    let text = "node g(x) -> (y)\n  y = x * x;\n\nnode f(x: num []) -> (o)\n  h = tanh(g(x));\n  o = h * 0.5 + exp(h);\n";
    let made = adjoint(&Source::text("f", text), &Options::default(), "f").unwrap();
    assert_eq!(
        made.text(),
        differentiate(&Source::text("f", text), &Options::default(), "f").unwrap(),
        "the same adjoint"
    );
    let line = |span: &rml_base::Span| made.sources.line_column(span.file, span.start).0;
    let of = |node: usize, start: &str| -> Vec<usize> {
        let lines = made.nodes[node].lines.iter();
        let found: Vec<_> = lines.filter(|line| line.text.starts_with(start)).collect();
        assert_eq!(found.len(), 1, "lines that begin with {start}");
        found[0].spans.iter().map(line).collect()
    };
    assert!(made.nodes[0].head.starts_with("node diff_g(") && made.nodes[1].head.starts_with("node diff_f("));
    assert_eq!((of(0, "y ="), of(0, "dx =")), (vec![2], vec![2]));
    assert_eq!((of(1, "h ="), of(1, "o =")), (vec![5], vec![6]));
    assert_eq!(of(1, "dh"), [6, 6], "the two equations of the line that reads `h`");
    assert!(made.nodes[1].lines.iter().any(|l| l.text.starts_with("--") && l.spans.is_empty()));
}
