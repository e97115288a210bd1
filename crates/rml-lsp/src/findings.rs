//! Diagnostics in the form of the protocol.

use lsp_types::{
    Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, DiagnosticTag, Location, NumberOrString,
};
use rml::{Diagnostics, FileId, Label, Severity, Sources, codes};

use crate::lines::{Encoding, Lines};
use crate::texts;

/// The findings about a text. A finding about an imported text is placed at the start of this text, and its real place
/// is in the related information.
pub(crate) fn published(
    findings: &Diagnostics,
    sources: &Sources,
    main: FileId,
    encoding: Encoding,
) -> Vec<Diagnostic> {
    let lines = Lines::new(sources.text(main), encoding);
    findings.iter().map(|found| one(found, sources, main, &lines, encoding)).collect()
}

fn one(
    found: &rml::Diagnostic,
    sources: &Sources,
    main: FileId,
    lines: &Lines<'_>,
    encoding: Encoding,
) -> Diagnostic {
    let at = found.labels.iter().find(|label| label.span.file == main);
    let range = lines.range(at.map_or(0..0, |label| label.span.range()));
    let others = found.labels.iter().filter(|label| at.is_none_or(|at| !std::ptr::eq(*label, at)));
    let related: Vec<_> = others.filter_map(|label| remark(label, sources, encoding)).collect();
    let mut message = found.message.clone();
    let label = at.map(|label| label.message.as_str()).filter(|text| !text.is_empty());
    message.extend(label.map(|text| format!("\n{text}")));
    message.extend(found.notes.iter().map(|note| format!("\nnote: {note}")));
    message.extend(found.help.iter().map(|help| format!("\nhelp: {help}")));
    let unused = found.code == codes::elab::UNUSED_IMPORT;
    Diagnostic {
        range,
        severity: Some(match found.severity {
            Severity::Error => DiagnosticSeverity::ERROR,
            Severity::Warning => DiagnosticSeverity::WARNING,
        }),
        code: Some(NumberOrString::String(found.code.name.to_owned())),
        source: Some("rml".to_owned()),
        message,
        related_information: (!related.is_empty()).then_some(related),
        tags: unused.then(|| vec![DiagnosticTag::UNNECESSARY]),
        ..Diagnostic::default()
    }
}

/// Another place of a finding, if an editor can open it.
fn remark(label: &Label, sources: &Sources, encoding: Encoding) -> Option<DiagnosticRelatedInformation> {
    let path = std::path::Path::new(sources.name(label.span.file));
    let uri = path.is_absolute().then(|| texts::uri(path))??;
    let range = Lines::new(sources.text(label.span.file), encoding).range(label.span.range());
    let message = if label.message.is_empty() { "here".to_owned() } else { label.message.clone() };
    Some(DiagnosticRelatedInformation { location: Location { uri, range }, message })
}
