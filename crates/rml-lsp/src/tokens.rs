//! Semantic tokens for highlighting: nodes, functions, inputs, variables, dimensions.

use std::collections::BTreeSet;

use indexmap::IndexMap;
use lsp_types::{
    SemanticToken, SemanticTokenModifier, SemanticTokenType, SemanticTokens, SemanticTokensLegend,
    SemanticTokensParams, SemanticTokensResult,
};
use rml::{Meaning, Span, Survey, VariableKind};

use crate::lines::{Lines, number};
use crate::server::{Answer, Server};
use crate::texts;

const DEFINITION: u32 = 1;
const LIBRARY: u32 = 2;

/// The kinds of tokens; answers refer to them by number.
pub(crate) fn legend() -> SemanticTokensLegend {
    SemanticTokensLegend {
        token_types: vec![
            SemanticTokenType::FUNCTION,
            SemanticTokenType::PARAMETER,
            SemanticTokenType::VARIABLE,
            SemanticTokenType::TYPE_PARAMETER,
            SemanticTokenType::NAMESPACE,
        ],
        token_modifiers: vec![SemanticTokenModifier::DEFINITION, SemanticTokenModifier::DEFAULT_LIBRARY],
    }
}

/// All names of a text.
pub(crate) fn tokens(server: &mut Server, params: SemanticTokensParams) -> Answer<SemanticTokensResult> {
    let path = texts::path(&params.text_document.uri);
    let Some(survey) = server.survey(&path) else { return Ok(None) };
    let text = survey.sources.text(survey.main);
    let lines = Lines::new(text, server.encoding);
    let kinds = kinds(&survey);
    let nodes = survey.index.nodes.iter().filter(|node| node.library);
    let library: BTreeSet<Span> = nodes.map(|node| node.name_span).collect();
    let mut data = Vec::new();
    let (mut line, mut column) = (0, 0);
    for name in survey.index.names.iter().filter(|name| name.word.file == survey.main) {
        let range = lines.range(name.word.range());
        let Some(length) = range.end.character.checked_sub(range.start.character) else { continue };
        let (token_type, modifiers) = match name.meaning {
            Meaning::Node(span, _) => (0, if library.contains(&span) { LIBRARY } else { 0 }),
            Meaning::Function(_) => (0, LIBRARY),
            Meaning::Module(_) => (4, 0),
            Meaning::Variable(span) => match kinds.get(&span) {
                Some(VariableKind::Input) => (1, 0),
                Some(VariableKind::Dimension) => (3, 0),
                _ => (2, 0),
            },
        };
        let defines = crate::navigate::defined_at(name.meaning) == Some(name.span);
        let delta_line = range.start.line - line;
        data.push(SemanticToken {
            delta_line,
            delta_start: if delta_line == 0 { range.start.character - column } else { range.start.character },
            length: number(length as usize),
            token_type,
            token_modifiers_bitset: modifiers | if defines { DEFINITION } else { 0 },
        });
        (line, column) = (range.start.line, range.start.character);
    }
    Ok(Some(SemanticTokensResult::Tokens(SemanticTokens { result_id: None, data })))
}

/// The kinds of the variables of a text, by the places of their definitions.
fn kinds(survey: &Survey) -> IndexMap<Span, VariableKind> {
    let own = survey.index.nodes.iter().filter(|node| node.name_span.file == survey.main);
    own.flat_map(|node| node.variables.iter().map(|v| (v.span, v.kind))).collect()
}
