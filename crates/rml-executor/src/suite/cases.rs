//! The plans of the suite.

use std::sync::Arc;

use rml_ir::Precision;
use rml_plan::{Ends, Plan};

/// A plan and the description of its inputs.
pub(super) struct Case {
    pub(super) name: String,
    pub(super) plan: Arc<Plan>,
    /// The input that is present in the cycles in which the first input, a condition, is true.
    pub(super) clocked: Option<usize>,
    /// Ints in the first input for which an operator has no result.
    pub(super) bad: &'static [i64],
    pub(super) cycles: usize,
}

impl Case {
    /// Whether a block may have any number of cycles, so every run does the same cycles with any division into blocks.
    pub(super) fn streams(&self) -> bool {
        self.plan.ends == Ends::Nothing && !self.plan.waits && self.bad.is_empty()
    }

    /// Whether several windows of one length may run in one call.
    pub(super) fn runs_together(&self) -> bool {
        self.streams() && self.plan.ahead() == 0
    }

    /// Whether an operator may have no result.
    pub(super) fn may_fail(&self) -> bool {
        self.plan.tapes.iter().flat_map(|tape| &tape.cases).any(|case| self.plan.may_fail(case))
    }
}

const TEXTS: [(&str, &str); 11] = [
    ("sum", include_str!("plans/sum.plan")),
    ("window", include_str!("plans/window.plan")),
    ("found", include_str!("plans/found.plan")),
    ("ahead", include_str!("plans/ahead.plan")),
    ("waits", include_str!("plans/waits.plan")),
    ("fails", include_str!("plans/fails.plan")),
    ("sparse", include_str!("plans/sparse.plan")),
    ("dense", include_str!("plans/dense.plan")),
    ("sums", include_str!("plans/sums.plan")),
    ("parts", include_str!("plans/parts.plan")),
    ("memories", include_str!("plans/memories.plan")),
];

/// All plans in the given precision.
///
/// # Panics
/// A text is not a plan; the tests of this crate parse all texts.
pub(super) fn cases(precision: Precision) -> Vec<Case> {
    let case = |(name, text): (&str, &str)| {
        let mut plan = rml_plan::parse(text).expect("the texts are plans");
        plan.precision = precision;
        plan.consts.iter_mut().for_each(|value| *value = value.to_precision(precision));
        Case {
            name: format!("{name}, {precision}"),
            plan: Arc::new(plan),
            clocked: (name == "sparse").then_some(1),
            // A position outside its axis, and a square that does not fit.
            bad: if name == "fails" { &[9, -1, 1 << 62] } else { &[] },
            cycles: if name == "dense" { 24 } else { 40 },
        }
    };
    TEXTS.into_iter().map(case).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_is_a_plan_that_verifies() {
        for case in [Precision::F32, Precision::F64].into_iter().flat_map(cases) {
            assert_eq!(rml_plan::verify(&case.plan), Ok(()), "{}", case.name);
        }
    }
}
