//! Explains why cells stay undetermined (CAUSE-5). It follows the wait of each cell until it finds a cyclic wait or
//! something that never comes. It reads the rows of a simulation at rest and changes nothing.

use indexmap::{IndexMap, IndexSet};
use rml_base::memory::Shortage;
use rml_base::{Diagnostic, Span, codes};
use rml_engine::{End, Undetermined};
use rml_ir::Value;
use rml_ir::flat::{Eq, Rhs, Var};

use super::Simulator;
use super::cell::Presence;
use super::program::{self, Delay, Operand, Step};

/// A fact that is not known yet.
#[derive(Clone, Copy, PartialEq, std::cmp::Eq, Hash, Debug)]
enum Wanted {
    /// The presence of a variable.
    Presence(u64, Var),
    /// The value of a present variable.
    Value(u64, Var),
}

impl Wanted {
    fn cell(self) -> (u64, Var) {
        match self {
            Wanted::Presence(n, v) | Wanted::Value(n, v) => (n, v),
        }
    }
}

/// The end of a chain of waits.
enum Waits {
    For(Wanted),
    /// A wait for a cycle that has not been fed yet.
    Future,
    /// A wait for the next active cycle of a delay without a last value, where its window or the trace ends.
    End,
    /// Nothing determines the fact.
    Unasked,
}

/// The maximum number of links to follow.
const LIMIT: usize = 100_000;
/// The maximum number of places to show.
const SHOWN: usize = 8;

impl Simulator {
    /// The outputs that are undetermined now, with an explanation; `None` if there are none, or if the simulation
    /// failed. Other variables are considered only in a program without outputs: a `post` whose value is never used is
    /// not an error.
    pub fn undetermined(&self) -> Option<Undetermined> {
        if !self.halts.is_empty() {
            return None;
        }
        let flat = &self.program.flat;
        let cells =
            if flat.outputs.is_empty() { self.pending(&self.named()) } else { self.pending(&flat.outputs) };
        self.explain(cells)
    }

    /// The reason why the oldest open cycle cannot be completed. This is `undetermined` or, if all outputs are known,
    /// the other variables that are not known, named ones first. It is for traces that may leave no cycle open.
    pub fn waiting(&self) -> Option<Undetermined> {
        if !self.halts.is_empty() {
            return None;
        }
        let all = || self.program.flat.vars.ids().collect::<Vec<_>>();
        self.undetermined()
            .or_else(|| self.explain(self.pending(&self.named())))
            .or_else(|| self.explain(self.pending(&all())))
    }

    fn named(&self) -> Vec<Var> {
        let vars = &self.program.flat.vars;
        vars.ids().filter(|&v| vars[v].name.is_some()).collect()
    }

    /// The cells of these variables that are undetermined in open cycles.
    fn pending(&self, vars: &[Var]) -> Vec<(u64, Var)> {
        (self.rows.base..self.rows.end)
            .flat_map(|n| vars.iter().map(move |&v| (n, v)))
            .filter(|&(n, v)| !self.is_determined(n, v))
            .collect()
    }

    /// The explanation why the first of these undetermined cells waits.
    fn explain(&self, cells: Vec<(u64, Var)>) -> Option<Undetermined> {
        let &(n, v) = cells.first()?;
        let (chain, last) = self.chain(self.wanted_of(n, v));
        let waits_for_future = matches!(last, Some(Waits::Future));
        let cyclic = last.is_none();
        let at_end = last.is_some() && self.post_of(&chain).is_some();
        let report = self.chain_report(&chain, last.as_ref());
        let report = report.note(self.list(&cells));
        Some(Undetermined { cells, waits_for_future, cyclic, at_end, report })
    }

    /// The report that too many cycles are open.
    pub(super) fn look_ahead_report(&self, limit: usize) -> Diagnostic {
        let what = format!("{limit} cycles are open and none of them can be completed");
        self.with_reason(Diagnostic::error(codes::sim::LOOK_AHEAD_LIMIT, what)).help(
            "cut the backward dependences more often (`merge` on a condition, `every`), or raise the limit (`--look-ahead`)",
        )
    }

    /// The report that there is no memory for another cycle.
    pub(super) fn open_cycles_report(&self, shortage: &Shortage) -> Diagnostic {
        let open = self.rows.open();
        let what = match open {
            0 => format!("the trace of {} cycles", self.rows.end),
            _ => format!("another cycle in addition to {open} open ones"),
        };
        let report = shortage.diagnostic(what);
        if open == 0 { report } else { self.with_reason(report) }
    }

    /// Adds to a report the reason why the oldest open cycle waits.
    fn with_reason(&self, mut report: Diagnostic) -> Diagnostic {
        if let Some(why) = self.undetermined().map(|u| u.report) {
            report.labels = why.labels;
            report.notes.push(why.message);
            report.notes.extend(why.notes);
        }
        report
    }

    fn list(&self, cells: &[(u64, Var)]) -> String {
        let shown: Vec<String> = cells
            .iter()
            .take(SHOWN)
            .map(|&(n, v)| format!("{} in cycle {n}", self.program.name(v)))
            .collect();
        let more = cells.len().saturating_sub(SHOWN);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("undetermined: {}{more}", shown.join(", "))
    }

    fn wanted_of(&self, n: u64, v: Var) -> Wanted {
        match self.rows.presence(n, program::index(self.program.class(v))) {
            Presence::Bottom => Wanted::Presence(n, v),
            _ => Wanted::Value(n, v),
        }
    }

    /// Follows the waits from a fact. If the chain ends at a reason, both are returned. If it leads back to a fact on
    /// the chain, only the cyclic part is returned.
    fn chain(&self, first: Wanted) -> (Vec<(Wanted, Option<Eq>)>, Option<Waits>) {
        let mut chain: IndexMap<Wanted, Option<Eq>> = IndexMap::new();
        let mut at = first;
        loop {
            if let Some(start) = chain.get_index_of(&self.key(at)) {
                return (chain.into_iter().skip(start).collect(), None);
            }
            let (eq, waits) = match at {
                Wanted::Presence(n, v) => self.presence_waits(n, v),
                Wanted::Value(n, v) => self.value_waits(n, v),
            };
            chain.insert(self.key(at), eq);
            match waits {
                Waits::For(next) if chain.len() < LIMIT => at = next,
                end => return (chain.into_iter().collect(), Some(end)),
            }
        }
    }

    /// The canonical form of a fact. The presence of a variable is that of its class, so one variable represents the
    /// whole class.
    fn key(&self, wanted: Wanted) -> Wanted {
        match wanted {
            Wanted::Presence(n, v) => {
                let members = self.program.classes.members(self.program.classes.of(v));
                let named = members.iter().find(|&&m| self.program.flat.vars[m].name.is_some());
                Wanted::Presence(n, *named.unwrap_or(&v))
            }
            value @ Wanted::Value(..) => value,
        }
    }

    fn presence_waits(&self, n: u64, v: Var) -> (Option<Eq>, Waits) {
        let class = program::index(self.program.class(v));
        for &i in self.program.on_class.of(class as usize) {
            let (cond, clock) = match &self.program.steps[i as usize] {
                Step::When { cond, from, to, .. } if *to == class => (*cond, *from),
                Step::Merge { cond, branches, class: c, .. } if branches.iter().any(|(_, b)| *b == class) => {
                    (*cond, *c)
                }
                _ => continue,
            };
            let eq = self.program.equation_of[i as usize];
            if clock != class && self.rows.presence(n, clock) == Presence::Bottom {
                let var = self.program.classes.members(self.class_at(clock)).first().copied();
                if let Some(var) = var {
                    return (Some(eq), Waits::For(Wanted::Presence(n, var)));
                }
            }
            if self.rows.presence(n, clock) == Presence::Present
                && let Some(wait) = self.missing(n, cond)
            {
                return (Some(eq), Waits::For(wait));
            }
        }
        (None, Waits::Unasked)
    }

    fn class_at(&self, class: u32) -> rml_ir::flat::ClassId {
        rml_base::EntityId::from_index(class as usize)
    }

    /// The value of an operand, if it is missing although the operand is present.
    fn missing(&self, n: u64, x: Operand) -> Option<Wanted> {
        let cell = x.cell()?;
        let var = Var(program::index(cell));
        (!self.rows.cells(n)[cell].is_known()).then(|| self.wanted_of(n, var))
    }

    fn value_waits(&self, n: u64, v: Var) -> (Option<Eq>, Waits) {
        let Some(id) = self.program.definition[v] else { return (None, Waits::Unasked) };
        let eq = Some(self.program.equation_of[id as usize]);
        let first = |xs: &[Operand]| xs.iter().find_map(|&x| self.missing(n, x));
        let choice = |cond: Operand, a: Operand, b: Operand| {
            let taken = match self.cell(n, cond).value() {
                Some(Value::Bool(true)) => a,
                Some(_) => b,
                None => cond,
            };
            self.missing(n, taken)
        };
        let wanted = match &self.program.steps[id as usize] {
            Step::Constant | Step::InputClock(_) => None,
            Step::Unary { x, .. } | Step::Copy { x, .. } | Step::Param { init: x, .. } => first(&[*x]),
            Step::Binary { x, y, .. } => first(&[*x, *y]),
            Step::Apply { args, .. } => first(args),
            Step::If { cond, then, other, .. } => choice(*cond, *then, *other),
            Step::When { value, cond, .. } => first(&[*cond, *value]),
            Step::Merge { cond, branches, .. } => choice(*cond, branches[0].0, branches[1].0),
            Step::Forward(r) => return (eq, self.forward_waits(n, &self.program.forward[*r as usize])),
            Step::Backward(r) => return (eq, self.backward_waits(n, &self.program.backward[*r as usize])),
        };
        (eq, wanted.map_or(Waits::Unasked, Waits::For))
    }

    /// The first window end in cycle `m` that is not known; `Err` if there is a boundary.
    fn unknown_end(&self, rec: &Delay, m: u64) -> Result<Option<Wanted>, ()> {
        let mut unknown = None;
        for &(end, class) in &rec.ends {
            match self.rows.presence(m, class) {
                Presence::Absent | Presence::Error => {}
                Presence::Bottom => {
                    unknown = unknown.or_else(|| end.cell().map(|c| Wanted::Presence(m, cell_var(c))))
                }
                Presence::Present => match self.cell(m, end).value() {
                    Some(Value::Bool(true)) => return Err(()),
                    Some(_) => {}
                    None => unknown = unknown.or_else(|| end.cell().map(|c| Wanted::Value(m, cell_var(c)))),
                },
            }
        }
        Ok(unknown)
    }

    fn start_waits(&self, rec: &Delay, n: u64) -> Waits {
        rec.start.and_then(|x| self.missing(n, x)).map_or(Waits::End, Waits::For)
    }

    fn forward_waits(&self, n: u64, rec: &Delay) -> Waits {
        let mut at = n;
        while at > self.rows.base {
            let m = at - 1;
            match self.unknown_end(rec, m) {
                Err(()) => break,
                Ok(Some(end)) => return Waits::For(end),
                Ok(None) => {}
            }
            if self.rows.presence(m, rec.class) != Presence::Absent {
                return Waits::For(self.neighbour(rec, m));
            }
            at = m;
        }
        self.start_waits(rec, n)
    }

    fn backward_waits(&self, n: u64, rec: &Delay) -> Waits {
        let mut at = n;
        loop {
            match self.unknown_end(rec, at) {
                Err(()) => return self.start_waits(rec, n),
                Ok(Some(end)) => return Waits::For(end),
                Ok(None) => {}
            }
            at += 1;
            if at == self.rows.end {
                return if self.ended == Some(End::Closed) {
                    self.start_waits(rec, n)
                } else {
                    Waits::Future
                };
            }
            if self.rows.presence(at, rec.class) != Presence::Absent {
                return Waits::For(self.neighbour(rec, at));
            }
        }
    }

    /// The fact that a delay needs from a cycle in which it may be active.
    fn neighbour(&self, rec: &Delay, m: u64) -> Wanted {
        match self.rows.presence(m, rec.class) {
            Presence::Bottom => Wanted::Presence(m, Var(rec.out)),
            _ => rec.next.cell().map_or(Wanted::Value(m, Var(rec.out)), |c| Wanted::Value(m, cell_var(c))),
        }
    }

    fn chain_report(&self, chain: &[(Wanted, Option<Eq>)], last: Option<&Waits>) -> Diagnostic {
        let is_named = |w: &Wanted| self.program.flat.vars[w.cell().1].name.is_some();
        let name = |w: Wanted| {
            let (n, v) = w.cell();
            match w {
                Wanted::Presence(..) => format!("whether {} is present in cycle {n}", self.program.name(v)),
                Wanted::Value(..) => format!("the value of {} in cycle {n}", self.program.name(v)),
            }
        };
        // A cyclic wait can be described from any of its places. The report begins at a named variable, if there is
        // one.
        let start = chain.iter().position(|(w, _)| is_named(w)).filter(|_| last.is_none()).unwrap_or(0);
        let chain: Vec<_> = chain[start..].iter().chain(&chain[..start]).copied().collect();
        let first = chain.first().map_or_else(String::new, |(w, _)| name(*w));
        let end = chain.last().map_or_else(String::new, |(w, _)| name(*w));
        let (what, help) = match last {
            None => (
                "depends on itself",
                "cut the cycle with a `fby`, or choose with `merge` on a condition that is known first",
            ),
            Some(Waits::Future | Waits::For(_)) => {
                ("depends on cycles after the last one", "feed more cycles, or cut the backward dependence")
            }
            Some(Waits::End) => (
                "depends on what would follow the last active cycle",
                "give a last value with `fby back`, or cut with `merge` before the end",
            ),
            Some(Waits::Unasked) => (
                "is never requested, and nothing determines it",
                "use it in an output, or tie it to an input",
            ),
        };
        let mut report = Diagnostic::error(codes::sim::DEADLOCK, format!("{first} {what}"));
        let mut shown = IndexSet::new();
        for (i, (w, eq)) in chain.iter().enumerate() {
            let Some(eq) = eq.filter(|&eq| shown.len() < SHOWN && shown.insert(eq)) else { continue };
            let around = if last.is_none() { &chain[..=i] } else { &[] };
            let next = chain[i + 1..].iter().chain(around).find(|(w, _)| is_named(w));
            let text = match next {
                _ if !is_named(w) => "by way of this".to_owned(),
                Some((next, _)) => format!("{} waits for {}", name(*w), name(*next)),
                None => name(*w),
            };
            report = report.label(self.program.flat.equations[eq].span, text);
        }
        if last.is_none()
            && let Some(key) = self.parameter_of(&chain)
        {
            report = report
                .note(format!("the parameter `{key}` is updated in each cycle, and its update waits for later cycles"))
                .help("call the node that has it, or one around it, with `every end`: the parameter is then read and updated once a window");
        }
        if last.is_some() && chain.len() > 1 {
            let steps = match chain.len() - 1 {
                1 => "a step".to_owned(),
                n => format!("{n} steps"),
            };
            report = report.note(format!("the wait ends, after {steps}, at {end}"));
        }
        match last.and_then(|_| self.post_of(&chain)) {
            Some(post) => at_the_end(report, post),
            None => report.help(help),
        }
    }

    /// The last `post` on a chain: its place, and the text of its operand.
    fn post_of(&self, chain: &[(Wanted, Option<Eq>)]) -> Option<(Span, String)> {
        chain.iter().rev().filter_map(|(_, eq)| *eq).find_map(|eq| {
            let equation = &self.program.flat.equations[eq];
            let Rhs::Post { next, .. } = equation.rhs else { return None };
            let name = self.program.flat.vars[next].name.as_deref()?;
            Some((equation.span, name.rsplit('.').next().unwrap_or(name).to_owned()))
        })
    }

    /// The first parameter on a chain whose updated value is read.
    fn parameter_of(&self, chain: &[(Wanted, Option<Eq>)]) -> Option<&str> {
        let states = &self.program.flat.states;
        chain.iter().filter_map(|(_, eq)| *eq).find_map(|eq| {
            let (key, _) = states.iter().find(|(_, s)| s.parameter && s.equation == eq)?;
            Some(&**key)
        })
    }
}

/// Adds that a `post` has no value in the last cycle; the arguments are its place and the text of its operand.
fn at_the_end(report: Diagnostic, (span, next): (Span, String)) -> Diagnostic {
    report.label(span, format!("`post {next}` has no value in the last cycle")).help(format!(
        "leave the last cycle of each window out: with an input `end`, `(post {next}) when not end`, and the other values of its equation `when not end`"
    ))
}

fn cell_var(cell: usize) -> Var {
    Var(program::index(cell))
}
