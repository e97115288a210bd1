//! The branches of `match` that a copy is in, and what is sampled by them.

use std::sync::Arc;

use indexmap::IndexMap;

use crate::hir::Local;

/// Where an expression of a case runs: where the condition has that value.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Branch {
    pub(super) cond: Local,
    pub(super) positive: bool,
    /// The cases of it.
    pub(super) label: Arc<str>,
}

/// A variable, and the branches that it is sampled by.
pub(super) type Sampled = (Local, Vec<Branch>);

/// The variables that are sampled by branches, and the conditions of these.
#[derive(Debug, Default)]
pub(super) struct Branches {
    /// The branches around the current expression, outermost first.
    pub(super) open: Vec<Branch>,
    pub(super) sampled: IndexMap<Sampled, Local>,
    pub(super) conditions: IndexMap<(Sampled, usize, usize), Local>,
    /// In how many branches variables are defined; those that are not here, in none.
    pub(super) depths: IndexMap<Local, usize>,
    /// For each restart flag and the branches around: the flag, sampled by these branches.
    pub(super) flags: IndexMap<Sampled, Local>,
}

/// A flag that restarts delays: a variable, and in how many branches it is sampled.
pub(super) type Flag = (Local, usize);
