//! `rml doc`.

use std::fmt::Write as _;
use std::path::Path;

use rml::codes::run::BAD_OPTION;
use rml::doc::{self, Documented, ModuleDoc, NodeDoc};
use rml::{Diagnostic, Source};

use crate::args::Doc;
use crate::output::{Output, Stop};

/// Prints the documentation of the node, module or operator.
pub(crate) fn doc(args: &Doc, output: &mut Output) -> Result<(), Stop> {
    let Some(name) = &args.name else { return output.print(&overview()) };
    let is_file = Path::new(name).extension().is_some_and(|e| e == "rml") || Path::new(name).is_file();
    let found = if is_file {
        vec![Documented::Module(doc::document(&Source::file(name))?)]
    } else {
        doc::find(name)?
    };
    let text = match (&found[..], &args.node) {
        ([Documented::Module(module), ..], Some(node)) => one(&module.name, doc::node(module, node)?),
        (_, Some(node)) => {
            let what = format!("`{name}` is no module or file, and has no node `{node}`");
            let help = "name a module before a node, as in `rml doc std.layers lstm`";
            return Err(Diagnostic::error(BAD_OPTION, what).help(help).into());
        }
        (found, None) => found.iter().map(entry).collect::<Vec<_>>().join("\n"),
    };
    output.print(&text)
}

fn entry(found: &Documented) -> String {
    match found {
        Documented::Module(module) => listing(module),
        Documented::Node(module, node) => one(module, node),
        Documented::Form(form) => {
            format!(
                "{} of the language\n\n  {}\n\n{}\nExample: {}\n",
                form.name, form.form, form.meaning, form.example
            )
        }
        Documented::Operator(info) => {
            let gradient = if info.is_differentiable() { info.adjoint } else { "none" };
            format!(
                "operator {}\n\n  {}\n\n{}.\nShapes: {}.\nClocks: operands and result are present in the same cycles.\nGradient: {gradient}.\nExample: {} gives {}.\n",
                info.name, info.signature, info.meaning, info.shapes, info.example, info.value
            )
        }
    }
}

/// All modules of the library.
fn overview() -> String {
    let mut out = String::from(
        "modules of the library; `rml doc std.layers` lists one, `rml doc lstm` shows a node\n\n",
    );
    let modules = doc::library();
    let row = |module: &ModuleDoc| {
        let nodes: Vec<&str> = visible(module).map(|n| n.name.as_str()).collect();
        vec![module.name.clone(), nodes.join(", ")]
    };
    out.push_str(&rml::table(&modules.iter().map(row).collect::<Vec<_>>(), &[0, 1]));
    out.push_str("\n`rml doc matmul` shows an operator; docs/operators.md has all\n");
    out
}

fn visible(module: &ModuleDoc) -> impl Iterator<Item = &NodeDoc> {
    module.nodes.iter().filter(|n| !n.private)
}

fn listing(module: &ModuleDoc) -> String {
    let mut out = format!("{}\n", module.name);
    if !module.introduction.is_empty() {
        let _ = write!(out, "\n{}\n", module.introduction);
    }
    for node in visible(module) {
        let _ = write!(out, "\n  {}\n", node.header.replace('\n', "\n  "));
        if !node.comment.is_empty() {
            let _ = writeln!(out, "      {}", node.summary());
        }
    }
    out
}

fn one(module: &str, node: &NodeDoc) -> String {
    let mut out = format!("{} of {module}\n\n  {}\n", node.name, node.header.replace('\n', "\n  "));
    if !node.comment.is_empty() {
        let _ = write!(out, "\n{}\n", node.comment);
    }
    let lists =
        [("Static parameters", &node.statics), ("Dimensions bound by the arguments", &node.dimensions)];
    for (what, names) in lists.into_iter().filter(|(_, names)| !names.is_empty()) {
        let _ = writeln!(out, "{what}: {}.", names.join(", "));
    }
    if !node.columns.is_empty() {
        let _ = writeln!(out, "\n  {}", node.columns.join("\n").replace('\n', "\n  "));
    }
    if module.starts_with("std.") && module != "std.prelude" {
        let _ = write!(out, "\nimport {module} ({});\n", node.name);
    }
    out
}
