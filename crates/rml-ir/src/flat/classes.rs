//! Clock classes: sets of variables that the equations force to be present in the same cycles, by their form alone. Not a clock
//! calculus: nothing is inferred about conditions, and an ill-clocked program has classes too. All that runs, restricts or
//! analyses a program takes them from here.
//!
//! Invariants, checked by [`verify`]:
//! - **C1** two variables are in one class exactly if equations tie them together ([`Equation::synchrony`](super::Equation::synchrony),
//!   CLOCK-1); classes are numbered by their first variable.
//! - **C2** the drivers that decide anything are the inputs, the results of `when` and the operands of `merge`.
//! - **C3** a class is driven exactly if it has an input, or a driver by a condition of another class (CLOCK-2); the environment
//!   is asked for the first variable of each other class, in every cycle (CLOCK-3, ENV-5).

use rml_base::{EntityId, IndexVec, entity_id};

use super::{Eq, Flat, Rhs, Var};
use crate::check::checked;

entity_id!(
    /// A clock class.
    ClassId,
    "clock"
);

/// Something that tells of a class in which cycles it is present.
#[derive(Clone, Copy, PartialEq, std::cmp::Eq, Debug)]
pub struct Driver {
    /// A member of the class.
    pub var: Var,
    /// The equation that samples or merges it; none for an input.
    pub eq: Option<Eq>,
    /// Where that is decided.
    pub by: By,
}

/// What decides in which cycles a variable is present.
#[derive(Clone, Copy, PartialEq, std::cmp::Eq, PartialOrd, Ord, Debug)]
pub enum By {
    /// The environment.
    Input,
    /// The environment, which may wait until the program asks for the input: one with a declared clock.
    Offer(Var),
    /// The value of a condition.
    Condition(Var),
    /// Nothing: where the result of this sampling or an operand of this merge is present, so is the condition. That decides nothing,
    /// but it may be known before the condition is.
    Backward(Eq),
}

/// The clock classes of a program.
#[derive(Clone, Debug)]
pub struct ClockClasses {
    of: IndexVec<Var, ClassId>,
    /// The variables, class by class.
    members: Vec<Var>,
    /// Where the members of each class begin, and the end.
    starts: Vec<usize>,
    drivers: Vec<Driver>,
    driven: IndexVec<ClassId, bool>,
}

impl ClockClasses {
    /// The classes of a program.
    ///
    /// Requires: `flat::verify`. Ensures: C1 to C3.
    pub fn new(flat: &Flat) -> Self {
        Self::among(flat, |_| true)
    }

    /// The classes that the equations of those variables make. All others, but inputs, are alone and free.
    pub(crate) fn among(flat: &Flat, kept: impl Fn(Var) -> bool) -> Self {
        let mut sets = Sets((0..flat.vars.len()).map(Var::from_index).collect());
        let mut drivers: Vec<Driver> = flat
            .inputs
            .iter()
            .map(|input| {
                let by = if input.clock.is_some() { By::Offer(input.var) } else { By::Input };
                Driver { var: input.var, eq: None, by }
            })
            .collect();
        let mut backward = Vec::new();
        for (eq, equation) in flat.equations.iter_enumerated().filter(|(_, e)| kept(e.lhs)) {
            let synchrony = equation.synchrony();
            synchrony.pairs().for_each(|(a, b)| sets.join(a, b));
            for sample in &synchrony.samples {
                drivers.push(Driver { var: sample.var, eq: Some(eq), by: By::Condition(sample.cond) });
            }
            if let Some(sample) = synchrony.samples.first() {
                backward.push(Driver { var: sample.cond, eq: Some(eq), by: By::Backward(eq) });
            }
        }
        let mut classes = Self::of_sets(sets);
        for driver in &drivers {
            let class = classes.of[driver.var];
            classes.driven[class] |= !classes.is_own(driver);
        }
        drivers.extend(backward);
        classes.drivers = drivers;
        checked("ClockClasses", || verify(flat, &classes, &kept));
        classes
    }

    /// The classes that sets of variables are, without drivers.
    fn of_sets(mut sets: Sets) -> Self {
        let n = sets.0.len();
        let mut of = IndexVec::filled(ClassId::from_index(0), n);
        let mut starts = vec![0];
        for v in of.ids() {
            let root = sets.find(v);
            // The root is the first variable of its set.
            of[v] = if root == v {
                starts.push(0);
                ClassId::from_index(starts.len() - 2)
            } else {
                of[root]
            };
            starts[of[v].index() + 1] += 1;
        }
        for i in 1..starts.len() {
            starts[i] += starts[i - 1];
        }
        let (mut members, mut next) = (vec![Var::from_index(0); n], starts.clone());
        for (v, class) in of.iter_enumerated() {
            members[next[class.index()]] = v;
            next[class.index()] += 1;
        }
        let driven = IndexVec::filled(false, starts.len() - 1);
        Self { of, members, starts, drivers: Vec::new(), driven }
    }

    /// The class of a variable.
    pub fn of(&self, v: Var) -> ClassId {
        self.of[v]
    }

    /// How many classes there are.
    pub fn len(&self) -> usize {
        self.driven.len()
    }

    /// Whether the program has no variable.
    pub fn is_empty(&self) -> bool {
        self.driven.is_empty()
    }

    /// All classes.
    pub fn ids(&self) -> impl Iterator<Item = ClassId> + use<> {
        self.driven.ids()
    }

    /// The variables of a class, in order.
    pub fn members(&self, class: ClassId) -> &[Var] {
        &self.members[self.starts[class.index()]..self.starts[class.index() + 1]]
    }

    /// All drivers: inputs, then samplings in the order of their equations, then those that decide nothing.
    pub fn drivers(&self) -> &[Driver] {
        &self.drivers
    }

    /// Whether a driver samples or merges by a condition of its own class, so that it says nothing about where that is present.
    pub fn is_own(&self, driver: &Driver) -> bool {
        matches!(driver.by, By::Condition(cond) if self.of[cond] == self.of[driver.var])
    }

    /// Whether something decides when the class is present; else it is present in every cycle.
    pub fn is_driven(&self, class: ClassId) -> bool {
        self.driven[class]
    }

    /// One variable of each free class: what the environment asks for in every cycle.
    pub fn free_representatives(&self) -> Vec<Var> {
        self.ids().filter(|class| !self.driven[*class]).map(|class| self.members(class)[0]).collect()
    }
}

/// Disjoint sets of variables.
struct Sets(IndexVec<Var, Var>);

impl Sets {
    fn find(&mut self, mut v: Var) -> Var {
        while self.0[v] != v {
            let up = self.0[self.0[v]];
            self.0[v] = up;
            v = up;
        }
        v
    }

    /// The smaller root wins, so that the result does not depend on the order of equations.
    fn join(&mut self, a: Var, b: Var) {
        let (a, b) = (self.find(a), self.find(b));
        self.0[a.max(b)] = a.min(b);
    }
}

/// Checks C1 to C3 for the equations of the kept variables; one line for each violation. Shares no code with what makes the
/// classes: the rule of each primitive is written out once more.
pub fn verify(flat: &Flat, classes: &ClockClasses, kept: &dyn Fn(Var) -> bool) -> Result<(), Vec<String>> {
    let mut found = Vec::new();
    let mut ties: IndexVec<Var, Vec<Var>> = IndexVec::filled(Vec::new(), flat.vars.len());
    let mut decides: Vec<(Var, Option<Var>)> = flat.inputs.iter().map(|input| (input.var, None)).collect();
    for equation in flat.equations.iter().filter(|e| kept(e.lhs)) {
        let mut tie = |a: Var, b: Var| {
            ties[a].push(b);
            ties[b].push(a);
        };
        match equation.rhs {
            Rhs::When { value, cond } => {
                tie(value, cond);
                decides.push((equation.lhs, Some(cond)));
            }
            Rhs::Merge { cond, on_true, on_false } => {
                tie(equation.lhs, cond);
                decides.extend([(on_true, Some(cond)), (on_false, Some(cond))]);
            }
            ref rhs => rhs.for_each_operand(|v| tie(equation.lhs, v)),
        }
    }
    // Each class is what can be reached from its first variable.
    let mut reached: IndexVec<Var, Option<Var>> = IndexVec::filled(None, flat.vars.len());
    let mut firsts = Vec::new();
    for first in flat.vars.ids() {
        if reached[first].is_none() {
            firsts.push(first);
        }
        let mut pending = if reached[first].is_none() { vec![first] } else { Vec::new() };
        while let Some(v) = pending.pop() {
            if reached[v].replace(first).is_none() {
                pending.extend(ties[v].iter().filter(|w| reached[**w].is_none()));
            }
        }
    }
    for (v, first) in reached.iter_enumerated() {
        if first.is_none_or(|first| firsts.get(classes.of(v).index()) != Some(&first)) {
            found.push(format!("C1: {v} is in the wrong class"));
        }
    }
    let listed = classes.drivers.iter().filter_map(|d| match d.by {
        By::Input | By::Offer(_) => Some((d.var, None)),
        By::Condition(cond) => Some((d.var, Some(cond))),
        By::Backward(_) => None,
    });
    if !listed.eq(decides.iter().copied()) {
        found.push("C2: the drivers are not those of the equations".to_owned());
    }
    let mut driven = vec![false; firsts.len()];
    if found.is_empty() {
        for (v, cond) in decides {
            driven[classes.of(v).index()] |= cond.is_none_or(|cond| classes.of(cond) != classes.of(v));
        }
        let free = firsts.iter().zip(&driven).filter(|(_, driven)| !**driven).map(|(v, _)| *v);
        if !free.eq(classes.free_representatives()) {
            found.push("C3: the wrong classes are asked for".to_owned());
        }
    }
    if found.is_empty() { Ok(()) } else { Err(found) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `y = x when c; n = 1 fby n`: `x` and `c` together, `y` sampled, `n` free.
    const TEXT: &str = r#"flat f32 "m"
input v0
input v1
output v2
var v0 int [] "x"
var v1 bool [] "c"
var v2 int [] "y"
var v3 int [] "n"
const k0 int [] = 1
v2 = when v0 v1
v3 = fby k0 v3
state "n" eq1
"#;

    fn broken(rule: &str, change: impl FnOnce(&mut ClockClasses)) {
        let flat = super::super::parse(TEXT).unwrap();
        let mut classes = ClockClasses::new(&flat);
        assert_eq!(verify(&flat, &classes, &|_| true), Ok(()));
        change(&mut classes);
        let found = verify(&flat, &classes, &|_| true).expect_err("something is wrong");
        assert!(found.iter().all(|line| line.starts_with(rule)), "{found:?}");
    }

    #[test]
    fn c1_classes_are_what_equations_tie_together() {
        broken("C1", |classes| classes.of[Var(1)] = ClassId(1));
        broken("C1", |classes| classes.of[Var(3)] = ClassId(0));
    }

    #[test]
    fn c2_inputs_and_samplings_drive() {
        broken("C2", |classes| classes.drivers.truncate(2));
        broken("C2", |classes| classes.drivers[2].var = Var(3));
    }

    #[test]
    fn c3_free_classes_are_asked_for() {
        broken("C3", |classes| classes.driven[ClassId(2)] = true);
        broken("C3", |classes| classes.driven[ClassId(1)] = false);
    }
}
