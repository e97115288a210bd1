//! Clock classes: sets of variables that the equations force to be present in exactly the same cycles, by their form
//! alone. Not a clock calculus: nothing is inferred about conditions, and an ill-clocked program has classes too.
//!
//! All variables of an operator, an `if`, a delay or a parameter are in one class; so are sampled value and condition of
//! `when`, and result and condition of `merge`. A class is *driven* if it holds an input, or the result of a `when` or a branch
//! of a `merge` by a condition of another class; the others are *free*, and the environment asks for them in every cycle (CLOCK-1,
//! CLOCK-2, CLOCK-3, ENV-5).

use rml_base::{EntityId, IndexVec, entity_id};
use rml_ir::flat::{Equation, Flat, Init, Rhs, Var};

entity_id!(
    /// A clock class.
    ClassId,
    "clock"
);

/// The clock classes of a program.
#[derive(Clone, Debug)]
pub struct ClockClasses {
    of: IndexVec<Var, ClassId>,
    members: IndexVec<ClassId, Vec<Var>>,
    driven: IndexVec<ClassId, bool>,
}

impl ClockClasses {
    /// The classes of `flat`, numbered by their first variable.
    pub fn new(flat: &Flat) -> ClockClasses {
        let mut sets = Sets::new(flat.vars.len());
        for eq in flat.equations.iter() {
            for_each_synchronous_pair(eq, |a, b| sets.union(a, b));
        }
        let mut class_of_root: IndexVec<Var, Option<ClassId>> = IndexVec::filled(None, flat.vars.len());
        let mut of = IndexVec::new();
        let mut members: IndexVec<ClassId, Vec<Var>> = IndexVec::new();
        for v in flat.vars.ids() {
            let root = sets.find(v);
            let class = *class_of_root[root].get_or_insert_with(|| members.push(Vec::new()));
            of.push(class);
            members[class].push(v);
        }
        let mut driven = IndexVec::filled(false, members.len());
        for input in &flat.inputs {
            driven[of[input.var]] = true;
        }
        for (v, cond) in flat.equations.iter().flat_map(driven_by) {
            driven[of[v]] |= of[v] != of[cond];
        }
        ClockClasses { of, members, driven }
    }

    /// The class of a variable.
    pub fn of(&self, v: Var) -> ClassId {
        self.of[v]
    }

    /// How many classes there are.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether the program has no variable.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// All classes.
    pub fn ids(&self) -> impl Iterator<Item = ClassId> + use<> {
        self.members.ids()
    }

    /// The variables of a class, in order.
    pub fn members(&self, class: ClassId) -> &[Var] {
        &self.members[class]
    }

    /// Whether something decides when the class is present.
    pub fn is_driven(&self, class: ClassId) -> bool {
        self.driven[class]
    }

    /// One variable of each free class: what the environment asks for in every cycle.
    pub fn free_representatives(&self) -> Vec<Var> {
        self.members
            .iter_enumerated()
            .filter(|(c, _)| !self.driven[*c])
            .filter_map(|(_, m)| m.first().copied())
            .collect()
    }
}

/// Calls `f` with pairs that connect all variables of `eq` that are present together.
pub(crate) fn for_each_synchronous_pair(eq: &Equation, mut f: impl FnMut(Var, Var)) {
    let init = |i: &Init| if let Init::Stream(v) = i { Some(*v) } else { None };
    match &eq.rhs {
        Rhs::Const(_) => {}
        Rhs::Apply { args, .. } => args.iter().for_each(|&x| f(eq.lhs, x)),
        Rhs::If { cond, then, other } => [*cond, *then, *other].into_iter().for_each(|x| f(eq.lhs, x)),
        Rhs::When { value, cond } => f(*value, *cond),
        Rhs::Merge { cond, .. } => f(eq.lhs, *cond),
        Rhs::Fby { init: i, next, .. } | Rhs::FbyBack { init: i, next, .. } => {
            f(eq.lhs, *next);
            if let Some(v) = init(i) {
                f(eq.lhs, v);
            }
        }
        Rhs::Post { next, .. } => f(eq.lhs, *next),
        Rhs::Param { init } => f(eq.lhs, *init),
    }
}

/// The variables whose presence `eq` decides by the value of a condition, each with the condition.
fn driven_by(eq: &Equation) -> Vec<(Var, Var)> {
    match &eq.rhs {
        Rhs::When { cond, .. } => vec![(eq.lhs, *cond)],
        Rhs::Merge { cond, on_true, on_false } => vec![(*on_true, *cond), (*on_false, *cond)],
        _ => Vec::new(),
    }
}

/// Disjoint sets of variables.
struct Sets {
    parent: IndexVec<Var, Var>,
}

impl Sets {
    fn new(len: usize) -> Sets {
        Sets { parent: (0..len).map(Var::from_index).collect() }
    }

    fn find(&mut self, mut v: Var) -> Var {
        while self.parent[v] != v {
            let up = self.parent[self.parent[v]];
            self.parent[v] = up;
            v = up;
        }
        v
    }

    /// The smaller root wins, so that the result does not depend on the order of equations.
    fn union(&mut self, a: Var, b: Var) {
        let (a, b) = (self.find(a), self.find(b));
        let (low, high) = if a < b { (a, b) } else { (b, a) };
        self.parent[high] = low;
    }
}
