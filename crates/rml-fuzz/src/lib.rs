//! Fuzz campaigns over every stage, from source texts and data files to gradients.
//!
//! A [`Target`] makes inputs ([`Case`]s) from a seed and checks one. A [`campaign`] runs the cases of all targets in
//! child processes, so that an abort, a hang or excessive memory use can be attributed to a case. A case that fails is
//! reduced and written to disk, with the command that runs it again. `cargo xtask fuzz` starts one.
//!
//! Case number `i` of a target depends only on the seed, on `i` and on the files of the repository. A campaign runs the
//! cases in a fixed order until its time or its rounds are over, so a slower machine runs a shorter prefix of the same
//! sequence.
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
