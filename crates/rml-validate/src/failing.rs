//! V8: operators that may fail are computed.

use std::collections::BTreeMap;

use rml_analysis::Hold;
use rml_base::IndexVec;
use rml_ir::Position;
use rml_ir::flat::{Rhs, Var};
use rml_ir::op::Op;
use rml_plan::{Rule, Tape};

use crate::Checker;

/// The tapes that operators fill, or add up.
#[derive(Default)]
struct Computed<'a> {
    /// By the variable that they are claimed to hold.
    of: BTreeMap<Var, Vec<Tape>>,
    /// By operator.
    by: BTreeMap<&'a Op, Vec<Tape>>,
}

pub(crate) fn check(checker: &Checker<'_>, found: &mut Vec<String>) {
    let frame = checker.frame;
    let (mut computed, mut never) = (None, None);
    for equation in &frame.flat.equations {
        let Rhs::Apply { op, args } = &equation.rhs else { continue };
        if !op.may_fail(args.iter().map(|arg| frame.flat.vars[*arg].ty.dtype)) {
            continue;
        }
        let v = equation.lhs;
        let computed = computed.get_or_insert_with(|| self::computed(checker));
        let (own, alike) = (computed.of.get(&v), computed.by.get(op));
        for p in frame.possible().iter().filter(|p| !frame.is_absent(v, *p)) {
            // Its own tape, or that of a variable that is the same; of those there are few.
            let mut tapes = own.into_iter().chain(alike).flatten();
            if !tapes.any(|tape| checker.computes(*tape, op, v, p))
                && !never.get_or_insert_with(|| self::never(checker))[v][p.index()]
            {
                found.push(format!("V8: {}, which may fail, is not computed at {p}", frame.name(v)));
            }
        }
    }
}

fn computed<'a>(checker: &Checker<'a>) -> Computed<'a> {
    let mut computed = Computed::default();
    for (tape, data) in checker.plan.tapes.iter_enumerated() {
        if let Some(v) = checker.witness.tapes[tape].whole() {
            computed.of.entry(v).or_default().push(tape);
        }
        for case in &data.cases {
            let ops: Vec<&Op> = match &case.rule {
                Rule::Apply { op, .. } => vec![op],
                Rule::Sum { terms, .. } => terms.iter().map(|term| &term.op).collect(),
                _ => continue,
            };
            for op in ops {
                let tapes = computed.by.entry(op).or_default();
                if tapes.last() != Some(&tape) {
                    tapes.push(tape);
                }
            }
        }
    }
    computed
}

/// Where variables have no value although they may be present: by the facts, and what functions make of such variables.
fn never(checker: &Checker<'_>) -> IndexVec<Var, [bool; 4]> {
    let frame = checker.frame;
    let by_facts = |v: Var| Position::ALL.map(|p| frame.holds(v, p).contains(&Hold::Nothing));
    let mut never: IndexVec<Var, [bool; 4]> = frame.flat.vars.ids().map(by_facts).collect();
    let mut changed = never.iter().any(|at| at.contains(&true));
    while std::mem::take(&mut changed) {
        for equation in &frame.flat.equations {
            let operands: &[Var] = match &equation.rhs {
                Rhs::Apply { args, .. } => args,
                Rhs::If { cond, then, other } => &[*cond, *then, *other],
                _ => continue,
            };
            let mut own = never[equation.lhs];
            own.iter_mut().enumerate().for_each(|(i, own)| *own |= operands.iter().any(|v| never[*v][i]));
            changed |= own != never[equation.lhs];
            never[equation.lhs] = own;
        }
    }
    never
}

impl Checker<'_> {
    /// Whether a tape is filled with what an operator makes of the operands of a variable, or adds that up, wherever
    /// that variable is present at a position.
    fn computes(&self, tape: Tape, op: &Op, v: Var, p: Position) -> bool {
        let is_made = |other: &Op, args: &[rml_plan::Atom]| {
            let sight = args.iter().map(|a| self.equal.sight(*a)).max().unwrap_or(0);
            other == op
                && self.frame.views(p, 0).all(|view| self.equal.computes(op, args, v, view.farther(sight)))
        };
        let held = self.witness.tapes[tape].whole();
        let is_together = held.is_some_and(|held| self.frame.are_together(held, v));
        self.plan.tapes[tape].cases.iter().any(|case| match &case.rule {
            Rule::Apply { op: other, args } if case.at.contains(p) && is_together => {
                self.is_present(&case.when, v, (p, 0)) && is_made(other, args)
            }
            Rule::Sum { terms, .. } => {
                let mut terms = terms.iter().filter(|term| term.at.contains(p));
                case.when.is_empty()
                    && terms.any(|t| self.is_present(&t.when, v, (p, 0)) && is_made(&t.op, &t.args))
            }
            _ => false,
        })
    }
}
