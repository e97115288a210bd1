//! From syntax trees to resolved nodes: binds node names (this file, [`imports`]), interfaces and variables ([`node`]),
//! expressions ([`expr`]).

mod exchanged;
mod expr;
mod imports;
mod node;

pub(crate) use exchanged::{MAX_ARGUMENTS, first_order};
pub(crate) use expr::arguments;

use std::sync::Arc;

use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, FileId, IndexVec, Span};
use rml_syntax::ast;

use crate::hir::{ExprId, ExprKind, Node, SourceId};
use crate::load::{Loaded, LoadedFile};
use crate::report::Report;
use crate::scope::{FileScope, Program, Scopes};
use crate::usage;

/// All nodes before their bodies are looked at.
pub(crate) type Headers<'a> = IndexVec<SourceId, Header<'a>>;

/// Resolves all nodes. Whether that went well is in `report`.
pub(crate) fn lower<'a>(
    loaded: &Loaded<'a>,
    names: &lasso::Rodeo,
    report: &mut Report,
) -> (Program, Headers<'a>) {
    let mut headers: Headers<'a> = IndexVec::new();
    let mut scopes = Scopes { library: loaded.library, ..Scopes::default() };
    for file in &loaded.files {
        let scope = own_nodes(file, names, &mut headers, report);
        if file.id == loaded.prelude {
            scopes.prelude = scope.exports().map(|(name, id)| (name.to_owned(), id)).collect();
        }
        scopes.files.insert(file.id, scope);
    }
    for file in &loaded.files {
        imports::bind(file, names, &headers, &mut scopes, report);
    }
    let mut nodes: IndexVec<SourceId, Node> = IndexVec::new();
    for (id, header) in headers.iter_enumerated() {
        nodes.push(node::lower(id, &headers, &scopes, names, report));
        debug_assert_eq!(header.name.as_ref(), nodes[id].name.as_ref());
    }
    let order = call_order(&mut nodes, report);
    for &id in &order {
        exchanged::report(&mut nodes, id, report);
        usage::analyse(&mut nodes, id, report);
    }
    if report.errors() == 0 {
        loaded.files.iter().for_each(|file| imports::unused(file, names, &scopes, report));
    }
    (Program { nodes, scopes, main: loaded.main, order, in_error: report.errors() > 0 }, headers)
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
    headers: &mut Headers<'a>,
    report: &mut Report,
) -> FileScope {
    let mut scope = FileScope {
        lost: file.ast.lost.iter().map(|name| names.resolve(name).to_owned()).collect(),
        incomplete: file.incomplete,
        library: file.library,
        last_import: file.ast.imports().last().map(|import| import.span),
        ..FileScope::default()
    };
    for ast in file.ast.nodes() {
        let name = names.resolve(&ast.name.name);
        let id = headers.push(Header { name: name.into(), file: file.id, ast });
        if ast.private.is_some() {
            scope.private.insert(name.to_owned());
        }
        if let Some(&first) = scope.own.get(name) {
            let first: &Header<'_> = &headers[first];
            report.push(
                Diagnostic::error(codes::DUPLICATE_DEFINITION, format!("node `{name}` is defined twice"))
                    .label(ast.name.span, "defined again here")
                    .label(first.ast.name.span, "first defined here")
                    .help("rename or remove one of them"),
            );
        } else {
            scope.own.insert(name.to_owned(), id);
        }
    }
    scope
}

/// The calls of a node: what is called, where, and the expression; in textual order.
fn callees(node: &Node) -> Vec<(SourceId, Span, ExprId)> {
    node.exprs
        .iter_enumerated()
        .filter_map(|(id, e)| match &e.kind {
            ExprKind::Call(call) => Some((call.callee, call.name_span, id)),
            _ => None,
        })
        .collect()
}

/// Every node after those it calls; instantiation cycles are reported, and cut. (Without recursion: calls may be nested
/// deeply.)
fn call_order(nodes: &mut IndexVec<SourceId, Node>, report: &mut Report) -> Vec<SourceId> {
    let calls: IndexVec<SourceId, Vec<_>> = nodes.iter().map(callees).collect();
    let mut order = Vec::with_capacity(nodes.len());
    let mut state: IndexVec<SourceId, u8> = IndexVec::filled(0, nodes.len());
    for start in nodes.ids() {
        if state[start] != 0 {
            continue;
        }
        let mut stack = vec![(start, 0_usize)];
        state[start] = 1;
        while let Some(&mut (id, ref mut next)) = stack.last_mut() {
            let Some(&(callee, span, expr)) = calls[id].get(*next) else {
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
                    let call = &mut nodes[id].exprs[expr].kind;
                    *call = ExprKind::Error(call.children());
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
        .help("write layers one after the other, `h1 = layer(x); h2 = layer(h1);`, and repetition over time with `fby`")
}
