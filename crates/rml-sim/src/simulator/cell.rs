//! The knowledge about one variable in one cycle: whether its class is present, and its value.

use std::sync::Arc;

use rml_backend::{Buffer, Held};
use rml_ir::{Precision, Type, Value};

/// The knowledge about the presence of a class in a cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Presence {
    /// Nothing is known.
    Bottom,
    /// The class is absent.
    Absent,
    /// The class is present.
    Present,
    /// The class is both present and absent: a synchronisation error.
    Error,
}

/// The knowledge about the value of a present variable.
#[derive(Clone, Default, Debug)]
pub(super) enum Cell {
    /// Nothing is known yet.
    #[default]
    Empty,
    /// The value will never be known: a `post` has no value at the end of its window, nor has any value that is
    /// computed from it. In the semantics such a value is `?`, like any value that is not known yet. The simulator
    /// distinguishes the two, because it need not wait for this one.
    Never,
    /// The value.
    Value(Value),
    /// The value, on a backend's device.
    Device(Arc<dyn Buffer>),
    /// The value is known, but only inside the function that computed it, because no other step reads it.
    Inside,
}

impl Cell {
    #[inline]
    pub(super) fn value(&self) -> Option<&Value> {
        if let Cell::Value(v) = self { Some(v) } else { None }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Cell::Empty)
    }

    /// Whether the value is known, wherever it is stored.
    #[inline]
    pub(super) fn is_known(&self) -> bool {
        !matches!(self, Cell::Empty | Cell::Never)
    }

    /// The value, wherever it is stored.
    pub(super) fn held(&self) -> Option<Held> {
        match self {
            Cell::Value(value) => Some(Held::Host(value.clone())),
            Cell::Device(buffer) => Some(Held::Device(Arc::clone(buffer))),
            Cell::Empty | Cell::Never | Cell::Inside => None,
        }
    }

    /// The type and precision of the stored value.
    pub(super) fn kind(&self) -> Option<(Type, Precision)> {
        match self {
            Cell::Value(value) => Some((value.ty(), value.precision())),
            Cell::Device(buffer) => Some((buffer.ty().clone(), buffer.precision())),
            Cell::Empty | Cell::Never | Cell::Inside => None,
        }
    }
}
