//! Recurrences that are alike are one; others are not.

use rml_plan::{Atom, Plan};

use super::refused_of;

/// The first two recurrences are alike. Each other one differs from them: by the condition, the direction, the start,
/// the choice.
const RECURRENCES: &str = "\
node any(c, d: bool [], x: num []) -> (a, b, other, ahead, start, choice, s, u, v)
  a = if c then true else (false fby back a);
  b = if c then true else (false fby back b);
  other = if d then true else (false fby back other);
  ahead = if c then true else (false fby ahead);
  start = if c then true else (true fby back start);
  choice = if c then false else (false fby back choice);
  s = exp(x) + (0.0 fby s);
  u = exp(x) + (0.0 fby u);
  v = exp(x) - (0.0 fby v);

node main(c, d: bool [], x: num [], end: bool []) -> (a, b, other, ahead, start, choice, s, u, v)
  a, b, other, ahead, start, choice, s, u, v = any(c, d, x) every end;
";

/// The output of that number, instead of that of another one.
fn exchanged(plan: &mut Plan, (of, instead): (usize, usize)) {
    let cases = plan.outputs[instead].cases.clone();
    plan.outputs[of].cases = cases;
}

#[test]
fn v5_recurrences_that_are_alike_are_one() {
    // The plan as it was made is accepted; without outputs it is not.
    refused_of(RECURRENCES, "V1", |plan, _| {
        let read = |i: usize| -> Vec<Atom> { plan.outputs[i].cases.iter().map(|(.., atom)| *atom).collect() };
        assert_eq!(read(0), read(1));
        assert_eq!(read(6), read(7));
        plan.outputs.clear();
    });
}

#[test]
fn v1_other_recurrences_are_not() {
    for i in 2..6 {
        refused_of(RECURRENCES, "V", |plan, _| exchanged(plan, (i, 0)));
        refused_of(RECURRENCES, "V", |plan, _| exchanged(plan, (0, i)));
    }
    refused_of(RECURRENCES, "V", |plan, _| exchanged(plan, (8, 6)));
}
