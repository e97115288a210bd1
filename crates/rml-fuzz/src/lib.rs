//! Fuzz campaigns over every stage, from source texts and data files to gradients.
//!
//! A [`Target`] makes inputs ([`FuzzInput`]s) from a seed and checks them. A [`campaign`] runs the cases of all targets
//! in child processes. An abort, a hang or excessive memory use can therefore be attributed to a case. A failing case
//! is reduced and written to disk, with the command that runs it again. `cargo xtask fuzz` starts a campaign.
//!
//! Case number `i` of a target depends only on the seed, on `i` and on the files of the repository. A campaign runs the
//! cases in a fixed order until its time or its rounds are used up. A slower machine runs a shorter prefix of the same
//! sequence.
//!
//! `fuzz/regressions/TARGET` contains inputs that once failed: each runs as an ordinary test, and campaigns damage it
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

pub use case::FuzzInput;
pub use corpus::{Corpus, root};
pub use findings::{FailureKind, Finding};
pub use guard::checked;
pub use targets::{TARGETS, Target};
