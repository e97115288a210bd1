//! Sets of truth values.

/// The set of values that a condition may have; it is empty if the condition is never known.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Truths(u8);

impl Truths {
    /// No value.
    pub const NONE: Truths = Truths(0);
    /// Both values.
    pub const ANY: Truths = Truths(0b11);

    /// The set with one value.
    pub fn of(value: bool) -> Truths {
        Truths(if value { 0b10 } else { 0b01 })
    }

    /// Whether a value is possible.
    pub fn may(self, value: bool) -> bool {
        self.0 & Truths::of(value).0 != 0
    }

    /// The only possible value, if there is one.
    pub fn known(self) -> Option<bool> {
        match self.0 {
            0b01 => Some(false),
            0b10 => Some(true),
            _ => None,
        }
    }

    /// Whether this set is a subset of the other one.
    pub fn is_within(self, other: Truths) -> bool {
        self.0 & !other.0 == 0
    }

    /// The union of both sets.
    #[must_use]
    pub fn or(self, other: Truths) -> Truths {
        Truths(self.0 | other.0)
    }

    /// The intersection of both sets.
    #[must_use]
    pub fn and(self, other: Truths) -> Truths {
        Truths(self.0 & other.0)
    }

    /// The results of a function for all values.
    #[must_use]
    pub fn map(self, f: impl Fn(bool) -> bool) -> Truths {
        let values = [false, true].into_iter().filter(|v| self.may(*v));
        values.fold(Truths::NONE, |all, v| all.or(Truths::of(f(v))))
    }

    /// The results of a function for all pairs of values.
    #[must_use]
    pub fn map2(self, other: Truths, f: impl Fn(bool, bool) -> bool) -> Truths {
        let values = [false, true].into_iter().filter(|v| self.may(*v));
        values.fold(Truths::NONE, |all, v| all.or(other.map(|w| f(v, w))))
    }
}
