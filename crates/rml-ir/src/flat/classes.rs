//! Clock classes: sets of variables that the equations force to be present in the same cycles, by their form alone. Not
//! a clock calculus: nothing is inferred about conditions, and an ill-clocked program has classes too. Everything that
//! runs, restricts or analyses a program takes them from here.
//!
//! Invariants, checked by [`verify`]:
//! - **C1** two variables are in one class exactly if equations tie them together
//!   ([`Equation::synchrony`](super::Equation::synchrony), CLOCK-1), or if each drives the other, directly or through
//!   others (CLOCK-9); classes are numbered by their first variable.
//! - **C2** the drivers that decide anything are the inputs, the results of `when` and the operands of `merge`.
//! - **C3** a class is driven exactly if it has an input, or a driver by a condition of another class (CLOCK-2); the
//!   environment is asked for the first variable of each other class, in every cycle (CLOCK-3, ENV-5).

use rml_base::{EntityId, Graph, IndexVec, Sets, components, entity_id};

use super::{Eq, Flat, Rhs, Var};
use crate::check::checked;

entity_id!(
    /// A clock class.
    ClassId,
    "clock"
);

/// Something that determines in which cycles a class is present.
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
    /// Nothing: where the result of this sampling or an operand of this merge is present, so is the condition. That
    /// decides nothing, but it may be known before the condition is.
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
        let mut sets = Sets::new(flat.vars.len());
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
            synchrony.pairs().for_each(|(a, b)| sets.join(a.index(), b.index()));
            for sample in &synchrony.samples {
                drivers.push(Driver { var: sample.var, eq: Some(eq), by: By::Condition(sample.cond) });
            }
            if let Some(sample) = synchrony.samples.first() {
                backward.push(Driver { var: sample.cond, eq: Some(eq), by: By::Backward(eq) });
            }
        }
        let edges = drivers.iter().filter_map(|driver| match driver.by {
            By::Condition(cond) => Some((cond, driver.var)),
            By::Input | By::Offer(_) | By::Backward(_) => None,
        });
        join_circles(&mut sets, flat.vars.len(), edges);
        let mut classes = Self::of_sets(sets, flat.vars.len());
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
    fn of_sets(mut sets: Sets, n: usize) -> Self {
        sets.flatten();
        let mut of: IndexVec<Var, ClassId> = IndexVec::filled(ClassId::from_index(0), n);
        let mut starts = vec![0];
        for v in of.ids() {
            let root = Var::from_index(sets.root(v.index()));
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

    /// Whether a driver samples or merges by a condition of its own class, so that it says nothing about where that is
    /// present.
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

/// Joins the sets of `n` variables that lead to each other by edges from the first variable to the second.
fn join_circles(sets: &mut Sets, n: usize, edges: impl Iterator<Item = (Var, Var)>) {
    sets.flatten();
    let edges = edges.map(|(from, to)| (sets.root(from.index()), sets.root(to.index()))).collect();
    let graph = Graph::new(n, edges);
    for circle in components(n, |v, i| graph.of(v).get(i).copied().map(Some)).members {
        circle.windows(2).for_each(|pair| sets.join(pair[0], pair[1]));
    }
}

/// Checks C1 to C3 for the equations of the kept variables; one line for each violation. Shares no code with what makes
/// the classes: the rule of each primitive is written out once more.
pub fn verify(flat: &Flat, classes: &ClockClasses, kept: &dyn Fn(Var) -> bool) -> Result<(), Vec<String>> {
    let rules = Rules::of(flat, kept);
    let mut found = rules.members(classes);
    let listed = classes.drivers.iter().filter_map(|d| match d.by {
        By::Input | By::Offer(_) => Some((d.var, None)),
        By::Condition(cond) => Some((d.var, Some(cond))),
        By::Backward(_) => None,
    });
    if !listed.eq(rules.decides.iter().copied()) {
        found.push("C2: the drivers are not those of the equations".to_owned());
    }
    if found.is_empty() {
        let mut driven = vec![false; classes.len()];
        for (v, cond) in &rules.decides {
            driven[classes.of(*v).index()] |= cond.is_none_or(|cond| classes.of(cond) != classes.of(*v));
        }
        if !driven.iter().eq(classes.driven.iter()) {
            found.push("C3: the wrong classes are asked for".to_owned());
        }
    }
    if found.is_empty() { Ok(()) } else { Err(found) }
}

/// The first variable of each class.
fn firsts(classes: &ClockClasses) -> IndexVec<ClassId, Option<Var>> {
    let mut firsts = IndexVec::filled(None, classes.len());
    for (v, class) in classes.of.iter_enumerated() {
        firsts[*class] = firsts[*class].or(Some(v));
    }
    firsts
}

/// What the equations say about presence.
struct Rules {
    /// By variable, those that it is present with.
    ties: IndexVec<Var, Vec<Var>>,
    /// What is present at most where the condition is; none for an input.
    decides: Vec<(Var, Option<Var>)>,
}

impl Rules {
    fn of(flat: &Flat, kept: &dyn Fn(Var) -> bool) -> Self {
        let mut ties: IndexVec<Var, Vec<Var>> = IndexVec::filled(Vec::new(), flat.vars.len());
        let mut decides: Vec<(Var, Option<Var>)> =
            flat.inputs.iter().map(|input| (input.var, None)).collect();
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
        Self { ties, decides }
    }

    /// C1: in a class each variable leads to each other one, no tie leads out of it, and no way that leads out comes
    /// back.
    fn members(&self, classes: &ClockClasses) -> Vec<String> {
        let mut found = Vec::new();
        let crosses = |v: Var| self.ties[v].iter().any(|w| classes.of(*w) != classes.of(v));
        for v in self.ties.ids().filter(|v| crosses(*v)) {
            found.push(format!("C1: {v} is not in the class of what it is present with"));
        }
        let firsts = firsts(classes);
        let is_listed = |v: Var| classes.members(classes.of(v)).binary_search(&v).is_ok();
        let numbered = firsts.iter().all(Option::is_some) && firsts.iter().is_sorted();
        if !numbered || !self.ties.ids().all(is_listed) || classes.members.len() != self.ties.len() {
            found.push("C1: the classes are not numbered by their first variables".to_owned());
        }
        for backward in [false, true] {
            let apart = self.unreached(classes, backward);
            found.extend(apart.map(|v| format!("C1: {v} is in the class of what it is not present with")));
        }
        if self.has_circle(classes) {
            found.push("C1: classes that drive each other are not one".to_owned());
        }
        found
    }

    /// The variables to which no way in their class leads from its first one; backward, from which none leads there.
    fn unreached(&self, classes: &ClockClasses, backward: bool) -> impl Iterator<Item = Var> {
        let mut edges = self.ties.clone();
        for (v, cond) in &self.decides {
            let Some(cond) = cond else { continue };
            let (from, to) = if backward { (*v, *cond) } else { (*cond, *v) };
            edges[from].push(to);
        }
        let mut reached = IndexVec::filled(false, edges.len());
        let mut pending: Vec<Var> = firsts(classes).iter().flatten().copied().collect();
        while let Some(v) = pending.pop() {
            if !std::mem::replace(&mut reached[v], true) {
                pending.extend(edges[v].iter().filter(|w| classes.of(**w) == classes.of(v)));
            }
        }
        let ids = edges.ids();
        ids.filter(move |v| !reached[*v])
    }

    /// Whether classes drive each other: taking away, again and again, those that no other one drives leaves some.
    fn has_circle(&self, classes: &ClockClasses) -> bool {
        let mut drives: IndexVec<ClassId, Vec<ClassId>> = IndexVec::filled(Vec::new(), classes.len());
        let mut waits: IndexVec<ClassId, usize> = IndexVec::filled(0, classes.len());
        for (v, cond) in &self.decides {
            let Some(by) = cond.map(|cond| classes.of(cond)) else { continue };
            if by != classes.of(*v) {
                drives[by].push(classes.of(*v));
                waits[classes.of(*v)] += 1;
            }
        }
        let mut pending: Vec<ClassId> = classes.ids().filter(|class| waits[*class] == 0).collect();
        let mut left = classes.len();
        while let Some(class) = pending.pop() {
            left -= 1;
            for next in &drives[class] {
                waits[*next] -= 1;
                if waits[*next] == 0 {
                    pending.push(*next);
                }
            }
        }
        left > 0
    }
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

    /// `b = a when c; d = merge b 1 a`-like: `v0`, `v1` and `v2` drive `v3`, and `v3` with `v4` drives them.
    const CIRCLE: &str = r#"flat f32 "m"
output v5
var v0 int [] "n"
var v1 bool [] "c"
var v2 int [] "k"
var v3 bool [] "b"
var v4 int [] "other"
var v5 int [] "o"
const k0 int [] = 1
const k1 bool [] = true
v0 = fby k0 v2
v1 = const k1
v2 = if v1 v0 v0
v3 = when v1 v1
v4 = const k0
v5 = merge v3 v2 v4
state "n" eq0
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
    fn c1_classes_that_drive_each_other_are_one() {
        let flat = super::super::parse(CIRCLE).unwrap();
        let classes = ClockClasses::new(&flat);
        assert_eq!(classes.len(), 2);
        assert_eq!(classes.free_representatives(), [Var(0)]);
        let n = flat.vars.len();
        let mut apart = Sets::new(n);
        [(0, 2), (1, 2), (3, 5)].into_iter().for_each(|(a, b)| apart.join(a, b));
        let apart = ClockClasses { drivers: classes.drivers.clone(), ..ClockClasses::of_sets(apart, n) };
        let found = verify(&flat, &apart, &|_| true).expect_err("a circle of classes");
        assert!(found.iter().any(|line| line.starts_with("C1: classes that drive")), "{found:?}");
        let mut whole = Sets::new(n);
        (0..5).for_each(|v| whole.join(v, v + 1));
        let whole = ClockClasses { drivers: classes.drivers.clone(), ..ClockClasses::of_sets(whole, n) };
        let found = verify(&flat, &whole, &|_| true).expect_err("a class with what it drives");
        assert!(found.iter().any(|line| line.starts_with("C1: v4 is in the class")), "{found:?}");
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
