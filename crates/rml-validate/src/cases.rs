//! V3 to V5: each case of a tape is the equation of its variable.

use rml_ir::Position;
use rml_ir::flat::{Init, Rhs, Var};
use rml_plan::{Atom, Case, Rule, Tape, Tick};

use crate::sums;
use crate::view::View;
use crate::{Checker, Claim};

pub(crate) fn check(checker: &Checker<'_>, found: &mut Vec<String>) {
    for (tape, data) in checker.plan.tapes.iter_enumerated() {
        let claim = checker.witness.tapes[tape];
        let v = claim.var();
        let who = format!("{tape}, which is {},", checker.frame.name(v));
        match claim.ty(&checker.frame.flat.vars[v].ty) {
            Some(ty) if ty == data.ty => {}
            Some(ty) => found.push(format!("V3: {who} is {}, not {ty}", data.ty)),
            None => {
                found.push(format!("V3: {who} is no part of it"));
                continue;
            }
        }
        if !checker.frame.has_clock(v) {
            found.push(format!("V4: nothing is known about where {who} is present"));
            continue;
        }
        for case in &data.cases {
            checker.case(tape, case, &who, found);
        }
    }
}

impl Checker<'_> {
    fn case(&self, tape: Tape, case: &Case, who: &str, found: &mut Vec<String>) {
        let claim = self.witness.tapes[tape];
        let v = claim.var();
        // The first tick is always done.
        let filled = if case.at.contains(Position::Middle) { self.plan.tapes[tape].ahead } else { 0 };
        for p in case.at.and(self.frame.possible()).iter() {
            let mut conditions = self.frame.samplings(v);
            let (guards, absent) = match claim {
                Claim::Holds(_, depth) => {
                    conditions.truncate(depth);
                    (conditions, false)
                }
                _ => (conditions, self.frame.is_absent(v, p)),
            };
            if !self.are_guards(&case.when, &guards, (p, filled)) {
                found.push(format!("V4: {who} has other guards than its clock at {p}"));
            }
            let proved = matches!(case.rule, Rule::Sum { .. })
                || absent
                || self.frame.views(p, filled).all(|view| self.claimed(&case.rule, claim, view));
            if !proved {
                found.push(format!("V5: {who} is not proved to be its equation at {p}: {:?}", case.rule));
            }
        }
        if let Rule::Sum { init, backward, terms } = &case.rule {
            let checked = match claim.whole() {
                Some(v) => sums::check(self, v, case.at, *init, *backward, terms),
                None => Err("is a sum, but not the whole of it".to_owned()),
            };
            if let Err(why) = checked {
                found.push(format!("V6: {who} {why}"));
            }
        }
    }

    /// V5: whether a rule, but for sums, gives what a tape is claimed to hold, in a view.
    fn claimed(&self, rule: &Rule, claim: Claim, view: View) -> bool {
        match claim {
            Claim::Whole(v) => self.rule(rule, v, view),
            Claim::Part(v, cut) => self.equal.cuts(rule, v, cut, view),
            Claim::Begun(v, upto) => self.equal.begins(rule, v, upto, view),
            Claim::Holds(end, depth) => self.tells(rule, end, depth, view),
        }
    }

    /// V5: whether a rule, but for sums, gives a variable that is present, in a view.
    fn rule(&self, rule: &Rule, v: Var, view: View) -> bool {
        let now = |atom: Atom, v: Var| self.equal.is(atom, v, Tick::Now, view);
        let rhs = self.frame.rhs(v);
        match rule {
            // All operands are available.
            Rule::Apply { op, args } if self.plan.waits => {
                let sight = args.iter().map(|a| self.equal.sight(*a)).max();
                self.equal.computes(op, args, v, view.farther(sight.unwrap_or(0)))
            }
            Rule::Apply { op, args } => {
                self.equal.computes(op, args, v, view) || self.equal.computes_part(op, args, v, view)
            }
            Rule::Product { start, args } => self.equal.goes_on(*start, args, v, view),
            Rule::Copy(a) => now(*a, v),
            Rule::Select { cond, then, other } => match rhs {
                Some(
                    Rhs::If { cond: c, then: t, other: o } | Rhs::Merge { cond: c, on_true: t, on_false: o },
                ) => now(*cond, *c) && now(*then, *t) && now(*other, *o),
                _ => false,
            },
            Rule::Restart { ends, init, next } => self.restart(ends, *init, *next, v, view),
            Rule::Input(i) => self.frame.flat.inputs.get(*i as usize).is_some_and(|input| input.var == v),
            Rule::Read { register, init } if self.witness.registers[*register] != v => {
                let state = self.witness.registers[*register];
                init.is_some_and(|init| self.frame.is_held(v, state, |k| self.equal.is_const(init, k)))
            }
            Rule::Read { init, .. } => {
                let initial = match rhs {
                    Some(Rhs::Fby { init, .. } | Rhs::FbyBack { init, .. }) => *init,
                    Some(Rhs::Param { init }) => Init::Stream(*init),
                    // Where nothing has written it, it waits.
                    Some(Rhs::Post { .. }) => {
                        return init.is_none() && self.plan.waits;
                    }
                    _ => return false,
                };
                init.is_some_and(|a| self.starts(a, &initial, view))
            }
            Rule::Sum { .. } => false,
        }
    }

    /// Whether an operand is the initial value of a delay.
    fn starts(&self, atom: Atom, init: &Init, view: View) -> bool {
        match init {
            Init::Const(k) => self.equal.is_const(atom, *k),
            Init::Stream(v) => self.equal.is(atom, *v, Tick::Now, view),
        }
    }

    /// Whether a delay that is always present, and restarts within windows, restarts where its own windows end.
    fn restart(&self, ends: &[Atom], init: Atom, next_atom: Atom, v: Var, view: View) -> bool {
        let Some(rhs) = self.frame.rhs(v) else { return false };
        let (initial, delayed, boundary, neighbour, at) = match rhs {
            Rhs::Fby { init, next, .. } => {
                (init, next, Tick::Before, Tick::Before, view.position_of(Tick::Before))
            }
            Rhs::FbyBack { init, next, .. } => {
                // Where it waits, a tick after is available if the neighbour is read.
                let read = view.farther(self.equal.sight(next_atom));
                (init, next, Tick::Now, Tick::After, read.position_of(Tick::After))
            }
            _ => return false,
        };
        let own = self.frame.restart(rhs.window()).ends;
        at.is_some_and(|at| self.frame.is_always(v, at))
            && self.are_ends(ends, &own, boundary, view)
            && self.starts(init, initial, view)
            && self.equal.is(next_atom, *delayed, neighbour, view)
    }
}
