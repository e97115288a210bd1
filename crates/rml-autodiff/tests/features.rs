//! Every feature of the language in differentiated programs, against finite differences: gradients of all inputs, in
//! each cycle, and of all parameters.

mod support;

use support::check::{Case, check};
use support::source::{FEATURES, checked_nodes};

fn check_file(text: &str) {
    let mut tried = 0;
    for node in checked_nodes(text) {
        for seed in [1, 2] {
            tried += 1;
            check(&Case { text, node, cycles: 6, seed }).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        }
    }
    assert!(tried > 0);
}

#[test]
fn windows() {
    check_file(FEATURES[0]);
}

#[test]
fn both_ways() {
    check_file(FEATURES[1]);
}

#[test]
fn sampled() {
    check_file(FEATURES[2]);
}

#[test]
fn second() {
    check_file(FEATURES[3]);
}

#[test]
fn parts() {
    check_file(FEATURES[4]);
}
