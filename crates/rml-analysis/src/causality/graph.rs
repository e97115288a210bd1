//! The dependence graph of a flat program: the values that each value needs.
//!
//! The first positions of the graph represent the values of variables. The positions after them represent the presence
//! of the classes of variables that are present together. An edge is omitted if a constant condition shows that it is
//! never taken.

use std::collections::BTreeSet;

use rml_base::{EntityId, Graph, IndexVec};
use rml_ir::flat::{ClassId, Eq, Init, Rhs, Var, Window};

use super::frame::Frames;
use super::presence::Classes;
use crate::clocks::{ClockData, ClockId};
use crate::conditions::{Conditions, Guard, Instant};

/// The cycle in which something is needed, relative to the cycle that needs it, in ticks of a delay's clock.
#[derive(Clone, Copy, PartialEq, std::cmp::Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Distance {
    /// The same cycle.
    Now,
    /// The previous tick: `fby`.
    Past,
    /// The next tick: `post`, `fby back`.
    Next,
}

/// The cycles in which an edge is taken.
#[derive(Clone, Copy, PartialEq, std::cmp::Eq, Debug)]
pub(crate) enum Only {
    /// All cycles in which the start of the edge is needed.
    Always,
    /// The cycles in which the end of a window is present and, if a guard is given, that guard holds. The end may be
    /// absent in cycles in which the start of the edge is needed.
    Present(Option<Guard>),
    /// The cycles in which a condition has a value.
    If(Guard),
    /// The first tick of a delay in its window.
    Start,
    /// The last tick of a delay in its window.
    End,
}

impl Only {
    /// The condition that must hold for an edge to be taken.
    pub(crate) fn condition(self) -> Option<Guard> {
        match self {
            Only::If(guard) | Only::Present(Some(guard)) => Some(guard),
            Only::Always | Only::Present(None) | Only::Start | Only::End => None,
        }
    }
}

/// A dependence of one position on another one.
#[derive(Clone, Copy, PartialEq, std::cmp::Eq, Debug)]
pub(crate) struct Edge {
    pub(crate) to: usize,
    pub(crate) distance: Distance,
    pub(crate) only: Only,
    /// The equation from which the dependence follows; `None` for the presence of a class.
    pub(crate) eq: Option<Eq>,
    /// Whether the target is needed in all cycles between two ticks of a delay, to know that there is no other tick
    /// between them.
    pub(crate) between: bool,
}

/// The dependence graph (CAUSE-1).
pub(crate) struct Dependences<'a> {
    pub(crate) conditions: Conditions<'a>,
    classes: Classes,
    pub(crate) graph: Graph<Edge>,
    pub(crate) frames: Frames,
}

/// The meaning of a position.
#[derive(Clone, Copy, PartialEq, std::cmp::Eq, Debug)]
pub(crate) enum Node {
    Value(Var),
    Presence(ClassId),
}

impl<'a> Dependences<'a> {
    pub(crate) fn new(conditions: Conditions<'a>) -> Dependences<'a> {
        let (flat, clocks) = (conditions.flat, conditions.clocks);
        let never: IndexVec<ClockId, bool> =
            clocks.clocks.ids().map(|ck| is_empty(&conditions, ck)).collect();
        let classes = Classes::new(&conditions);
        let mut list = Vec::new();
        for (eq, equation) in flat.equations.iter_enumerated() {
            let mut edges = Needs { conditions: &conditions, classes: &classes, eq, found: Vec::new() };
            if never[clocks.of[equation.lhs]] {
                edges.present(equation.lhs, Distance::Now);
            } else {
                edges.equation();
            }
            list.extend(edges.found.into_iter().map(|e| (equation.lhs.index(), e)));
        }
        for (class, decider) in classes.decided_by.iter_enumerated() {
            let Some(decider) = decider else { continue };
            for to in [decider.cond.index(), presence(flat.vars.len(), decider.from)] {
                let edge = Edge { to, distance: Distance::Now, only: Only::Always, eq: None, between: false };
                list.push((presence(flat.vars.len(), class), edge));
            }
        }
        let graph = Graph::new(flat.vars.len() + classes.decided_by.len(), list);
        Dependences { conditions, classes, graph, frames: Frames::default() }
    }

    pub(crate) fn node(&self, at: usize) -> Node {
        let vars = self.conditions.flat.vars.len();
        match at.checked_sub(vars) {
            None => Node::Value(Var::from_index(at)),
            Some(class) => Node::Presence(ClassId::from_index(class)),
        }
    }

    /// The clock of a position: the clock of the variable or, for the presence of a class, of the condition that
    /// decides it.
    pub(crate) fn clock(&self, at: usize) -> ClockId {
        let clocks = self.conditions.clocks;
        match self.node(at) {
            Node::Value(var) => clocks.of[var],
            Node::Presence(class) => {
                let decider = self.classes.decided_by[class];
                decider.map_or(self.base(), |d| clocks.of[d.cond])
            }
        }
    }

    fn base(&self) -> ClockId {
        let mut clocks = self.conditions.clocks.clocks.iter_enumerated();
        clocks.find(|(_, d)| matches!(d, ClockData::Base)).map_or(ClockId(0), |(ck, _)| ck)
    }

    /// The clock on which the distances of a delay are counted, and the window around the delay.
    pub(crate) fn delay(&self, edge: &Edge) -> Option<(ClockId, Option<Window>)> {
        let equation = &self.conditions.flat.equations[edge.eq?];
        Some((self.conditions.clocks.of[equation.lhs], equation.rhs.window()))
    }

    /// The window around a position, if the position is a delay.
    pub(crate) fn window(&self, at: usize) -> Option<Window> {
        match self.node(at) {
            Node::Value(var) => self.conditions.rhs(var)?.window(),
            Node::Presence(_) => None,
        }
    }

    pub(crate) fn is_post(&self, edge: &Edge) -> bool {
        let rhs = edge.eq.map(|eq| &self.conditions.flat.equations[eq].rhs);
        matches!(rhs, Some(Rhs::Post { .. }))
    }
}

fn presence(vars: usize, class: ClassId) -> usize {
    vars + class.index()
}

/// Whether a clock never ticks, whatever the inputs are, because one of its samplings is always false.
pub(super) fn is_empty(conditions: &Conditions<'_>, clock: ClockId) -> bool {
    let mut instant = Instant::default();
    conditions.chain(clock).into_iter().rev().any(|l| {
        let never = conditions.truth(l.cond, &instant) == Some(!l.value);
        conditions.assume(&mut instant, l);
        never
    })
}

/// Collects the edges of one equation.
struct Needs<'c, 'a> {
    conditions: &'c Conditions<'a>,
    classes: &'c Classes,
    eq: Eq,
    found: Vec<Edge>,
}

impl Needs<'_, '_> {
    fn add(&mut self, to: Var, distance: Distance, only: Only) {
        self.found.push(Edge { to: to.index(), distance, only, eq: Some(self.eq), between: false });
    }

    fn now(&mut self, to: Var) {
        self.add(to, Distance::Now, Only::Always);
    }

    fn now_if(&mut self, to: Var, cond: Var, value: bool) {
        match self.conditions.constant(cond) {
            Some(v) if v == value => self.now(to),
            Some(_) => {}
            None => self.add(to, Distance::Now, Only::If(self.conditions.guard(cond, value))),
        }
    }

    /// Adds a dependence on the presence of the defined variable.
    fn present(&mut self, lhs: Var, distance: Distance) {
        self.presence(lhs, distance, Only::Always);
    }

    /// Adds dependences on the presence of a variable. A condition decides the presence; if that condition may be
    /// absent, its presence is needed as well, and so on.
    fn presence(&mut self, var: Var, distance: Distance, only: Only) {
        let mut class = self.classes.of(var);
        let mut seen = BTreeSet::new();
        while let Some(decider) = self.classes.decided_by[class]
            && seen.insert(class)
        {
            let to = presence(self.conditions.flat.vars.len(), class);
            let between = distance != Distance::Now;
            self.found.push(Edge { to, distance, only, eq: Some(self.eq), between });
            class = decider.from;
        }
    }

    fn equation(&mut self) {
        let equation = &self.conditions.flat.equations[self.eq];
        let lhs = equation.lhs;
        match &equation.rhs {
            Rhs::Const(_) => self.present(lhs, Distance::Now),
            Rhs::Apply { args, .. } => args.iter().for_each(|x| self.now(*x)),
            Rhs::If { cond, then: yes, other: no } | Rhs::Merge { cond, on_true: yes, on_false: no } => {
                self.now(*cond);
                self.now_if(*yes, *cond, true);
                self.now_if(*no, *cond, false);
            }
            Rhs::When { value, cond } => {
                self.now(*cond);
                self.now_if(*value, *cond, true);
            }
            Rhs::Param { init } => self.now(*init),
            Rhs::Fby { init, window, .. } | Rhs::FbyBack { init, window, .. }
                if self.is_alone(lhs, *window) =>
            {
                let forward = matches!(equation.rhs, Rhs::Fby { .. });
                self.present(lhs, Distance::Now);
                self.init(init, Only::Always);
                for w in self.conditions.windows(*window) {
                    let distance = if forward { Distance::Past } else { Distance::Now };
                    let end = self.conditions.flat.windows[w].end;
                    self.end(end, distance, self.unless_other(*window, end));
                }
            }
            Rhs::Fby { init, next, window } => {
                self.present(lhs, Distance::Now);
                self.present(lhs, Distance::Past);
                self.add(*next, Distance::Past, Only::Always);
                for w in self.conditions.windows(*window) {
                    self.end(self.conditions.flat.windows[w].end, Distance::Past, Only::Always);
                }
                self.init(init, Only::Start);
            }
            Rhs::FbyBack { init, next, window } => {
                self.ahead(lhs, *next, *window);
                self.init(init, Only::End);
            }
            Rhs::Post { next, window } => self.ahead(lhs, *next, *window),
        }
    }

    /// Whether every cycle is a separate window.
    fn is_alone(&self, lhs: Var, window: Option<Window>) -> bool {
        let clocks = self.conditions.clocks;
        self.conditions.windows(window).iter().any(|w| {
            let end = self.conditions.flat.windows[*w].end;
            self.conditions.constant(end) == Some(true)
                && self.conditions.is_within(clocks.of[lhs], clocks.of[end])
        })
    }

    fn init(&mut self, init: &Init, only: Only) {
        if let Init::Stream(v) = init {
            self.add(*v, Distance::Now, only);
        }
    }

    /// Adds dependences on the end of a window around a delay: on its value where it is present, and on its presence.
    fn end(&mut self, end: Var, distance: Distance, only: Only) {
        let conditions = self.conditions;
        let lhs = conditions.flat.equations[self.eq].lhs;
        let clock = |v: Var| conditions.clocks.of[v];
        let is_present = conditions.is_within(clock(lhs), clock(end));
        let value = if is_present { only } else { Only::Present(only.condition()) };
        let between = distance != Distance::Now;
        self.found.push(Edge { to: end.index(), distance, only: value, eq: Some(self.eq), between });
        self.presence(end, distance, only);
    }

    /// An end is not needed in cycles in which another end around the delay is present and holds.
    fn unless_other(&self, window: Option<Window>, end: Var) -> Only {
        let conditions = self.conditions;
        let clock = conditions.clocks.of[conditions.flat.equations[self.eq].lhs];
        let own = conditions.guard(end, true);
        let ends = conditions.windows(window).into_iter().map(|w| conditions.flat.windows[w].end);
        let present = ends.filter(|end| conditions.is_within(clock, conditions.clocks.of[*end]));
        let mut others = present.map(|end| conditions.guard(end, true)).filter(|l| *l != own);
        others.next_back().map_or(Only::Always, |l| Only::If(l.negated()))
    }

    fn ahead(&mut self, lhs: Var, next: Var, window: Option<Window>) {
        self.present(lhs, Distance::Now);
        self.add(next, Distance::Next, Only::Always);
        self.present(lhs, Distance::Next);
        for w in self.conditions.windows(window) {
            let end = self.conditions.flat.windows[w].end;
            let only = self.unless_other(window, end);
            self.end(end, Distance::Now, only);
            if !matches!(self.conditions.clocks.clocks[self.conditions.clocks.of[lhs]], ClockData::Base) {
                self.end(end, Distance::Next, Only::Always);
            }
        }
    }
}
