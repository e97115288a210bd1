//! How the presence of a variable becomes known: one condition decides it for each class of variables.

use rml_base::IndexVec;
use rml_ir::flat::{By, ClassId, ClockClasses, Var};

use crate::clocks::ClockData;
use crate::conditions::Conditions;

/// The condition that decides when a class is present.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decider {
    /// The condition.
    pub(super) cond: Var,
    /// The class of the condition.
    pub(super) from: ClassId,
}

/// The classes of a program.
pub(super) struct Classes {
    classes: ClockClasses,
    /// The decider of each class; `None` for a class with an input, and for one that is present whenever the
    /// environment asks for it.
    pub(super) decided_by: IndexVec<ClassId, Option<Decider>>,
}

impl Classes {
    /// If several conditions decide a class, the one that its clock names is chosen, or else the first.
    pub(super) fn new(conditions: &Conditions<'_>) -> Classes {
        let classes = ClockClasses::new(conditions.flat);
        let mut decided_by: IndexVec<ClassId, Option<Decider>> = IndexVec::filled(None, classes.len());
        for driver in classes.drivers().iter().filter(|driver| !classes.is_own(driver)) {
            let By::Condition(cond) = driver.by else { continue };
            let slot = &mut decided_by[classes.of(driver.var)];
            if slot.is_none() || is_named(conditions, driver.var, cond) {
                *slot = Some(Decider { cond, from: classes.of(cond) });
            }
        }
        for input in &conditions.flat.inputs {
            decided_by[classes.of(input.var)] = None;
        }
        Classes { classes, decided_by }
    }

    /// The class of a variable.
    pub(super) fn of(&self, v: Var) -> ClassId {
        self.classes.of(v)
    }
}

/// Whether the clock of a variable is a sampling by that condition.
fn is_named(conditions: &Conditions<'_>, v: Var, cond: Var) -> bool {
    let clocks = conditions.clocks;
    match clocks.clocks[clocks.of[v]] {
        ClockData::On { cond: c, .. } => conditions.guard(c, true).cond == conditions.guard(cond, true).cond,
        ClockData::Base | ClockData::Unknown => false,
    }
}
