//! From syntax trees to resolved nodes: binds node names (this file, [`imports`]), interfaces and variables ([`node`]), expressions
//! ([`expr`]).

mod expr;
mod imports;
mod node;

pub(crate) use expr::arguments;

use std::sync::Arc;

use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, FileId, IndexVec, Span};
use rml_syntax::ast;

use crate::hir::{ExprKind, Node, SourceId};
use crate::load::{Loaded, LoadedFile};
use crate::report::Report;
use crate::scope::{FileScope, Program, Scopes};
use crate::usage;

/// Resolves all nodes. Whether that went well is in `report`.
pub(crate) fn lower(loaded: &Loaded<'_>, names: &lasso::Rodeo, report: &mut Report) -> Program {
    let mut headers: IndexVec<SourceId, Header<'_>> = IndexVec::new();
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
    if report.errors() == 0 {
        loaded.files.iter().for_each(|file| imports::unused(file, names, &scopes, report));
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
) -> FileScope {
    let mut scope = FileScope::default();
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
