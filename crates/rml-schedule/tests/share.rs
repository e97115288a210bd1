//! Which share of the random programs that are bounded or windowed has a plan, and what stops the others.

use std::collections::BTreeMap;

use rml_analysis::{Verdict, WaitKind, bounds, causality, clocks};
use rml_ir::flat::Drawn;
use rml_ir::pass::lower_drawn;
use rml_schedule::{Fed, schedule};
use rml_testkit::Lcg;
use rml_testkit::flat::random::program;

/// Whether everything that is wanted is known some cycles later, or at the end of windows, without an error.
fn may_have_plan(flat: &Drawn) -> bool {
    let report = clocks(flat);
    let causality = causality(flat, &report.clocks);
    let kind = bounds(flat, &report.clocks, &causality).program.kind;
    report.verdict == Verdict::Synchronous
        && !causality.findings.has_errors()
        && matches!(kind, WaitKind::Bounded | WaitKind::Windowed)
}

#[test]
fn most_bounded_and_windowed_programs_have_a_plan() {
    for fed in [Fed::Windows, Fed::Blocks] {
        let (mut all, mut planned, mut declined) = (0, 0, BTreeMap::<String, usize>::new());
        for seed in 0..2500 {
            let (flat, _) = program(&Lcg(seed).take(220), 24, false);
            // As commands run it: what nothing reads is gone.
            let flat = lower_drawn((*flat).clone());
            if !may_have_plan(&flat) {
                continue;
            }
            all += 1;
            match schedule(&flat, fed) {
                Ok(_) => planned += 1,
                Err(why) => *declined.entry(why.why).or_default() += 1,
            }
        }
        let mut reasons: Vec<(usize, String)> = declined.into_iter().map(|(why, n)| (n, why)).collect();
        reasons.sort_unstable_by(|a, b| b.cmp(a));
        assert!(planned * 100 >= all * 99, "{fed:?}: {planned} of {all}; {reasons:?}");
    }
}
