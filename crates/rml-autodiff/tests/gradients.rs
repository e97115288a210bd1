//! Programs from source text against finite differences.

mod support;

use support::check::{Case, check};
use support::source::PROGRAMS;

#[test]
fn programs_agree_with_finite_differences() {
    for &(text, node) in PROGRAMS {
        check(&Case { text, node, cycles: 4, seed: 11 }).unwrap_or_else(|e| panic!("{e}"));
    }
}
