//! Windows of one length that run in one call, one after the other: the routine of a window in a loop.

use rml_backend::Routine;
use rml_backend::routine::{Body, Loop, Slot, stacked};
use rml_base::EntityId;

use crate::lower::Source;

/// The role of each input of a window in the loop around it, in the order in which a loop passes them on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    /// That register, of those that change, begins the next window as the last one left it.
    Carried(usize),
    /// Each window has its own row.
    Row,
    /// It is the same in all windows.
    Whole,
}

impl Role {
    pub(crate) fn of(source: Source, changed: &[usize]) -> Self {
        match source {
            Source::Register(r) => changed.iter().position(|c| *c == r).map_or(Role::Whole, Role::Carried),
            Source::Const(_) | Source::Told(_) => Role::Whole,
            Source::Column(_) | Source::Cell(..) => Role::Row,
        }
    }
}

/// A routine that runs `window` that many times. The inputs of the window are in the order of their roles, and its
/// first results are what the registers that change are after it.
pub(crate) fn again(window: Routine, roles: &[Role], count: usize) -> Routine {
    let mut routine = Routine::new(window.name.clone(), window.precision);
    let (mut carried, mut rows, mut whole) = (Vec::new(), Vec::new(), Vec::new());
    for (role, ty) in roles.iter().zip(window.input_types()) {
        match role {
            Role::Carried(_) => carried.push(routine.input(ty.clone())),
            Role::Row => rows.push((routine.input(stacked(ty, count)), 0)),
            Role::Whole => whole.push(routine.input(ty.clone())),
        }
    }
    let body = Body::Routine(Box::new(window));
    let out = Slot::from_index(0);
    routine.results = routine.repeat(Loop { body, count, backward: false, carried, rows, whole, out });
    routine
}
