//! What is known about one variable in one cycle: whether its class is present, and its value.

use std::sync::Arc;

use rml_backend::{Buffer, Held};
use rml_ir::{Precision, Type, Value};

/// What is known about the presence of a class in a cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Presence {
    /// Nothing.
    Bottom,
    /// Absent.
    Absent,
    /// Present.
    Present,
    /// Both: a synchronisation error.
    Error,
}

/// What is known about the value of a variable that is present.
#[derive(Clone, Default, Debug)]
pub(super) enum Cell {
    /// Nothing yet.
    #[default]
    Empty,
    /// It will never be known: a `post` at the end of its window has no value, nor has what is computed from it. In the
    /// semantics such a value is `?`, as any value that is not known yet; the simulator tells them apart because it
    /// need not wait for this one.
    Never,
    /// The value.
    Value(Value),
    /// The value, on a backend's device.
    Device(Arc<dyn Buffer>),
    /// It is known, but only inside the function that computed it, because nothing else reads it.
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

    /// Whether the value is known, wherever it is.
    #[inline]
    pub(super) fn is_known(&self) -> bool {
        !matches!(self, Cell::Empty | Cell::Never)
    }

    /// The value, wherever it is.
    pub(super) fn held(&self) -> Option<Held> {
        match self {
            Cell::Value(value) => Some(Held::Host(value.clone())),
            Cell::Device(buffer) => Some(Held::Device(Arc::clone(buffer))),
            Cell::Empty | Cell::Never | Cell::Inside => None,
        }
    }

    /// Type and precision of the value that is held.
    pub(super) fn kind(&self) -> Option<(Type, Precision)> {
        match self {
            Cell::Value(value) => Some((value.ty(), value.precision())),
            Cell::Device(buffer) => Some((buffer.ty().clone(), buffer.precision())),
            Cell::Empty | Cell::Never | Cell::Inside => None,
        }
    }
}
