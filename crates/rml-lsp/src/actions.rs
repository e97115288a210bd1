//! Quick fixes, and formatting.

use lsp_types::{
    CodeAction, CodeActionKind, CodeActionOrCommand, CodeActionParams, DocumentFormattingParams, TextEdit,
    WorkspaceEdit,
};

use crate::findings;
use crate::lines::Lines;
use crate::server::{Answer, Server};
use crate::texts;

/// Fixes for the findings in a range: the help lines that a program can apply.
pub(crate) fn actions(server: &mut Server, params: CodeActionParams) -> Answer<Vec<CodeActionOrCommand>> {
    let uri = params.text_document.uri;
    let path = texts::path(&uri);
    let Some(survey) = server.survey(&path) else { return Ok(None) };
    let Some(found) = server.findings(&path) else { return Ok(None) };
    let lines = Lines::new(survey.sources.text(survey.main), server.encoding);
    let asked = lines.bytes(params.range);
    let mut all = Vec::new();
    for finding in found.iter() {
        let near = finding.labels.iter().map(|label| label.span).filter(|span| span.file == survey.main);
        let touches = |span: rml::Span| span.range().start <= asked.end && asked.start <= span.range().end;
        if !near.into_iter().any(touches) {
            continue;
        }
        let own = rml::Diagnostics(vec![finding.clone()]);
        for fix in finding.fixes.iter().filter(|fix| fix.span.file == survey.main) {
            let edit = TextEdit { range: lines.range(fix.span.range()), new_text: fix.text.clone() };
            #[allow(clippy::mutable_key_type, reason = "the protocol's type")]
            let changes = [(uri.clone(), vec![edit])].into_iter().collect();
            all.push(CodeActionOrCommand::CodeAction(CodeAction {
                title: fix.title.clone(),
                kind: Some(CodeActionKind::QUICKFIX),
                diagnostics: Some(findings::published(&own, &survey.sources, survey.main, server.encoding)),
                edit: Some(WorkspaceEdit { changes: Some(changes), ..WorkspaceEdit::default() }),
                is_preferred: Some(finding.fixes.len() == 1),
                ..CodeAction::default()
            }));
        }
    }
    Ok(Some(all))
}

/// The text in canonical layout.
pub(crate) fn format(server: &mut Server, params: DocumentFormattingParams) -> Answer<Vec<TextEdit>> {
    let path = texts::path(&params.text_document.uri);
    let source = server.texts.source(&path);
    let Ok(text) = source.read() else { return Ok(None) };
    match rml::format(&source.name(), &text) {
        Ok(formatted) if formatted == text => Ok(Some(Vec::new())),
        Ok(new_text) => {
            let range = Lines::new(&text, server.encoding).range(0..text.len());
            Ok(Some(vec![TextEdit { range, new_text }]))
        }
        Err(_) => Err("a text with errors is not laid out".to_owned()),
    }
}
