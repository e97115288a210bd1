//! Inference of clock terms. A variable gets its term from the operands of its equation if possible, and otherwise from
//! its uses (like constants and inputs without a declared clock). Nothing is compared here. In a well-clocked program
//! the terms are uniquely determined. In other programs, they are chosen such that the disagreement appears in the
//! equation whose operands disagree.

use std::collections::{BTreeSet, VecDeque};

use indexmap::IndexMap;
use rml_base::{IndexVec, entity_id};
use rml_ir::Sample;
use rml_ir::flat::{Flat, Rhs, Var};
use rml_ir::op::Op;

use super::classes::{Driver, drivers};
use super::constraint::Constraint;

entity_id!(
    /// A clock term: a clock as it was derived.
    TermId,
    "term"
);

/// A clock as it was derived; different terms may denote the same clock.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Term {
    Base,
    /// A clock that depends only on itself, so that nothing decides it.
    Unknown(Var),
    On {
        parent: TermId,
        cond: Var,
        positive: bool,
    },
}

/// The reason why a variable has its clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Origin {
    /// The variable has no driver.
    Nobody,
    /// The variable is an input without a declared clock.
    Input,
    /// A constraint (by its index) derives the clock from the clock of `from`.
    Constraint { constraint: usize, from: Var },
    /// The clock depends only on itself.
    Itself,
}

/// A clock term for each variable.
#[derive(Debug)]
pub(super) struct Inferred {
    pub(super) terms: IndexVec<TermId, Term>,
    pub(super) of: IndexVec<Var, TermId>,
    pub(super) origin: IndexVec<Var, Origin>,
    /// The variables in the order in which their clocks were found.
    pub(super) order: Vec<Var>,
    /// For each sampled term: the constraint that first made it.
    pub(super) makers: IndexVec<TermId, Option<usize>>,
    ids: IndexMap<Term, TermId>,
}

const BASE: TermId = TermId(0);

impl Inferred {
    /// The term of a sampling; it exists for every sampling of a constraint.
    pub(super) fn sampled(&self, parent: TermId, sample: Sample) -> Option<TermId> {
        let term = Term::On { parent, cond: sample.cond, positive: sample.positive };
        self.ids.get(&term).copied()
    }

    /// The root of a clock, and the samplings from the root to the clock, outermost first.
    pub(super) fn path(&self, term: TermId) -> (TermId, Vec<(Var, bool)>) {
        let mut at = term;
        let mut path = Vec::new();
        while let Term::On { parent, cond, positive } = self.terms[at] {
            path.push((cond, positive));
            at = parent;
        }
        path.reverse();
        (at, path)
    }
}

/// Infers the clock terms of a program. The inputs `on_base` are assumed to be on the base clock. Other inputs that are
/// sampled or merged get their clocks from their uses if possible.
pub(super) fn infer(flat: &Flat, constraints: &[Constraint], on_base: &BTreeSet<Var>) -> Inferred {
    let mut inference = Inference::new(flat, constraints);
    inference.run(flat, on_base);
    inference.make_all();
    let of = inference.of.iter().map(|t| t.unwrap_or(BASE)).collect();
    Inferred {
        terms: inference.terms,
        of,
        origin: inference.origin,
        order: inference.order,
        makers: inference.makers,
        ids: inference.ids,
    }
}

struct Inference<'a> {
    constraints: &'a [Constraint],
    /// For each variable: the constraints that name it.
    naming: IndexVec<Var, Vec<usize>>,
    /// Whether a variable is computed only from constants, so that its clock follows from its use.
    constant: IndexVec<Var, bool>,
    terms: IndexVec<TermId, Term>,
    ids: IndexMap<Term, TermId>,
    makers: IndexVec<TermId, Option<usize>>,
    of: IndexVec<Var, Option<TermId>>,
    origin: IndexVec<Var, Origin>,
    order: Vec<Var>,
    /// Whether a variable is a delay, or a copy of one; there, inference enters recurrences.
    delayed: IndexVec<Var, bool>,
    /// The constraints to try next, the most certain ones first: those whose sources all have clocks; then those in
    /// which only delays lack clocks; then those in which some source has a clock; then those in which some variable
    /// has one.
    ready: VecDeque<usize>,
    entered: BTreeSet<usize>,
    partly: BTreeSet<usize>,
    /// Constraints in which a constant gets the clock of another variable.
    constants: BTreeSet<usize>,
    touched: BTreeSet<usize>,
}

impl<'a> Inference<'a> {
    fn new(flat: &Flat, constraints: &'a [Constraint]) -> Self {
        let mut naming = IndexVec::filled(Vec::new(), flat.vars.len());
        for (i, constraint) in constraints.iter().enumerate().filter(|(_, c)| c.claim.is_none()) {
            let sampled = constraint.samples.iter().flat_map(|s| [s.var, s.cond]);
            let vars: BTreeSet<Var> = constraint.together.iter().copied().chain(sampled).collect();
            for v in vars {
                naming[v].push(i);
            }
        }
        let n = flat.vars.len();
        Self {
            constraints,
            naming,
            constant: constants(flat),
            terms: [Term::Base].into_iter().collect(),
            ids: IndexMap::from([(Term::Base, BASE)]),
            makers: [None].into_iter().collect(),
            of: IndexVec::filled(None, n),
            origin: IndexVec::filled(Origin::Itself, n),
            order: Vec::with_capacity(n),
            delayed: delayed(flat),
            ready: VecDeque::new(),
            entered: BTreeSet::new(),
            partly: BTreeSet::new(),
            constants: BTreeSet::new(),
            touched: BTreeSet::new(),
        }
    }

    fn run(&mut self, flat: &Flat, on_base: &BTreeSet<Var>) {
        let drivers = drivers(flat);
        for v in flat.vars.ids().filter(|&v| drivers[v] == Driver::Nobody) {
            self.set(v, BASE, Origin::Nobody);
        }
        let branches: BTreeSet<Var> = self
            .constraints
            .iter()
            .filter(|c| c.equation.is_some_and(|e| matches!(flat.equations[e].rhs, Rhs::Merge { .. })))
            .flat_map(|c| c.samples.iter().map(|s| s.var))
            .collect();
        let undeclared = || flat.inputs.iter().filter(|i| i.clock.is_none()).map(|i| i.var);
        let is_base = |v: &Var| drivers[*v] == Driver::Input || on_base.contains(v);
        for v in undeclared().filter(is_base) {
            self.set(v, BASE, Origin::Input);
        }
        self.propagate();
        // The remaining variables depend on themselves, unless an input determines when it is present. The branches of
        // a merge are guessed last.
        for is_branch in [false, true] {
            for v in undeclared().filter(|v| branches.contains(v) == is_branch) {
                if self.of[v].is_none() {
                    self.set(v, BASE, Origin::Input);
                    self.propagate();
                }
            }
        }
        for v in flat.vars.ids() {
            if self.of[v].is_none() {
                let term = self.term(Term::Unknown(v), None);
                self.set(v, term, Origin::Itself);
                self.propagate();
            }
        }
    }

    fn term(&mut self, term: Term, maker: Option<usize>) -> TermId {
        if let Some(known) = self.ids.get(&term) {
            return *known;
        }
        let id = self.terms.push(term);
        self.makers.push(maker);
        self.ids.insert(term, id);
        id
    }

    fn set(&mut self, v: Var, term: TermId, origin: Origin) {
        self.of[v] = Some(term);
        self.origin[v] = origin;
        self.order.push(v);
        for i in 0..self.naming[v].len() {
            let at = self.naming[v][i];
            let constraint = &self.constraints[at];
            self.touched.insert(at);
            if constraint.together.iter().any(|x| self.constant[*x] && self.of[*x].is_none()) {
                self.constants.insert(at);
            }
            if self.of[constraint.target].is_none() && constraint.sources.contains(&v) {
                self.partly.insert(at);
                let is_known = |s: &Var| self.constant[*s] || self.of[*s].is_some();
                if constraint.sources.iter().all(is_known) {
                    self.ready.push_back(at);
                } else if constraint.sources.iter().all(|s| is_known(s) || self.delayed[*s]) {
                    self.entered.insert(at);
                }
            }
        }
    }

    /// Sets all clocks that follow from known ones.
    fn propagate(&mut self) {
        loop {
            if let Some(at) = self.ready.pop_front() {
                self.forward(at);
            } else if let Some(at) = self.constants.pop_first() {
                self.place_constants(at);
            } else if let Some(at) = self.entered.pop_first().or_else(|| self.partly.pop_first()) {
                self.forward(at);
            } else if let Some(at) = self.touched.pop_first() {
                self.everywhere(at);
            } else {
                break;
            }
        }
    }

    /// Sets the clock of the variable that a constraint defines.
    fn forward(&mut self, at: usize) {
        let constraint = &self.constraints[at];
        let target = constraint.target;
        if self.of[target].is_some() {
            return;
        }
        let Some(from) = constraint.sources.iter().copied().find(|s| self.of[*s].is_some()) else { return };
        let Some(term) = self.of[from] else { return };
        let term = match constraint.samples.iter().find(|s| s.var == target) {
            Some(sample) => self.sampled(at, term, *sample),
            None => term,
        };
        self.set(target, term, Origin::Constraint { constraint: at, from });
    }

    /// Gives the constants of a constraint the clock of the other variables.
    fn place_constants(&mut self, at: usize) {
        let together = &self.constraints[at].together;
        let Some(from) = together.iter().copied().find(|v| self.of[*v].is_some()) else { return };
        let Some(term) = self.of[from] else { return };
        for &v in together {
            if self.constant[v] && self.of[v].is_none() {
                self.set(v, term, Origin::Constraint { constraint: at, from });
            }
        }
    }

    /// Sets all clocks of a constraint.
    fn everywhere(&mut self, at: usize) {
        let constraint = &self.constraints[at];
        let conditions = constraint.samples.iter().map(|s| s.cond);
        let known = constraint.together.iter().copied().chain(conditions).find(|v| self.of[*v].is_some());
        let Some(from) = known else { return };
        let Some(term) = self.of[from] else { return };
        let origin = Origin::Constraint { constraint: at, from };
        for &v in &constraint.together {
            if self.of[v].is_none() {
                self.set(v, term, origin);
            }
        }
        for &sample in &constraint.samples {
            if self.of[sample.var].is_none() {
                let term = self.sampled(at, term, sample);
                self.set(sample.var, term, origin);
            }
        }
    }

    /// Makes the term of every sampling, so that all can be compared.
    fn make_all(&mut self) {
        for (at, constraint) in self.constraints.iter().enumerate() {
            for &sample in &constraint.samples {
                self.sampled(at, BASE, sample);
            }
        }
    }

    fn sampled(&mut self, at: usize, of: TermId, sample: Sample) -> TermId {
        let parent = self.of[sample.cond].unwrap_or(of);
        self.term(Term::On { parent, cond: sample.cond, positive: sample.positive }, Some(at))
    }
}

/// Whether each variable is a delay, or a copy of one.
fn delayed(flat: &Flat) -> IndexVec<Var, bool> {
    let mut result = IndexVec::filled(false, flat.vars.len());
    let mut copies: IndexVec<Var, Vec<Var>> = IndexVec::filled(Vec::new(), flat.vars.len());
    let mut found = Vec::new();
    for equation in &flat.equations {
        match &equation.rhs {
            Rhs::Fby { .. } | Rhs::FbyBack { .. } | Rhs::Post { .. } => found.push(equation.lhs),
            Rhs::Apply { op: Op::Copy, args } => args.iter().for_each(|x| copies[*x].push(equation.lhs)),
            _ => {}
        }
    }
    while let Some(v) = found.pop() {
        if !std::mem::replace(&mut result[v], true) {
            found.extend(std::mem::take(&mut copies[v]));
        }
    }
    result
}

/// Whether each variable is a constant, or computed by operators only from constants.
fn constants(flat: &Flat) -> IndexVec<Var, bool> {
    let mut uses: IndexVec<Var, Vec<Var>> = IndexVec::filled(Vec::new(), flat.vars.len());
    let mut missing: IndexVec<Var, usize> = IndexVec::filled(0, flat.vars.len());
    let mut result = IndexVec::filled(false, flat.vars.len());
    let mut found = Vec::new();
    for equation in &flat.equations {
        match &equation.rhs {
            Rhs::Const(_) => found.push(equation.lhs),
            Rhs::Apply { .. } | Rhs::If { .. } => {
                equation.rhs.for_each_operand(|v| {
                    uses[v].push(equation.lhs);
                    missing[equation.lhs] += 1;
                });
            }
            _ => {}
        }
    }
    while let Some(v) = found.pop() {
        result[v] = true;
        for user in std::mem::take(&mut uses[v]) {
            missing[user] -= 1;
            if missing[user] == 0 {
                found.push(user);
            }
        }
    }
    result
}
