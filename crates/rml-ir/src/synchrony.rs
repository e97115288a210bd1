//! What a single equation implies about the presence of its variables; shared by the flat and the normal form.

use crate::normal::Var;
use crate::{flat, normal};

/// That a variable is present exactly where a condition has a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sample {
    /// The variable.
    pub var: Var,
    /// The condition.
    pub cond: Var,
    /// The value.
    pub positive: bool,
}

/// What one equation says about where its variables are present (CLOCK-1, WHEN-1, MERGE-2).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Synchrony {
    /// Variables that are present in the same cycles; what is defined stands first if it is one of them.
    pub together: Vec<Var>,
    /// Variables that are present where a condition says so.
    pub samples: Vec<Sample>,
}

impl Synchrony {
    /// Pairs that connect all variables that are present together.
    pub fn pairs(&self) -> impl Iterator<Item = (Var, Var)> {
        let first = self.together.first().copied();
        first.into_iter().flat_map(|first| self.together[1..].iter().map(move |v| (first, *v)))
    }

    /// All variables are present together: operators, `if`, delays, parameters.
    fn alike(defined: &[Var], operands: impl FnOnce(&mut dyn FnMut(Var))) -> Self {
        let mut together = defined.to_vec();
        operands(&mut |v| together.push(v));
        Self { together, samples: Vec::new() }
    }

    fn when(defined: Var, value: Var, cond: Var) -> Self {
        Self { together: vec![value, cond], samples: vec![Sample { var: defined, cond, positive: true }] }
    }

    fn merge(defined: Var, cond: Var, on_true: Var, on_false: Var) -> Self {
        let branches = [(on_true, true), (on_false, false)];
        let samples = branches.map(|(var, positive)| Sample { var, cond, positive });
        Self { together: vec![defined, cond], samples: samples.to_vec() }
    }
}

impl flat::Equation {
    /// What it says about where its variables are present. The ends of windows have clocks of their own.
    pub fn synchrony(&self) -> Synchrony {
        match &self.rhs {
            flat::Rhs::When { value, cond } => Synchrony::when(self.lhs, *value, *cond),
            flat::Rhs::Merge { cond, on_true, on_false } => {
                Synchrony::merge(self.lhs, *cond, *on_true, *on_false)
            }
            rhs => Synchrony::alike(&[self.lhs], |each| rhs.for_each_operand(each)),
        }
    }
}

impl normal::Equation {
    /// What it says about where its variables are present; of a call only its callee knows.
    pub fn synchrony(&self) -> Synchrony {
        match (&self.rhs, self.lhs.first()) {
            (normal::Rhs::Call { .. }, _) | (_, None) => Synchrony::default(),
            (normal::Rhs::When { value, cond }, Some(o)) => Synchrony::when(*o, *value, *cond),
            (normal::Rhs::Merge { cond, on_true, on_false }, Some(o)) => {
                Synchrony::merge(*o, *cond, *on_true, *on_false)
            }
            (normal::Rhs::ParamUpdate { init, bp, d, .. }, Some(o)) => Synchrony {
                together: vec![*o, *init, *bp],
                samples: vec![Sample { var: *d, cond: *bp, positive: true }],
            },
            (rhs, Some(_)) => Synchrony::alike(&self.lhs, |each| rhs.for_each_operand(each)),
        }
    }
}
