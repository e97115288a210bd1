//! Functions of conditions as decision diagrams: two functions are equal if and only if they have the same number.

use indexmap::IndexMap;

/// A function of conditions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Function(u32);

impl Function {
    pub(super) const NEVER: Function = Function(0);
    pub(super) const ALWAYS: Function = Function(1);

    /// The constant function.
    pub(super) fn constant(value: bool) -> Function {
        if value { Function::ALWAYS } else { Function::NEVER }
    }
}

/// A function that tests one condition first: its values if that condition is false, and if it is true. Conditions are
/// tested in the order of their numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Test {
    condition: u32,
    if_false: Function,
    if_true: Function,
}

/// The maximum number of functions, and the maximum depth. Both limits are higher than those of inference, so every
/// condition that inference decomposes is decomposed here, too.
const MOST: usize = 400_000;
const DEEPEST: usize = 1500;

/// A number of functions, and a depth, up to which inference certainly decomposes them.
const FEW: usize = 100_000;
const SHALLOW: usize = 500;

/// All functions of a program.
#[derive(Debug)]
pub(super) struct Functions {
    /// The tests of functions, by number. The first two functions are the constants, whose tests are never read.
    tests: Vec<Test>,
    numbers: IndexMap<Test, Function>,
    choices: IndexMap<[Function; 3], Function>,
    conditions: u32,
    deepest: usize,
}

impl Functions {
    pub(super) fn new() -> Functions {
        let constant = |f| Test { condition: u32::MAX, if_false: f, if_true: f };
        Functions {
            tests: vec![constant(Function::NEVER), constant(Function::ALWAYS)],
            numbers: IndexMap::new(),
            choices: IndexMap::new(),
            conditions: 0,
            deepest: 0,
        }
    }

    /// A condition about which nothing is known.
    pub(super) fn fresh(&mut self) -> Function {
        let condition = self.conditions;
        self.conditions += 1;
        self.numbered(Test { condition, if_false: Function::NEVER, if_true: Function::ALWAYS })
    }

    /// Whether all functions are also small enough for inference.
    pub(super) fn are_small(&self) -> bool {
        self.tests.len() < FEW && self.deepest < SHALLOW
    }

    fn numbered(&mut self, test: Test) -> Function {
        let next = Function(u32::try_from(self.tests.len()).expect("fewer functions than 2^32"));
        let number = *self.numbers.entry(test).or_insert(next);
        if number == next {
            self.tests.push(test);
        }
        number
    }

    /// `if c then a else b`; `None` if that is too large.
    pub(super) fn choose(&mut self, c: Function, a: Function, b: Function) -> Option<Function> {
        self.choose_at(c, a, b, 0)
    }

    fn choose_at(&mut self, c: Function, a: Function, b: Function, depth: usize) -> Option<Function> {
        self.deepest = self.deepest.max(depth);
        if depth > DEEPEST || self.tests.len() > MOST {
            return None;
        }
        if c == Function::ALWAYS || a == b {
            return Some(a);
        }
        if c == Function::NEVER {
            return Some(b);
        }
        if let Some(known) = self.choices.get(&[c, a, b]) {
            return Some(*known);
        }
        let of = |f: Function| self.tests[f.0 as usize];
        let condition = of(c).condition.min(of(a).condition).min(of(b).condition);
        let halves = [c, a, b].map(|f| match of(f) {
            test if test.condition == condition => [test.if_false, test.if_true],
            _ => [f, f],
        });
        let [if_false, if_true] = [0, 1].map(|i| halves.map(|half| half[i]));
        let if_false = self.choose_at(if_false[0], if_false[1], if_false[2], depth + 1)?;
        let if_true = self.choose_at(if_true[0], if_true[1], if_true[2], depth + 1)?;
        let chosen = match if_false == if_true {
            true => if_true,
            false => self.numbered(Test { condition, if_false, if_true }),
        };
        self.choices.insert([c, a, b], chosen);
        Some(chosen)
    }

    pub(super) fn not(&mut self, a: Function) -> Option<Function> {
        self.choose(a, Function::NEVER, Function::ALWAYS)
    }

    pub(super) fn and(&mut self, a: Function, b: Function) -> Option<Function> {
        self.choose(a, b, Function::NEVER)
    }

    pub(super) fn or(&mut self, a: Function, b: Function) -> Option<Function> {
        self.choose(a, Function::ALWAYS, b)
    }

    /// The function that is true where both functions have the same value.
    pub(super) fn equal(&mut self, a: Function, b: Function) -> Option<Function> {
        let not_b = self.not(b)?;
        self.choose(a, b, not_b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn laws_of_conditions() {
        let mut f = Functions::new();
        let [a, b, c] = [f.fresh(), f.fresh(), f.fresh()];
        let not_a = f.not(a).unwrap();
        assert_eq!(f.not(not_a), Some(a));
        assert_eq!(f.and(a, not_a), Some(Function::NEVER));
        assert_eq!(f.or(a, not_a), Some(Function::ALWAYS));
        let (ab, ac, b_or_c) = (f.and(a, b).unwrap(), f.and(c, a).unwrap(), f.or(c, b).unwrap());
        assert_eq!(f.or(ab, ac), f.and(a, b_or_c));
        assert_ne!(f.or(ab, ac), f.or(a, b_or_c));
        let same = f.equal(a, b).unwrap();
        assert_eq!(f.equal(b, a), Some(same));
        assert_ne!(same, Function::ALWAYS);
        assert_eq!(f.equal(ab, ab), Some(Function::ALWAYS));
    }

    #[test]
    fn what_is_too_deep_is_not_made() {
        let mut f = Functions::new();
        let conditions: Vec<Function> = (0..DEEPEST + 10).map(|_| f.fresh()).collect();
        let all = conditions.iter().try_fold(Function::NEVER, |all, c| f.equal(all, *c));
        assert_eq!(all, None);
        assert!(!f.are_small());
    }
}
