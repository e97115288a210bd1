//! What the form of the program says about the values of conditions at one instant.

use std::collections::BTreeMap;

use rml_base::IndexVec;
use rml_ir::Value;
use rml_ir::flat::{ConstId, ConstKind, Eq, Flat, Init, Rhs, Var, Window};
use rml_ir::op::Op;

use crate::clocks::{ClockData, ClockId, Clocks};

/// That a condition has a value.
#[derive(Clone, Copy, PartialEq, std::cmp::Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Literal {
    /// The condition.
    pub cond: Var,
    /// Its value.
    pub value: bool,
}

impl Literal {
    /// That it has the other value.
    pub(crate) fn negated(self) -> Literal {
        Literal { value: !self.value, ..self }
    }
}

/// How many equations are looked at to find the value of one condition.
const FUEL: u32 = 64;

/// The conditions of a program.
pub(crate) struct Conditions<'a> {
    pub(crate) flat: &'a Flat,
    pub(crate) clocks: &'a Clocks,
    /// The equation of each variable; none for inputs.
    pub(crate) defs: IndexVec<Var, Option<Eq>>,
    /// For the first of variables that are proved equal, the one that says most: a constant, else one that is no copy of another.
    telling: IndexVec<Var, Var>,
}

/// What is known of one instant of a segment: a run of cycles up to one where all `ends` hold.
#[derive(Clone, Default, Debug)]
pub(crate) struct Instant {
    pub(crate) known: BTreeMap<Var, bool>,
    /// What ends a segment; empty if nothing is known of segments.
    pub(crate) ends: Vec<Literal>,
    /// The clock of the ends.
    pub(crate) clock: Option<ClockId>,
    /// The windows that have the same boundaries.
    pub(crate) windows: Vec<Window>,
    /// Whether it is the first tick of that clock in its segment.
    pub(crate) first: Option<bool>,
    /// Whether it is the last cycle of its segment.
    pub(crate) last: Option<bool>,
}

impl<'a> Conditions<'a> {
    pub(crate) fn new(flat: &'a Flat, clocks: &'a Clocks) -> Conditions<'a> {
        let mut defs = IndexVec::filled(None, flat.vars.len());
        for (eq, equation) in flat.equations.iter_enumerated() {
            defs[equation.lhs] = Some(eq);
        }
        let mut telling: IndexVec<Var, Var> = flat.vars.ids().collect();
        let mut best: IndexVec<Var, u8> = IndexVec::filled(0, flat.vars.len());
        for v in flat.vars.ids() {
            let first = clocks.same[v];
            let is_copy = |x: Var| clocks.same[x] == first;
            let tells = match defs[v].map(|eq| &flat.equations[eq].rhs) {
                Some(Rhs::Const(_)) => 3,
                Some(Rhs::Apply { op: Op::Copy | Op::StopGradient, args })
                    if args.iter().copied().any(is_copy) =>
                {
                    1
                }
                Some(Rhs::When { value, .. }) if is_copy(*value) => 1,
                _ => 2,
            };
            if tells > best[first] {
                best[first] = tells;
                telling[first] = v;
            }
        }
        Conditions { flat, clocks, defs, telling }
    }

    /// The right side of a variable's equation.
    pub(crate) fn rhs(&self, var: Var) -> Option<&'a Rhs> {
        self.defs[var].map(|eq| &self.flat.equations[eq].rhs)
    }

    /// The condition behind negations and copies; a variable stands for all that are proved equal to it.
    pub(crate) fn literal(&self, cond: Var, value: bool) -> Literal {
        let told = |at: Literal| Literal { cond: self.telling[self.clocks.same[at.cond]], ..at };
        let mut at = told(Literal { cond, value });
        for _ in 0..FUEL {
            at = told(match self.rhs(at.cond) {
                Some(Rhs::Apply { op: Op::Not, args }) => Literal { cond: args[0], value: !at.value },
                Some(Rhs::Apply { op: Op::Copy | Op::StopGradient, args }) => Literal { cond: args[0], ..at },
                // A sample of all cycles.
                Some(Rhs::When { value, .. }) if self.clocks.of[*value] == self.clocks.of[at.cond] => {
                    Literal { cond: *value, ..at }
                }
                _ => break,
            });
        }
        at
    }

    /// The conditions that a clock consists of, innermost first.
    pub(crate) fn chain(&self, mut clock: ClockId) -> Vec<Literal> {
        let mut chain = Vec::new();
        while let ClockData::On { parent, cond, positive } = self.clocks.clocks[clock] {
            chain.push(Literal { cond, value: positive });
            clock = parent;
        }
        chain
    }

    /// Whether each cycle of `inner` is proved to be one of `outer`.
    pub(crate) fn is_within(&self, mut inner: ClockId, outer: ClockId) -> bool {
        loop {
            if inner == outer || matches!(self.clocks.clocks[outer], ClockData::Base) {
                return true;
            }
            match self.clocks.clocks[inner] {
                ClockData::On { parent, .. } => inner = parent,
                ClockData::Base | ClockData::Unknown => return false,
            }
        }
    }

    /// Adds that a condition has a value, and what follows for the conditions that it is made of.
    pub(crate) fn assume(&self, instant: &mut Instant, literal: Literal) {
        let mut pending = vec![literal];
        while let Some(literal) = pending.pop() {
            let at = self.literal(literal.cond, literal.value);
            if instant.known.insert(at.cond, at.value).is_some() {
                continue;
            }
            match self.rhs(at.cond) {
                Some(Rhs::Apply { op: Op::And, args }) if at.value => {
                    pending.extend(args.iter().map(|&cond| Literal { cond, value: true }));
                }
                Some(Rhs::Apply { op: Op::Or, args }) if !at.value => {
                    pending.extend(args.iter().map(|&cond| Literal { cond, value: false }));
                }
                Some(Rhs::When { value, cond }) => {
                    pending.push(Literal { cond: *value, value: at.value });
                    pending.push(Literal { cond: *cond, value: true });
                }
                Some(Rhs::If { cond, then, other }) => {
                    pending.extend(self.other_branch([*cond, *then, *other], at.value));
                }
                _ => {}
            }
        }
    }

    /// What follows if `if cond then yes else no` is not what one branch always is: `if a then true else b` is the disjunction.
    fn other_branch(&self, [cond, yes, no]: [Var; 3], value: bool) -> Vec<Literal> {
        let differs = |branch: Var| match self.rhs(branch) {
            Some(Rhs::Const(k)) => self.boolean(*k) == Some(!value),
            _ => false,
        };
        let taken = [(yes, false, no), (no, true, yes)].into_iter().filter(|(branch, ..)| differs(*branch));
        taken
            .flat_map(|(_, at, branch)| [Literal { cond, value: at }, Literal { cond: branch, value }])
            .collect()
    }

    /// The value of a condition at an instant where it is present, if the form of the program tells.
    pub(crate) fn truth(&self, cond: Var, instant: &Instant) -> Option<bool> {
        self.evaluate(cond, instant, &mut FUEL.clone())
    }

    /// The value of a condition that is the same whenever it is present.
    pub(crate) fn constant(&self, cond: Var) -> Option<bool> {
        self.truth(cond, &Instant::default())
    }

    fn evaluate(&self, cond: Var, instant: &Instant, fuel: &mut u32) -> Option<bool> {
        *fuel = fuel.checked_sub(1)?;
        let at = self.literal(cond, true);
        let value = match instant.known.get(&at.cond) {
            Some(value) => Some(*value),
            None => self.behind(at.cond, instant, fuel),
        };
        value.map(|v| v == at.value)
    }

    fn behind(&self, cond: Var, instant: &Instant, fuel: &mut u32) -> Option<bool> {
        match self.rhs(cond)? {
            Rhs::Const(k) => self.boolean(*k),
            Rhs::Apply { op: op @ (Op::And | Op::Or), args } => {
                let decisive = *op == Op::Or;
                let mut all = Some(!decisive);
                for arg in args {
                    match self.evaluate(*arg, instant, fuel) {
                        Some(v) if v == decisive => return Some(decisive),
                        Some(_) => {}
                        None => all = None,
                    }
                }
                all
            }
            Rhs::When { value, .. } => self.evaluate(*value, instant, fuel),
            Rhs::If { cond, then: yes, other: no } | Rhs::Merge { cond, on_true: yes, on_false: no } => {
                match self.evaluate(*cond, instant, fuel) {
                    Some(true) => self.evaluate(*yes, instant, fuel),
                    Some(false) => self.evaluate(*no, instant, fuel),
                    None => {
                        let yes = self.evaluate(*yes, instant, fuel)?;
                        (self.evaluate(*no, instant, fuel)? == yes).then_some(yes)
                    }
                }
            }
            Rhs::Fby { init, next, window } => {
                let at_edge = instant.first.filter(|_| self.is_at_edge(cond, *window, instant));
                self.delayed(cond, init, *next, at_edge, instant, fuel)
                    .or_else(|| self.after_end(cond, init, *next, *window, instant))
            }
            Rhs::FbyBack { init, next, window } => {
                let at_edge = instant.last.filter(|_| self.is_at_edge(cond, *window, instant));
                self.delayed(cond, init, *next, at_edge, instant, fuel)
            }
            Rhs::Apply { .. } | Rhs::Post { .. } | Rhs::Param { .. } => None,
        }
    }

    fn boolean(&self, k: ConstId) -> Option<bool> {
        match &self.flat.consts[k].kind {
            ConstKind::Value(Value::Bool(b)) => Some(*b),
            _ => None,
        }
    }

    /// Whether a delay ticks with the segments and restarts where they do.
    fn is_at_edge(&self, lhs: Var, window: Option<Window>, instant: &Instant) -> bool {
        instant.clock == Some(self.clocks.of[lhs]) && window.is_some_and(|w| instant.windows.contains(&w))
    }

    fn delayed(
        &self,
        lhs: Var,
        init: &Init,
        next: Var,
        at_edge: Option<bool>,
        instant: &Instant,
        fuel: &mut u32,
    ) -> Option<bool> {
        let anywhere = Instant {
            ends: instant.ends.clone(),
            windows: instant.windows.clone(),
            clock: instant.clock,
            ..Instant::default()
        };
        // A delay of itself is no fact.
        let init = match init {
            Init::Const(k) => self.boolean(*k),
            Init::Stream(v) if *v != lhs => self.evaluate(*v, &anywhere, fuel),
            Init::Stream(_) => None,
        };
        if at_edge == Some(true) {
            return init;
        }
        let next = self.evaluate(next, &anywhere, fuel)?;
        (at_edge == Some(false) || init == Some(next)).then_some(next)
    }

    /// `true fby end` marks the tick after an end, and the first of all.
    fn after_end(
        &self,
        lhs: Var,
        init: &Init,
        next: Var,
        window: Option<Window>,
        instant: &Instant,
    ) -> Option<bool> {
        let [end] = instant.ends[..] else { return None };
        if window.is_some() || instant.clock != Some(self.clocks.of[lhs]) {
            return None;
        }
        let (end, next) = (self.literal(end.cond, end.value), self.literal(next, true));
        let after = next.value == end.value;
        let Init::Const(k) = init else { return None };
        let restarts = end.cond == next.cond && self.boolean(*k) == Some(after);
        instant.first.filter(|_| restarts).map(|first| first == after)
    }

    /// The windows around a delay, innermost first.
    pub(crate) fn windows(&self, window: Option<Window>) -> Vec<Window> {
        let mut all = Vec::new();
        let mut at = window;
        while let Some(w) = at {
            all.push(w);
            at = self.flat.windows[w].parent;
        }
        all
    }
}
