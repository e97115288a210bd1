//! Loops of values that need themselves: their steps as data, and the diagnostic for them.

use rml_base::codes::analysis::INSTANTANEOUS_CYCLE;
use rml_base::{Diagnostic, Span};
use rml_ir::flat::{Flat, Var};
use rml_ir::{DType, Type};

use super::graph::Distance;
use crate::conditions::Guard;

/// The maximum number of steps of a loop that a diagnostic shows.
pub(super) const SHOWN: usize = 12;

/// Values that need each other at the same time.
#[derive(Clone, Debug)]
pub struct CausalLoop {
    /// The value that the message names.
    pub(super) value: Option<Var>,
    /// The steps, each from one named variable to the next.
    pub(super) steps: Vec<LoopStep>,
    /// The loop is closed in the cycles in which all these guards hold.
    pub(super) guards: Vec<Guard>,
    /// Whether the loop leads one cycle back and one cycle ahead.
    pub(super) in_time: bool,
    /// The only named variable of the loop, if there is exactly one.
    pub(super) only: Option<Var>,
    /// Whether the loop contains the condition of a strong transition.
    pub(super) strong: bool,
}

/// A step of a loop.
#[derive(Clone, Copy, Debug)]
pub struct LoopStep {
    /// The place in the source.
    pub span: Span,
    /// The variable that needs another one.
    pub of: Var,
    /// The variable that this step needs.
    pub needs: Var,
    /// The distance in time between the two variables.
    pub distance: Distance,
}

/// Facts about a loop from the text of the program.
pub struct LoopText<'t> {
    /// The calls through which the loop runs.
    pub calls: Vec<Span>,
    /// A value that one of these calls reads, and the line of the call; a delay of this value would open the loop.
    pub read: Option<(Var, usize)>,
    /// The program in which `read` is a variable.
    pub flat: &'t Flat,
    /// Returns the shape with which a variable is declared.
    pub shape: &'t dyn Fn(&str) -> Option<&'t str>,
}

impl LoopStep {
    pub(super) fn told(&self, flat: &Flat) -> String {
        let (of, needs) = (name(flat, self.of), name(flat, self.needs));
        match self.distance {
            Distance::Now => format!("{of} needs {needs}"),
            Distance::Past => format!("{of} needs the previous value of {needs}"),
            Distance::Next => format!("{of} needs the next value of {needs}"),
        }
    }
}

impl CausalLoop {
    /// The steps, each from one named variable to the next.
    pub fn steps(&self) -> &[LoopStep] {
        &self.steps
    }

    /// The error about the loop. `flat` is the program that was analysed.
    pub fn diagnostic(&self, flat: &Flat, text: &LoopText<'_>) -> Diagnostic {
        let what = self.value.map_or_else(|| "a recurrence".to_owned(), |v| name(flat, v));
        let message = if self.in_time {
            format!("{what} needs its own value, one step back and one ahead in time")
        } else {
            format!("{what} needs its own value in the same cycle")
        };
        let mut found = Diagnostic::error(INSTANTANEOUS_CYCLE, message);
        for call in &text.calls {
            found = found.label(*call, "the loop runs through this call");
        }
        found = labelled(found, flat, &self.steps);
        let is = |guard: &Guard| match flat.vars[guard.cond].name.as_deref().and_then(of_automaton) {
            Some(Part::Is(state)) if guard.value => format!("the state is `{state}`"),
            Some(Part::Is(state)) => format!("the state is not `{state}`"),
            Some(Part::State | Part::Condition(_)) | None => {
                format!("{} is {}", name(flat, guard.cond), guard.value)
            }
        };
        let conditions: Vec<String> = self.guards.iter().map(is).collect();
        if !conditions.is_empty() {
            found = found.note(format!("in every cycle where {}", conditions.join(" and ")));
        }
        found.note("expected a `fby` on every way from a value back to itself").help(self.help(flat, text))
    }

    fn help(&self, flat: &Flat, text: &LoopText<'_>) -> String {
        if self.in_time {
            return "use one direction in time: `fby` for both, or `fby back` for both".to_owned();
        }
        if let Some((own, _)) = self.only.and_then(|v| delayed(flat, v, text.shape)) {
            return format!("for the value of the cycle before, write `{own}` on the right side");
        }
        if self.strong {
            let named = |var: Var| flat.vars[var].name.as_ref().is_some_and(|name| name.ends_with(".unless"));
            let read = self.steps.iter().find(|step| named(step.of)).map(|step| step.needs);
            let own = read.and_then(|read| delayed(flat, read, text.shape));
            let before = own.map(|(delay, value)| {
                format!("write `{delay}`, the value of the cycle before, in place of `{value}`, or ")
            });
            return format!(
                "`unless` is decided before the equations of its state run: {}write `until`, which is decided after them",
                before.unwrap_or_default()
            );
        }
        let restarted = |step: &&LoopStep| is_restart(flat, step.needs) && step.distance == Distance::Now;
        if self.steps.iter().any(|step| restarted(&step)) {
            return "let what was true in the cycle before restart it: `restart (false fby c)`".to_owned();
        }
        let read = text.read.and_then(|(v, line)| Some((delayed(text.flat, v, text.shape)?, line)));
        match read {
            Some(((delay, value), line)) => format!(
                "for the value of the cycle before, write `{delay}` in place of `{value}` in line {line}"
            ),
            None => "delay one of the values by `fby`, or compute it from others".to_owned(),
        }
    }
}

/// The name of a variable in messages.
pub(super) fn name(flat: &Flat, var: Var) -> String {
    match &flat.vars[var].name {
        None => "a part of an expression".to_owned(),
        Some(_) if is_restart(flat, var) => "the condition of `restart`".to_owned(),
        Some(name) => match of_automaton(name) {
            Some(Part::State) => "the state of the automaton".to_owned(),
            Some(Part::Is(state)) => format!("whether the state is `{state}`"),
            Some(Part::Condition(word)) => format!("the condition of `{word}`"),
            None => format!("`{name}`"),
        },
    }
}

/// A value that is defined by an automaton instead of an equation of the text.
enum Part<'n> {
    State,
    /// Whether the automaton is in that state.
    Is(&'n str),
    /// The condition of an `unless` or `until`.
    Condition(&'n str),
}

/// The part of an automaton that a variable with that name is, if it is one that the program text cannot name.
fn of_automaton(name: &str) -> Option<Part<'_>> {
    let (path, last) = name.rsplit_once('.')?;
    if matches!(last, "unless" | "until") {
        return Some(Part::Condition(last));
    }
    let is_automaton = |path: &str| {
        let last = path.rsplit('.').next().unwrap_or(path);
        last.strip_prefix("automaton").is_some_and(|number| number.bytes().all(|b| b.is_ascii_digit()))
    };
    if matches!(last, "state" | "entry") && is_automaton(path) {
        return Some(Part::State);
    }
    let (path, of) = path.rsplit_once('.')?;
    (matches!(of, "state" | "entry") && is_automaton(path)).then_some(Part::Is(last))
}

/// Whether a variable is the condition of a `restart` in a call.
fn is_restart(flat: &Flat, var: Var) -> bool {
    flat.vars[var].name.as_ref().is_some_and(|name| name.ends_with(".restart"))
}

/// Adds a label for each step of a loop.
pub(super) fn labelled(mut found: Diagnostic, flat: &Flat, steps: &[LoopStep]) -> Diagnostic {
    for step in steps.iter().take(SHOWN) {
        found = found.label(step.span, step.told(flat));
    }
    if steps.len() > SHOWN { found.note(format!("and {} more steps", steps.len() - SHOWN)) } else { found }
}

/// The value of a variable in the previous cycle as text, `(0.0 fby x)`, and the name of the variable in its node.
fn delayed<'t>(flat: &Flat, v: Var, shape: &dyn Fn(&str) -> Option<&'t str>) -> Option<(String, String)> {
    let data = &flat.vars[v];
    let path = data.name.as_deref()?;
    let name = path.rsplit('.').next().unwrap_or(path);
    let first = first_value(&data.ty, shape(path))?;
    Some((format!("({first} fby {name})"), name.to_owned()))
}

/// A first value of that type as text; `shape` is the text of the shape.
fn first_value(ty: &Type, shape: Option<&str>) -> Option<String> {
    Some(match (ty.dtype, ty.shape.is_scalar()) {
        (DType::Bool, true) => "false".to_owned(),
        (DType::Int, true) => "0".to_owned(),
        (DType::Num, true) => "0.0".to_owned(),
        (DType::Num, false) => {
            format!("zeros({})", shape.map_or_else(|| ty.shape.to_string(), str::to_owned))
        }
        (DType::Bool | DType::Int, false) => return None,
    })
}
