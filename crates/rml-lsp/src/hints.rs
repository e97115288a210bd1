//! Inlay hints: types and clocks of variables that are not declared.

use lsp_types::{InlayHint, InlayHintKind, InlayHintLabel, InlayHintParams};
use rml::VariableKind;

use crate::hover;
use crate::lines::Lines;
use crate::server::{Answer, Server};
use crate::texts;

/// The hints in a range of a text: `: num [batch, 64] when end` after a variable that an equation defines.
pub(crate) fn hints(server: &mut Server, params: InlayHintParams) -> Answer<Vec<InlayHint>> {
    let path = texts::path(&params.text_document.uri);
    let Some(survey) = server.survey(&path) else { return Ok(None) };
    let Some(inspection) = server.known(&path).and_then(|known| known.inspection.clone()) else {
        return Ok(None);
    };
    let text = survey.sources.text(survey.main);
    let lines = Lines::new(text, server.encoding);
    let shown = lines.bytes(params.range);
    let own = survey.index.nodes.iter().filter(|node| node.name_span.file == survey.main);
    let variables = own.flat_map(|node| &node.variables).filter(|v| v.kind != VariableKind::Dimension);
    let mut hints = Vec::new();
    for variable in variables.filter(|v| shown.contains(&v.span.range().start)) {
        let end = variable.span.range().end;
        if text[end..].trim_start().starts_with(':') {
            continue;
        }
        let Some(name) = hover::variable_name(&survey, variable.span) else { continue };
        // A node that is used in several ways has no single type.
        let [ty] = &hover::types(&inspection, &name)[..] else { continue };
        hints.push(InlayHint {
            position: lines.position(end),
            label: InlayHintLabel::String(format!(": {ty}")),
            kind: Some(InlayHintKind::TYPE),
            text_edits: None,
            tooltip: None,
            padding_left: None,
            padding_right: None,
            data: None,
        });
    }
    Ok(Some(hints))
}
