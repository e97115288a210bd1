//! From a plan to what runs: four stages, each made from the one before by one pass.
//!
//! | stage | the pass | what it adds |
//! |---|---|---|
//! | [`Lowered`] | `lower` | instructions on operands, in units of a tape at some positions of a tick |
//! | [`Placed`] | `place` | where each value is stored |
//! | [`Listed`] | `packs`, `list`, `threads` | matrices that products share, and the lists that run at each tick |
//! | [`Bound`](super::bind::Bound) | `bind` | operands as places, for windows of one length |
//!
//! The first three do not depend on the length of a window. In debug builds each is [verified](super::verify), and the
//! places are checked by a run on names in place of numbers ([`check`](super::check)).

use rml_plan::{Plan, Slide};

use super::code::Code;
use super::listed::Listed;
use super::place::Placement;
use super::verify::{self, Stage};
use super::{list, lower, packs, place, slides};

#[cfg(test)]
mod tests;
#[cfg(test)]
mod text;

/// A plan as instructions, one for each operator that is no view.
#[derive(Clone, Debug)]
pub(super) struct Lowered(pub(super) Code);

/// Code in the order in which it runs, and where its values are stored.
#[derive(Clone, Debug)]
pub(super) struct Placed {
    pub(super) code: Code,
    pub(super) placement: Placement,
}

/// The code of a plan.
#[cfg(test)]
pub(super) fn lower(plan: &Plan) -> Lowered {
    lower_with(plan, &slides::of(plan, false))
}

/// The code of a plan, of whose registers these slide.
fn lower_with(plan: &Plan, slides: &[Slide]) -> Lowered {
    let code = lower::lower(plan, slides);
    verify::debug(&code, Stage::Lowered);
    Lowered(code)
}

impl Lowered {
    /// Gives each value a place.
    pub(super) fn place(self) -> Placed {
        let Self(mut code) = self;
        let placement = place::place(&mut code);
        verify::debug(&code, Stage::Placed);
        Placed { code, placement }
    }
}

impl Placed {
    /// Lists what runs at each tick.
    pub(super) fn list(self) -> (Listed, Placement) {
        let Self { mut code, placement } = self;
        let packs = packs::choose(&mut code);
        let listed = list::list(code, packs);
        verify::debug(&listed, Stage::Listed);
        verify::debug_lists(&listed);
        (listed, placement)
    }
}

/// Code for a plan, and where its values are stored.
pub(super) fn compiled(plan: &Plan) -> (Listed, Placement) {
    compiled_with(plan, &slides::of(plan, false))
}

/// The same, where these registers slide.
pub(super) fn compiled_with(plan: &Plan, slides: &[Slide]) -> (Listed, Placement) {
    lower_with(plan, slides).place().list()
}
