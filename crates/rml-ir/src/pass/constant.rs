//! Which conditions of a flat program are constant, through instances, delays and circles of equations.

use rml_base::EntityId;

use crate::flat::{ConstId, ConstKind, Flat, Init, Rhs, Var};
use crate::op::Op;

/// What is known about a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fact {
    /// Nothing says anything else yet.
    Any,
    /// It has this value wherever it has one.
    Always(bool),
    /// It may have different values, or is no condition.
    Varies,
}

impl Fact {
    /// What holds of a stream that takes its values from two.
    fn or(self, other: Fact) -> Fact {
        match (self, other) {
            (Fact::Any, fact) | (fact, Fact::Any) => fact,
            (a, b) if a == b => a,
            _ => Fact::Varies,
        }
    }

    /// `and` (`dominant` false) or `or` (`dominant` true).
    fn connected(self, other: Fact, dominant: bool) -> Fact {
        match (self, other) {
            (Fact::Always(a), _) | (_, Fact::Always(a)) if a == dominant => Fact::Always(dominant),
            (Fact::Always(_), fact) | (fact, Fact::Always(_)) => fact,
            (Fact::Varies, _) | (_, Fact::Varies) => Fact::Varies,
            (Fact::Any, Fact::Any) => Fact::Any,
        }
    }
}

/// For each variable the one value that it has in all cycles, if it is a condition and has one.
///
/// A delay whose initial value and operand are the same constant is that constant, and so is one that only hands its
/// own value on: by induction on the cycles, in the direction of the delay. `post` has no initial value and counts as
/// varying.
pub(super) fn conditions(flat: &Flat) -> Vec<Option<bool>> {
    let n = flat.vars.len();
    let mut facts = vec![Fact::Any; n];
    for input in &flat.inputs {
        facts[input.var.index()] = Fact::Varies;
    }
    let mut readers: Vec<Vec<usize>> = vec![Vec::new(); n];
    for (i, equation) in flat.equations.iter().enumerate() {
        equation.rhs.for_each_operand(|v| readers[v.index()].push(i));
    }
    let mut pending: Vec<usize> = (0..flat.equations.len()).rev().collect();
    while let Some(i) = pending.pop() {
        let equation = &flat.equations.as_slice()[i];
        let old = facts[equation.lhs.index()];
        // A fact only ever gets weaker, so that this ends.
        let new = old.or(fact(flat, &facts, &equation.rhs));
        if new != old {
            facts[equation.lhs.index()] = new;
            pending.extend(&readers[equation.lhs.index()]);
        }
    }
    let known = |fact: &Fact| if let Fact::Always(value) = fact { Some(*value) } else { None };
    facts.iter().map(known).collect()
}

fn fact(flat: &Flat, facts: &[Fact], rhs: &Rhs) -> Fact {
    let of = |v: &Var| facts[v.index()];
    let constant = |k: ConstId| match &flat.consts[k].kind {
        ConstKind::Value(value) => value.as_bool().map_or(Fact::Varies, Fact::Always),
        ConstKind::Random(_) | ConstKind::Apply { .. } => Fact::Varies,
    };
    match rhs {
        Rhs::Const(k) => constant(*k),
        Rhs::Apply { op, args } => match (op, args.as_slice()) {
            (Op::Copy, [x]) => of(x),
            (Op::Not, [x]) => match of(x) {
                Fact::Always(value) => Fact::Always(!value),
                fact => fact,
            },
            (Op::And, [x, y]) => of(x).connected(of(y), false),
            (Op::Or, [x, y]) => of(x).connected(of(y), true),
            _ => Fact::Varies,
        },
        Rhs::If { cond, then, other } => branch(of(cond), of(then), of(other)),
        Rhs::Merge { cond, on_true, on_false } => branch(of(cond), of(on_true), of(on_false)),
        Rhs::When { value, .. } => of(value),
        Rhs::Fby { init, next, .. } | Rhs::FbyBack { init, next, .. } => match init {
            Init::Const(k) => constant(*k).or(of(next)),
            Init::Stream(v) => of(v).or(of(next)),
        },
        Rhs::Post { .. } | Rhs::Param { .. } => Fact::Varies,
    }
}

fn branch(cond: Fact, on_true: Fact, on_false: Fact) -> Fact {
    match cond {
        Fact::Any => Fact::Any,
        Fact::Always(true) => on_true,
        Fact::Always(false) => on_false,
        Fact::Varies => on_true.or(on_false),
    }
}
