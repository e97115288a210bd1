//! The positions at which values are known before the segment begins, or when it has ended. Both tables begin with all
//! variables at all positions, and shrink until every entry follows from others.

use std::collections::VecDeque;

use rml_base::IndexVec;
use rml_ir::flat::{Init, Rhs, Var, Window};

use super::Hold;
use super::scope::{Presence, Relation, Scope, Sources};
use super::values::Values;
use crate::clocks::ClockId;
use rml_ir::{Position, Positions};

/// For each variable, the positions at which its value is known before the segment, and within it.
pub(super) struct Known {
    pub(super) before: IndexVec<Var, Positions>,
    pub(super) within: IndexVec<Var, Positions>,
}

pub(super) fn known(scope: &Scope<'_, '_>, values: &Values, presence: &Presence) -> Known {
    let flat = scope.conditions.flat;
    let all = || presence.place.clone();
    let mut readers = readers(scope);
    let prompt = prompt(scope, &readers);
    for v in flat.vars.ids() {
        for hold in values.first[v].iter().chain(&values.last[v]) {
            if let Hold::At(source) = hold
                && readers[*source].last() != Some(&v)
            {
                readers[*source].push(v);
            }
        }
    }
    let mut search =
        Search { scope, values, presence, prompt, readers, known: Known { before: all(), within: all() } };
    search.shrink(false);
    // If the ends of segments depend on later ticks, nothing is known before or within them.
    let ends: Vec<Var> = scope.data.cut.ends.iter().map(|l| l.cond).collect();
    let own_clock = scope.conditions.chain(scope.data.clock);
    let ends_known = ends.iter().all(|e| presence.place[*e].is_within(search.known.within[*e]));
    if !ends_known || !own_clock.iter().all(|l| search.prompt[l.cond]) {
        let none = || IndexVec::filled(Positions::NONE, flat.vars.len());
        return Known { before: none(), within: none() };
    }
    search.shrink(true);
    search.known
}

/// For each variable, the variables whose entries depend on its entries.
fn readers(scope: &Scope<'_, '_>) -> IndexVec<Var, Vec<Var>> {
    let mut readers: IndexVec<Var, Vec<Var>> = IndexVec::filled(Vec::new(), scope.conditions.flat.vars.len());
    for equation in scope.conditions.flat.equations.iter() {
        let v = equation.lhs;
        equation.rhs.for_each_operand(|x| readers[x].push(v));
        let ends = equation.rhs.window().into_iter().flat_map(|w| scope.ends_of(w));
        for clocked in ends.inspect(|end| readers[*end].push(v)).collect::<Vec<Var>>().into_iter().chain([v])
        {
            for l in scope.conditions.chain(scope.clock(clocked)) {
                readers[l.cond].push(v);
            }
        }
    }
    readers
}

/// The variables whose values never depend on later cycles.
fn prompt(scope: &Scope<'_, '_>, readers: &IndexVec<Var, Vec<Var>>) -> IndexVec<Var, bool> {
    let flat = scope.conditions.flat;
    let mut prompt = IndexVec::filled(true, flat.vars.len());
    let ahead = flat.equations.iter().filter(|e| matches!(e.rhs, Rhs::FbyBack { .. } | Rhs::Post { .. }));
    let mut pending: Vec<Var> = ahead.map(|e| e.lhs).collect();
    pending.iter().for_each(|v| prompt[*v] = false);
    while let Some(v) = pending.pop() {
        for reader in &readers[v] {
            if std::mem::replace(&mut prompt[*reader], false) {
                pending.push(*reader);
            }
        }
    }
    prompt
}

struct Search<'s, 'c, 'a> {
    scope: &'s Scope<'c, 'a>,
    values: &'s Values,
    presence: &'s Presence,
    prompt: IndexVec<Var, bool>,
    readers: IndexVec<Var, Vec<Var>>,
    known: Known,
}

impl Search<'_, '_, '_> {
    /// Removes entries that do not follow from others, until all do. `before` selects the table: `before` or `within`.
    fn shrink(&mut self, before: bool) {
        let flat = self.scope.conditions.flat;
        let mut waiting: IndexVec<Var, bool> = IndexVec::filled(true, flat.vars.len());
        let inputs = flat.inputs.iter().map(|i| i.var);
        let mut pending: VecDeque<Var> = inputs.chain(flat.equations.iter().map(|e| e.lhs)).collect();
        while let Some(v) = pending.pop_front() {
            waiting[v] = false;
            let of = if before { self.known.before[v] } else { self.known.within[v] };
            let follows = |p: &Position| if before { self.is_before(v, *p) } else { self.is_within(v, *p) };
            let kept: Positions = of.iter().filter(follows).collect();
            if kept == of {
                continue;
            }
            let table = if before { &mut self.known.before } else { &mut self.known.within };
            table[v] = kept;
            for reader in &self.readers[v] {
                if !std::mem::replace(&mut waiting[*reader], true) {
                    pending.push_back(*reader);
                }
            }
        }
    }

    /// Whether a variable is known before the segment at a position, or never present at that position.
    fn before(&self, v: Var, p: Position) -> bool {
        !self.presence.place[v].contains(p) || self.known.before[v].contains(p)
    }

    fn within(&self, v: Var, p: Position) -> bool {
        !self.presence.place[v].contains(p) || self.known.within[v].contains(p)
    }

    fn all_within(&self, v: Var, at: Positions) -> bool {
        at.iter().all(|p| self.within(v, p))
    }

    fn is_decided(&self, v: Var, p: Position) -> bool {
        let condition = self.scope.conditions.flat.vars[v].ty == rml_ir::Type::condition();
        (condition && self.values.truths[v][p.index()].known().is_some())
            || matches!(self.values.first[v][p.index()], Hold::Const(_))
    }

    /// The operands of a value at a position, for values other than delays.
    fn operands(&self, rhs: &Rhs, p: Position) -> Vec<Var> {
        match rhs {
            Rhs::If { cond, then: a, other: b } | Rhs::Merge { cond, on_true: a, on_false: b } => {
                match self.values.truths[*cond][p.index()].known() {
                    Some(true) => vec![*a],
                    Some(false) => vec![*b],
                    None => vec![*cond, *a, *b],
                }
            }
            rhs => {
                let mut all = Vec::new();
                rhs.for_each_operand(|v| all.push(v));
                all
            }
        }
    }

    fn is_within(&self, v: Var, p: Position) -> bool {
        let Some(rhs) = self.scope.conditions.rhs(v) else { return true };
        if !self.scope.is_inside(v) {
            return self.prompt[v];
        }
        if self.scope.is_trace || self.is_decided(v, p) {
            return true;
        }
        match (self.values.first[v][p.index()], self.values.last[v][p.index()]) {
            (Hold::At(y), _) if y != v => return self.within(y, p.start()),
            (_, Hold::At(y)) if y != v => return self.within(y, p.end()),
            (Hold::At(_), _) if !p.is_start() => return self.within(v, p.start()),
            (_, Hold::At(_)) if !p.is_end() => return self.within(v, p.end()),
            _ => {}
        }
        match rhs {
            Rhs::Const(_) | Rhs::Param { .. } => true,
            Rhs::Fby { init, next, window } => {
                let sources = self.scope.sources(self.values, v, rhs, p);
                self.delay_within(v, p, *next, sources, Some(init), *window)
            }
            Rhs::FbyBack { init, next, window } => {
                let sources = self.scope.sources(self.values, v, rhs, p);
                !sources.anything && self.delay_within(v, p, *next, sources, Some(init), *window)
            }
            Rhs::Post { next, window } => {
                let sources = self.scope.sources(self.values, v, rhs, p);
                !sources.anything && self.delay_within(v, p, *next, sources, None, *window)
            }
            _ => self.operands(rhs, p).into_iter().all(|x| self.within(x, p)),
        }
    }

    fn delay_within(
        &self,
        v: Var,
        p: Position,
        next: Var,
        sources: Sources,
        init: Option<&Init>,
        window: Option<Window>,
    ) -> bool {
        let stream = match init {
            Some(Init::Stream(i)) if sources.init => self.within(*i, p),
            _ => true,
        };
        let only_init = sources.same.is_empty() && sources.earlier.is_empty();
        stream
            && self.all_within(next, sources.same)
            && self.all_within(next, sources.earlier)
            && (only_init || self.ticks_within(self.scope.clock(v)))
            && (only_init || self.ends_within(window))
    }

    /// Whether the ticks of a clock are known within the segment.
    fn ticks_within(&self, clock: ClockId) -> bool {
        self.scope.chain(clock).iter().all(|l| self.all_within(l.cond, Positions::ALL))
    }

    fn ends_within(&self, window: Option<Window>) -> bool {
        let mut ends = window.into_iter().flat_map(|w| self.scope.ends_of(w));
        ends.all(|e| self.all_within(e, Positions::ALL) && self.ticks_within(self.scope.clock(e)))
    }

    fn is_before(&self, v: Var, p: Position) -> bool {
        if self.is_decided(v, p) {
            return true;
        }
        let Some(rhs) = self.scope.conditions.rhs(v) else { return false };
        if matches!(rhs, Rhs::Const(_) | Rhs::Param { .. }) {
            return true;
        }
        if !self.scope.is_inside(v) {
            return false;
        }
        match self.values.first[v][p.index()] {
            Hold::At(y) if y != v || !p.is_start() => return self.before(y, p.start()),
            _ => {}
        }
        let init_before = |init: &Init| match init {
            Init::Const(_) => true,
            Init::Stream(i) => self.before(*i, p),
        };
        match rhs {
            Rhs::Fby { init, next, window } => {
                let sources = self.scope.sources(self.values, v, rhs, p);
                (!sources.init || init_before(init)) && self.fby_before(v, p, *next, sources, *window)
            }
            Rhs::FbyBack { .. } | Rhs::Post { .. } => {
                let sources = self.scope.sources(self.values, v, rhs, p);
                let only_init = sources.same.is_empty() && !sources.anything;
                let init = if let Rhs::FbyBack { init, .. } = rhs { init_before(init) } else { true };
                only_init && init
            }
            Rhs::When { value, .. } => self.before(*value, p),
            _ => self.operands(rhs, p).into_iter().all(|x| self.before(x, p)),
        }
    }

    fn fby_before(&self, v: Var, p: Position, next: Var, sources: Sources, window: Option<Window>) -> bool {
        if sources.same.is_empty() && sources.earlier.is_empty() {
            return true;
        }
        if p.is_start() {
            // The value comes from an earlier segment, unless its window ends between two ticks of the segments' clock.
            let mut ends = window.into_iter().flat_map(|w| self.scope.ends_of(w));
            return self.all_within(next, sources.earlier)
                && self.ticks_within(self.scope.clock(v))
                && self.ends_within(window)
                && ends.all(|e| self.scope.is_inside(e));
        }
        // On sampled clocks, the ticks determine the previous cycle, and whether a window ends there.
        let exact = |v: Var| self.scope.relation(v) == Relation::Same;
        let mut ends = window.into_iter().flat_map(|w| self.scope.ends_of(w));
        let ends_before = |e: Var| exact(e) && sources.same.iter().all(|q| self.before(e, q));
        exact(v)
            && sources.same.iter().all(|q| self.before(next, q))
            && (!sources.init || ends.all(ends_before))
    }
}
