//! From a name to its definition and its references.

use std::path::PathBuf;
use std::sync::Arc;

use lsp_types::{
    DocumentHighlight, DocumentHighlightKind, DocumentHighlightParams, GotoDefinitionParams,
    GotoDefinitionResponse, Location, ReferenceParams,
};
use rml::{Meaning, NamePlace, Sources, Span, Survey};

use crate::lines::Lines;
use crate::server::{Answer, Place, Server};
use crate::texts;

/// The definition of the name; for a name of the library, the place in its text.
pub(crate) fn definition(
    server: &mut Server,
    params: GotoDefinitionParams,
) -> Answer<GotoDefinitionResponse> {
    let Some(place) = Place::of(server, &params.text_document_position_params) else { return Ok(None) };
    let target = place.name().and_then(|name| defined_at(name.meaning));
    let location = match target {
        Some(span) => location(server, &place.survey.sources, span),
        None => import(server, &place),
    };
    Ok(location.map(GotoDefinitionResponse::Scalar))
}

/// The place that defines a meaning, if a text defines it.
pub(crate) fn defined_at(meaning: Meaning) -> Option<Span> {
    match meaning {
        Meaning::Variable(span) | Meaning::Node(span, _) | Meaning::Module(span) => Some(span),
        Meaning::Function(_) => None,
    }
}

/// The beginning of the text that is imported on this line.
fn import(server: &Server, place: &Place) -> Option<Location> {
    let text = place.text();
    let start = text[..place.offset].rfind('\n').map_or(0, |at| at + 1);
    let line = text[start..].lines().next()?;
    let imported = line.trim_start().strip_prefix("import ")?.trim_start();
    let name = match imported.strip_prefix('"') {
        Some(quoted) => {
            let file = place.path.parent()?.join(quoted.split('"').next()?);
            let known = |id: &rml::FileId| {
                let name = PathBuf::from(place.survey.sources.name(*id));
                name.file_name() == file.file_name() && name.is_file()
            };
            let found = place.survey.sources.ids().find(known)?;
            place.survey.sources.name(found).to_owned()
        }
        None => {
            let end = imported.find(|c: char| !c.is_alphanumeric() && c != '.' && c != '_');
            format!("{}.rml", imported[..end.unwrap_or(imported.len())].replace('.', "/"))
        }
    };
    let uri = texts::uri(&server.path_for_editor(&name)?)?;
    Some(Location { uri, range: lsp_types::Range::default() })
}

/// A place in a text of a program, in the form of the protocol.
fn location(server: &Server, sources: &Sources, span: Span) -> Option<Location> {
    let uri = texts::uri(&server.path_for_editor(sources.name(span.file))?)?;
    let range = Lines::new(sources.text(span.file), server.encoding).range(span.range());
    Some(Location { uri, range })
}

/// All places that refer to the meaning of a name, in all programs that the editor has open or in its folders.
pub(crate) fn references(server: &mut Server, params: ReferenceParams) -> Answer<Vec<Location>> {
    let Some(place) = Place::of(server, &params.text_document_position) else { return Ok(None) };
    let Some(name) = place.name() else { return Ok(None) };
    let mut all = Vec::new();
    for (survey, found) in everywhere(server, &place, name) {
        let is_definition = defined_at(found.meaning) == Some(found.span);
        if is_definition && !params.context.include_declaration {
            continue;
        }
        all.extend(location(server, &survey.sources, found.span));
    }
    Ok(Some(all))
}

/// The other places of the name in its text.
pub(crate) fn highlights(
    server: &mut Server,
    params: DocumentHighlightParams,
) -> Answer<Vec<DocumentHighlight>> {
    let Some(place) = Place::of(server, &params.text_document_position_params) else { return Ok(None) };
    let Some(name) = place.name() else { return Ok(None) };
    let lines = Lines::new(place.text(), server.encoding);
    let here = same(&place.survey, name.meaning).filter(|n| n.span.file == place.survey.main);
    let highlight = |n: NamePlace| {
        let writes = defined_at(n.meaning) == Some(n.span);
        let kind = if writes { DocumentHighlightKind::WRITE } else { DocumentHighlightKind::READ };
        DocumentHighlight { range: lines.range(n.span.range()), kind: Some(kind) }
    };
    Ok(Some(here.map(highlight).collect()))
}

/// The places in the texts of a survey that refer to this meaning.
fn same(survey: &Survey, meaning: Meaning) -> impl Iterator<Item = NamePlace> + use<'_> {
    let plain = |meaning| match meaning {
        Meaning::Node(span, _) => Meaning::Node(span, 0),
        other => other,
    };
    let wanted = plain(meaning);
    survey.index.names.iter().copied().filter(move |name| plain(name.meaning) == wanted)
}

/// All places that refer to the meaning of a name, each once: in its own text, and for the name of a node, in all
/// programs that import this text.
pub(crate) fn everywhere(
    server: &mut Server,
    place: &Place,
    name: NamePlace,
) -> Vec<(Arc<Survey>, NamePlace)> {
    let own = &place.survey;
    let mut all: Vec<_> = same(own, name.meaning).map(|found| (Arc::clone(own), found)).collect();
    let Meaning::Node(definition, _) = name.meaning else { return all };
    let text = own.sources.name(definition.file).to_owned();
    let node = own.sources.snippet(definition);
    for path in server.programs() {
        // A text must contain this name if it calls the node, or imports it under another name.
        let names_it = || server.texts.source(&path).read().is_ok_and(|text| text.contains(node));
        if path == place.path || !names_it() {
            continue;
        }
        let Some(survey) = server.survey(&path) else { continue };
        let Some(file) = survey.sources.ids().find(|id| survey.sources.name(*id) == text) else { continue };
        for found in same(&survey, Meaning::Node(Span { file, ..definition }, 0)) {
            let key = |s: &Survey, n: &NamePlace| (s.sources.name(n.span.file).to_owned(), n.span.range());
            if all.iter().all(|(s, n)| key(s, n) != key(&survey, &found)) {
                all.push((Arc::clone(&survey), found));
            }
        }
    }
    all
}
