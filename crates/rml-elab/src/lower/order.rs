//! Orders nodes such that callees come first, and finds the cycles among them.

use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, IndexVec, Span};

use super::structure;
use crate::hir::{ExprId, ExprKind, LocalKind, Node, SourceId};
use crate::hir::{Structure, Target};
use crate::report::Report;

/// A call that closes a cycle of calls.
#[derive(Debug)]
pub(crate) struct Cycle {
    /// The nodes on the cycle, beginning with the callee.
    pub(crate) chain: Vec<SourceId>,
    pub(crate) callee: SourceId,
    pub(crate) span: Span,
    /// The node that contains the call, and the call.
    pub(crate) call: (SourceId, ExprId),
}

/// The nodes that a node names in calls and as arguments, with the places and the expressions; in textual order.
pub(crate) fn callees(node: &Node) -> Vec<(SourceId, Span, ExprId)> {
    node.exprs
        .iter_enumerated()
        .filter_map(|(id, e)| match &e.kind {
            ExprKind::Call(call) => Some((call.callee, call.name_span, id)),
            ExprKind::Structure(Structure::Node(passed)) => match passed.target {
                Target::Source(callee) => Some((callee, e.span, id)),
                Target::Formal(_) | Target::Builtin(_) => None,
            },
            _ => None,
        })
        .collect()
}

/// The nodes that can be reached from `starts`, each after its callees, and the calls that close cycles. (Without
/// recursion, because calls may be nested deeply.)
pub(crate) fn ordered(
    starts: impl IntoIterator<Item = SourceId>,
    calls: &dyn Fn(SourceId) -> Vec<(SourceId, Span, ExprId)>,
) -> (Vec<SourceId>, Vec<Cycle>) {
    let (mut order, mut cycles) = (Vec::new(), Vec::new());
    let mut state = indexmap::IndexMap::<SourceId, bool>::new();
    for start in starts {
        if state.contains_key(&start) {
            continue;
        }
        let mut stack = vec![(start, calls(start), 0_usize)];
        state.insert(start, false);
        while let Some((id, calls_of, next)) = stack.last_mut() {
            let id = *id;
            let Some(&(callee, span, expr)) = calls_of.get(*next) else {
                state.insert(id, true);
                order.push(id);
                stack.pop();
                continue;
            };
            *next += 1;
            match state.get(&callee) {
                None => {
                    state.insert(callee, false);
                    stack.push((callee, calls(callee), 0));
                }
                Some(false) => {
                    let from = stack.iter().position(|(open, ..)| *open == callee).unwrap_or(0);
                    let chain = stack[from..].iter().map(|(open, ..)| *open).collect();
                    cycles.push(Cycle { chain, callee, span, call: (id, expr) });
                }
                Some(true) => {}
            }
        }
    }
    (order, cycles)
}

/// All nodes, each after its callees. A cycle that no static condition can end is reported and cut.
pub(super) fn call_order(nodes: &mut IndexVec<SourceId, Node>, report: &mut Report) -> Vec<SourceId> {
    let calls: IndexVec<SourceId, Vec<_>> = nodes.iter().map(callees).collect();
    let ids: Vec<SourceId> = nodes.ids().collect();
    let (order, cycles) = ordered(ids.iter().copied(), &|id| calls[id].clone());
    if cycles.is_empty() {
        return order;
    }
    // If a recursion may end, this is decided when copies are made.
    let recursive = structure::recursive(&calls);
    let guarded: Vec<Vec<ExprId>> = ids
        .iter()
        .map(|&id| structure::choose(&mut nodes[id], &|callee| recursive[id] == recursive[callee]))
        .collect();
    let open = |id: SourceId| {
        let guarded = &guarded[id.0 as usize];
        calls[id].iter().filter(|(.., expr)| !guarded.contains(expr)).copied().collect::<Vec<_>>()
    };
    let (order, cycles) = ordered(ids, &open);
    let mut known = Vec::new();
    for cycle in cycles {
        // Two calls in one node count as one mistake.
        if !known.contains(&(cycle.call.0, cycle.callee)) {
            report.push(recursion(&|id| &nodes[id], &cycle));
            known.push((cycle.call.0, cycle.callee));
        }
        let (id, expr) = cycle.call;
        let call = &mut nodes[id].exprs[expr].kind;
        *call = ExprKind::Error(call.children());
    }
    order
}

/// The error that a node contains itself.
pub(crate) fn recursion<'a>(node: &dyn Fn(SourceId) -> &'a Node, cycle: &Cycle) -> Diagnostic {
    let name = &node(cycle.callee).name;
    let mut path: Vec<&str> = cycle.chain.iter().map(|id| node(*id).name.as_ref()).collect();
    path.push(name);
    let message = format!("node `{name}` contains an instance of itself");
    let mut d = Diagnostic::error(codes::RECURSIVE_NODE, message)
        .label(cycle.span, format!("instantiates `{name}` again"))
        .label(node(cycle.callee).name_span, "this node");
    if cycle.chain.len() > 1 {
        d = d.note(format!("the instances are nested: {}", path.join(" -> ")));
    }
    let d = d.note("each call makes an instance with a state of its own, so this would be infinitely many");
    let callee = name;
    if let Some(why) = undecided(node(cycle.call.0), cycle.call.1) {
        return match why {
            Undecided::Stream(name, at) => d
                .label(at, format!("`{name}` is a stream"))
                .help(format!("an `if` ends a recursion where its condition is static: write `{name}` without a type, and give it a number in each call")),
            Undecided::Dimension(name, at) => d
                .label(at, format!("`{name}` comes from a shape"))
                .note("copies are made before shapes are known")
                .help(format!("an `if` ends a recursion where its condition is static: pass the size as an input without a type, `node {callee}({name}, ..)`, and call it with a number, `{callee}({name} / 2, ..)`")),
            Undecided::Match => d
                .note("`match` does not decide which copies are made, `if` does")
                .help("end the recursion by `if` with a static condition: `o = if n == 0 then x else f(n - 1, x);`"),
        };
    }
    d.help("write equal layers with an index, `h[k + 1] = layer(h[k]) for k < n;`, and repetition over time with `fby`")
        .help("a static condition can end a recursion: `o = if n == 0 then x else f(n - 1, x);`")
}

/// The reason why the condition around a recursive call does not end the recursion.
enum Undecided<'a> {
    /// The condition reads an input that is declared as a stream.
    Stream(&'a str, Span),
    /// The condition reads a size.
    Dimension(&'a str, Span),
    /// The call is in a case of `match`.
    Match,
}

fn undecided(node: &Node, call: ExprId) -> Option<Undecided<'_>> {
    let holds = |branch: ExprId| parts(node, branch).contains(&call);
    let read = |cond: ExprId| {
        parts(node, cond).into_iter().find_map(|e| {
            let ExprKind::Local(local) = node.exprs[e].kind else { return None };
            let data = &node.locals[local];
            match data.kind {
                LocalKind::Formal if !data.types.is_empty() => Some(Undecided::Stream(&data.name, data.span)),
                LocalKind::Dim => Some(Undecided::Dimension(&data.name, data.span)),
                LocalKind::Formal
                | LocalKind::Defined { .. }
                | LocalKind::Undefined
                | LocalKind::Node
                | LocalKind::Family
                | LocalKind::Index
                | LocalKind::Constant(_) => None,
            }
        })
    };
    node.exprs.iter().find_map(|expr| match &expr.kind {
        ExprKind::If { cond, then, other } if holds(*then) || holds(*other) => read(*cond),
        ExprKind::Structure(Structure::Match { cases, .. }) if cases.iter().any(|(_, case)| holds(*case)) => {
            Some(Undecided::Match)
        }
        _ => None, // Not a choice.
    })
}

/// An expression and all its subexpressions.
fn parts(node: &Node, expr: ExprId) -> Vec<ExprId> {
    let (mut found, mut todo) = (Vec::new(), vec![expr]);
    while let Some(expr) = todo.pop() {
        found.push(expr);
        todo.extend(node.exprs[expr].kind.children());
    }
    found
}
