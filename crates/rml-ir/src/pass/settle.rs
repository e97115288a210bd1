//! Takes the branches that constant conditions choose.
//!
//! A derived node takes `bp`; called with `true` or `false`, its conditions are constant, and its samplings, merges and
//! completions with zeros are idle.

use std::collections::BTreeSet;

use rml_base::{EntityId, IndexVec};

use super::cone::Live;
use super::constant;
use super::determined::{Determined, Failures};
use crate::check::checked;
use crate::flat::{By, ClassId, ClockClasses, Driver, Eq, Flat, Rhs, Var, verify};
use crate::op::Op;
use crate::value::Value;

/// Replaces `x when c`, `merge c x y`, `if c then x else y`, `c and x`, `c or x` by what a constant `c` makes of them,
/// and conditions that are constant by their value.
///
/// Functions are strict (APPLY-2), so that a condition which is `false` wherever it has a value may have none:
/// `false and x` where `x` waits for itself or for a later cycle. Only conditions that have a value wherever they are
/// present are replaced, or chosen by (`Determined`), and none whose computation may fail.
///
/// An equation also says which variables are present together. None is replaced that a kept variable owes its clock to:
/// what is known about the presence of a variable that the outputs need is known after as before.
///
/// Requires: `flat::verify`. Ensures: the same; for every trace without errors, of which all inputs are given, the
/// variables that outputs and updates of parameters need after are what they were before, in every cycle; the outputs
/// and states stay. What is no longer needed finds no errors once `cone` has dropped it, and may be present in other
/// cycles until then.
pub fn settle(mut flat: Flat) -> Flat {
    let _span = tracing::debug_span!("settle", equations = flat.equations.len()).entered();
    let conditions = constant::conditions(&flat);
    let before = ClockClasses::new(&flat);
    let mut changes = changes(&mut flat, &before, &conditions);
    while !changes.is_empty() {
        let former = replace(&mut flat, &changes);
        let lost = lost(&flat, &before, &conditions, &former);
        if lost.is_empty() {
            break;
        }
        replace(&mut flat, &former);
        changes.retain(|(eq, _)| !lost.contains(eq));
    }
    checked("settle", || verify(&flat));
    flat
}

/// The equations that have a simpler form, with that form.
fn changes(flat: &mut Flat, classes: &ClockClasses, conditions: &[Option<bool>]) -> Vec<(Eq, Rhs)> {
    let determined = Determined::new(flat, classes, |_| true, conditions, Failures::Possible);
    let known = |v: Var| conditions[v.index()].filter(|_| determined.has_value(v));
    // What keeps its equation, whatever is known about it.
    let mut is_output = IndexVec::filled(false, flat.vars.len());
    flat.outputs.iter().for_each(|v| is_output[*v] = true);
    let mut is_state = IndexVec::filled(false, flat.equations.len());
    flat.states.values().for_each(|state| is_state[state.equation] = true);
    let mut truths = [None, None];
    let mut changes = Vec::new();
    for eq in flat.equations.ids() {
        let equation = &flat.equations[eq];
        let is_fixed = is_state[eq] || is_output[equation.lhs];
        let new = match (known(equation.lhs), &equation.rhs) {
            (_, Rhs::Const(_)) => None,
            (Some(value), _) if !is_fixed => {
                let slot = &mut truths[usize::from(value)];
                let k = *slot.get_or_insert_with(|| flat.consts.push(Value::Bool(value).into()));
                Some(Rhs::Const(k))
            }
            (_, rhs) => {
                let of =
                    chosen(rhs, known).filter(|of| is_told(rhs, equation.lhs, *of, classes, &determined));
                of.map(copy)
            }
        };
        changes.extend(new.map(|rhs| (eq, rhs)));
    }
    changes
}

fn copy(of: Var) -> Rhs {
    Rhs::Apply { op: Op::Copy, args: vec![of] }
}

/// The operand that the result is, given the conditions that are known.
fn chosen(rhs: &Rhs, known: impl Fn(Var) -> Option<bool>) -> Option<Var> {
    match rhs {
        Rhs::When { value, cond } => (known(*cond)?).then_some(*value),
        Rhs::Merge { cond, on_true, on_false } => Some(if known(*cond)? { *on_true } else { *on_false }),
        Rhs::If { cond, then, other } => Some(if known(*cond)? { *then } else { *other }),
        Rhs::Apply { op: op @ (Op::And | Op::Or), args } => match args.as_slice() {
            [x, y] if known(*x) == Some(*op == Op::And) => Some(*y),
            [x, y] if known(*y) == Some(*op == Op::And) => Some(*x),
            _ => None,
        },
        _ => None,
    }
}

/// Whether a copy tells no more of presence than the equation that it replaces: of the absence of a sample nothing
/// follows for what it samples, and of the absence of an operand of `merge` nothing for the result. So that has to be
/// known anyway.
fn is_told(rhs: &Rhs, lhs: Var, of: Var, classes: &ClockClasses, determined: &Determined) -> bool {
    let (result, operand) = (classes.of(lhs), classes.of(of));
    let told = match rhs {
        Rhs::When { .. } => operand,
        Rhs::Merge { .. } => result,
        _ => return true,
    };
    result == operand || determined.is_timed(told)
}

/// Gives equations these right sides. Returns those that they had, in the same order.
fn replace(flat: &mut Flat, changes: &[(Eq, Rhs)]) -> Vec<(Eq, Rhs)> {
    let one = |(eq, rhs): &(Eq, Rhs)| (*eq, std::mem::replace(&mut flat.equations[*eq].rhs, rhs.clone()));
    changes.iter().map(one).collect()
}

/// Where everything that decided a class before is after the changes.
#[derive(Clone, Copy, PartialEq, std::cmp::Eq)]
enum Drivers {
    /// Nothing did.
    None,
    /// In one class.
    In(ClassId),
    /// In several, or gone.
    Apart,
}

/// The changed equations that said where a needed variable is present, if that is no longer surely known. `former`
/// holds the right sides that the changed equations had, in the order of equations.
fn lost(
    flat: &Flat,
    before: &ClockClasses,
    conditions: &[Option<bool>],
    former: &[(Eq, Rhs)],
) -> BTreeSet<Eq> {
    let live = Live::of(flat);
    let after = ClockClasses::new(flat);
    let determined = Determined::new(flat, &after, |_| true, conditions, Failures::Never);
    let mut places = IndexVec::filled(Drivers::None, before.len());
    for driver in before.drivers().iter().filter(|d| !before.is_own(d)) {
        let place = &mut places[before.of(driver.var)];
        *place = match (*place, place_of(flat, &after, former, driver)) {
            (Drivers::None, Some(class)) => Drivers::In(class),
            (Drivers::In(at), Some(class)) if at == class => Drivers::In(at),
            _ => Drivers::Apart,
        };
    }
    // Nothing drives these after, as nothing drove some of their members before.
    let mut free = IndexVec::filled(false, after.len());
    for v in flat.vars.ids() {
        free[after.of(v)] |= !before.is_driven(before.of(v));
    }
    let mut orphans = IndexVec::filled(false, after.len());
    for v in flat.vars.ids().filter(|v| live[v.index()]) {
        let (class_before, class) = (before.of(v), after.of(v));
        let is_driven = after.is_driven(class);
        let is_known = is_driven && determined.is_timed(class);
        orphans[class] |= !is_known
            && if before.is_driven(class_before) {
                !((is_driven || free[class]) && places[class_before] == Drivers::In(class))
            } else {
                is_driven
            };
    }
    let is_orphan = |v: Var| orphans[after.of(v)];
    let takes = |(eq, rhs): &(Eq, Rhs)| {
        let mut found = is_orphan(flat.equations[*eq].lhs);
        rhs.for_each_operand(|v| found |= is_orphan(v));
        found
    };
    former.iter().filter(|change| takes(change)).map(|(eq, _)| *eq).collect()
}

/// The class of what a driver decided after the changes; `None` if the driver is gone.
fn place_of(flat: &Flat, after: &ClockClasses, former: &[(Eq, Rhs)], driver: &Driver) -> Option<ClassId> {
    let place = Some(after.of(driver.var));
    let Some(eq) = driver.eq else { return place };
    let Ok(k) = former.binary_search_by_key(&eq, |(eq, _)| *eq) else { return place };
    match (&former[k].1, &flat.equations[eq].rhs) {
        (_, Rhs::Apply { .. }) if matches!(driver.by, By::Backward(_)) => place,
        // A sample of all cycles is present with what it samples.
        (Rhs::When { .. }, Rhs::Apply { .. }) => place,
        (Rhs::Merge { .. }, Rhs::Apply { args, .. }) if args.contains(&driver.var) => place,
        _ => None,
    }
}
