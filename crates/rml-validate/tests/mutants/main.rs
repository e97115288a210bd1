//! Damaged plans: what changes the meaning of a plan is refused by the validator, and no plan is refused as it was
//! made. `RML_PLANS` says how many random programs there are beside examples and vectors, `RML_MUTANTS` how often
//! each is damaged in each way, `RML_SEED` how.

use rml_plan::Plan;
use rml_testkit::Lcg;
use rml_validate::validate;

mod mutate;
mod subjects;

use mutate::KINDS;
use subjects::{Subject, subjects};

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

#[derive(Clone, Copy, Default)]
struct Count {
    mutants: usize,
    changed: usize,
    caught: usize,
    /// Refused, though no window shows a difference.
    strict: usize,
}

fn refused(subject: &Subject, plan: &Plan) -> Result<(), Vec<String>> {
    validate(&subject.flat, &subject.clocks, &subject.facts, plan, &subject.witness)
}

#[test]
#[allow(clippy::print_stdout, reason = "the table is what a long run is for")]
fn what_changes_the_meaning_of_a_plan_is_refused() {
    let (programs, rounds) = (setting("RML_PLANS", 600), setting("RML_MUTANTS", 2));
    let mut r = Lcg(setting("RML_SEED", 1));
    let mut counts = vec![Count::default(); KINDS.len()];
    let mut missed = Vec::new();
    for subject in subjects(programs, &mut r) {
        assert_eq!(refused(&subject, &subject.plan), Ok(()), "{}", subject.name);
        if !subject.is_small() {
            continue;
        }
        for (count, (kind, damage)) in counts.iter_mut().zip(KINDS) {
            for _ in 0..rounds {
                let mut plan = Plan::clone(&subject.plan);
                if damage(&mut plan, &mut r).is_none() {
                    continue;
                }
                let caught = refused(&subject, &plan).is_err();
                let changed = rml_plan::verify(&plan).is_err() || subject.differs(plan.clone());
                count.mutants += 1;
                count.changed += usize::from(changed);
                count.caught += usize::from(changed && caught);
                count.strict += usize::from(!changed && caught);
                if changed && !caught {
                    missed.push(format!(
                        "{}: {kind}\n{}\n{}\n{}",
                        subject.name,
                        rml_ir::flat::print(&subject.flat),
                        rml_plan::print(&subject.plan),
                        rml_plan::print(&plan)
                    ));
                }
            }
        }
    }
    let total = counts.iter().fold(Count::default(), |a, b| Count {
        mutants: a.mutants + b.mutants,
        changed: a.changed + b.changed,
        caught: a.caught + b.caught,
        strict: a.strict + b.strict,
    });
    println!("{:42} {:>8} {:>8} {:>8} {:>8}", "", "mutants", "changed", "caught", "strict");
    for (count, name) in counts.iter().zip(KINDS.iter().map(|k| k.0)).chain([(&total, "all")]) {
        println!("{name:42} {:8} {:8} {:8} {:8}", count.mutants, count.changed, count.caught, count.strict);
    }
    assert!(total.changed >= 2000, "{} mutants change the meaning", total.changed);
    assert!(100 * total.caught >= 98 * total.changed, "not refused:\n{}", missed.join("\n\n"));
}
