//! Value numbering, and clocks as functions of conditions.
//!
//! Two variables get the same label if they are proved to have the same value in every cycle in which both are present
//! and known. This is true for the same primitive on operands with the same labels, and `x when c` has the label of
//! `x`. A truth value is a function of *atoms*, which are conditions that cannot be decomposed: inputs, delays,
//! comparisons and others. Delays are compared by optimistic refinement: at first all delays with equal initial values
//! count as one, and then they are separated until no delays in one block differ in operands, windows or clocks. So
//! equality is found through recurrences, by induction over the cycles. A clock is a root, and the function that says
//! in which of the root's cycles the clock is present.
//!
//! [`pass`] computes all values for a given partition of the delays. [`separate`] finds the partition: whenever a block
//! of delays is divided, its largest part keeps the block, and only values that depend on the other delays are
//! recomputed. So the work is near-linear, however long a chain of delays is.

use rml_base::IndexVec;
use rml_ir::flat::{Eq, Flat, Var};

use super::bdd::{Bdd, Node};
use super::infer::{Inferred, TermId};

mod atoms;
mod blocks;
mod key;
mod pass;
mod separate;
mod structure;

use blocks::Blocks;
use key::Key;
use pass::Pass;
use separate::Separation;
use structure::{Constants, Structure};

/// The maximum number of rounds of each search. After that, the facts found so far are used, and delays that are not
/// separated yet are equal only to themselves.
const ROUNDS: usize = 100;

/// The number of a value: variables with the same label are proved equal.
pub(super) type Label = usize;

/// A clock: it is present where its root is present and a function of conditions is true.
#[derive(Clone, Copy, PartialEq, std::cmp::Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Presence {
    /// `None` for the base clock; otherwise a variable that depends on itself.
    pub(super) root: Option<Var>,
    pub(super) on: Node,
}

/// The labels and clocks of a program.
#[derive(Debug)]
pub(super) struct Values {
    pub(super) bdd: Bdd,
    /// One variable for each atom; `None` if no variable has the value of the atom.
    pub(super) atoms: Vec<Option<Var>>,
    pub(super) labels: IndexVec<Var, Label>,
    /// For each `bool []`: its function of atoms.
    pub(super) conditions: IndexVec<Var, Option<Node>>,
    pub(super) presences: IndexVec<TermId, Presence>,
}

/// For each delay: the constant that it always returns, if there is one.
#[derive(Clone, Debug)]
struct Steady {
    of: IndexVec<Eq, Option<Key>>,
    /// The constants to which numbers in keys refer; a number stays the same from one computation to the next.
    constants: Constants,
}

impl Steady {
    /// The state in which no delay is known to be constant.
    fn new(flat: &Flat, structure: &Structure) -> Self {
        Self { of: IndexVec::filled(None, flat.equations.len()), constants: structure.values.clone() }
    }
}

/// Computes the values of a program.
pub(super) fn values(flat: &Flat, inferred: &Inferred) -> Values {
    let structure = Structure::new(flat);
    let mut steady = Steady::new(flat, &structure);
    let mut blocks = Blocks::new(flat, &structure);
    for _ in 0..ROUNDS {
        let mut separation = Separation::new(flat, inferred, &structure, steady);
        blocks = separation.blocks();
        let is_more = separation.settle();
        steady = separation.steady();
        if !is_more {
            break;
        }
    }
    last(flat, inferred, &structure, blocks, &steady)
}

/// The values for a partition of the delays, which is refined if it is not consistent. It may be inconsistent if the
/// diagrams of the search exceeded their limit elsewhere.
fn last(
    flat: &Flat,
    inferred: &Inferred,
    structure: &Structure,
    mut blocks: Blocks,
    steady: &Steady,
) -> Values {
    for _ in 0..ROUNDS {
        let mut pass = Pass::new(flat, structure, blocks, steady.clone());
        pass.run(inferred);
        let finer = pass.refined(inferred);
        if finer.count == pass.blocks.count {
            return pass.values;
        }
        blocks = finer;
    }
    let mut pass = Pass::new(flat, structure, Blocks::alone(flat), steady.clone());
    pass.run(inferred);
    pass.values
}

#[cfg(test)]
mod tests;
