//! Finds the variables that have a value wherever they are present, in every trace, and the classes whose presence is
//! known in every cycle.
//!
//! Functions are strict: `false and x` waits for `x`. So a pass that removes `x` from an equation must know that `x` is
//! always determined: that it needs no later cycle, and never itself in one cycle.

use rml_base::EntityId;

use crate::flat::{By, ClassId, ClockClasses, Flat, Init, Rhs, Var};

/// What to assume of operators that may have no result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Failures {
    /// That they have one.
    Never,
    /// That they may have none.
    Possible,
}

/// What every trace determines that meets no error.
pub(super) struct Determined {
    /// By variable, then by class, then by driver.
    known: Vec<bool>,
    vars: usize,
}

impl Determined {
    /// Finds out what the equations of the kept variables determine. `conditions` are the values of those that are
    /// constant.
    pub(super) fn new(
        flat: &Flat,
        classes: &ClockClasses,
        kept: impl Fn(Var) -> bool,
        conditions: &[Option<bool>],
        failures: Failures,
    ) -> Self {
        let vars = flat.vars.len();
        let count = 2 * vars + classes.drivers().len();
        let (list, fails) = (Vec::new(), vec![false; count]);
        let mut needs = Needs { flat, classes, conditions, failures, list, fails };
        for equation in flat.equations.iter().filter(|e| kept(e.lhs)) {
            needs.equation(equation.lhs, &equation.rhs);
        }
        needs.presences();
        Self { known: Graph::new(&needs.list, count).solve(needs.fails), vars }
    }

    /// Whether a variable has a value wherever it is known to be present.
    pub(super) fn has_value(&self, var: Var) -> bool {
        self.known[var.index()]
    }

    /// Whether it is known in every cycle if the members of a class are present.
    pub(super) fn is_timed(&self, class: ClassId) -> bool {
        self.known[self.vars + class.index()]
    }
}

/// How one thing needs another.
#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    /// In the same cycle.
    Now,
    /// In the same cycle, this or another one like it.
    Either,
    /// In all earlier cycles.
    Before,
}

/// That one thing needs another.
struct Need {
    from: usize,
    to: usize,
    when: When,
}

/// Who needs what, by what is needed.
struct Graph {
    starts: Vec<usize>,
    readers: Vec<(usize, When)>,
    /// How much each needs in the same cycle.
    waits: Vec<usize>,
}

impl Graph {
    fn new(list: &[Need], count: usize) -> Self {
        let (mut waits, mut starts) = (vec![0; count], vec![0; count + 1]);
        let mut has_choice = vec![false; count];
        for need in list {
            starts[need.to + 1] += 1;
            match need.when {
                When::Now => waits[need.from] += 1,
                When::Either => has_choice[need.from] = true,
                When::Before => {}
            }
        }
        for (waits, has_choice) in waits.iter_mut().zip(has_choice) {
            *waits += usize::from(has_choice);
        }
        for i in 0..count {
            starts[i + 1] += starts[i];
        }
        let mut readers = vec![(0, When::Now); list.len()];
        let mut next = starts.clone();
        for need in list {
            readers[next[need.to]] = (need.from, need.when);
            next[need.to] += 1;
        }
        Self { starts, readers, waits }
    }

    fn readers(&self, of: usize) -> &[(usize, When)] {
        &self.readers[self.starts[of]..self.starts[of + 1]]
    }

    /// What holds of everything that needs nothing that fails, and never itself in one cycle: by induction on the
    /// cycles, and in each on the order in which things are reached.
    fn solve(&self, mut fails: Vec<bool>) -> Vec<bool> {
        const ROUNDS: usize = 8;
        for _ in 0..ROUNDS {
            let failing: Vec<usize> = {
                let reached = self.reached(&fails);
                (0..fails.len()).filter(|&i| !reached[i] && !fails[i]).collect()
            };
            failing.iter().for_each(|&i| fails[i] = true);
            if !self.spread(&mut fails, |when| when == When::Before) && failing.is_empty() {
                break;
            }
        }
        // After as many rounds nothing is taken for known about which one alternative fails.
        if self.reached(&fails).iter().zip(&fails).any(|(reached, fails)| reached == fails) {
            self.spread(&mut fails, |_| true);
        }
        fails.into_iter().map(|fails| !fails).collect()
    }

    /// What does not fail if everything that is needed of earlier cycles is present.
    fn reached(&self, fails: &[bool]) -> Vec<bool> {
        let mut waits = self.waits.clone();
        let mut reached = vec![false; fails.len()];
        let mut pending: Vec<usize> = (0..fails.len()).filter(|&i| waits[i] == 0).collect();
        while let Some(i) = pending.pop() {
            if fails[i] || std::mem::replace(&mut reached[i], true) {
                continue;
            }
            for &(reader, when) in self.readers(i) {
                match when {
                    When::Now => waits[reader] -= 1,
                    When::Either => waits[reader] = 0,
                    When::Before => continue,
                }
                if waits[reader] == 0 {
                    pending.push(reader);
                }
            }
        }
        reached
    }

    /// Lets all fail that needs in one of these ways what fails; whether there are more than before.
    fn spread(&self, fails: &mut [bool], follows: impl Fn(When) -> bool) -> bool {
        let mut any = false;
        let mut pending: Vec<usize> = (0..fails.len()).filter(|&i| fails[i]).collect();
        while let Some(i) = pending.pop() {
            for &(reader, _) in self.readers(i).iter().filter(|(_, when)| follows(*when)) {
                if !std::mem::replace(&mut fails[reader], true) {
                    any = true;
                    pending.push(reader);
                }
            }
        }
        any
    }
}

/// Collects what variables and classes need.
struct Needs<'a> {
    flat: &'a Flat,
    classes: &'a ClockClasses,
    conditions: &'a [Option<bool>],
    failures: Failures,
    list: Vec<Need>,
    fails: Vec<bool>,
}

impl Needs<'_> {
    fn now(&mut self, lhs: Var, to: Var) {
        self.list.push(Need { from: lhs.index(), to: to.index(), when: When::Now });
    }

    fn presence(&self, var: Var) -> usize {
        self.flat.vars.len() + self.classes.of(var).index()
    }

    fn before(&mut self, lhs: Var, value_of: Var, present: Var) {
        for to in [value_of.index(), self.presence(present)] {
            self.list.push(Need { from: lhs.index(), to, when: When::Before });
        }
    }

    fn equation(&mut self, lhs: Var, rhs: &Rhs) {
        match rhs {
            Rhs::Const(_) => {}
            Rhs::Apply { op, args } => {
                args.iter().for_each(|arg| self.now(lhs, *arg));
                let dtypes = args.iter().map(|arg| self.flat.vars[*arg].ty.dtype);
                if self.failures == Failures::Possible && op.may_fail(dtypes) {
                    self.fails[lhs.index()] = true;
                }
            }
            Rhs::If { cond, then: yes, other: no } | Rhs::Merge { cond, on_true: yes, on_false: no } => {
                self.now(lhs, *cond);
                let taken = self.conditions[cond.index()];
                for (branch, at) in [(*yes, true), (*no, false)] {
                    if taken != Some(!at) {
                        self.now(lhs, branch);
                    }
                }
            }
            Rhs::When { value, cond } => {
                self.now(lhs, *cond);
                self.now(lhs, *value);
            }
            Rhs::Fby { init, next, window } => {
                self.before(lhs, *next, lhs);
                if let Init::Stream(init) = init {
                    self.now(lhs, *init);
                }
                let mut window = *window;
                while let Some(w) = window {
                    let end = self.flat.windows[w].end;
                    self.before(lhs, end, end);
                    window = self.flat.windows[w].parent;
                }
            }
            // The beginning of an endless trace does not have their last value.
            Rhs::FbyBack { .. } | Rhs::Post { .. } => self.fails[lhs.index()] = true,
            Rhs::Param { init } => self.now(lhs, *init),
        }
    }

    /// Adds what the presence of each class needs: the condition of one of the samplings and merges that decide it. A
    /// class with an input needs nothing, nor does one that nothing decides.
    fn presences(&mut self) {
        let (n, classes) = (self.flat.vars.len(), self.classes);
        let mut given = vec![false; n];
        let mut decided = vec![false; n];
        for driver in classes.drivers().iter().filter(|d| d.by == By::Input) {
            given[classes.of(driver.var).index()] = true;
        }
        for (k, driver) in classes.drivers().iter().enumerate() {
            let class = classes.of(driver.var).index();
            let By::Condition(cond) = driver.by else { continue };
            if given[class] || classes.is_own(driver) {
                continue;
            }
            decided[class] = true;
            self.list.push(Need { from: n + class, to: 2 * n + k, when: When::Either });
            for to in [cond.index(), self.presence(cond)] {
                self.list.push(Need { from: 2 * n + k, to, when: When::Now });
            }
        }
        for class in classes.ids().filter(|&class| classes.is_driven(class)).map(|class| class.index()) {
            self.fails[n + class] |= !given[class] && !decided[class];
        }
    }
}
