//! The branches of `match` that contain the code being copied, and the variables sampled by them.

use std::sync::Arc;

use indexmap::IndexMap;

use crate::hir::Local;

/// A branch: its expressions run in the cycles in which the condition has this value.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Branch {
    pub(super) cond: Local,
    pub(super) positive: bool,
    /// The names of the branch's cases.
    pub(super) label: Arc<str>,
}

/// A variable, and the branches that sample it.
pub(super) type Sampled = (Local, Vec<Branch>);

/// The open branches, and the variables and conditions that were sampled by branches so far.
#[derive(Debug, Default)]
pub(super) struct Branches {
    /// The branches around the current expression, outermost first.
    pub(super) open: Vec<Branch>,
    pub(super) sampled: IndexMap<Sampled, Local>,
    pub(super) conditions: IndexMap<(Sampled, usize, usize), Local>,
    /// The number of branches in which a variable is defined; 0 for variables that are not listed.
    pub(super) depths: IndexMap<Local, usize>,
    /// For each restart flag and the branches around: the flag, sampled by these branches.
    pub(super) flags: IndexMap<Sampled, Local>,
}

/// A flag that restarts delays: a variable, and the number of branches that sample it.
pub(super) type Flag = (Local, usize);
