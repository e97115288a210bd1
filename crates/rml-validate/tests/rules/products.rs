//! Products that continue, and parts of values.

use rml_ir::flat::Var;
use rml_ir::op::Op;
use rml_plan::{Atom, Plan, Rule};
use rml_validate::{AxisRange, Claim, Witness};

use super::{refused_of, rules};

/// The gradient of a recurrence over a concatenation.
const JOINED: &str = "\
node cell(x: num [2, 3]) -> (h_next: num [2, 4])
  h_next = tanh(matmul(concat(x, h, 1), param(ones([7, 4]))));
  h = zeros([2, 4]) fby h_next;

node main(x: num [2, 3], end: bool []) -> (h)
  h, _ = diff_cell(x, true, 0.1 * h) every end;
";

#[test]
fn v5_products_that_go_on() {
    let product = |plan: &mut Plan, change: fn(&mut Atom, &mut [Atom; 2])| {
        for rule in rules(plan) {
            if let Rule::Product { start, args } = rule {
                change(start, args);
            }
        }
    };
    refused_of(JOINED, "V5", |plan, _| product(plan, |start, args| *start = args[0]));
    refused_of(JOINED, "V5", |plan, _| product(plan, |_, args| args.swap(0, 1)));
    refused_of(JOINED, "V5", |plan, _| {
        for rule in rules(plan) {
            if let Rule::Product { args, .. } = rule {
                *rule = Rule::Apply { op: Op::MatMul, args: args.to_vec() };
            }
        }
    });
    // What is begun somewhere else.
    let begun = |witness: &mut Witness, change: fn(Var, usize) -> Claim| {
        for claim in witness.tapes.iter_mut() {
            if let Claim::Begun(v, upto) = *claim {
                *claim = change(v, upto);
            }
        }
    };
    refused_of(JOINED, "V5", |_, witness| begun(witness, |v, upto| Claim::Begun(v, upto + 1)));
    refused_of(JOINED, "V5", |_, witness| begun(witness, |v, _| Claim::Begun(v, usize::MAX)));
    refused_of(JOINED, "V5", |_, witness| begun(witness, |v, _| Claim::Whole(v)));
}

#[test]
fn v5_parts() {
    let cut = |witness: &mut Witness, change: fn(&mut AxisRange)| {
        for claim in witness.tapes.iter_mut() {
            if let Claim::Part(_, cut) = claim {
                change(cut);
            }
        }
    };
    refused_of(JOINED, "V3", |_, witness| cut(witness, |cut| cut.axis = 2));
    refused_of(JOINED, "V3", |_, witness| cut(witness, |cut| cut.start = usize::MAX));
    refused_of(JOINED, "V3", |_, witness| cut(witness, |cut| cut.len -= 1));
    refused_of(JOINED, "V5", |_, witness| cut(witness, |cut| cut.start = 1 - cut.start.min(1)));
}
