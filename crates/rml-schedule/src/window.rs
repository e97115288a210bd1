//! Chooses the windows of a plan, and determines what is known about a variable at each position.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use rml_analysis::{
    Causality, ClockData, Clocks, Facts, Guard, Hold, Latency, Position, Positions, Segments, VarFacts,
};
use rml_base::{EntityId, IndexVec, Span};
use rml_ir::Type;
use rml_ir::flat::{self, ConstId, Drawn, Eq, Init, Rhs, Var};
use rml_validate::Claim;

use crate::{Declined, Known, Shape, declined};

/// The windows of a plan: the outermost windows of `every`; or any block of cycles, if there are none.
pub(crate) struct Window<'a> {
    pub(crate) flat: &'a Drawn,
    pub(crate) clocks: &'a Clocks,
    /// The facts about these windows; for blocks, about the whole trace.
    table: Cow<'a, IndexVec<Var, VarFacts>>,
    /// The conditions that end a window; none if any block of cycles is one.
    pub(crate) ends: Vec<Guard>,
    /// The windows of `every` with the same ends.
    own: BTreeSet<flat::Window>,
    /// Whether any block of cycles is a window.
    pub(crate) is_block: bool,
    /// Whether blocks look ahead. Then it makes no difference whether a tick is the last one.
    pub(crate) looks_ahead: bool,
    /// Whether a block is filled only as far as what is read is available.
    pub(crate) waits: bool,
    /// The positions that ticks may have.
    pub(crate) all: Positions,
    /// The equation of each variable; none for inputs.
    pub(crate) defs: IndexVec<Var, Option<Eq>>,
    /// Variables and positions without a value, although the variable may be present: they wait for a tick that never
    /// comes.
    never: BTreeSet<(Var, usize)>,
    /// Additional variables of plans; their ids follow those of the program.
    told: Vec<Told>,
}

/// Whether the end of a window is available and holds: false where it is absent. Unlike the end itself, it is present
/// wherever the outermost `depth` samplings of its clock are present.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Told {
    pub(crate) end: Var,
    pub(crate) depth: usize,
}

impl<'a> Window<'a> {
    pub(crate) fn of(
        flat: &'a Drawn,
        Known { clocks, facts, causality }: Known<'a>,
        shape: Shape,
    ) -> Result<Self, Declined> {
        let outermost: Vec<Segments> = facts
            .segments
            .iter_enumerated()
            .filter(|(_, s)| s.parent == Some(Segments::TRACE))
            .map(|(id, _)| id)
            .collect();
        let (forward, bounded) = waits(flat, causality);
        let fits = |one: Segments| {
            let data = &facts.segments[one];
            data.clock == Clocks::BASE && (!data.cut.all || data.cut.ends.len() == 1)
        };
        let segments = match outermost[..] {
            _ if shape == Shape::Waiting => Segments::TRACE,
            [one] if shape == Shape::Windows && fits(one) => one,
            _ if forward || bounded => Segments::TRACE,
            [] => {
                let why = Declined::new("a value looks ahead, and there is no window around it");
                return Err(why.help("call the node that looks ahead with `every end`"));
            }
            [one] => one,
            _ => return Err(beside(flat, facts, &outermost)),
        };
        let data = &facts.segments[segments];
        if data.clock != Clocks::BASE {
            let why = of_ends(flat, &data.cut.ends, "the windows are on a sampled clock");
            let help = "end them where nothing is sampled, as in `f(..) every (merge c end false)`";
            return Err(why.help(help));
        }
        let mut defs = IndexVec::filled(None, flat.vars.len());
        for (eq, equation) in flat.equations.iter_enumerated() {
            defs[equation.lhs] = Some(eq);
        }
        let is_block = segments == Segments::TRACE;
        let table = &facts.tables[segments];
        let all = match is_block {
            true => Positions::ALL,
            false => table.iter().fold(Positions::NONE, |all, facts| all.or(facts.place)),
        };
        if all.and(Positions::ENDS).is_empty() {
            let why = of_ends(flat, &data.cut.ends, "its windows never end");
            return Err(why.help("let the condition after `every` hold in some cycle"));
        }
        if data.cut.all && data.cut.ends.len() > 1 {
            let why = of_ends(flat, &data.cut.ends, "a window ends where several conditions hold");
            return Err(why.help("name the condition: `end = a and b`, and call the node with `every end`"));
        }
        Ok(Self {
            flat,
            clocks,
            table: Cow::Borrowed(table),
            ends: if is_block { Vec::new() } else { data.cut.ends.clone() },
            own: data.windows.iter().copied().collect(),
            is_block,
            looks_ahead: is_block && (!forward || shape == Shape::Waiting),
            waits: shape == Shape::Waiting,
            all,
            defs,
            never: never(flat, table),
            told: told(flat, clocks),
        })
    }

    /// The position that represents `p`, where some positions make no difference.
    pub(crate) fn canonical(&self, p: Position) -> Position {
        match (self.looks_ahead, p.is_start()) {
            (false, _) => p,
            (true, true) => Position::First,
            (true, false) => Position::Middle,
        }
    }

    /// The positions that a position stands for.
    pub(crate) fn meant(&self, p: Position) -> Positions {
        match (self.looks_ahead, p.is_start()) {
            (false, _) => Positions::NONE.with(p),
            (true, true) => Positions::STARTS,
            (true, false) => Positions::AFTER_START,
        }
    }

    /// The same windows, for a tick that may turn out to be the last one: facts must be true of both `First` and
    /// `Only`, or of both `Middle` and `Last`.
    pub(crate) fn open(&self) -> Window<'a> {
        let table: IndexVec<Var, VarFacts> = self.table.iter().map(open).collect();
        Window {
            flat: self.flat,
            clocks: self.clocks,
            all: table.iter().fold(Positions::NONE, |all, facts| all.or(facts.place)),
            table: Cow::Owned(table),
            ends: self.ends.clone(),
            own: self.own.clone(),
            is_block: self.is_block,
            looks_ahead: self.looks_ahead,
            waits: self.waits,
            defs: self.defs.clone(),
            never: self.never.clone(),
            told: self.told.clone(),
        }
    }

    /// The inputs that end a window, if nothing else does.
    pub(crate) fn given_ends(&self) -> Option<Vec<(u32, bool)>> {
        let inputs = &self.flat.inputs;
        let of = |end: &Guard| {
            let at = inputs.iter().position(|i| i.var == end.cond && i.clock.is_none())?;
            Some((u32::try_from(at).ok()?, end.value))
        };
        self.ends.iter().map(of).collect()
    }

    /// The variable that reports an end.
    pub(crate) fn told(&self, told: Told) -> Var {
        let i = self.told.iter().position(|t| *t == told).unwrap_or_default();
        Var::from_index(self.flat.vars.len() + i)
    }

    /// The end that a variable reports, if it is not a variable of the program.
    pub(crate) fn as_told(&self, v: Var) -> Option<Told> {
        v.index().checked_sub(self.flat.vars.len()).map(|i| self.told[i])
    }

    /// What the tape of a variable holds.
    pub(crate) fn claim(&self, v: Var) -> Claim {
        match self.as_told(v) {
            Some(Told { end, depth }) => Claim::Holds(end, depth),
            None => Claim::Whole(v),
        }
    }

    pub(crate) fn name(&self, v: Var) -> Option<&'a Arc<str>> {
        self.flat.vars.get(v).and_then(|data| data.name.as_ref())
    }

    /// The name of the property that the equation of a variable checks.
    pub(crate) fn asserts(&self, v: Var) -> Option<&'a Arc<str>> {
        self.flat.vars.get(v).and_then(|data| data.asserts.as_ref())
    }

    pub(crate) fn ty(&self, v: Var) -> &'a Type {
        &self.flat.vars[self.origin(v)].ty
    }

    pub(crate) fn span(&self, v: Var) -> Span {
        let v = self.origin(v);
        self.defs[v].map_or(self.flat.vars[v].span, |eq| self.flat.equations[eq].span)
    }

    /// The place in the file of the node that is run: of a variable, or of its reader there.
    pub(crate) fn line(&self, v: Var) -> Span {
        declined::line(self.flat, self.origin(v))
    }

    /// The variable of the program: `v` itself, or the end that `v` reports.
    fn origin(&self, v: Var) -> Var {
        self.as_told(v).map_or(v, |told| told.end)
    }

    /// The conditions of the clock of a variable, outermost first.
    pub(crate) fn samplings(&self, v: Var) -> Vec<(Var, bool)> {
        let mut samplings = self.clocks.samplings(self.clocks.of[self.origin(v)]);
        samplings.truncate(self.as_told(v).map_or(usize::MAX, |told| told.depth));
        samplings
    }

    pub(crate) fn rhs(&self, v: Var) -> Option<&'a Rhs> {
        self.defs[v].map(|eq| &self.flat.equations[eq].rhs)
    }

    /// The index of the facts for a position; the ticks of a block may be anywhere in the trace.
    fn facts(&self, p: Position) -> usize {
        if self.is_block { Position::Middle.index() } else { p.index() }
    }

    pub(crate) fn may_be_present(&self, v: Var, p: Position) -> bool {
        if self.as_told(v).is_some() {
            return self.guards(v, p).is_some();
        }
        let p = if self.is_block { Position::Middle } else { p };
        self.table[v].place.contains(p)
    }

    /// Where a variable may be present.
    pub(crate) fn place(&self, v: Var) -> Positions {
        Position::ALL.into_iter().filter(|p| self.may_be_present(v, *p)).collect()
    }

    /// The results of operators that may fail.
    pub(crate) fn failing(&self) -> impl Iterator<Item = Var> + use<'a> {
        failing(self.flat)
    }

    /// Whether a variable never has a value at a position at which it may be present.
    pub(crate) fn is_never(&self, v: Var, p: Position) -> bool {
        self.never.contains(&(v, self.facts(p)))
    }

    /// Whether the value of a variable at a position, and where it is present, is known when the window has ended.
    pub(crate) fn is_known(&self, v: Var, p: Position) -> bool {
        let within = |v: Var| self.table[v].within.contains(p);
        let conditions = self.clocks.samplings(self.clocks.of[v]);
        self.is_block || within(v) && conditions.into_iter().all(|(cond, _)| within(cond))
    }

    /// The value of a condition at a position, where it is known.
    pub(crate) fn truth(&self, cond: Var, p: Position) -> Option<bool> {
        self.table[cond].truths[self.facts(p)].known()
    }

    /// The value of a condition at its first tick in a window, where it is known.
    pub(crate) fn truth_at_start(&self, cond: Var) -> Option<bool> {
        let [start, others] = [[Position::First, Position::Only], [Position::Middle, Position::Last]];
        // On a sampled clock the first tick may be any one of the window.
        let others = others.iter().filter(|_| self.clocks.of[cond] != Clocks::BASE);
        start.iter().chain(others).find_map(|p| self.truth(cond, *p))
    }

    /// What a variable equals at the first and at the last tick of the window.
    pub(crate) fn holds(&self, v: Var, p: Position) -> [Hold; 2] {
        let i = self.facts(p);
        let own = |hold| match hold {
            // The trace has no edges.
            Hold::At(_) if self.is_block => Hold::Own,
            hold => hold,
        };
        [own(self.table[v].first[i]), own(self.table[v].last[i])]
    }

    /// Whether a condition may be present and true at a position.
    pub(crate) fn may_hold(&self, cond: Var, p: Position) -> bool {
        self.may_be_present(cond, p) && self.guards(cond, p).is_some() && self.truth(cond, p) != Some(false)
    }

    /// The conditions of the clock of a variable that are not known to hold at a position; none if it never ticks
    /// there.
    pub(crate) fn guards(&self, v: Var, p: Position) -> Option<Vec<(Var, bool)>> {
        let mut open = Vec::new();
        for (cond, positive) in self.samplings(v) {
            match self.truth(cond, p) {
                Some(value) if value == positive => {}
                Some(_) => return None,
                None => open.push((cond, positive)),
            }
        }
        Some(open)
    }

    /// Whether the clock of a variable is the base clock, or is sampled from it by conditions.
    pub(crate) fn has_known_clock(&self, v: Var) -> bool {
        self.clocks.clocks[self.clocks.root(self.clocks.of[self.origin(v)])] == ClockData::Base
    }

    /// Whether a condition has this value at most at its first tick in a window of the plan.
    pub(crate) fn is_first(&self, cond: Var, value: bool) -> bool {
        let Some(Rhs::Fby { next, window, .. }) = self.rhs(cond) else { return false };
        self.restart(*window) == Restart::Edge
            && self.place(*next).iter().all(|p| self.truth(*next, p) == Some(!value))
    }

    /// Recognises a variable that takes the value of a state at its first tick in a window and keeps it until the
    /// window ends, as a parameter on a sampled clock does. Returns the state and its start value. The state changes
    /// only after the window.
    pub(crate) fn held(&self, v: Var) -> Option<(Var, ConstId)> {
        let Some(Rhs::Merge { cond, on_true, on_false }) = self.rhs(v) else { return None };
        let is_own = |u: Var, w: Option<flat::Window>| {
            self.clocks.of[u] == self.clocks.of[v] && self.restart(w) == Restart::Edge
        };
        let Some(Rhs::Fby { init: Init::Const(starts), window, .. }) = self.rhs(*cond) else { return None };
        let starts = self.flat.value(*starts).as_bool()?;
        let (state, old) = if starts { (*on_true, *on_false) } else { (*on_false, *on_true) };
        let Some(Rhs::When { value: before, .. }) = self.rhs(old) else { return None };
        let Some(Rhs::Fby { next, window: around, .. }) = self.rhs(*before) else { return None };
        let Some(Rhs::Fby { init: Init::Const(init), window: None, .. }) = self.rhs(state) else {
            return None;
        };
        let holds = is_own(*cond, *window) && is_own(*before, *around) && *next == v;
        (holds && self.is_first(*cond, starts)).then_some((state, *init))
    }

    /// Whether a variable is present at one tick of a window at most.
    pub(crate) fn is_once(&self, v: Var) -> bool {
        let place = self.place(v);
        let clock = self.clocks.samplings(self.clocks.of[v]);
        place.is_edge() || clock.into_iter().any(|(cond, value)| self.is_first(cond, value))
    }

    /// Whether an equation is a forward delay that remembers something between two windows of the plan.
    pub(crate) fn outlives(&self, eq: Eq) -> bool {
        let Rhs::Fby { window, .. } = self.flat.equations[eq].rhs else { return false };
        matches!(self.restart(window), Restart::Never | Restart::Inner { edge: false, .. })
    }

    /// How a delay restarts: `Edge` with the windows of the plan alone, `Inner` with ends within them, too, `Never`.
    pub(crate) fn restart(&self, window: Option<flat::Window>) -> Restart {
        let mut inner = Vec::new();
        let mut at = window;
        while let Some(w) = at {
            if !self.is_block && self.own.contains(&w) {
                return if inner.is_empty() {
                    Restart::Edge
                } else {
                    Restart::Inner { ends: inner, edge: true }
                };
            }
            inner.push(self.flat.windows[w].end);
            at = self.flat.windows[w].parent;
        }
        if inner.is_empty() { Restart::Never } else { Restart::Inner { ends: inner, edge: false } }
    }
}

/// A reason at the line of the first condition that ends windows.
fn of_ends(flat: &Drawn, ends: &[Guard], why: impl Into<String>) -> Declined {
    match ends.first() {
        Some(end) => Declined::at(why, declined::line(flat, end.cond)),
        None => Declined::new(why),
    }
}

/// The reason why a program has no plan if its outermost windows end independently of each other.
fn beside(flat: &Drawn, facts: &Facts, outermost: &[Segments]) -> Declined {
    let mut ends = outermost.iter().map(|s| &facts.segments[*s].cut.ends);
    let mut names: Vec<String> = ends.clone().map(|ends| names(flat, ends)).collect();
    names.dedup();
    let last = ends.next_back().map_or(&[][..], Vec::as_slice);
    let why = format!("windows stand side by side, which end at {}", names.join(" and at "));
    let help = "put one inside the other: let a node call both, the one whose windows are shorter with `every`, and call that node, or \
                its gradient, with `every` and the condition of the longer windows";
    of_ends(flat, last, why).help(help)
}

/// The conditions that end windows, as messages name them.
fn names(flat: &Drawn, ends: &[Guard]) -> String {
    let name = |end: &Guard| {
        let not = if end.value { "" } else { "not " };
        flat.vars[end.cond].name.as_ref().map_or_else(|| "a condition".to_owned(), |n| format!("`{not}{n}`"))
    };
    ends.iter().map(name).collect::<Vec<_>>().join(" or ")
}

/// The ends of windows that are on sampled clocks, and what reports them.
fn told(flat: &Drawn, clocks: &Clocks) -> Vec<Told> {
    let ends: BTreeSet<Var> = flat.windows.iter().map(|window| window.end).collect();
    let depths = |end: Var| (0..clocks.samplings(clocks.of[end]).len()).map(move |depth| Told { end, depth });
    ends.into_iter().flat_map(depths).collect()
}

/// The results of operators that may fail.
fn failing(flat: &Drawn) -> impl Iterator<Item = Var> + use<'_> {
    let may_fail = |equation: &&flat::Equation| match &equation.rhs {
        Rhs::Apply { op, args } => op.may_fail(args.iter().map(|arg| flat.vars[*arg].ty.dtype)),
        _ => false,
    };
    flat.equations.iter().filter(may_fail).map(|equation| equation.lhs)
}

/// Variables and positions without a value: by the facts, or because an operand has none.
fn never(flat: &Drawn, table: &IndexVec<Var, VarFacts>) -> BTreeSet<(Var, usize)> {
    let by_facts = |v: Var, i: usize| [table[v].first[i], table[v].last[i]].contains(&Hold::Nothing);
    let mut never: BTreeSet<(Var, usize)> = BTreeSet::new();
    for i in Position::ALL.map(Position::index) {
        never.extend(flat.vars.ids().filter(|v| by_facts(*v, i)).map(|v| (v, i)));
    }
    let mut before = 0;
    while never.len() > before {
        before = never.len();
        for equation in &flat.equations {
            let operands: &[Var] = match &equation.rhs {
                Rhs::Apply { args, .. } => args,
                Rhs::If { cond, then, other } => &[*cond, *then, *other],
                _ => continue,
            };
            for i in Position::ALL.map(Position::index) {
                if operands.iter().any(|v| never.contains(&(*v, i))) {
                    never.insert((equation.lhs, i));
                }
            }
        }
    }
    never
}

/// Whether all outputs, values for delays, and operators that may fail are known in their own cycle; and whether they
/// are known a fixed number of cycles later.
fn waits(flat: &Drawn, causality: &Causality) -> (bool, bool) {
    let next = flat.equations.iter().filter_map(|equation| match equation.rhs {
        Rhs::Fby { next, .. } => Some(next),
        _ => None,
    });
    let looks_ahead = |e: &flat::Equation| matches!(e.rhs, Rhs::FbyBack { .. } | Rhs::Post { .. });
    if !flat.equations.iter().any(looks_ahead) {
        return (true, true);
    }
    let latency =
        flat.outputs.iter().copied().chain(next).chain(failing(flat)).map(|v| &causality.latency[v]);
    latency.fold((true, true), |(forward, bounded), latency| {
        (forward && *latency == Latency::Bounded(0), bounded && matches!(latency, Latency::Bounded(_)))
    })
}

/// The facts about a variable at positions of ticks that may turn out to be the last one.
fn open(facts: &VarFacts) -> VarFacts {
    let twin = |p: Position| match p {
        Position::First => Position::Only,
        Position::Only => Position::First,
        Position::Middle => Position::Last,
        Position::Last => Position::Middle,
    };
    let joined = |a: Hold, b: Hold| match (a, b) {
        (Hold::Nothing, hold) | (hold, Hold::Nothing) => hold,
        (a, b) if a == b => a,
        _ => Hold::Own,
    };
    let both = |of: &dyn Fn(Position) -> bool| Position::ALL.into_iter().filter(|p| of(*p)).collect();
    let holds = |of: &[Hold; 4]| Position::ALL.map(|p| joined(of[p.index()], of[twin(p).index()]));
    let constant = |hold| if matches!(hold, Hold::At(_)) { Hold::Own } else { hold };
    VarFacts {
        place: both(&|p| facts.place.contains(p) || facts.place.contains(twin(p))),
        truths: Position::ALL.map(|p| facts.truths[p.index()].or(facts.truths[twin(p).index()])),
        first: holds(&facts.first),
        // No value of the last tick is available yet.
        last: holds(&facts.last).map(constant),
        constant: facts.constant,
        before: both(&|p| facts.before.contains(p) && facts.before.contains(twin(p))),
        within: both(&|p| facts.within.contains(p) && facts.within.contains(twin(p))),
    }
}

/// How a delay restarts.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Restart {
    /// It continues from window to window.
    Never,
    /// It restarts in each window.
    Edge,
    /// It restarts after each tick at which one of these holds.
    Inner {
        ends: Vec<Var>,
        /// Whether it restarts in each window of the plan.
        edge: bool,
    },
}
