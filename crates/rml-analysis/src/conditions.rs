//! The values of conditions as far as the equations of a program determine them, without a run.
//!
//! [`Conditions::truth`] evaluates a condition symbolically for an [`Instant`], a cycle for which some conditions and
//! the position in its segment are known: `a and b` is false where `b` is known to be false, and `true fby end` is true
//! in the first tick of a segment.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use indexmap::{IndexMap, IndexSet};
use rml_base::IndexVec;
use rml_ir::Value;
use rml_ir::flat::{ConstId, ConstKind, Eq, Flat, Init, Rhs, Var, Window};
use rml_ir::op::Op;

use crate::clocks::{ClockData, ClockId, Clocks};

/// A condition and a value. The guard holds in the cycles in which the condition is present with that value.
#[derive(Clone, Copy, PartialEq, std::cmp::Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Guard {
    /// The condition.
    pub cond: Var,
    /// The value.
    pub value: bool,
}

impl Guard {
    /// The guard with the other value.
    pub(crate) fn negated(self) -> Guard {
        Guard { value: !self.value, ..self }
    }
}

/// The maximum number of equations to follow for the value of one condition.
const FUEL: u32 = 64;

/// The conditions of a program, with the equations that define them.
pub(crate) struct Conditions<'a> {
    pub(crate) flat: &'a Flat,
    pub(crate) clocks: &'a Clocks,
    /// The equation of each variable; `None` for inputs.
    pub(crate) defs: IndexVec<Var, Option<Eq>>,
    /// For the first variable of each class of variables that are proved equal: the member whose equation is evaluated.
    /// It is a constant if there is one, otherwise a member whose equation is not a copy of another member.
    definer: IndexVec<Var, Var>,
    /// The boundaries of each window, as a number: windows with the same number end in the same cycles.
    boundaries: IndexVec<Window, usize>,
    /// For each number of boundaries: the guards of which one holds at each boundary.
    pub(crate) at_boundary: Vec<BTreeSet<Guard>>,
    constants: RefCell<IndexMap<Var, Option<bool>>>,
}

/// Facts about one cycle: the values of some conditions, and the position of the cycle in its segment.
///
/// A segment is a run of cycles that ends where all guards `ends` hold. The position matters for delays: in the first
/// tick of a segment, a delay that restarts there has its initial value. `Instant::default()` is a cycle about which
/// nothing is known.
#[derive(Clone, Default, Debug)]
pub(crate) struct Instant {
    /// The known values. Keys are in the form that [`Conditions::guard`] returns.
    pub(crate) known: BTreeMap<Var, bool>,
    /// The guards that end a segment; empty if nothing is known about segments.
    pub(crate) ends: Vec<Guard>,
    /// The clock of the ends.
    pub(crate) clock: Option<ClockId>,
    /// The numbers of the boundaries that are the ends of segments.
    pub(crate) boundaries: Vec<usize>,
    /// Whether the cycle is the first tick of `clock` in its segment; `None` if that is unknown.
    pub(crate) first: Option<bool>,
    /// Whether the cycle is the last one of its segment; `None` if that is unknown.
    pub(crate) last: Option<bool>,
}

impl<'a> Conditions<'a> {
    pub(crate) fn new(flat: &'a Flat, clocks: &'a Clocks) -> Conditions<'a> {
        let mut defs = IndexVec::filled(None, flat.vars.len());
        for (eq, equation) in flat.equations.iter_enumerated() {
            defs[equation.lhs] = Some(eq);
        }
        let mut definer: IndexVec<Var, Var> = flat.vars.ids().collect();
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
                definer[first] = v;
            }
        }
        let mut conditions = Conditions {
            flat,
            clocks,
            defs,
            definer,
            boundaries: IndexVec::new(),
            at_boundary: Vec::new(),
            constants: RefCell::default(),
        };
        let mut found = IndexSet::new();
        for w in flat.windows.ids() {
            let ends = conditions.windows(Some(w)).into_iter().map(|w| flat.windows[w].end);
            let guards: BTreeSet<Guard> = ends.map(|end| conditions.guard(end, true)).collect();
            conditions.boundaries.push(found.insert_full(guards).0);
        }
        conditions.at_boundary = found.into_iter().collect();
        conditions
    }

    /// The right side of a variable's equation.
    pub(crate) fn rhs(&self, var: Var) -> Option<&'a Rhs> {
        self.defs[var].map(|eq| &self.flat.equations[eq].rhs)
    }

    /// The guard `cond = value` in canonical form: negations and copies are followed back to the original condition,
    /// and one variable represents all those that are proved equal to it. Guards with the same meaning by these rules
    /// are equal.
    pub(crate) fn guard(&self, cond: Var, value: bool) -> Guard {
        let representative = |at: Guard| Guard { cond: self.definer[self.clocks.same[at.cond]], ..at };
        let mut at = representative(Guard { cond, value });
        for _ in 0..FUEL {
            at = representative(match self.rhs(at.cond) {
                Some(Rhs::Apply { op: Op::Not, args }) => Guard { cond: args[0], value: !at.value },
                Some(Rhs::Apply { op: Op::Copy | Op::StopGradient, args }) => Guard { cond: args[0], ..at },
                // A sample on the clock of the sampled value is a copy.
                Some(Rhs::When { value, .. }) if self.clocks.of[*value] == self.clocks.of[at.cond] => {
                    Guard { cond: *value, ..at }
                }
                _ => break,
            });
        }
        at
    }

    /// The guards of the samplings in a clock, innermost first.
    pub(crate) fn chain(&self, mut clock: ClockId) -> Vec<Guard> {
        let mut chain = Vec::new();
        while let ClockData::On { parent, cond, positive } = self.clocks.clocks[clock] {
            chain.push(Guard { cond, value: positive });
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

    /// Adds the fact that a guard holds to `instant`, and what follows from it for the operands of its condition.
    pub(crate) fn assume(&self, instant: &mut Instant, guard: Guard) {
        let mut pending = vec![guard];
        while let Some(guard) = pending.pop() {
            let at = self.guard(guard.cond, guard.value);
            if instant.known.insert(at.cond, at.value).is_some() {
                continue;
            }
            match self.rhs(at.cond) {
                Some(Rhs::Apply { op: Op::And, args }) if at.value => {
                    pending.extend(args.iter().map(|&cond| Guard { cond, value: true }));
                }
                Some(Rhs::Apply { op: Op::Or, args }) if !at.value => {
                    pending.extend(args.iter().map(|&cond| Guard { cond, value: false }));
                }
                Some(Rhs::When { value, cond }) => {
                    pending.push(Guard { cond: *value, value: at.value });
                    pending.push(Guard { cond: *cond, value: true });
                }
                Some(Rhs::If { cond, then, other }) => {
                    pending.extend(self.other_branch([*cond, *then, *other], at.value));
                }
                _ => {}
            }
        }
    }

    /// The guards that follow if `if cond then yes else no` has the value `value` and one branch is constantly the
    /// other value: then the other branch was taken. For example, `if a then true else b` is false only if both `a` and
    /// `b` are false.
    fn other_branch(&self, [cond, yes, no]: [Var; 3], value: bool) -> Vec<Guard> {
        let is_opposite = |branch: Var| match self.rhs(branch) {
            Some(Rhs::Const(k)) => self.boolean(*k) == Some(!value),
            _ => false,
        };
        let taken =
            [(yes, false, no), (no, true, yes)].into_iter().filter(|(branch, ..)| is_opposite(*branch));
        taken.flat_map(|(_, at, branch)| [Guard { cond, value: at }, Guard { cond: branch, value }]).collect()
    }

    /// The value of a condition in a cycle where it is present, or `None` if the equations do not determine it.
    pub(crate) fn truth(&self, cond: Var, instant: &Instant) -> Option<bool> {
        self.evaluate(cond, instant, &mut FUEL.clone())
    }

    /// The value that a condition has in all cycles in which it is present, or `None` if the equations do not determine
    /// one.
    pub(crate) fn constant(&self, cond: Var) -> Option<bool> {
        if let Some(known) = self.constants.borrow().get(&cond) {
            return *known;
        }
        let found = self.truth(cond, &Instant::default());
        self.constants.borrow_mut().insert(cond, found);
        found
    }

    /// The number of the boundaries of a window.
    pub(crate) fn boundary(&self, window: Window) -> usize {
        self.boundaries[window]
    }

    /// The value of a condition: known, or computed from its equation.
    fn evaluate(&self, cond: Var, instant: &Instant, fuel: &mut u32) -> Option<bool> {
        *fuel = fuel.checked_sub(1)?;
        let at = self.guard(cond, true);
        let value = match instant.known.get(&at.cond) {
            Some(value) => Some(*value),
            None => self.computed(at.cond, instant, fuel),
        };
        value.map(|v| v == at.value)
    }

    /// The value of `cond` according to its equation.
    fn computed(&self, cond: Var, instant: &Instant, fuel: &mut u32) -> Option<bool> {
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

    /// Whether a delay ticks with the segments and restarts where the segments end.
    fn is_at_edge(&self, lhs: Var, window: Option<Window>, instant: &Instant) -> bool {
        instant.clock == Some(self.clocks.of[lhs])
            && window.is_some_and(|w| instant.boundaries.contains(&self.boundaries[w]))
    }

    /// The value of a delay. `at_edge` says whether the delay restarts in this tick, if that is known.
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
            boundaries: instant.boundaries.clone(),
            clock: instant.clock,
            ..Instant::default()
        };
        // A delay that is its own initial value determines nothing.
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

    /// The value of a delay like `true fby end`, which is true in the first tick of each segment and false in the
    /// others.
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
        let (end, next) = (self.guard(end.cond, end.value), self.guard(next, true));
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
