//! Plans made ready to run: what all machines of a plan share.

use std::sync::Arc;

use rml_plan::Plan;

use super::listed::Listed;
use super::place::Placement;
use super::stages::{compiled, compiled_with};
use super::threads::{Limits, Team};
use super::{CHECKED, check, slides};

/// A plan made ready to run with that many threads. Machines of it start in a fraction of the time that it takes to
/// make it ready.
#[derive(Clone, Debug)]
pub struct Ready {
    pub(super) plan: Arc<Plan>,
    pub(super) code: Arc<Listed>,
    pub(super) placement: Placement,
    pub(super) team: Option<Box<Team>>,
    /// The same for windows of one tick, if more registers slide there.
    pub(super) single: Option<Arc<Ready>>,
}

impl Ready {
    /// Makes a plan ready for up to that many threads where they pay. The results do not depend on their number.
    pub fn new(plan: Arc<Plan>, threads: usize) -> Self {
        Self::packed(plan, (threads, Limits::USUAL))
    }

    pub(super) fn packed(plan: Arc<Plan>, threads: (usize, Limits)) -> Self {
        let plan = rml_plan::pack(plan);
        let slides = slides::of(&plan, true);
        let of = |compiled| Self::of(Arc::clone(&plan), compiled, threads);
        let single = slides.iter().any(|slide| slide.in_turn);
        let single = single.then(|| Arc::new(of(compiled_with(&plan, &slides))));
        Self { single, ..of(compiled(&plan)) }
    }

    pub(super) fn of(
        plan: Arc<Plan>,
        (mut code, mut placement): (Listed, Placement),
        threads: (usize, Limits),
    ) -> Self {
        let team = Team::new(&mut code, &mut placement, threads).map(Box::new);
        if cfg!(debug_assertions) && placement.sizes.iter().all(|size| size.at(3) < CHECKED) {
            let checked = check::check(&code, &placement, 3);
            assert!(checked.is_ok(), "{checked:?}");
        }
        Self { plan, code: Arc::new(code), placement, team, single: None }
    }
}
