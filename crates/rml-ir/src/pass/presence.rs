//! Which variables of a flat program are present together, and what says in which cycles they are.

use rml_base::EntityId;

use crate::flat::{Eq, Flat, Rhs, Var};

/// Something that says of a class of variables in which cycles it is present.
#[derive(Clone, Copy, Debug)]
pub(super) struct Driver {
    /// A member of the class.
    pub(super) var: Var,
    /// The equation that samples or merges it; none for an input.
    pub(super) eq: Option<Eq>,
    /// Where that is decided.
    pub(super) by: By,
}

/// What decides in which cycles a variable is present.
#[derive(Clone, Copy, PartialEq, std::cmp::Eq, PartialOrd, Ord, Debug)]
pub(super) enum By {
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

/// The classes of variables that are present together (CLOCK-1).
pub(super) struct Classes {
    parent: Vec<usize>,
    drivers: Vec<Driver>,
    driven: Vec<bool>,
}

impl Classes {
    /// The classes that the equations of those variables make.
    pub(super) fn new(flat: &Flat, kept: impl Fn(Var) -> bool) -> Self {
        let n = flat.vars.len();
        let mut classes = Self { parent: (0..n).collect(), drivers: Vec::new(), driven: vec![false; n] };
        for input in &flat.inputs {
            let by = if input.clock.is_some() { By::Offer(input.var) } else { By::Input };
            classes.drivers.push(Driver { var: input.var, eq: None, by });
        }
        let mut backward = Vec::new();
        for (eq, equation) in flat.equations.iter_enumerated().filter(|(_, e)| kept(e.lhs)) {
            let driver = |var, cond| Driver { var, eq: Some(eq), by: By::Condition(cond) };
            match &equation.rhs {
                Rhs::When { value, cond } => {
                    classes.join(*value, *cond);
                    classes.drivers.push(driver(equation.lhs, *cond));
                    backward.push(Driver { var: *cond, eq: Some(eq), by: By::Backward(eq) });
                }
                Rhs::Merge { cond, on_true, on_false } => {
                    classes.join(equation.lhs, *cond);
                    classes.drivers.extend([driver(*on_true, *cond), driver(*on_false, *cond)]);
                    backward.push(Driver { var: *cond, eq: Some(eq), by: By::Backward(eq) });
                }
                rhs => rhs.for_each_operand(|v| classes.join(equation.lhs, v)),
            }
        }
        for i in 0..n {
            classes.parent[i] = classes.find(i);
        }
        for i in 0..classes.drivers.len() {
            let driver = classes.drivers[i];
            let class = classes.class(driver.var);
            classes.driven[class] |= !classes.is_own(&driver);
        }
        classes.drivers.extend(backward);
        classes
    }

    fn find(&mut self, mut i: usize) -> usize {
        while self.parent[i] != i {
            self.parent[i] = self.parent[self.parent[i]];
            i = self.parent[i];
        }
        i
    }

    fn join(&mut self, a: Var, b: Var) {
        let (a, b) = (self.find(a.index()), self.find(b.index()));
        self.parent[a.max(b)] = a.min(b);
    }

    /// The representative of a variable's class.
    pub(super) fn class(&self, var: Var) -> usize {
        self.parent[var.index()]
    }

    /// All drivers, in order.
    pub(super) fn drivers(&self) -> &[Driver] {
        &self.drivers
    }

    /// Whether a driver samples or merges all cycles of its own clock, so that it says nothing about that.
    pub(super) fn is_own(&self, driver: &Driver) -> bool {
        matches!(driver.by, By::Condition(cond) if self.class(cond) == self.class(driver.var))
    }

    /// Whether an input or a sampling by a condition of another class says where the members of a class are present; else they are in every cycle.
    pub(super) fn is_driven(&self, class: usize) -> bool {
        self.driven[class]
    }
}
