//! Renames a variable, a node or an import, at all its places.

use std::collections::BTreeMap;

use lsp_types::{
    PrepareRenameResponse, RenameParams, TextDocumentPositionParams, TextEdit, Uri, WorkspaceEdit,
};
use rml::{Meaning, NamePlace, Survey};

use crate::lines::Lines;
use crate::navigate;
use crate::server::{Answer, Place, Server};
use crate::texts;

/// The range of the name that would be renamed.
pub(crate) fn prepare(
    server: &mut Server,
    params: TextDocumentPositionParams,
) -> Answer<PrepareRenameResponse> {
    let Some(place) = Place::of(server, &params) else { return Ok(None) };
    let Some(name) = place.name() else { return Ok(None) };
    may_be_renamed(&place.survey, name)?;
    let range = Lines::new(place.text(), server.encoding).range(name.span.range());
    let placeholder = place.survey.sources.snippet(name.span).to_owned();
    Ok(Some(PrepareRenameResponse::RangeWithPlaceholder { range, placeholder }))
}

fn may_be_renamed(survey: &Survey, name: NamePlace) -> Result<(), String> {
    let node = |span| survey.index.nodes.iter().find(|node| node.name_span == span);
    match name.meaning {
        Meaning::Function(name) => Err(format!("`{name}` is a function of the language")),
        Meaning::Node(span, _) if node(span).is_some_and(|node| node.library) => {
            let name = survey.sources.snippet(span);
            Err(format!(
                "`{name}` belongs to the library; `import .. ({name} as other);` gives it another name"
            ))
        }
        _ => Ok(()),
    }
}

/// Renames at all places with the same name; a different name that an import gives to a node is not changed.
pub(crate) fn rename(server: &mut Server, params: RenameParams) -> Answer<WorkspaceEdit> {
    let Some(place) = Place::of(server, &params.text_document_position) else { return Ok(None) };
    let Some(name) = place.name() else { return Err("there is no name here".to_owned()) };
    may_be_renamed(&place.survey, name)?;
    let old = place.survey.sources.snippet(name.span).to_owned();
    let new = params.new_name;
    is_name(&new)?;
    is_free(&place, name, &new)?;
    let defined =
        navigate::defined_at(name.meaning).map(|span| place.survey.sources.snippet(span).to_owned());
    let is_alias = defined.as_deref() != Some(old.as_str());
    #[allow(clippy::mutable_key_type, reason = "the protocol's type")]
    let mut changes: BTreeMap<Uri, Vec<TextEdit>> = BTreeMap::new();
    for (survey, found) in navigate::everywhere(server, &place, name) {
        let file = found.span.file;
        if survey.sources.snippet(found.span) != old || is_alias && file != place.survey.main {
            continue;
        }
        let Some(uri) = texts::uri(survey.sources.name(file).as_ref()) else { continue };
        let range = Lines::new(survey.sources.text(file), server.encoding).range(found.span.range());
        changes.entry(uri).or_default().push(TextEdit { range, new_text: new.clone() });
    }
    Ok(Some(WorkspaceEdit { changes: Some(changes.into_iter().collect()), ..WorkspaceEdit::default() }))
}

fn is_name(new: &str) -> Result<(), String> {
    let begins = new.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if !begins || !new.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') || new == "_" {
        return Err(format!("`{new}` is not a name: names are made of ASCII letters, digits and `_`"));
    }
    if rml::is_keyword(new) { Err(format!("`{new}` is a keyword of the language")) } else { Ok(()) }
}

/// Fails if the new name is already used in the scope of the name.
fn is_free(place: &Place, name: NamePlace, new: &str) -> Result<(), String> {
    let survey = &place.survey;
    let taken = match name.meaning {
        Meaning::Variable(span) => {
            let node = survey.node_at(span);
            node.is_some_and(|node| node.variables.iter().any(|v| v.name == new))
        }
        Meaning::Node(..) => survey.index.callable.iter().any(|(known, _)| known == new),
        Meaning::Module(_) | Meaning::Function(_) => {
            let module = format!("{new}.");
            survey.index.callable.iter().any(|(known, _)| known.starts_with(&module))
        }
    };
    if taken { Err(format!("something else is called `{new}` here")) } else { Ok(()) }
}
