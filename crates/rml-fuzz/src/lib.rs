//! Fuzz campaigns over every stage, from source texts and data files to gradients.
//!
//! A [`Target`] makes inputs ([`Case`]s) from a seed and checks one. A [`campaign`] runs the cases of all targets in
//! child processes, so that an abort, a hang or a memory blow-up is known by the case that caused it; what fails is
//! made smaller and written to disk, with the command that runs it again. `cargo xtask fuzz` starts one.
//!
//! The case with number `i` of a target is a function of the seed, `i` and the files of the repository alone. A
//! campaign takes the cases in a fixed order until its time or its rounds are over: on a slower machine a time holds a
//! shorter prefix of the same sequence.
//!
//! `fuzz/regressions/TARGET` holds every input that once failed: each runs as an ordinary test, and campaigns damage it
//! further.

pub mod campaign;
mod case;
mod child;
mod corpus;
mod findings;
mod guard;
mod minimise;
mod targets;
pub mod worker;

pub use case::Case;
pub use corpus::{Corpus, root};
pub use findings::{Finding, Kind};
pub use guard::checked;
pub use targets::{TARGETS, Target};
