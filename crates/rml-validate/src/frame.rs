//! The windows of a plan, and what the facts say about variables at their ticks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rml_analysis::{ClockData, ClockId, Clocks, Facts, Guard, Hold, Segments, VarFacts};
use rml_base::IndexVec;
use rml_ir::flat::{self, ConstId, Drawn, Init, Rhs, Var};
use rml_ir::{Position, Positions};
use rml_plan::{Atom, Ends, Plan, Tick};

use crate::Witness;
use crate::view::View;

/// A program as a plan sees it, window by window.
pub(crate) struct Frame<'a> {
    pub(crate) flat: &'a Drawn,
    clocks: &'a Clocks,
    table: &'a IndexVec<Var, VarFacts>,
    /// What is known at all ticks.
    trace: &'a IndexVec<Var, VarFacts>,
    /// The windows of the program that end where those of the plan do.
    own: BTreeSet<flat::Window>,
    /// Whether a window is any block of cycles: then no tick of it is known to be the first or last of anything.
    is_block: bool,
    /// How many ticks a block has after those that are done.
    ahead: u32,
    rhs: IndexVec<Var, Option<&'a Rhs>>,
    /// The positions that ticks of windows may have.
    possible: Positions,
    states: BTreeMap<Var, (&'a Arc<str>, bool)>,
    /// The positions at which each clock is known to tick.
    always: IndexVec<ClockId, Positions>,
}

/// What restarts a delay.
pub(crate) struct Restart {
    /// Ends within a window of the plan.
    pub(crate) ends: Vec<Var>,
    /// Whether it restarts in each window of the plan.
    pub(crate) edge: bool,
}

impl<'a> Frame<'a> {
    /// V2: finds the windows of the program that are those of the plan.
    pub(crate) fn of(
        flat: &'a Drawn,
        clocks: &'a Clocks,
        facts: &'a Facts,
        plan: &Plan,
        witness: &Witness,
    ) -> Result<Self, String> {
        let ends: Option<Vec<Guard>> = match &plan.ends {
            Ends::Nothing => Some(Vec::new()),
            Ends::Given(ends) => {
                let input = |(i, value): &(u32, bool)| {
                    let input = flat.inputs.get(*i as usize)?;
                    Some(Guard { cond: input.var, value: *value })
                };
                ends.iter().map(input).collect()
            }
            Ends::Found { conds, .. } => {
                let found = |end: &rml_plan::Guard| match end.cond {
                    Atom::Tape(tape, Tick::Now) => {
                        witness.tapes[tape].whole().map(|cond| Guard { cond, value: end.value })
                    }
                    _ => None,
                };
                conds.iter().map(found).collect()
            }
        };
        let Some(ends) = ends else { return Err("its ends are no conditions of the program".to_owned()) };
        let is_there = |id: &Segments| {
            let data = &facts.segments[*id];
            data.parent == Some(Segments::TRACE)
                && data.clock == Clocks::BASE
                && (!data.cut.all || data.cut.ends.len() == 1)
                && data.cut.ends == ends
        };
        let is_block = plan.ends == Ends::Nothing;
        if !is_block && plan.ahead() > 0 {
            return Err("it looks beyond windows that end".to_owned());
        }
        let segments = match facts.segments.ids().find(is_there) {
            _ if is_block => Segments::TRACE,
            Some(id) => id,
            None => return Err("no outermost windows on the base clock end there".to_owned()),
        };
        let mut rhs = IndexVec::filled(None, flat.vars.len());
        for equation in &flat.equations {
            rhs[equation.lhs] = Some(&equation.rhs);
        }
        let own = facts.segments[segments].windows.iter().filter(|_| !is_block).copied().collect();
        let table = &facts.tables[segments];
        let state =
            |(key, s): (&'a Arc<str>, &flat::State)| (flat.equations[s.equation].lhs, (key, s.parameter));
        let states = flat.states.iter().map(state).collect();
        let mut frame = Self {
            flat,
            clocks,
            table,
            trace: &facts.tables[Segments::TRACE],
            own,
            is_block,
            ahead: plan.ahead(),
            rhs,
            states,
            possible: Positions::ALL,
            always: IndexVec::new(),
        };
        let mut base = flat.vars.ids().filter(|v| clocks.of[*v] == Clocks::BASE);
        let possible = base.next().map_or(Positions::ALL, |v| frame.place(v));
        // A window that has a first tick has a last one.
        let several = possible.contains(Position::First) && possible.contains(Position::Last);
        if !is_block && ends.iter().any(|end| clocks.of[end.cond] != Clocks::BASE) {
            return Err("an end has no value in some cycles".to_owned());
        }
        frame.possible = if several { possible } else { possible.and(Positions::NONE.with(Position::Only)) };
        for data in &clocks.clocks {
            // A parent stands before its children.
            let always = match *data {
                ClockData::Base => Positions::ALL,
                ClockData::Unknown => Positions::NONE,
                ClockData::On { parent, cond, positive } => {
                    let known = |p: &Position| frame.truth(cond, *p) == Some(positive);
                    frame.always[parent].iter().filter(known).collect()
                }
            };
            frame.always.push(always);
        }
        Ok(frame)
    }

    /// The right side of a variable's equation; none for inputs.
    pub(crate) fn rhs(&self, v: Var) -> Option<&'a Rhs> {
        self.rhs[v]
    }

    /// The key of a state, and whether it is a parameter.
    pub(crate) fn state(&self, v: Var) -> Option<(Arc<str>, bool)> {
        self.states.get(&v).map(|(key, parameter)| (Arc::clone(key), *parameter))
    }

    /// Where in the tables a position is: every tick of a block is somewhere in the trace.
    fn column(&self, p: Position) -> Position {
        if self.is_block { Position::Middle } else { p }
    }

    pub(crate) fn may_be_present(&self, v: Var, p: Position) -> bool {
        self.possible.contains(p) && self.table[v].place.contains(self.column(p))
    }

    /// Where a variable may be present.
    pub(crate) fn place(&self, v: Var) -> Positions {
        Position::ALL.into_iter().filter(|p| self.may_be_present(v, *p)).collect()
    }

    /// Whether a variable is present at all ticks at a position.
    pub(crate) fn is_always(&self, v: Var, p: Position) -> bool {
        self.may_be_present(v, p) && self.always[self.clocks.of[v]].contains(p)
    }

    pub(crate) fn possible(&self) -> Positions {
        self.possible
    }

    /// All views from ticks at a position, of which those up to `filled` ticks after what is done are looked from.
    pub(crate) fn views(&self, p: Position, filled: u32) -> impl Iterator<Item = View> {
        let of_windows = (!self.is_block).then(|| View::all(p, self.possible));
        let of_blocks = self.is_block.then(|| View::of_block(p, self.ahead.saturating_sub(filled)));
        of_windows.into_iter().flatten().chain(of_blocks.into_iter().flatten())
    }

    /// Whether a variable is present at all ticks.
    pub(crate) fn is_steady(&self, v: Var) -> bool {
        self.possible().iter().all(|p| self.is_always(v, p))
    }

    /// Whether a variable is present at one tick of a window at most.
    pub(crate) fn is_once(&self, v: Var) -> bool {
        let place = self.place(v);
        let is_first = |(cond, value): (Var, bool)| self.is_first(cond, value);
        place.is_edge() || self.samplings(v).into_iter().any(is_first)
    }

    /// Whether a condition has a value at its first tick in a window at most: from then on it is the other one.
    fn is_first(&self, cond: Var, value: bool) -> bool {
        let Some(Rhs::Fby { next, window, .. }) = self.rhs(cond) else { return false };
        let restart = self.restart(*window);
        let other = |p: Position| self.is_absent(*next, p) || self.truth(*next, p) == Some(!value);
        restart.edge && restart.ends.is_empty() && self.possible().iter().all(other)
    }

    /// Whether a variable is a state at its first tick in a window, and from then on what it was at the tick before: so
    /// all through the window it is what the state was when that began. The state starts with a constant for which
    /// `starts` holds.
    pub(crate) fn is_held(&self, v: Var, state: Var, starts: impl Fn(ConstId) -> bool) -> bool {
        let Some(Rhs::Merge { cond, on_true, on_false }) = self.rhs(v) else { return false };
        // A delay on the clock of the variable that restarts with its windows alone.
        let delay = |u: Var| match self.rhs(u) {
            Some(Rhs::Fby { init, next, window }) if self.are_together(u, v) => {
                let restart = self.restart(*window);
                (restart.edge && restart.ends.is_empty()).then_some((*init, *next))
            }
            _ => None,
        };
        let is_old = |u: Var| match self.rhs(u) {
            Some(Rhs::When { value, .. }) => delay(*value).is_some_and(|(_, next)| next == v),
            _ => false,
        };
        let Some((Init::Const(first), _)) = delay(*cond) else { return false };
        let Some(first) = self.flat.value(first).as_bool() else { return false };
        let (taken, old) = if first { (*on_true, *on_false) } else { (*on_false, *on_true) };
        let begins = matches!(self.rhs(state), Some(Rhs::Fby { init: Init::Const(k), window: None, .. }) if starts(*k));
        taken == state && is_old(old) && begins && self.is_first(*cond, first)
    }

    /// The value of a condition at a position, if it is known.
    pub(crate) fn truth(&self, cond: Var, p: Position) -> Option<bool> {
        self.table[cond].truths[self.column(p).index()].known()
    }

    /// Whether a variable is known to be absent at a position.
    pub(crate) fn is_absent(&self, v: Var, p: Position) -> bool {
        let excluded = |(cond, value): (Var, bool)| self.truth(cond, p) == Some(!value);
        !self.may_be_present(v, p) || self.samplings(v).into_iter().any(excluded)
    }

    /// What a variable equals at the first and at the last tick of the window.
    pub(crate) fn holds(&self, v: Var, p: Position) -> [Hold; 2] {
        let i = self.column(p).index();
        let known = |hold| if self.is_block && matches!(hold, Hold::At(_)) { Hold::Own } else { hold };
        [known(self.table[v].first[i]), known(self.table[v].last[i])]
    }

    /// The constant that a variable equals wherever it is present.
    pub(crate) fn anywhere(&self, v: Var) -> Option<ConstId> {
        let i = Position::Middle.index();
        let constant = |hold| if let Hold::Const(k) = hold { Some(k) } else { None };
        constant(self.trace[v].first[i]).or(constant(self.trace[v].last[i]))
    }

    /// Whether two variables are present at the same ticks, since they have one clock.
    pub(crate) fn are_together(&self, u: Var, v: Var) -> bool {
        self.clocks.of[u] == self.clocks.of[v]
    }

    /// Whether the ticks of a variable are those of the base clock at which conditions hold.
    pub(crate) fn has_clock(&self, v: Var) -> bool {
        self.clocks.clocks[self.clocks.root(self.clocks.of[v])] == ClockData::Base
    }

    /// These conditions, outermost first.
    pub(crate) fn samplings(&self, v: Var) -> Vec<(Var, bool)> {
        self.clocks.samplings(self.clocks.of[v])
    }

    /// What restarts a delay in a window of the program.
    pub(crate) fn restart(&self, window: Option<flat::Window>) -> Restart {
        let mut ends = Vec::new();
        let mut at = window;
        while let Some(w) = at {
            if self.own.contains(&w) {
                return Restart { ends, edge: true };
            }
            ends.push(self.flat.windows[w].end);
            at = self.flat.windows[w].parent;
        }
        Restart { ends, edge: false }
    }

    /// Whether there is a boundary after ticks at a position; none if only data tell.
    pub(crate) fn boundary(&self, ends: &[Var], p: Position) -> Option<bool> {
        if ends.iter().any(|e| self.is_always(*e, p) && self.truth(*e, p) == Some(true)) {
            return Some(true);
        }
        let never = |e: &Var| self.is_absent(*e, p) || self.truth(*e, p) == Some(false);
        ends.iter().all(never).then_some(false)
    }

    /// A variable, for people.
    pub(crate) fn name(&self, v: Var) -> String {
        match &self.flat.vars[v].name {
            Some(name) => format!("{v} ({name})"),
            None => v.to_string(),
        }
    }
}
