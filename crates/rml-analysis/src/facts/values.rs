//! The facts about values that the search has found so far.

use rml_base::IndexVec;
use rml_ir::flat::Var;

use super::Hold;
use super::truths::Truths;

/// The facts about each variable, by position.
pub(super) struct Values {
    pub(super) truths: IndexVec<Var, [Truths; 4]>,
    pub(super) first: IndexVec<Var, [Hold; 4]>,
    pub(super) last: IndexVec<Var, [Hold; 4]>,
}
