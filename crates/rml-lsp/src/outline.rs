//! The nodes of a text and their variables.

use lsp_types::{
    DocumentSymbol, DocumentSymbolParams, DocumentSymbolResponse, FoldingRange, FoldingRangeParams,
    SymbolKind,
};
use rml::VariableKind;

use crate::lines::Lines;
use crate::server::{Answer, Server};
use crate::texts;

/// The nodes of a text, each with its names.
pub(crate) fn symbols(server: &mut Server, params: DocumentSymbolParams) -> Answer<DocumentSymbolResponse> {
    let path = texts::path(&params.text_document.uri);
    let Some(survey) = server.survey(&path) else { return Ok(None) };
    let lines = Lines::new(survey.sources.text(survey.main), server.encoding);
    let symbol = |name: &str, kind, whole: rml::Span, at: rml::Span, children| {
        #[allow(deprecated, reason = "a field that has to be there")]
        DocumentSymbol {
            name: name.to_owned(),
            detail: None,
            kind,
            tags: None,
            deprecated: None,
            range: lines.range(whole.range()),
            selection_range: lines.range(at.range()),
            children,
        }
    };
    let own = survey.index.nodes.iter().filter(|node| node.name_span.file == survey.main);
    let nodes = own.map(|node| {
        // A node without a name is incomplete text that is being typed.
        let inner = node.variables.iter().filter(|v| node.span.range().contains(&v.span.range().start));
        let children = inner.map(|v| {
            let kind = match v.kind {
                VariableKind::Input => SymbolKind::FIELD,
                VariableKind::Output => SymbolKind::PROPERTY,
                VariableKind::Inner => SymbolKind::VARIABLE,
                VariableKind::Dimension => SymbolKind::TYPE_PARAMETER,
            };
            symbol(&v.name, kind, v.span, v.span, None)
        });
        if node.constant {
            return symbol(&node.name, SymbolKind::CONSTANT, node.span, node.name_span, None);
        }
        let kind = if node.is_type { SymbolKind::STRUCT } else { SymbolKind::FUNCTION };
        symbol(&node.name, kind, node.span, node.name_span, Some(children.collect()))
    });
    Ok(Some(DocumentSymbolResponse::Nested(nodes.collect())))
}

/// The ranges of the nodes, which an editor can fold.
pub(crate) fn folds(server: &mut Server, params: FoldingRangeParams) -> Answer<Vec<FoldingRange>> {
    let path = texts::path(&params.text_document.uri);
    let Some(survey) = server.survey(&path) else { return Ok(None) };
    let lines = Lines::new(survey.sources.text(survey.main), server.encoding);
    let own = survey.index.nodes.iter().filter(|node| node.name_span.file == survey.main);
    let fold = |node: &rml::NodePlace| {
        let range = lines.range(node.span.range());
        FoldingRange { start_line: range.start.line, end_line: range.end.line, ..FoldingRange::default() }
    };
    Ok(Some(own.map(fold).collect()))
}
