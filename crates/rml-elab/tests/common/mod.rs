//! Helpers of the tests: elaborate a text with the library of the repository.
#![allow(dead_code, reason = "each test file uses a part of these")]

use rml_base::{Diagnostics, FileId, Sources};
use rml_elab::{NoFiles, Options, Resolved, elaborate};
use rml_ir::typed::Module;

/// The library modules.
pub(crate) const LIBRARY: &[(&str, &str)] = &[
    ("std.attention", include_str!("../../../../std/attention.rml")),
    ("std.experts", include_str!("../../../../std/experts.rml")),
    ("std.layers", include_str!("../../../../std/layers.rml")),
    ("std.losses", include_str!("../../../../std/losses.rml")),
    ("std.normalisation", include_str!("../../../../std/normalisation.rml")),
    ("std.optimisers", include_str!("../../../../std/optimisers.rml")),
    ("std.schedules", include_str!("../../../../std/schedules.rml")),
    ("std.statistics", include_str!("../../../../std/statistics.rml")),
    ("std.structure", include_str!("../../../../std/structure.rml")),
    ("std.time", include_str!("../../../../std/time.rml")),
];

/// Options with the library and the prelude.
pub(crate) fn options() -> Options {
    Options { library: LIBRARY, prelude: include_str!("../../../../std/prelude.rml"), ..Options::default() }
}

/// Elaborates a text.
pub(crate) fn run(text: &str, options: &Options) -> (Option<Module>, Diagnostics, Sources) {
    let mut sources = Sources::new();
    let main = sources.add("test.rml", text);
    let (module, diagnostics) = elaborate(&mut sources, main, options, &mut NoFiles);
    (module, diagnostics, sources)
}

/// Checks all nodes of a text; returns the modules of correct nodes, and all findings.
pub(crate) fn check_all(
    sources: &mut Sources,
    main: FileId,
    options: &Options,
) -> (Vec<Module>, Diagnostics) {
    Resolved::new(sources, main, options, &mut NoFiles).check_all(options)
}

/// Elaborates a text that must be correct.
pub(crate) fn accept(text: &str, options: &Options) -> Module {
    let (module, diagnostics, sources) = run(text, options);
    let shown: Vec<String> = diagnostics.iter().map(|d| describe(d, &sources)).collect();
    module.unwrap_or_else(|| panic!("rejected:\n{}\n{text}", shown.join("\n")))
}

/// A diagnostic with its places.
pub(crate) fn describe(d: &rml_base::Diagnostic, sources: &Sources) -> String {
    let mut text = d.to_string();
    for label in &d.labels {
        let (line, column) = sources.line_column(label.span.file, label.span.start);
        let name = sources.name(label.span.file);
        let snippet = sources.snippet(label.span);
        text.push_str(&format!("\n  at {name}:{line}:{column} `{snippet}`: {}", label.message));
    }
    text
}

/// The types of the outputs of a module's root.
pub(crate) fn outputs(module: &Module) -> Vec<String> {
    let root = &module.nodes[module.root];
    root.outputs.iter().map(|o| root.vars[*o].ty.to_string()).collect()
}
