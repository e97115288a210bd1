//! The diagnostics of causality.

use rml_base::codes::analysis as codes;
use rml_base::{Diagnostic, Span};
use rml_ir::flat::{Eq, Flat, Var, Window};

use super::Reason;
use super::graph::{Dependences, Distance, Edge, Node};
use super::help;
use super::part::{Chain, Part};
use crate::clocks::expression;
use crate::conditions::{Conditions, Guard};
use rml_ir::{DType, Type};

/// The most steps of one chain that are shown.
const SHOWN: usize = 12;

/// The name of a variable in messages.
pub(crate) fn name(flat: &Flat, var: Var) -> String {
    flat.vars[var].name.as_ref().map_or_else(|| "a part of an expression".to_owned(), |n| format!("`{n}`"))
}

/// The name of a cut in messages: all of its ends, or for nested windows the end of the innermost one.
pub(crate) fn cut_name(conditions: &Conditions<'_>, ends: &[Guard], all: bool) -> String {
    let shown = if all { ends } else { &ends[..1] };
    let names: Vec<String> = shown.iter().map(|l| guard_name(conditions, *l)).collect();
    names.join(" and ")
}

/// A condition under a name that it has in the source, else as an expression.
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

/// A value needs itself.
pub(super) fn instantaneous(deps: &Dependences<'_>, part: &Part, chain: &Chain) -> Diagnostic {
    let delays = chain.iter().any(|i| part.edges[*i].2.distance != Distance::Now);
    let (start, what) = begin(deps, part, chain);
    let message = if delays {
        format!("{what} needs its own value, one step back and one ahead in time")
    } else {
        format!("{what} needs its own value in the same cycle")
    };
    let mut found = Diagnostic::error(codes::INSTANTANEOUS_CYCLE, message);
    found = labelled(found, deps, part, chain, start);
    let is = |guard: &Guard| format!("{} is {}", name(deps.conditions.flat, guard.cond), guard.value);
    let conditions: Vec<String> = guards(part, chain).iter().map(is).collect();
    if !conditions.is_empty() {
        found = found.note(format!("in every cycle where {}", conditions.join(" and ")));
    }
    let found = found.note("expected a `fby` on every way from a value back to itself");
    match own_value(deps, part, chain) {
        _ if delays => found.help("use one direction in time: `fby` for both, or `fby back` for both"),
        Some(own) => {
            found.help(format!("for the value of the cycle before, write `{own}` on the right side"))
        }
        None if is_strong(deps, part, chain) => {
            found.help("`unless` is decided before the equations of its state run; write `until`, which is decided after them")
        }
        None => found.help("delay one of the values by `fby`, or compute it from others"),
    }
}

/// Whether the condition of a strong transition is among what needs itself.
fn is_strong(deps: &Dependences<'_>, part: &Part, chain: &Chain) -> bool {
    let named = |node: &Node| match node {
        Node::Value(var) => deps.conditions.flat.vars[*var].name.clone(),
        Node::Presence(_) => None,
    };
    let mut names = chain.iter().filter_map(|i| named(&deps.node(part.nodes[part.edges[*i].1])));
    names.any(|name| name.ends_with(".unless"))
}

/// The value of the cycle before, of a variable that its own equation reads.
fn own_value(deps: &Dependences<'_>, part: &Part, chain: &Chain) -> Option<String> {
    let flat = deps.conditions.flat;
    let named = chain.iter().filter_map(|i| match deps.node(part.nodes[part.edges[*i].1]) {
        Node::Value(var) => flat.vars[var].name.as_ref().map(|name| (name, &flat.vars[var].ty)),
        Node::Presence(_) => None,
    });
    let named: Vec<_> = named.collect();
    let [(name, ty)] = named[..] else { return None };
    let first = match (ty.dtype, ty.shape.is_scalar()) {
        (DType::Bool, true) => "false".to_owned(),
        (DType::Int, true) => "0".to_owned(),
        (DType::Num, true) => "0.0".to_owned(),
        (DType::Num, false) => format!("zeros({})", ty.shape),
        (DType::Bool | DType::Int, false) => return None,
    };
    Some(format!("({first} fby {})", name.rsplit('.').next().unwrap_or(name)))
}

/// A recurrence runs backward without end.
pub(super) fn uncut(deps: &Dependences<'_>, part: &Part, chain: &Chain) -> Diagnostic {
    let (start, what) = begin(deps, part, chain);
    let message = format!("{what} needs all later cycles: nothing cuts its recurrence through `post`");
    let found = Diagnostic::error(codes::UNCUT_RECURRENCE, message);
    labelled(found, deps, part, chain, start)
        .note(
            "expected a `merge` or `if` whose condition holds repeatedly, and that takes another value there",
        )
        .help(cut_help(deps, part, chain))
}

/// How to cut a recurrence, with the value that its `post` is of.
fn cut_help(deps: &Dependences<'_>, part: &Part, chain: &Chain) -> String {
    let flat = deps.conditions.flat;
    let nodes = chain.iter().map(|i| &part.edges[*i]).filter(|(_, _, edge)| edge.distance == Distance::Next);
    let looked_at = nodes.filter_map(|(_, to, _)| match deps.node(part.nodes[*to]) {
        Node::Value(var) => Some(&flat.vars[var]),
        Node::Presence(_) => None,
    });
    // A value of a called node, `step_0.h`, has another name where its `post` stands.
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

/// A recurrence is cut only by the end of the trace.
pub(super) fn closed_only(deps: &Dependences<'_>, part: &Part, chain: &Chain) -> Diagnostic {
    let (start, what) = begin(deps, part, chain);
    let message = format!("{what} is known at the end of a closed trace only");
    let found = Diagnostic::warning(codes::CLOSED_ONLY, message);
    labelled(found, deps, part, chain, start)
        .note("its recurrence runs backward through `fby back`, and no condition cuts it")
        .help("for a stream without end, call the node with `every end`, or cut the recurrence by `merge`")
}

/// An output has no value in the last cycle of a window, where it comes from a `post`.
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

/// An output may have no value in the last cycle of a window.
pub(super) fn doubtful_last(flat: &Flat, post: Eq, output: Var) -> Reason {
    Reason {
        message: format!(
            "{}: it is not known whether it needs a `post` in the last cycle of a window, where that has no value",
            name(flat, output)
        ),
        spans: vec![flat.equations[post].span],
        help: help::LAST,
    }
}

/// Something cannot be decided before the program runs.
pub(super) fn reason(
    deps: &Dependences<'_>,
    part: &Part,
    chain: &Chain,
    message: &str,
    help: &'static str,
) -> Reason {
    let spans = chain.iter().filter_map(|i| span_of(deps, part.nodes[part.edges[*i].0]));
    let (_, what) = begin(deps, part, chain);
    let mut spans: Vec<Span> = spans.collect();
    spans.dedup();
    spans.truncate(SHOWN);
    Reason { message: format!("{what}: {message}"), spans, help }
}

pub(super) fn unknown_clock(deps: &Dependences<'_>, edge: &Edge) -> Reason {
    let flat = deps.conditions.flat;
    let equation = edge.eq.map(|eq| &flat.equations[eq]);
    let what = equation.map_or_else(|| "a part of an expression".to_owned(), |e| name(flat, e.lhs));
    Reason {
        message: format!("{what}: the clock of a look ahead is not known"),
        spans: equation.map(|e| e.span).into_iter().collect(),
        help: help::CLOCK,
    }
}

/// Turns a chain so that it begins at a variable with a name, if there is one.
fn begin(deps: &Dependences<'_>, part: &Part, chain: &Chain) -> (usize, String) {
    let flat = deps.conditions.flat;
    let var = |i: &usize| match deps.node(part.nodes[part.edges[*i].0]) {
        Node::Value(v) => Some(v),
        Node::Presence(_) => None,
    };
    let named = |i: &usize| var(i).is_some_and(|v| flat.vars[v].name.is_some());
    let start = chain.iter().position(named).unwrap_or(0);
    let what = chain.get(start).and_then(var).map(|v| name(flat, v));
    (start, what.unwrap_or_else(|| "a recurrence".to_owned()))
}

/// Labels the steps of a chain, from one variable with a name to the next.
fn labelled(
    mut found: Diagnostic,
    deps: &Dependences<'_>,
    part: &Part,
    chain: &Chain,
    start: usize,
) -> Diagnostic {
    let steps = steps(deps, part, chain, start);
    for (span, text) in steps.iter().take(SHOWN) {
        found = found.label(*span, text);
    }
    if steps.len() > SHOWN { found.note(format!("and {} more steps", steps.len() - SHOWN)) } else { found }
}

/// A step of a chain: its place in the source, what needs something, and how far away in time.
struct Step {
    span: Span,
    of: Var,
    distance: Distance,
}

impl Step {
    fn told(self, flat: &Flat, needs: Var) -> (Span, String) {
        let (of, needs) = (name(flat, self.of), name(flat, needs));
        let text = match self.distance {
            Distance::Now => format!("{of} needs {needs}"),
            Distance::Past => format!("{of} needs the previous value of {needs}"),
            Distance::Next => format!("{of} needs the next value of {needs}"),
        };
        (self.span, text)
    }
}

/// The steps of a chain in words. Parts of expressions, which have no name, are left out, except between two steps in
/// time.
fn steps(deps: &Dependences<'_>, part: &Part, chain: &Chain, start: usize) -> Vec<(Span, String)> {
    let flat = deps.conditions.flat;
    let mut told = Vec::new();
    let mut open: Option<Step> = None;
    for (at, i) in chain[start..].iter().chain(&chain[..start]).enumerate() {
        let (from, to, edge) = &part.edges[*i];
        let (Some(span), Node::Value(of), Node::Value(needs)) =
            (span_of(deps, part.nodes[*from]), deps.node(part.nodes[*from]), deps.node(part.nodes[*to]))
        else {
            continue;
        };
        let distance = edge.distance;
        let step = match open.take() {
            Some(step) if distance == Distance::Now => step,
            Some(step) if step.distance == Distance::Now => Step { distance, ..step },
            Some(step) => {
                told.push(step.told(flat, of));
                Step { span, of, distance }
            }
            None => Step { span, of, distance },
        };
        if flat.vars[needs].name.is_some() || at + 1 == chain.len() {
            told.push(step.told(flat, needs));
        } else {
            open = Some(step);
        }
    }
    told
}

/// The guards of a chain, in order: it is closed in the cycles where they all hold.
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
