//! The status of one variable in one cycle. This file defines the lattice, but not the rules of the equations.

use rml_ir::Value;

/// The knowledge about a variable in a cycle: `Bottom < Unknown < Value < Error` and `Bottom < Absent < Error` (CELL-2,
/// CELL-3).
#[derive(Clone, Debug, Default)]
pub enum Status {
    /// Nothing is known.
    #[default]
    Bottom,
    /// The variable is absent.
    Absent,
    /// The variable is present, and its value is not known.
    Unknown,
    /// The variable is present with this value.
    Value(Value),
    /// A synchronisation error.
    Error,
}

impl Status {
    /// The least upper bound of both statuses. Two different values give an error; NaN equals NaN (CELL-4).
    #[must_use]
    pub fn join(&self, other: &Status) -> Status {
        match (self, other) {
            (Status::Bottom, x) | (x, Status::Bottom) => x.clone(),
            (Status::Error, _) | (_, Status::Error) => Status::Error,
            (Status::Absent, Status::Absent) => Status::Absent,
            (Status::Absent, _) | (_, Status::Absent) => Status::Error,
            (Status::Unknown, x) | (x, Status::Unknown) => x.clone(),
            (Status::Value(a), Status::Value(b)) => {
                if a.same(b) {
                    self.clone()
                } else {
                    Status::Error
                }
            }
        }
    }

    /// The same status without the value (CELL-5).
    #[must_use]
    pub fn presence(&self) -> Status {
        if let Status::Value(_) = self { Status::Unknown } else { self.clone() }
    }

    /// Whether the variable is known to be present, with or without a value.
    pub fn is_present(&self) -> bool {
        matches!(self, Status::Unknown | Status::Value(_))
    }

    /// Whether the status is complete: the variable is absent, or present with a value.
    pub fn is_determined(&self) -> bool {
        matches!(self, Status::Absent | Status::Value(_))
    }

    /// The value, if there is one.
    pub fn value(&self) -> Option<&Value> {
        if let Status::Value(v) = self { Some(v) } else { None }
    }

    /// Whether both statuses are the same and have the same value (NaN equals NaN).
    pub fn same(&self, other: &Status) -> bool {
        match (self, other) {
            (Status::Value(a), Status::Value(b)) => a.same(b),
            (Status::Bottom, Status::Bottom)
            | (Status::Absent, Status::Absent)
            | (Status::Unknown, Status::Unknown)
            | (Status::Error, Status::Error) => true,
            _ => false,
        }
    }

    /// Whether `other` contains the same knowledge or more.
    pub fn is_below(&self, other: &Status) -> bool {
        self.join(other).same(other)
    }
}

/// The value or the absence that the environment gives for one input in one cycle (ENV-1, ENV-2).
#[derive(Clone, Debug)]
pub enum InputCell {
    /// The input is present with this value.
    Given(Value),
    /// The input is absent.
    Absent,
    /// The value is read only if the program finds the input present. `None` means that there is no value, which is
    /// then an error.
    OnDemand(Option<Value>),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Status> {
        vec![
            Status::Bottom,
            Status::Absent,
            Status::Unknown,
            Status::Value(Value::Int(1)),
            Status::Value(Value::F64(f64::NAN)),
            Status::Value(Value::Bool(true)),
            Status::Error,
        ]
    }

    #[test]
    fn join_is_a_least_upper_bound() {
        for a in all() {
            assert!(a.join(&a).same(&a));
            for b in all() {
                let j = a.join(&b);
                assert!(j.same(&b.join(&a)));
                assert!(a.is_below(&j) && b.is_below(&j));
                for c in all() {
                    assert!(j.join(&c).same(&a.join(&b.join(&c))), "associative");
                    if a.is_below(&c) && b.is_below(&c) {
                        assert!(j.is_below(&c), "least");
                    }
                }
            }
        }
    }

    #[test]
    fn presence_against_absence_is_an_error() {
        assert!(Status::Absent.join(&Status::Unknown).same(&Status::Error));
        assert!(Status::Value(Value::Int(1)).join(&Status::Value(Value::Int(2))).same(&Status::Error));
        assert!(Status::Unknown.join(&Status::Value(Value::Int(2))).same(&Status::Value(Value::Int(2))));
    }
}
