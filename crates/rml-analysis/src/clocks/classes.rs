//! The drivers of variables, which decide when they are present: an input, a `when`, or a `merge` by a condition of
//! another class. A variable without a driver is present in every cycle (CLOCK-2, CLOCK-3).

use rml_base::IndexVec;
use rml_ir::flat::{By, ClockClasses, Flat, Var};

/// The driver of a variable: it decides when the variable, and everything that equations force to be present with it,
/// is present.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Driver {
    /// No driver.
    Nobody,
    /// Only inputs.
    Input,
    /// A sampling, a merge or a declared clock.
    Sampling,
}

/// The driver of each variable.
pub(super) fn drivers(flat: &Flat) -> IndexVec<Var, Driver> {
    let classes = ClockClasses::new(flat);
    let mut of_class = IndexVec::filled(Driver::Nobody, classes.len());
    for driver in classes.drivers() {
        let class = &mut of_class[classes.of(driver.var)];
        match driver.by {
            By::Input if *class == Driver::Nobody => *class = Driver::Input,
            By::Condition(_) if !classes.is_own(driver) => *class = Driver::Sampling,
            By::Input | By::Condition(_) | By::Backward(_) | By::Offer(_) => {}
        }
    }
    // The declared clock of an input is a sampling, unless its condition belongs to the same class.
    for input in &flat.inputs {
        let Some((cond, _)) = input.clock else { continue };
        let class = &mut of_class[classes.of(input.var)];
        if classes.of(cond) != classes.of(input.var) {
            *class = Driver::Sampling;
        } else if *class == Driver::Nobody {
            *class = Driver::Input;
        }
    }
    flat.vars.ids().map(|v| of_class[classes.of(v)]).collect()
}
