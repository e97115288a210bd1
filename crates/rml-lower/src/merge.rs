//! Loops without edges: a first or last tick that differs from the others in operands alone is one pass of the loop.
//!
//! The first tick of an LSTM computes `mul(forget, k0)`, each later one `mul(forget, c[t-1])`. An operand that is `k0`
//! at the first tick and `c[t-1]` after it makes them the same, and the loop runs at all ticks: the value that it
//! carries starts with `k0`.

use rml_plan::{Atom, Case, Plan, Rule, Tape, Tick};

/// An operand that differs from tick to tick: what it is in which ticks. In others it does not count.
pub(crate) type Varied = Vec<(usize, usize, Atom)>;

/// Cases over all ticks, with operands that differ in the place of tapes behind those of the plan.
#[derive(Debug, Default)]
pub(crate) struct Merged {
    pub(crate) cases: Vec<(Tape, Case)>,
    pub(crate) varied: Vec<Varied>,
}

impl Merged {
    /// One case for all ticks of a tape, out of those at some of them, in order; whether there is one.
    pub(crate) fn add(
        &mut self,
        plan: &Plan,
        tape: Tape,
        found: &[(usize, usize, &Case)],
        ticks: usize,
    ) -> bool {
        let Some((_, _, first)) = found.first() else { return true };
        let everywhere = found.iter().map(|(from, to, _)| to - from).sum::<usize>() == ticks;
        let alike = found.iter().all(|(_, _, case)| is_alike(first, case));
        if !alike || !everywhere && may_fail(&first.rule, plan) {
            return false;
        }
        let mut merged = (*first).clone();
        let operands: Vec<(usize, usize, Vec<Atom>)> =
            found.iter().map(|(from, to, case)| (*from, *to, case.reads().collect())).collect();
        let mut at = 0;
        let mut vary = |atom: &mut Atom| {
            let all: Varied = operands.iter().map(|(from, to, atoms)| (*from, *to, atoms[at])).collect();
            at += 1;
            let is_near = matches!(atom, Atom::Tape(_, Tick::Before | Tick::After));
            if all.iter().any(|(_, _, other)| other != atom) || is_near && !everywhere {
                *atom = self.varied(plan, all);
            }
        };
        merged.when.iter_mut().for_each(|guard| vary(&mut guard.cond));
        merged.rule.for_each_operand_mut(vary);
        self.cases.push((tape, merged));
        true
    }

    fn varied(&mut self, plan: &Plan, varied: Varied) -> Atom {
        let at = self.varied.iter().position(|v| *v == varied).unwrap_or_else(|| {
            self.varied.push(varied);
            self.varied.len() - 1
        });
        let tape = u32::try_from(plan.tapes.len() + at).unwrap_or(u32::MAX);
        Atom::Tape(Tape(tape), Tick::Now)
    }
}

/// Whether two cases differ in their operands alone.
fn is_alike(a: &Case, b: &Case) -> bool {
    let rules = match (&a.rule, &b.rule) {
        (Rule::Apply { op, args }, Rule::Apply { op: other, args: more }) => {
            op == other && args.len() == more.len()
        }
        (Rule::Restart { ends, .. }, Rule::Restart { ends: more, .. }) => ends.len() == more.len(),
        (Rule::Product { .. }, Rule::Product { .. })
        | (Rule::Copy(_), Rule::Copy(_))
        | (Rule::Select { .. }, Rule::Select { .. }) => true,
        (Rule::Input(i), Rule::Input(j)) => i == j,
        (a, b) => a == b && !matches!(a, Rule::Sum { .. }),
    };
    rules && a.when.len() == b.when.len() && a.when.iter().zip(&b.when).all(|(a, b)| a.value == b.value)
}

/// Whether a rule may fail at ticks at which its operands do not count.
fn may_fail(rule: &Rule, plan: &Plan) -> bool {
    match rule {
        Rule::Apply { op, args } => op.may_fail(args.iter().map(|arg| plan.ty(*arg).dtype)),
        Rule::Product { .. } | Rule::Copy(_) | Rule::Select { .. } | Rule::Restart { .. } => false,
        Rule::Sum { .. } | Rule::Input(_) | Rule::Read { .. } => true,
    }
}
