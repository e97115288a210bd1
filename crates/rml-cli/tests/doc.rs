//! `rml doc`: the nodes of the library and of a program, operators, and unknown names.

mod support;

use support::Folder;

#[test]
fn nodes_modules_and_operators_are_shown() {
    let folder = Folder::new();
    let all = folder.rml("doc").ok();
    assert!(
        all.contains("std.layers") && all.contains("batch_norm") && !all.contains("scale_shift"),
        "{all}"
    );
    let lstm = folder.rml("doc lstm").ok();
    for word in [
        "lstm of std.layers",
        "node lstm(units, x: num [batch.., d]) -> (h_next: num [batch.., units])",
        "\nShapes: ",
        "\nClocks: ",
        "Static parameters: units.",
        "bound by the arguments: batch, d.",
        "import std.layers (lstm);",
    ] {
        assert!(lstm.contains(word), "{word} in {lstm}");
    }
    assert_eq!(folder.rml("doc std.layers.lstm").ok(), lstm);
    assert_eq!(folder.rml("doc std.layers lstm").ok(), lstm);
    assert!(folder.rml("doc std.time").ok().contains("node last(n, x) -> (w)"));
    let matmul = folder.rml("doc matmul").ok();
    assert!(
        matmul.contains("operator matmul") && matmul.contains("Gradient: d") && matmul.contains("Example: "),
        "{matmul}"
    );
}

#[test]
fn a_programs_own_nodes_are_shown() {
    let net = "(* Nets. *)\n\n(* Twice as much. *)\nnode twice(x: num [d]) -> (y) y = x + x;\n\nnode bare(n, x) -> (y) y = x[n];\n";
    let folder = Folder::new().file("net.rml", net);
    let all = folder.rml("doc net.rml").ok();
    assert!(
        all.contains("Nets.") && all.contains("Twice as much") && all.contains("node bare(n, x)"),
        "{all}"
    );
    assert!(folder.rml("doc net.rml bare").ok().contains("Static parameters: n."));
    folder.rml("doc net.rml twcie").fails(1, &["unknown-name", "twice"]);
    folder.rml("doc broken.rml").fails(1, &["unreadable-file"]);
}

#[test]
fn unknown_names_are_met_with_advice() {
    let folder = Folder::new();
    folder.rml("doc gruu").fails(1, &["unknown-name", "there is `gru`"]);
    folder.rml("doc diff_gru").fails(1, &["unknown-name", "rml diff"]);
}

/// The syntactic forms that are written as words.
const FORMS: &[&str] = &[
    "fby",
    "post",
    "when",
    "merge",
    "every",
    "if",
    "node",
    "import",
    "restart",
    "match",
    "enum",
    "record",
    "columns",
    "const",
    "for",
    "automaton",
    "share",
    "assert",
];

#[test]
fn forms_of_the_language_are_shown() {
    let folder = Folder::new();
    for form in FORMS {
        let text = folder.rml(&format!("doc {form}")).ok();
        assert!(
            text.starts_with(&format!("{form} of the language\n")) && text.contains("\nExample: "),
            "{text}"
        );
    }
}
