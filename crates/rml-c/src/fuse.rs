//! Which values are computed in one loop over elements.

use rml_base::IndexVec;
use rml_ir::Positions;
use rml_ir::op::Op;
use rml_plan::{Atom, Case, Guard, Part, Plan, Rule, Tape};

use crate::exprs::is_pointwise;
use crate::groups::{Group, What};
use crate::views::View;

/// Values that are computed under one condition.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) at: Positions,
    pub(crate) when: Vec<Guard>,
    pub(crate) ahead: u32,
    /// How many elements a loop over all of them has, which gives one of each; none if it is one value by an operator with loops of its own.
    pub(crate) len: Option<usize>,
    /// The tapes, with their cases.
    pub(crate) fills: Vec<(Tape, Vec<usize>)>,
}

/// The blocks of a group: those that run once, those at each tick, and how many of these find the end of a window.
#[derive(Debug)]
pub(crate) struct Blocks {
    pub(crate) once: Vec<Block>,
    pub(crate) ticks: Vec<Block>,
    pub(crate) head: usize,
}

pub(crate) fn blocks(plan: &Plan, views: &IndexVec<Tape, Option<View>>, group: &Group) -> Blocks {
    let head = if let What::Search(head) = group.what { head } else { 0 };
    let mut ticks = joined(plan, views, &group.parts[..head]);
    let of_head = ticks.len();
    ticks.extend(joined(plan, views, &group.parts[head..]));
    Blocks { once: joined(plan, views, &group.once), ticks, head: of_head }
}

fn joined(plan: &Plan, views: &IndexVec<Tape, Option<View>>, parts: &[Part]) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for part in parts.iter().filter(|part| views[part.tape].is_none()) {
        for block in of_part(plan, part) {
            match blocks.last_mut() {
                Some(last) if last.len.is_some() && fits(last, &block) => last.fills.extend(block.fills),
                _ => blocks.push(block),
            }
        }
    }
    blocks
}

fn fits(a: &Block, b: &Block) -> bool {
    (a.at, a.ahead, a.len) == (b.at, b.ahead, b.len) && a.when == b.when
}

fn of_part(plan: &Plan, part: &Part) -> Vec<Block> {
    let tape = &plan.tapes[part.tape];
    let here: Vec<usize> =
        (0..tape.cases.len()).filter(|i| !tape.cases[*i].at.and(part.at).is_empty()).collect();
    let len = tape.ty.shape.len();
    let flat = |case: &Case| is_flat(plan, case, len);
    let [first, ..] = here[..] else { return Vec::new() };
    let when = &tape.cases[first].when;
    if here.iter().all(|i| tape.cases[*i].when == *when && flat(&tape.cases[*i])) {
        let at = here.iter().fold(Positions::NONE, |at, i| at.or(tape.cases[*i].at.and(part.at)));
        let fills = vec![(part.tape, here)];
        return vec![Block { at, when: when.clone(), ahead: tape.ahead, len: Some(len), fills }];
    }
    let one = |i: usize| {
        let case = &tape.cases[i];
        let len = flat(case).then_some(len);
        let fills = vec![(part.tape, vec![i])];
        Block { at: case.at.and(part.at), when: case.when.clone(), ahead: tape.ahead, len, fills }
    };
    here.into_iter().map(one).collect()
}

/// Whether each element depends on those of operands at the same place, or on their only one.
fn is_flat(plan: &Plan, case: &Case, len: usize) -> bool {
    let fits = |atom: &Atom| {
        let of = match atom {
            Atom::Const(k) => plan.consts[*k].shape().len(),
            Atom::Tape(tape, _) => plan.tapes[*tape].ty.shape.len(),
        };
        of == len || of == 1
    };
    match &case.rule {
        Rule::Apply { op, args } => {
            (is_pointwise(op) || matches!(op, Op::Reshape { .. })) && args.iter().all(fits)
        }
        Rule::Sum { .. } | Rule::Product { .. } => false,
        rule => rule.operands().iter().all(fits),
    }
}
