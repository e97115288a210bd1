//! Completions at a position.

use std::collections::BTreeSet;

use lsp_types::{
    CompletionItem, CompletionItemKind, CompletionItemLabelDetails, CompletionParams, CompletionResponse,
    Documentation, InsertTextFormat, MarkupContent, MarkupKind, Position, Range, TextEdit,
};
use rml::VariableKind;
use rml::doc::ModuleDoc;
use rml::ir::op;

use crate::docs::{self, Docs};
use crate::hover;
use crate::lines::Lines;
use crate::server::{Answer, Place, Server};

/// The completions at a position.
pub(crate) fn complete(server: &mut Server, params: CompletionParams) -> Answer<CompletionResponse> {
    let Some(place) = Place::of(server, &params.text_document_position) else { return Ok(None) };
    let before = &place.text()[..place.offset];
    let line = before.rsplit('\n').next().unwrap_or(before);
    let items = match line.trim_start().strip_prefix("import ") {
        Some(import) => imports(import),
        None => names(server, &place),
    };
    Ok(Some(CompletionResponse::Array(items)))
}

fn item(label: &str, kind: CompletionItemKind, detail: &str) -> CompletionItem {
    CompletionItem {
        label: label.to_owned(),
        kind: Some(kind),
        detail: (!detail.is_empty()).then(|| detail.to_owned()),
        ..CompletionItem::default()
    }
}

fn markdown(value: String) -> Documentation {
    Documentation::MarkupContent(MarkupContent { kind: MarkupKind::Markdown, value })
}

/// After `import`: the modules of the library, or in parentheses the nodes of a module.
fn imports(import: &str) -> Vec<CompletionItem> {
    if let Some((module, _)) = import.split_once('(') {
        let found = docs::library().iter().find(|m| m.name == module.trim());
        let nodes = found.into_iter().flat_map(|m| &m.nodes).filter(|node| !node.private);
        return nodes.map(|n| item(&n.name, CompletionItemKind::FUNCTION, &n.summary())).collect();
    }
    // The part before the last dot is typed already.
    let dot = import.rfind('.').map_or(0, |at| at + 1);
    let modules = docs::library().iter().filter(|m| m.name != "std.prelude");
    let rest = modules.filter_map(|m| Some((m.name.strip_prefix(&import[..dot])?, m)));
    let module = |(rest, module): (&str, &ModuleDoc)| {
        item(rest, CompletionItemKind::MODULE, module.introduction.lines().next().unwrap_or_default())
    };
    rest.map(module).collect()
}

/// In an equation or an interface: the names in scope, words, and nodes that an import would add.
fn names(server: &Server, place: &Place) -> Vec<CompletionItem> {
    let mut items = variables(server, place);
    items.extend(constants(place));
    items.extend(nodes(place));
    for info in op::entries().filter(|entry| entry.form == op::Notation::Function) {
        let mut function = item(info.name, CompletionItemKind::FUNCTION, info.signature);
        function.documentation = Some(markdown(hover::operator(info)));
        items.push(call(function));
    }
    items.extend(rml::keywords().map(|word| item(word, CompletionItemKind::KEYWORD, "")));
    items.extend(
        ["every", "along", "by", "back", "for", "const", "import", "private"]
            .map(|w| item(w, CompletionItemKind::KEYWORD, "")),
    );
    items.extend(["num", "int", "bool"].map(|ty| item(ty, CompletionItemKind::STRUCT, "element type")));
    items.extend(library(server, place));
    items
}

/// The item with parentheses after its name.
fn call(item: CompletionItem) -> CompletionItem {
    CompletionItem {
        insert_text: Some(format!("{}($0)", item.label)),
        insert_text_format: Some(InsertTextFormat::SNIPPET),
        ..item
    }
}

fn variables(server: &Server, place: &Place) -> Vec<CompletionItem> {
    let survey = &place.survey;
    let at = rml::Span::new(survey.main, place.offset, place.offset);
    let Some(node) = survey.node_at(at) else { return Vec::new() };
    let known = server.known(&place.path).and_then(|known| known.inspection.as_deref());
    let one = |v: &rml::Variable| {
        let name = hover::variable_name(survey, v.span);
        let types = known.zip(name).map(|(known, name)| hover::types(known, &name)).unwrap_or_default();
        let kind = match v.kind {
            VariableKind::Dimension => CompletionItemKind::TYPE_PARAMETER,
            _ => CompletionItemKind::VARIABLE,
        };
        item(&v.name, kind, types.first().map(String::as_str).unwrap_or_default())
    };
    node.variables.iter().map(one).collect()
}

fn constants(place: &Place) -> Vec<CompletionItem> {
    let survey = &place.survey;
    let value = |node: &rml::NodePlace| survey.sources.snippet(node.header).to_owned();
    let constants = survey.index.constants.iter();
    constants
        .map(|(name, node)| item(name, CompletionItemKind::CONSTANT, &value(&survey.index.nodes[*node])))
        .collect()
}

fn nodes(place: &Place) -> Vec<CompletionItem> {
    let index = &place.survey.index;
    let mut docs = Docs::new(&place.survey);
    let known: BTreeSet<&str> = index.callable.iter().map(|(name, _)| name.as_str()).collect();
    let mut items = Vec::new();
    for (name, node) in &index.callable {
        let node = &index.nodes[*node];
        let (header, comment) = docs.of(node);
        let mut found = item(name, CompletionItemKind::FUNCTION, &header);
        found.documentation = (!comment.is_empty()).then(|| markdown(comment));
        items.push(call(found));
        for (prefix, held) in [("diff_", ""), ("grad_", " It reads parameters and does not update them.")] {
            let adjoint = format!("{prefix}{name}");
            let own = name.starts_with("diff_") || known.contains(adjoint.as_str());
            let Some(doc) = docs.node(node).filter(|_| !own) else { continue };
            let header = doc.adjoint.replacen("node diff_", &format!("node {prefix}"), 1);
            let mut derived = item(&adjoint, CompletionItemKind::FUNCTION, &header);
            let meaning = format!("The adjoint of `{name}`, derived from its equations.{held}");
            derived.documentation = Some(markdown(meaning));
            items.push(call(derived));
        }
    }
    items
}

/// The nodes of the library that are not imported, each with an edit that imports it.
fn library(server: &Server, place: &Place) -> Vec<CompletionItem> {
    let survey = &place.survey;
    let (at, before, behind) = match survey.index.last_import {
        Some(span) => (span.range().end, "\n", ""),
        None => (0, "", "\n"),
    };
    let at: Position = Lines::new(place.text(), server.encoding).position(at);
    let known = |name: &str| survey.index.callable.iter().any(|(callable, _)| callable == name);
    let mut items = Vec::new();
    for ModuleDoc { name: module, nodes, .. } in docs::library().iter().filter(|m| m.name != "std.prelude") {
        for node in nodes.iter().filter(|n| !n.private && !known(&n.name)) {
            let import = format!("import {module} ({});", node.name);
            let mut found = item(&node.name, CompletionItemKind::FUNCTION, &node.header);
            found.label_details =
                Some(CompletionItemLabelDetails { detail: None, description: Some(module.clone()) });
            found.documentation = Some(markdown(format!("{}\n\nadds `{import}`", node.comment)));
            let new_text = format!("{before}{import}{behind}");
            found.additional_text_edits = Some(vec![TextEdit { range: Range::new(at, at), new_text }]);
            // Sort it after the names in scope.
            found.sort_text = Some(format!("~{}", node.name));
            items.push(call(found));
        }
    }
    items
}
