//! Checks the lists of columns of a text.

use std::collections::BTreeMap;

use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, suggest};
use rml_syntax::ast::DefinitionForm;

use crate::load::LoadedFile;
use crate::report::Report;

/// Reports columns of inputs that no node of the text has, and inputs with two lists of columns.
pub(super) fn check(file: &LoadedFile<'_>, names: &lasso::Rodeo, report: &mut Report) {
    let nodes = file.ast.definitions().filter(|definition| definition.form == DefinitionForm::Node);
    let inputs: Vec<&str> = nodes
        .flat_map(|definition| definition.node.inputs)
        .map(|decl| names.resolve(&decl.name.name))
        .collect();
    let mut known = BTreeMap::new();
    for columns in file.ast.columns() {
        let (name, span) = (names.resolve(&columns.input.name), columns.input.span);
        // A field of a record that is an input: `s.h`.
        let input = name.split_once('.').map_or(name, |(record, _)| record);
        if let Some(first) = known.insert(name, span) {
            report.push(
                Diagnostic::error(
                    codes::DUPLICATE_DEFINITION,
                    format!("the columns of `{name}` are given twice"),
                )
                .label(span, "given again here")
                .label(first, "first given here")
                .help("write all of them in one list: `columns x = a, b;`"),
            );
        }
        // A node that did not parse may have the input.
        if inputs.contains(&input) || !file.ast.lost.is_empty() {
            continue;
        }
        let what = format!("no node of this file has an input `{input}`");
        let d = Diagnostic::error(codes::UNKNOWN_NAME, what).label(span, "expected an input");
        report.push(match suggest(input, inputs.iter().copied()) {
            Some(near) => d.help(format!("there is `{near}`")),
            None => d.help("write the name of an input of a node, or leave this list out"),
        });
    }
}
