//! V8: what may fail is computed.

use rml_ir::{Position, Positions};
use rml_plan::{Plan, Rule};
use rml_validate::Witness;

use super::{refused_of, rules};

/// Nothing reads the square of the last tick of a window.
const UNREAD: &str = "node f(x: int []) -> (o: int []) o = 1 fby x * x;
node main(x: int [], e: bool []) -> (o: int []) o = f(x) every e;";

/// Both squares are one tape, and the sum computes what it adds.
const SHARED: &str = "node f(x: int []) -> (o: int []) o = (1 fby x * x) + (2 fby x * x);
node main(x: int [], w: num [], e: bool []) -> (o: int [], s: num [])
  o = f(x) every e;
  s = (total(x, w) every e) when e;
node total(i: int [], w: num []) -> (s: num [])
  s = (0.0 fby s) + gather([1.0, w, 2.0], i);";

fn without(plan: &mut Plan, at: Positions) {
    let may_fail: Vec<_> = plan
        .tapes
        .iter_enumerated()
        .filter(|(_, data)| data.cases.iter().any(|case| plan.may_fail(case)))
        .map(|(tape, _)| tape)
        .collect();
    let left = |all: Positions| all.iter().filter(|p| !at.contains(*p)).collect::<Positions>();
    for tape in &may_fail {
        plan.tapes[*tape].cases.iter_mut().for_each(|case| case.at = left(case.at));
    }
    for region in &mut plan.regions {
        let parts = region.parts_mut();
        parts
            .iter_mut()
            .filter(|part| may_fail.contains(&part.tape))
            .for_each(|part| part.at = left(part.at));
    }
}

#[test]
fn v8_what_may_fail_is_computed_at_all_ticks() {
    for text in [UNREAD, SHARED] {
        refused_of(text, "V8", |plan, _| without(plan, Positions::ENDS));
        refused_of(text, "V8", |plan, _| without(plan, Positions::NONE.with(Position::Only)));
    }
    // A copy of the product is no product.
    refused_of(UNREAD, "V8", |plan, _: &mut Witness| {
        rules(plan).for_each(|rule| {
            if let Rule::Apply { args, .. } = rule {
                *rule = Rule::Copy(args[0]);
            }
        });
    });
    refused_of(SHARED, "V8", |plan, _| {
        rules(plan).for_each(|rule| {
            if let Rule::Sum { terms, .. } = rule {
                terms.iter_mut().for_each(|term| term.at = Positions::STARTS);
            }
        });
    });
}
