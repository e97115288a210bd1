//! Explains what stopped a simulation: which cause makes a variable present, which one makes it absent, and which
//! equations link the two. It reads the rows and changes nothing.

use std::collections::VecDeque;

use indexmap::{IndexMap, IndexSet};
use rml_base::{Diagnostic, Label, Span, codes};
use rml_engine::Status;
use rml_ir::flat::{Eq, Equation, Rhs, Var};
use rml_ir::op::EvalError;
use rml_ir::{DType, Value};

use super::Simulator;
use super::cell::Presence;
use super::engine::{Conflict, Halt};
use super::rows::Cause;

/// The failure that stopped a simulation, and its place.
#[derive(Clone, Debug)]
pub struct SimulationFailure {
    /// The cycle in which the failure arose.
    pub cycle: u64,
    /// The equation whose variables disagree, or which has no result. `None` if only inputs disagree, an input is not
    /// on its clock, or a backend fails.
    pub equation: Option<Eq>,
    /// The explanation; its code is `sync-error`, `input-clock`, `integer-overflow`, `position-outside`,
    /// `assertion-failed` or one of a backend.
    pub report: Diagnostic,
}

/// One side of a disagreement.
struct Side {
    var: Var,
    presence: Presence,
    cause: Cause,
}

impl Halt {
    pub(super) fn cycle(&self) -> u64 {
        match self {
            Halt::Conflict(c) => c.cycle,
            Halt::InputClock { cycle, .. } | Halt::Eval { cycle, .. } | Halt::Backend { cycle, .. } => *cycle,
        }
    }
}

impl Simulator {
    /// The failure that stopped the simulation (ERROR-3). If the simulation continues after errors, this is the failure
    /// in the lowest cycle (one that did not come through a delay).
    pub fn failure(&self) -> Option<SimulationFailure> {
        let halt = self.halts.iter().min_by_key(|h| h.cycle())?;
        let equation = match halt {
            Halt::Conflict(c) => self.disagreeing_equation(c),
            Halt::Eval { step, .. } => Some(self.program.equation_of[*step as usize]),
            Halt::InputClock { .. } | Halt::Backend { .. } => None,
        };
        Some(SimulationFailure { cycle: halt.cycle(), equation, report: self.report(halt) })
    }

    /// All operators without a result so far, as cycle and equation, in order. There is more than one only if the
    /// simulation continues after errors.
    pub fn overflows(&self) -> Vec<(u64, Eq)> {
        let cell = |h: &Halt| match h {
            Halt::Eval { cycle, step, .. } => Some((*cycle, self.program.equation_of[*step as usize])),
            Halt::Conflict(_) | Halt::InputClock { .. } | Halt::Backend { .. } => None,
        };
        let mut all: Vec<_> = self.halts.iter().filter_map(cell).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    pub(super) fn report(&self, halt: &Halt) -> Diagnostic {
        match halt {
            Halt::Conflict(c) => self.conflict_report(c),
            Halt::InputClock { cycle, clock } => self.clock_report(*cycle, clock),
            Halt::Eval { cycle, step, error } => {
                let mut report = self.eval_report(*cycle, *step, error);
                if let Some(span) = self.users_line(*step) {
                    report.labels.insert(0, Label { span, message: "computed for this".to_owned() });
                }
                report
            }
            Halt::Backend { cycle, report } => Diagnostic::clone(report).note(format!("in cycle {cycle}")),
        }
    }

    fn eval_report(&self, cycle: u64, step: u32, error: &EvalError) -> Diagnostic {
        match error {
            EvalError::IntegerOverflow => self.overflow_report(cycle, step),
            EvalError::Memory(shortage) => {
                let eq = self.program.equation(step);
                let what = format!("computing {} in cycle {cycle}", self.program.name(eq.lhs));
                let ty = &self.program.flat.vars[eq.lhs].ty;
                let work = format!("the result is {ty}");
                shortage.diagnostic(what).label(eq.span, work)
            }
            EvalError::PositionOutside { index, size } => {
                if let Some(report) = self.assertion_report(cycle, self.program.equation_of[step as usize]) {
                    return report;
                }
                let eq = self.program.equation(step);
                let name = self.program.name(eq.lhs);
                let one = i64::try_from(*size).is_ok_and(|size| size == *index);
                let from_one = self.positions(eq).filter(|_| one).map(|column| {
                    format!("positions count from 0: if `{column}` counts from 1, write `{column} - 1`")
                });
                let d = Diagnostic::error(
                    codes::sim::POSITION_OUTSIDE,
                    format!("position {index} is outside of an axis of size {size} in cycle {cycle}, computing {name}"),
                )
                .label(eq.span, "a position is outside of the axis that it indexes")
                .note(format!("expected a position of at least 0 and less than {size}, found {index}"));
                from_one.into_iter().fold(d, Diagnostic::help).help(
                    "give valid positions, or bring them into range with `clip(i, 0, n - 1)` or `mod(i, n)`",
                )
            }
        }
    }

    /// The first place in the text of the root that uses the result of an equation of another text. Users know this
    /// text.
    fn users_line(&self, step: u32) -> Option<Span> {
        let flat = &self.program.flat;
        let is_own =
            |eq: &Equation| flat.vars[eq.lhs].name.as_deref().is_some_and(|name| !name.contains('.'));
        let own = flat.equations.iter().find(|eq| is_own(eq))?.span.file;
        let first = self.program.equation(step);
        if first.span.file == own {
            return None;
        }
        let mut reached = IndexSet::from([first.lhs]);
        let mut next = 0;
        while let Some(&var) = reached.get_index(next) {
            next += 1;
            for eq in flat.equations.iter() {
                let mut reads = false;
                eq.rhs.for_each_operand(|v| reads |= v == var);
                if reads && eq.span.file == own {
                    return Some(eq.span);
                }
                if reads {
                    reached.insert(eq.lhs);
                }
            }
        }
        None
    }

    /// The name of the variable that contains the positions of an equation.
    fn positions(&self, eq: &Equation) -> Option<&str> {
        let vars = &self.program.flat.vars;
        let mut name = None;
        eq.rhs.for_each_operand(|v| {
            if vars[v].ty.dtype == DType::Int {
                name = vars[v].name.as_deref();
            }
        });
        name
    }

    fn overflow_report(&self, cycle: u64, step: u32) -> Diagnostic {
        let eq = self.program.equation(step);
        let mut report = Diagnostic::error(
            codes::sim::INTEGER_OVERFLOW,
            format!("an integer overflows in cycle {cycle}, computing {}", self.program.name(eq.lhs)),
        )
        .label(eq.span, "the result does not fit 64 bits");
        let mut position = 0;
        eq.rhs.for_each_operand(|v| {
            position += 1;
            if let Ok(Status::Value(Value::Int(i))) = self.open_status(cycle, v) {
                let named = self.program.flat.vars[v].name.is_some();
                let x = if named { self.program.name(v) } else { format!("operand {position}") };
                let note = format!("{x} is {i}");
                if !report.notes.contains(&note) {
                    report.notes.push(note);
                }
            }
        });
        report.help("compute with num where numbers may become this large")
    }

    fn sides(&self, c: &Conflict) -> [Side; 2] {
        let side = |(presence, cause): (Presence, Cause)| Side {
            var: self.subject(cause, c.class, presence),
            presence,
            cause,
        };
        let (held, said) = (side(c.held), side(c.said));
        if held.presence == Presence::Present { [held, said] } else { [said, held] }
    }

    fn disagreeing_equation(&self, c: &Conflict) -> Option<Eq> {
        let [present, absent] = self.sides(c);
        let by_step = |cause: Cause| match cause {
            Cause::Step(s) => Some(self.program.equation_of[s as usize]),
            _ => None,
        };
        let path = self.path(present.var, absent.var);
        path.first().map(|(eq, _)| *eq).or(by_step(absent.cause)).or(by_step(present.cause))
    }

    fn conflict_report(&self, c: &Conflict) -> Diagnostic {
        let [present, absent] = self.sides(c);
        let (p, a) = (self.program.name(present.var), self.program.name(absent.var));
        let message = if present.var == absent.var {
            format!("{p} is both present and absent in cycle {}", c.cycle)
        } else {
            format!("{p} is present and {a} is absent in cycle {}", c.cycle)
        };
        let mut report = Diagnostic::error(codes::sim::SYNC_ERROR, message);
        for (eq, (x, y)) in self.path(present.var, absent.var).into_iter().take(6) {
            let (x, y) = (self.name_at(eq, x), self.name_at(eq, y));
            let text = format!("{x} and {y} have to be present in the same cycles");
            report = report.label(self.program.flat.equations[eq].span, text);
        }
        for side in [&present, &absent] {
            if let Some((span, text)) = self.reason(c, side) {
                report = report.label(span, text);
            }
        }
        if present.var != absent.var {
            report =
                report.note(format!("expected both present or both absent; {p} is present, {a} is absent"));
        }
        report.help("sample the present one with `when`, or complete the absent one with `merge`")
    }

    /// The name of an equation's variable in a label at that equation.
    fn name_at(&self, eq: Eq, v: Var) -> String {
        if self.program.flat.vars[v].name.is_some() {
            self.program.name(v)
        } else if self.program.flat.equations[eq].lhs == v {
            "the result".to_owned()
        } else {
            "an operand".to_owned()
        }
    }

    /// The variable of `class` to which a cause applies.
    fn subject(&self, cause: Cause, class: u32, presence: Presence) -> Var {
        let step = match cause {
            Cause::Input(v) | Cause::Demand(v) => return v,
            Cause::Step(s) => s,
            Cause::None => 0,
        };
        let eq = self.program.equation(step);
        let is_in = |v: Var| self.program.class(v) == class as usize;
        match &eq.rhs {
            Rhs::When { cond, .. } if !is_in(eq.lhs) => *cond,
            Rhs::Merge { on_true, on_false, .. } if !is_in(eq.lhs) || presence == Presence::Absent => {
                if is_in(*on_true) && (presence == Presence::Present || !is_in(*on_false)) {
                    *on_true
                } else {
                    *on_false
                }
            }
            _ => eq.lhs,
        }
    }

    /// The reason for the decision of a side.
    fn reason(&self, c: &Conflict, side: &Side) -> Option<(Span, String)> {
        let x = self.program.name(side.var);
        let is = if side.presence == Presence::Present { "present" } else { "absent" };
        let declared = self.program.flat.vars[side.var].span;
        match side.cause {
            Cause::None => None,
            Cause::Input(_) => Some((declared, format!("the input {x} is {is} in cycle {}", c.cycle))),
            Cause::Demand(_) => Some((declared, format!("{x} is asked for in cycle {}", c.cycle))),
            Cause::Step(s) => {
                let eq = self.program.equation(s);
                let by = match &eq.rhs {
                    Rhs::When { cond, .. } if side.var == eq.lhs => self.condition(c.cycle, *cond),
                    Rhs::When { .. } => format!("since {} is", self.program.name(eq.lhs)),
                    Rhs::Merge { cond, .. } if side.var != eq.lhs => self.condition(c.cycle, *cond),
                    _ => "since a branch is".to_owned(),
                };
                Some((eq.span, format!("{x} is {is} here, {by}")))
            }
        }
    }

    fn condition(&self, cycle: u64, cond: Var) -> String {
        let c = self.program.name(cond);
        match self.open_status(cycle, cond) {
            Ok(Status::Value(Value::Bool(b))) => format!("since {c} is {b}"),
            Ok(Status::Absent) => format!("since {c} is absent"),
            _ => format!("because of {c}"),
        }
    }

    /// The shortest chain of equations between two variables of one class, with the variables of each link.
    fn path(&self, from: Var, to: Var) -> Vec<(Eq, (Var, Var))> {
        let mut links: IndexMap<Var, Vec<(Eq, Var)>> = IndexMap::new();
        let class = self.program.class(from);
        for (id, eq) in self.program.flat.equations.iter_enumerated() {
            for (a, b) in eq.synchrony().pairs().filter(|(a, _)| self.program.class(*a) == class) {
                links.entry(a).or_default().push((id, b));
                links.entry(b).or_default().push((id, a));
            }
        }
        let mut reached: IndexMap<Var, Option<(Eq, Var)>> = IndexMap::from([(from, None)]);
        let mut queue = VecDeque::from([from]);
        while let Some(v) = queue.pop_front() {
            for &(eq, w) in links.get(&v).into_iter().flatten() {
                if !reached.contains_key(&w) {
                    reached.insert(w, Some((eq, v)));
                    queue.push_back(w);
                }
            }
        }
        let mut path = Vec::new();
        let mut at = to;
        while let Some(Some((eq, before))) = reached.get(&at) {
            // Two operands of one equation are linked through its result; readers see that as a single link.
            match path.last_mut() {
                Some((last, (start, _))) if last == eq => *start = *before,
                _ => path.push((*eq, (*before, at))),
            }
            at = *before;
        }
        path.reverse();
        path
    }
}
