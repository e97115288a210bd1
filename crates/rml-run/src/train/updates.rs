//! How often parameters are updated, and which states continue from row to row.

use std::sync::Arc;

use indexmap::IndexSet;
use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Span};
use rml_data::Windows;
use rml_driver::Program;
use rml_ir::Value;
use rml_ir::flat::{By, ClassId, ClockClasses, ConstKind, Driver, Eq, Equation, Flat, Rhs, State, Var};
use rml_ir::op::Op;

use super::reach::{Reach, is_of_optimiser};
use super::repeated;
use crate::checkpoint::Setup;

/// How many elements of parameters are updated how often.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let text = "node line(x) -> (o)  k = param(0.0);  o = k * x;
/// #   node train(x: num [], y: num []) -> (loss)
/// #     o, _ = diff_line(x, true, 0.05 * (y - o));  loss = (o - y) * (o - y);";
/// # let source = rml::Source::text("line.rml", text);
/// # let data = rml::Columns::parse(b"x,y\n1,2\n2,4\n3,6\n4,8\n", rml::Format::Csv, "data.csv")?;
/// use rml::{Observer, TrainInfo, UpdateCounts};
///
/// struct Seen(UpdateCounts);
/// impl Observer for Seen {
///     fn start(&mut self, info: &TrainInfo) {
///         self.0 = info.updates;
///     }
/// }
/// let mut seen = Seen(UpdateCounts::default());
/// rml::train(&source, &data, &rml::TrainOptions::default(), &mut seen)?;
/// assert_eq!((seen.0.cycle, seen.0.window, seen.0.never), (1, 0, 0));
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct UpdateCounts {
    /// In each cycle with a gradient.
    pub cycle: usize,
    /// Once per window.
    pub window: usize,
    /// In the cycles where a condition of the program is true.
    pub condition: usize,
    /// Never.
    pub never: usize,
}

/// The parameters of a program by how often they are updated.
struct Parameters<'p> {
    cycle: Vec<(&'p str, usize)>,
    window: Vec<(&'p str, usize)>,
    condition: usize,
    never: Vec<(&'p str, usize)>,
}

impl<'p> Parameters<'p> {
    fn of(flat: &'p Flat) -> Self {
        let sampled = Sampled::of(flat);
        let mut found = Self { cycle: Vec::new(), window: Vec::new(), condition: 0, never: Vec::new() };
        for (key, state) in flat.states.iter().filter(|(_, state)| state.parameter) {
            let equation = &flat.equations[state.equation];
            let count = flat.vars[equation.lhs].ty.shape.len();
            if matches!(equation.rhs, Rhs::Param { .. }) || is_kept(flat, state.equation) {
                found.never.push((key, count));
            } else if sampled.by_windows.contains(&equation.lhs) {
                found.window.push((key, count));
            } else if sampled.all.contains(&equation.lhs) {
                found.condition += count;
            } else {
                found.cycle.push((key, count));
            }
        }
        found
    }
}

/// Whether a state always has its initial value: `o = init fby o`.
pub(super) fn is_kept(flat: &Flat, state: Eq) -> bool {
    let equation = &flat.equations[state];
    matches!(equation.rhs, Rhs::Fby { next, .. } if next == equation.lhs)
}

/// The variables that are absent in some cycles.
struct Sampled {
    all: IndexSet<Var>,
    /// The variables that are present in the first or the last cycle of windows.
    by_windows: IndexSet<Var>,
}

impl Sampled {
    fn of(flat: &Flat) -> Self {
        let classes = ClockClasses::new(flat);
        let offered = flat.inputs.iter().filter_map(|i| Some((i.clock?.0, classes.of(i.var))));
        let condition = |d: &Driver| match d.by {
            By::Condition(cond) => Some((cond, classes.of(d.var))),
            By::Input | By::Offer(_) | By::Backward(_) => None,
        };
        let found: Vec<(Var, ClassId)> =
            classes.drivers().iter().filter_map(condition).chain(offered).collect();
        let members = |(_, class): &(Var, ClassId)| classes.members(*class).to_vec();
        let borders = borders(flat);
        let at_borders = found.iter().filter(|(cond, _)| borders.contains(cond));
        Self {
            by_windows: at_borders.flat_map(members).collect(),
            all: found.iter().flat_map(members).collect(),
        }
    }
}

/// The conditions that are true in the first or the last cycle of windows.
fn borders(flat: &Flat) -> IndexSet<Var> {
    let ends: IndexSet<Var> = flat.windows.iter().map(|window| window.end).collect();
    let constants = flat.equations.iter().filter(|e| matches!(e.rhs, Rhs::Const(_)));
    let constants: IndexSet<Var> = constants.map(|e| e.lhs).collect();
    // `true fby false`, in a window.
    let begins = flat.equations.iter().filter_map(|e| match e.rhs {
        Rhs::Fby { next, window: Some(_), .. } if constants.contains(&next) => Some(e.lhs),
        _ => None,
    });
    ends.iter().copied().chain(begins).collect()
}

/// How many elements of a program's parameters are updated how often.
pub(crate) fn updates(program: &Program) -> UpdateCounts {
    let found = Parameters::of(program.flat());
    let sum = |of: &[(&str, usize)]| of.iter().map(|(_, count)| count).sum();
    let (cycle, window) = (sum(&found.cycle), sum(&found.window));
    UpdateCounts { cycle, window, condition: found.condition, never: sum(&found.never) }
}

/// A note that names the parameters without elements: a size is 0.
pub(super) fn empty(program: &Program) -> Option<String> {
    let flat = program.flat();
    let mut all = flat.states.iter().filter(|(_, state)| state.parameter).filter_map(|(key, state)| {
        let ty = &flat.vars[flat.equations[state.equation].lhs].ty;
        ty.shape.is_empty().then(|| format!("`{key}` is {ty}"))
    });
    let first = all.next()?;
    let more = match all.count() {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    Some(format!("a parameter has no elements, since a size is 0: {first}{more}"))
}

/// A note that names the parameters that are never updated, if others are.
pub(super) fn never_updated(program: &Program) -> Option<String> {
    const SHOWN: usize = 6;
    let found = Parameters::of(program.flat());
    let others = found.cycle.len() + found.window.len() + found.condition;
    let names: Vec<String> = found.never.iter().take(SHOWN).map(|(key, _)| format!("`{key}`")).collect();
    let more = match found.never.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (others > 0 && !names.is_empty()).then(|| format!("never updated: {}{more}", names.join(", ")))
}

/// Warnings about a training over these windows, before it begins. `late` is the finding that the update of a parameter
/// may wait for later cycles, if there is one.
pub(super) fn notes(
    program: &Program,
    late: Option<&Diagnostic>,
    windows: &Windows,
    setup: &Setup,
) -> Vec<Diagnostic> {
    let longest = (0..windows.count).map(|w| windows.length(w)).max().unwrap_or_default();
    let mixed = (longest > 1).then(|| mixed(program, late)).flatten();
    let unused = unused(program, windows, longest);
    let unused = unused.or_else(|| repeated::finding(program, windows, longest));
    let crossing = if setup.shuffle {
        crossing(program)
    } else if windows.are_cut() {
        misplaced(program, windows, setup.batch)
    } else {
        None
    };
    mixed.into_iter().chain(unused).chain(crossing).collect()
}

/// Warns about a state that restarts in each window although windows have one cycle: those of the data, or those of a
/// condition that is always true.
fn unused(program: &Program, windows: &Windows, longest: usize) -> Option<Diagnostic> {
    let flat = program.flat();
    let reach = Reach::new(flat);
    let inputs = reach.from(flat.inputs.iter().map(|i| i.var));
    let is_end = |end: Var| {
        let input = flat.inputs.iter().find(|i| i.var == end);
        input.and_then(|i| flat.vars[i.var].name.as_deref()).is_some_and(|name| windows.is_end(name))
    };
    let always = always(flat);
    let restarts = |e: &&Equation| match e.rhs {
        Rhs::Fby { window: Some(window), next, .. } => {
            let end = flat.windows[window].end;
            let is_single = always.contains(&end) || longest == 1 && is_end(end);
            is_single && inputs.contains(&next) && flat.vars[next].ty.is_num()
        }
        _ => false,
    };
    let parameters: IndexSet<Var> =
        flat.states.values().filter(|s| s.parameter).map(|s| flat.equations[s.equation].lhs).collect();
    let is_norm = |place: usize| program.gradients().values().any(|norm| *norm == place);
    // What a window remembers of a parameter is no state of the net: neither the sum of its gradient, which matters to
    // the parameter alone, nor its value, which is that of the parameter in the first cycle.
    let matters = |e: &Equation| {
        let reached = reach.until([e.lhs], |v| parameters.contains(&v));
        let is_output = |(place, output): (usize, &Var)| !is_norm(place) && reached.contains(output);
        flat.outputs.iter().enumerate().any(is_output) && !holds(flat, e, &parameters)
    };
    let named = |e: &Equation| {
        let Rhs::Fby { next, .. } = e.rhs else { return None };
        let name = flat.vars[e.lhs].name.as_deref().or(flat.vars[next].name.as_deref())?;
        matters(e).then(|| name.replace("diff_", ""))
    };
    // A state that carries a variable of the program has its name; a value that the adjoint keeps has no name.
    let is_named = |e: &&Equation| flat.vars[e.lhs].name.is_some();
    let own = flat.equations.iter().filter(restarts).filter(is_named);
    let mut found = own.chain(flat.equations.iter().filter(restarts));
    let (state, key) = found.find_map(|e| Some((e, named(e)?)))?;
    if let Rhs::Fby { window: Some(window), .. } = state.rhs
        && always.contains(&flat.windows[window].end)
    {
        return Some(ended(flat, flat.windows[window].end, state.span, &key));
    }
    let d = Diagnostic::warning(
        codes::UNUSED_STATE,
        format!("each window of the data has one cycle, so the state `{key}` always has its initial value"),
    )
    .label(state.span, "this keeps a value from cycle to cycle, within a window");
    let sequence = program.inputs().iter().find_map(|input| {
        let (lead, dims) = match (input.batched, input.ty.shape.dims()) {
            (true, [_, dims @ ..]) => (vec!["batch".to_owned()], dims),
            (_, dims) => (Vec::new(), dims),
        };
        let (cycles, cell) = dims.split_first().filter(|(_, rest)| !rest.is_empty())?;
        let shape = [lead, cell.iter().map(ToString::to_string).collect()].concat().join(", ");
        Some((input, *cycles, format!("{}: {} [{shape}]", input.name, input.ty.dtype), cell))
    });
    Some(match sequence {
        Some((input, cycles, declared, cell)) => {
            let cell: String = cell.iter().map(|d| format!(", {d}")).collect();
            d.note(format!(
                "time is in cycles: with `{declared}`, data [windows, {cycles}{cell}] is windows of {cycles} cycles"
            ))
            .help(format!(
                "if the first dimension of `{}` is time, declare `{declared}`, in each node, and what has one value a window `when end`",
                input.name
            ))
        }
        None if windows.are_cut() => d.help("let a window have more rows: `--window 24`"),
        None => d
            .help("if each row is a cycle, say how many of them are a window: `--window 24`")
            .help("or store several cycles in a row: an array [windows, cycles, ..], or lists in JSON"),
    })
}

/// Whether a delay holds the value that a parameter has in the first cycle of a window.
fn holds(flat: &Flat, delay: &Equation, parameters: &IndexSet<Var>) -> bool {
    let definition = |v: Var| flat.equations.iter().find(|e| e.lhs == v).map(|e| &e.rhs);
    let sampled = |mut v: Var| {
        while let Some(Rhs::When { value, .. }) = definition(v) {
            v = *value;
        }
        v
    };
    let Rhs::Fby { next, .. } = delay.rhs else { return false };
    match definition(next) {
        Some(Rhs::Merge { on_true, on_false, .. }) => {
            parameters.contains(&sampled(*on_true)) && sampled(*on_false) == delay.lhs
        }
        Some(_) | None => false,
    }
}

/// The conditions that are true in every cycle.
fn always(flat: &Flat) -> IndexSet<Var> {
    let is_true = |e: &&Equation| match e.rhs {
        Rhs::Const(constant) => matches!(flat.consts[constant].kind, ConstKind::Value(Value::Bool(true))),
        _ => false,
    };
    flat.equations.iter().filter(is_true).map(|e| e.lhs).collect()
}

/// The warning about a state within windows that end in every cycle.
fn ended(flat: &Flat, end: Var, state: Span, key: &str) -> Diagnostic {
    let name = flat.vars[end].name.as_deref().and_then(|name| name.rsplit('.').next()).unwrap_or("true");
    let what =
        format!("`{name}` ends a window in each cycle, so the state `{key}` always has its initial value");
    Diagnostic::warning(codes::UNUSED_STATE, what)
        .label(flat.vars[end].span, "this is true in every cycle")
        .label(state, "this keeps a value from cycle to cycle, within a window")
        .help("declare the end as an input, `end: bool []`: a training sets it in the last cycle of each window of the data")
}

/// Warns about parameters with a gradient that are updated in each cycle, beside others that are updated once per
/// window.
fn mixed(program: &Program, late: Option<&Diagnostic>) -> Option<Diagnostic> {
    let Parameters { cycle, window, .. } = Parameters::of(program.flat());
    let learned = |of: &[(&str, usize)]| -> Vec<String> {
        let own = of.iter().filter(|(key, _)| program.learned().contains(*key));
        own.map(|(key, _)| format!("`{key}`")).collect()
    };
    let (cycle, window) = (learned(&cycle), learned(&window));
    if cycle.is_empty() || window.is_empty() {
        return None;
    }
    const SHOWN: usize = 6;
    let list = |of: &[String]| {
        let more = if of.len() > SHOWN { format!(", and {} more", of.len() - SHOWN) } else { String::new() };
        of[..of.len().min(SHOWN)].join(", ") + &more
    };
    Some(
        Diagnostic::warning(
            codes::UNEVEN_UPDATES,
            "some parameters are updated in each cycle, and others once a window",
        )
        .note(format!("in each cycle: {}", list(&cycle)))
        .note(format!("once a window: {}", list(&window)))
        .help(late.and_then(|late| late.help.first().cloned()).unwrap_or_else(|| {
            "put the layers of the first kind into the node that is called with `every`, so that a window has one update of all".to_owned()
        })),
    )
}

/// Warns about states that carry values computed from data from one window to the next, and that affect learning, if
/// the windows are shuffled.
fn crossing(program: &Program) -> Option<Diagnostic> {
    let (what, at) = crosses_by(program)?;
    let what = format!("{what}, and the windows are shuffled");
    Some(
        Diagnostic::warning(codes::SHUFFLED_STATE, what)
            .label(at, "keeps a value from the window before")
            .help("where the windows follow each other in time, keep their order: `--no-shuffle`, and `--test last:0.2`")
            .help("where each stands by itself, restart the state in each: call the node with `every`"),
    )
}

/// Warns about states that continue from one window to another one that is not the next in time: windows that are
/// stacked, or a window of another series.
fn misplaced(program: &Program, windows: &Windows, batch: usize) -> Option<Diagnostic> {
    let (what, at) = crosses_by(program)?;
    let series = windows.series();
    let d = if batch > 1 {
        let what = format!("{what}, and {batch} windows are stacked");
        Diagnostic::warning(codes::SHUFFLED_STATE, what)
            .note(format!(
                "a window follows the one that is {batch} windows before it, not the one before it in time"
            ))
            .help("run one window at a time: `--batch 1`")
    } else if windows.overlap() {
        let what = format!("{what}, and the windows share rows");
        Diagnostic::warning(codes::SHUFFLED_STATE, what)
            .note("a window begins before the last row of the one before it, whose state it continues with")
            .help("leave `--stride` out, or restart the state in each window: call the node with `every`")
    } else if series > 1 && !windows.has_begin() {
        let what = format!("{what}, also from the last one of a series to the first one of the next");
        Diagnostic::warning(codes::SHUFFLED_STATE, what)
            .note(format!("the table has {series} series"))
            .help("declare an input `begin: bool []`, which is true in the first cycle of each series, and restart the state there")
    } else {
        return None;
    };
    Some(d.label(at, "keeps a value from the window before"))
}

/// Whether states carry values computed from data from one window to the next, and affect learning.
pub(super) fn crosses(program: &Program) -> bool {
    crosses_by(program).is_some()
}

/// Which states do so, in words, and the place of the first one.
fn crosses_by(program: &Program) -> Option<(String, Span)> {
    let flat = program.flat();
    let is_own = |(key, state): &(&Arc<str>, &State)| !state.parameter && !is_of_optimiser(flat, key);
    let reach = Reach::new(flat);
    let inputs = reach.from(flat.inputs.iter().map(|i| i.var));
    let parameters: Vec<Var> = flat
        .states
        .values()
        .filter(|state| state.parameter)
        .map(|state| flat.equations[state.equation].lhs)
        .collect();
    let learns = |state: &State| {
        let reached = reach.from([flat.equations[state.equation].lhs]);
        parameters.iter().any(|v| reached.contains(v))
    };
    let mut found = flat.states.iter().filter(is_own).filter(|(_, state)| {
        let next = carried(flat, state.equation);
        next.is_some_and(|next| inputs.contains(&next) && !is_reset(flat, next)) && learns(state)
    });
    let (key, state) = found.next()?;
    let more = found.count();
    let others = if more > 0 { format!(", and {more} more") } else { String::new() };
    let what = format!("the state `{key}` continues from one window to the next{others}");
    Some((what, flat.equations[state.equation].span))
}

/// Warns about a state that restarts in each window in the training, but continues from one window to the next in the
/// evaluation.
pub(super) fn unrestarted(trained: &Program, evaluating: &Program) -> Option<Diagnostic> {
    let delays = |e: &&Equation, windowed: bool| matches!(e.rhs, Rhs::Fby { window, .. } if window.is_some() == windowed);
    let restarting: IndexSet<_> =
        trained.flat().equations.iter().filter(|e| delays(e, true)).map(|e| e.span).collect();
    let continuing = trained.flat().equations.iter().filter(|e| delays(e, false)).map(|e| e.span);
    let restarting = &restarting - &continuing.collect::<IndexSet<_>>();
    let flat = evaluating.flat();
    let inputs = Reach::new(flat).from(flat.inputs.iter().map(|i| i.var));
    let (key, state) = flat.states.iter().find(|(_, state)| {
        let next = carried(flat, state.equation).filter(|_| !state.parameter);
        next.is_some_and(|next| inputs.contains(&next) && !is_reset(flat, next))
            && restarting.contains(&flat.equations[state.equation].span)
    })?;
    let (own, other) = (evaluating.node(), trained.node());
    let what = format!(
        "node {own} carries the state `{key}` from one window to the next, and node {other} does not"
    );
    Some(
        Diagnostic::warning(codes::SHUFFLED_STATE, what)
            .label(
                flat.equations[state.equation].span,
                format!("in {own}, this keeps a value from the window before"),
            )
            .note(format!("{other} calls the node with `every`, so that its states restart in each window"))
            .help(format!("call it with `every` in {own}, too: `f(x) every end`")),
    )
}

/// The value that a state takes over, if it is a number.
fn carried(flat: &Flat, eq: Eq) -> Option<Var> {
    let equation = &flat.equations[eq];
    match equation.rhs {
        Rhs::Fby { next, .. } if flat.vars[equation.lhs].ty.is_num() => Some(next),
        _ => None,
    }
}

/// Whether a value is a choice between another one and a constant, such as the restart of a state by the program
/// itself.
fn is_reset(flat: &Flat, v: Var) -> bool {
    let defines = |v: Var| flat.equations.iter().find(|e| e.lhs == v).map(|e| &e.rhs);
    let constant = |v: &Var| matches!(defines(*v), Some(Rhs::Const(_)));
    match defines(v) {
        Some(Rhs::If { then, other, .. }) => constant(then) || constant(other),
        Some(Rhs::Merge { on_true, on_false, .. }) => constant(on_true) || constant(on_false),
        Some(Rhs::Apply { op: Op::Where, args }) => args[1..].iter().any(constant),
        _ => false,
    }
}
