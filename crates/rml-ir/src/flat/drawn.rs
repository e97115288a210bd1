//! The form that engines run: a flat program in which every constant is a value.

use std::ops::Deref;

use super::{ConstId, ConstKind, Flat, verify_drawn};
use crate::check::checked;
use crate::value::Value;

/// A flat program with F8: every constant is a value. [`pass::draw`](crate::pass::draw()) makes it of a lowered
/// program.
#[derive(Clone, Debug)]
pub struct Drawn(Flat);

impl Drawn {
    /// The program as one that runs, if it is: for programs that no pass makes, such as those that a text describes.
    ///
    /// # Errors
    /// What violates F1 to F8, one line for each violation.
    pub fn new(flat: Flat) -> Result<Drawn, Vec<String>> {
        verify_drawn(&flat)?;
        Ok(Drawn(flat))
    }

    /// What a pass makes that ensures F8.
    pub(crate) fn made(pass: &str, flat: Flat) -> Drawn {
        checked(pass, || verify_drawn(&flat));
        Drawn(flat)
    }

    /// The value of a constant.
    pub fn value(&self, k: ConstId) -> &Value {
        match &self.0.consts[k].kind {
            ConstKind::Value(value) => value,
            ConstKind::Random(_) | ConstKind::Apply { .. } => unreachable!("F8: every constant is a value"),
        }
    }

    /// The program, to be changed.
    pub fn into_inner(self) -> Flat {
        self.0
    }
}

impl Deref for Drawn {
    type Target = Flat;

    fn deref(&self) -> &Flat {
        &self.0
    }
}
