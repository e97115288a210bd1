//! From syntax trees to resolved nodes: binds node names (this file), interfaces and variables ([`node`]), expressions ([`expr`]).

mod expr;
mod node;

pub(crate) use expr::arguments;

use std::sync::Arc;

use indexmap::IndexMap;
use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, FileId, IndexVec, Span};
use rml_syntax::ast;

use crate::hir::{ExprKind, Node, SourceId};
use crate::load::{Loaded, LoadedFile};
use crate::report::Report;
use crate::scope::{FileScope, Program, Scopes};
use crate::suggest::suggest;
use crate::usage;

/// Resolves all nodes. Whether that went well is in `report`.
pub(crate) fn lower(loaded: &Loaded<'_>, names: &lasso::Rodeo, report: &mut Report) -> Program {
    let mut headers: IndexVec<SourceId, Header<'_>> = IndexVec::new();
    let mut scopes = Scopes::default();
    for file in &loaded.files {
        let own = own_nodes(file, names, &mut headers, report);
        if file.id == loaded.prelude {
            scopes.prelude = own.clone();
        }
        scopes.files.insert(file.id, FileScope { own, ..FileScope::default() });
    }
    for file in &loaded.files {
        imports(file, names, &headers, &mut scopes, report);
    }
    let bound = report.errors() == 0;
    let mut nodes: IndexVec<SourceId, Node> = IndexVec::new();
    let mut in_error: IndexVec<SourceId, bool> = IndexVec::filled(false, headers.len());
    for (id, header) in headers.iter_enumerated() {
        let before = report.errors();
        nodes.push(node::lower(id, &headers, &scopes, names, report));
        in_error[id] = report.errors() > before;
        debug_assert_eq!(header.name.as_ref(), nodes[id].name.as_ref());
    }
    let order = call_order(&nodes, &mut in_error, report);
    for &id in &order {
        let before = report.errors();
        usage::analyse(&mut nodes, id, report);
        in_error[id] |= report.errors() > before || callees(&nodes[id]).iter().any(|(c, _)| in_error[*c]);
    }
    // An adjoint in error may be called without being named.
    let adjoints = nodes.iter_enumerated().any(|(id, n)| in_error[id] && n.name.starts_with("diff_"));
    let sound = nodes.ids().filter(|id| bound && !adjoints && !in_error[*id]).collect();
    Program { nodes, scopes, main: loaded.main, order, sound }
}

/// A node before its body is looked at.
pub(crate) struct Header<'a> {
    pub(crate) name: Arc<str>,
    pub(crate) file: FileId,
    pub(crate) ast: &'a ast::Node<'a>,
}

fn own_nodes<'a>(
    file: &LoadedFile<'a>,
    names: &lasso::Rodeo,
    headers: &mut IndexVec<SourceId, Header<'a>>,
    report: &mut Report,
) -> IndexMap<String, SourceId> {
    let mut own = IndexMap::new();
    for ast in file.ast.nodes() {
        let name = names.resolve(&ast.name.name);
        let id = headers.push(Header { name: name.into(), file: file.id, ast });
        if let Some(&first) = own.get(name) {
            let first: &Header<'_> = &headers[first];
            report.push(
                Diagnostic::error(codes::DUPLICATE_DEFINITION, format!("node `{name}` is defined twice"))
                    .label(ast.name.span, "defined again here")
                    .label(first.ast.name.span, "first defined here")
                    .help("rename or remove one of them"),
            );
        } else {
            own.insert(name.to_owned(), id);
        }
    }
    own
}

fn imports(
    file: &LoadedFile<'_>,
    names: &lasso::Rodeo,
    headers: &IndexVec<SourceId, Header<'_>>,
    scopes: &mut Scopes,
    report: &mut Report,
) {
    let mut selective: IndexMap<String, (SourceId, Span)> = IndexMap::new();
    let mut whole: IndexMap<String, Vec<(SourceId, Span)>> = IndexMap::new();
    for (import, target) in &file.imports {
        let Some(exported) = scopes.files.get(target).map(|s| &s.own) else { continue };
        let Some(wanted) = import.names else {
            for (name, &id) in exported {
                let entry = whole.entry(name.clone()).or_default();
                if entry.iter().all(|(known, _)| *known != id) {
                    entry.push((id, import.span));
                }
            }
            continue;
        };
        for ident in wanted {
            let name = names.resolve(&ident.name);
            match (exported.get(name), selective.get(name)) {
                (None, _) => {
                    let mut d = Diagnostic::error(
                        codes::IMPORT_NOT_FOUND,
                        format!("the imported text has no node `{name}`"),
                    )
                    .label(ident.span, "not found");
                    if let Some(near) = suggest(name, exported.keys().map(String::as_str)) {
                        d = d.help(format!("there is `{near}`"));
                    }
                    report.push(d);
                }
                (Some(&id), Some(&(other, span))) if other != id => {
                    report.push(
                        Diagnostic::error(
                            codes::DUPLICATE_DEFINITION,
                            format!("two nodes `{name}` are imported"),
                        )
                        .label(ident.span, "imported again here")
                        .label(span, "imported here")
                        .note(format!("the other one is node `{}` of another text", headers[other].name))
                        .help("import only one of them"),
                    );
                }
                (Some(&id), _) => {
                    selective.insert(name.to_owned(), (id, ident.span));
                }
            }
        }
    }
    if let Some(scope) = scopes.files.get_mut(&file.id) {
        scope.selective = selective;
        scope.whole = whole;
    }
}

/// The nodes that a node calls, with the place of the call, in textual order.
fn callees(node: &Node) -> Vec<(SourceId, Span)> {
    node.exprs
        .iter()
        .filter_map(|e| match &e.kind {
            ExprKind::Call(call) => Some((call.callee, call.name_span)),
            _ => None,
        })
        .collect()
}

/// Every node after those it calls; instantiation cycles are reported. (Without recursion: calls may be nested deeply.)
fn call_order(
    nodes: &IndexVec<SourceId, Node>,
    in_error: &mut IndexVec<SourceId, bool>,
    report: &mut Report,
) -> Vec<SourceId> {
    let calls: IndexVec<SourceId, Vec<(SourceId, Span)>> = nodes.iter().map(callees).collect();
    let mut order = Vec::with_capacity(nodes.len());
    let mut state: IndexVec<SourceId, u8> = IndexVec::filled(0, nodes.len());
    for start in nodes.ids() {
        if state[start] != 0 {
            continue;
        }
        let mut stack = vec![(start, 0_usize)];
        state[start] = 1;
        while let Some(&mut (id, ref mut next)) = stack.last_mut() {
            let Some(&(callee, span)) = calls[id].get(*next) else {
                state[id] = 2;
                order.push(id);
                stack.pop();
                continue;
            };
            *next += 1;
            match state[callee] {
                0 => {
                    state[callee] = 1;
                    stack.push((callee, 0));
                }
                1 => {
                    let from = stack.iter().position(|(open, _)| *open == callee).unwrap_or(0);
                    let chain: Vec<SourceId> = stack[from..].iter().map(|(open, _)| *open).collect();
                    report.push(recursion(nodes, &chain, callee, span));
                    in_error[id] = true;
                }
                _ => {}
            }
        }
    }
    order
}

fn recursion(
    nodes: &IndexVec<SourceId, Node>,
    chain: &[SourceId],
    callee: SourceId,
    span: Span,
) -> Diagnostic {
    let name = &nodes[callee].name;
    let mut path: Vec<&str> = chain.iter().map(|id| nodes[*id].name.as_ref()).collect();
    path.push(name);
    let message = format!("node `{name}` contains an instance of itself");
    let mut d = Diagnostic::error(codes::RECURSIVE_NODE, message)
        .label(span, format!("instantiates `{name}` again"))
        .label(nodes[callee].name_span, "this node");
    if chain.len() > 1 {
        d = d.note(format!("the instances are nested: {}", path.join(" -> ")));
    }
    d.note("each call makes an instance with a state of its own, so this would be infinitely many")
        .help("express repetition over time with `fby` or `post`")
}
