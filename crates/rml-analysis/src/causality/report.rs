//! The diagnostics of causality.

use rml_base::codes::analysis as codes;
use rml_base::{Diagnostic, Span};
use rml_ir::flat::{Eq, Flat, Var, Window};

use super::UndecidedReason;
use super::graph::{Dependences, Distance, Edge, Node};
use super::help;
use super::loops::{CausalLoop, LoopStep, SHOWN, labelled, name};
use super::part::{Chain, Part};
use crate::clocks::expression;
use crate::conditions::{Conditions, Guard};
use rml_ir::{DType, Type};

/// The name of a cut in messages: all of its ends, or for nested windows the end of the innermost one.
pub(crate) fn cut_name(conditions: &Conditions<'_>, ends: &[Guard], all: bool) -> String {
    let shown = if all { ends } else { &ends[..1] };
    let names: Vec<String> = shown.iter().map(|l| guard_name(conditions, *l)).collect();
    names.join(" and ")
}

/// A guard with the name of its condition in the source, or else with the expression of the condition.
fn guard_name(conditions: &Conditions<'_>, guard: Guard) -> String {
    let vars = &conditions.flat.vars;
    let of = |l: Guard| {
        let name = vars[l.cond].name.as_ref()?;
        Some(format!("{}{name}", if l.value { "" } else { "not " }))
    };
    let equal = || {
        let mut named = vars.ids().filter(|v| vars[*v].name.is_some() && vars[*v].ty == Type::condition());
        let as_guard = |v: Var| conditions.guard(v, true);
        let found = named.find(|v| as_guard(*v).cond == guard.cond)?;
        of(Guard { cond: found, value: as_guard(found).value == guard.value })
    };
    of(guard).or_else(equal).unwrap_or_else(|| {
        let text = expression(conditions.flat, guard.cond);
        if guard.value { text } else { format!("not ({text})") }
    })
}

pub(super) fn span_of(deps: &Dependences<'_>, at: usize) -> Option<Span> {
    let Node::Value(var) = deps.node(at) else { return None };
    let conditions = &deps.conditions;
    Some(conditions.defs[var].map_or(conditions.flat.vars[var].span, |eq| conditions.flat.equations[eq].span))
}

/// The loop of a value that needs itself.
pub(super) fn instantaneous(deps: &Dependences<'_>, part: &Part, chain: &Chain) -> CausalLoop {
    let (start, value) = begin(deps, part, chain);
    CausalLoop {
        value,
        steps: steps(deps, part, chain, start),
        guards: guards(part, chain),
        in_time: chain.iter().any(|i| part.edges[*i].2.distance != Distance::Now),
        only: only_named(deps, part, chain),
        strong: is_strong(deps, part, chain),
    }
}

/// Whether the condition of a strong transition is among the values that need themselves.
fn is_strong(deps: &Dependences<'_>, part: &Part, chain: &Chain) -> bool {
    let named = |node: &Node| match node {
        Node::Value(var) => deps.conditions.flat.vars[*var].name.clone(),
        Node::Presence(_) => None,
    };
    let mut names = chain.iter().filter_map(|i| named(&deps.node(part.nodes[part.edges[*i].1])));
    names.any(|name| name.ends_with(".unless"))
}

/// The named variable in a chain, if there is exactly one.
fn only_named(deps: &Dependences<'_>, part: &Part, chain: &Chain) -> Option<Var> {
    let var = |i: &usize| match deps.node(part.nodes[part.edges[*i].1]) {
        Node::Value(var) => Some(var),
        Node::Presence(_) => None,
    };
    let mut named = chain.iter().filter_map(var).filter(|v| deps.conditions.flat.vars[*v].name.is_some());
    named.next().filter(|_| named.next().is_none())
}

/// The error that a recurrence runs backward without end.
pub(super) fn uncut(deps: &Dependences<'_>, part: &Part, chain: &Chain) -> Diagnostic {
    let (start, what) = beginning(deps, part, chain);
    let message = format!("{what} needs all later cycles: nothing cuts its recurrence through `post`");
    let found = Diagnostic::error(codes::UNCUT_RECURRENCE, message);
    labelled(found, deps.conditions.flat, &steps(deps, part, chain, start))
        .note(
            "expected a `merge` or `if` whose condition holds repeatedly, and that takes another value there",
        )
        .help(cut_help(deps, part, chain))
}

/// The help that shows how to cut a recurrence, with the value whose `post` it contains.
fn cut_help(deps: &Dependences<'_>, part: &Part, chain: &Chain) -> String {
    let flat = deps.conditions.flat;
    let nodes = chain.iter().map(|i| &part.edges[*i]).filter(|(_, _, edge)| edge.distance == Distance::Next);
    let looked_at = nodes.filter_map(|(_, to, _)| match deps.node(part.nodes[*to]) {
        Node::Value(var) => Some(&flat.vars[var]),
        Node::Presence(_) => None,
    });
    // A value of a called node, such as `step_0.h`, has another name in the node that contains its `post`.
    let mut named = looked_at.filter_map(|var| Some((var.name.as_ref()?, var.ty.dtype)));
    let named = named.find(|(name, _)| !name.contains('.'));
    let cut = named.map_or_else(
        || "put a `merge` or `if` around the `post`, on a condition `end`".to_owned(),
        |(name, dtype)| {
            let other = match dtype {
                DType::Bool => "false",
                DType::Int => "0",
                DType::Num => "0.0",
            };
            format!("in place of `post {name}` write `merge end {other} ((post {name}) when not end)`, with a condition `end`")
        },
    );
    format!("{cut}, or use `fby back` in a node called with `every end`")
}

/// The warning that only the end of the trace cuts a recurrence.
pub(super) fn closed_only(deps: &Dependences<'_>, part: &Part, chain: &Chain) -> Diagnostic {
    let (start, what) = beginning(deps, part, chain);
    let message = format!("{what} is known at the end of a closed trace only");
    let found = Diagnostic::warning(codes::CLOSED_ONLY, message);
    labelled(found, deps.conditions.flat, &steps(deps, part, chain, start))
        .note("its recurrence runs backward through `fby back`, and no condition cuts it")
        .help("for a stream without end, call the node with `every end`, or cut the recurrence by `merge`")
}

/// The error that an output has no value in the last cycle of a window because it comes from a `post`.
pub(super) fn no_last_value(flat: &Flat, eq: Eq, output: Var) -> Diagnostic {
    let equation = &flat.equations[eq];
    let found = Diagnostic::error(
        codes::NO_LAST_VALUE,
        format!("{} has no value in the last cycle of each window", name(flat, output)),
    )
    .label(equation.span, "`post` looks beyond the end of the window here");
    let end = equation.rhs.window().map(|w: Window| name(flat, flat.windows[w].end));
    match end {
        Some(end) => found.note(format!("windows end where {end} is true; a `post` has no last value")),
        None => found,
    }
    .help("write `k fby back x` in place of `post x`, which is `k` there, or choose another value where the window ends")
}

/// The reason for an output that may have no value in the last cycle of a window.
pub(super) fn doubtful_last(flat: &Flat, post: Eq, output: Var) -> UndecidedReason {
    UndecidedReason {
        message: format!(
            "{}: it is not known whether it needs a `post` in the last cycle of a window, where that has no value",
            name(flat, output)
        ),
        spans: vec![flat.equations[post].span],
        help: help::LAST,
    }
}

/// The reason why something cannot be decided before the program runs.
pub(super) fn reason(
    deps: &Dependences<'_>,
    part: &Part,
    chain: &Chain,
    message: &str,
    help: &'static str,
) -> UndecidedReason {
    let spans = chain.iter().filter_map(|i| span_of(deps, part.nodes[part.edges[*i].0]));
    let (_, what) = beginning(deps, part, chain);
    let mut spans: Vec<Span> = spans.collect();
    spans.dedup();
    spans.truncate(SHOWN);
    UndecidedReason { message: format!("{what}: {message}"), spans, help }
}

pub(super) fn unknown_clock(deps: &Dependences<'_>, edge: &Edge) -> UndecidedReason {
    let flat = deps.conditions.flat;
    let equation = edge.eq.map(|eq| &flat.equations[eq]);
    let what = equation.map_or_else(|| "a part of an expression".to_owned(), |e| name(flat, e.lhs));
    UndecidedReason {
        message: format!("{what}: the clock of a look ahead is not known"),
        spans: equation.map(|e| e.span).into_iter().collect(),
        help: help::CLOCK,
    }
}

/// The position at which a chain reaches a named variable, and that variable; the first variable if none has a name.
fn begin(deps: &Dependences<'_>, part: &Part, chain: &Chain) -> (usize, Option<Var>) {
    let flat = deps.conditions.flat;
    let var = |i: &usize| match deps.node(part.nodes[part.edges[*i].0]) {
        Node::Value(v) => Some(v),
        Node::Presence(_) => None,
    };
    let named = |i: &usize| var(i).is_some_and(|v| flat.vars[v].name.is_some());
    let start = chain.iter().position(named).unwrap_or(0);
    (start, chain.get(start).and_then(var))
}

/// The position at which a chain begins, and the name of its variable in messages.
fn beginning(deps: &Dependences<'_>, part: &Part, chain: &Chain) -> (usize, String) {
    let (start, value) = begin(deps, part, chain);
    let what = value.map(|v| name(deps.conditions.flat, v));
    (start, what.unwrap_or_else(|| "a recurrence".to_owned()))
}

/// The steps of a chain, each from one named variable to the next. Parts of expressions, which have no name, are
/// omitted except between two steps in time.
fn steps(deps: &Dependences<'_>, part: &Part, chain: &Chain, start: usize) -> Vec<LoopStep> {
    let flat = deps.conditions.flat;
    let mut steps = Vec::new();
    let mut open: Option<LoopStep> = None;
    for (at, i) in chain[start..].iter().chain(&chain[..start]).enumerate() {
        let (from, to, edge) = &part.edges[*i];
        let (Some(span), Node::Value(of), Node::Value(needs)) =
            (span_of(deps, part.nodes[*from]), deps.node(part.nodes[*from]), deps.node(part.nodes[*to]))
        else {
            continue;
        };
        let distance = edge.distance;
        let step = match open.take() {
            Some(step) if distance == Distance::Now => LoopStep { needs, ..step },
            Some(step) if step.distance == Distance::Now => LoopStep { needs, distance, ..step },
            Some(step) => {
                steps.push(LoopStep { needs: of, ..step });
                LoopStep { span, of, needs, distance }
            }
            None => LoopStep { span, of, needs, distance },
        };
        if flat.vars[needs].name.is_some() || at + 1 == chain.len() {
            steps.push(step);
        } else {
            open = Some(step);
        }
    }
    steps
}

/// The guards of a chain, in order: it is closed in the cycles in which they all hold.
pub(super) fn guards(part: &Part, chain: &Chain) -> Vec<Guard> {
    let mut found = Vec::new();
    for i in chain {
        if let super::graph::Only::If(guard) = part.edges[*i].2.only
            && !found.contains(&guard)
        {
            found.push(guard);
        }
    }
    found
}
