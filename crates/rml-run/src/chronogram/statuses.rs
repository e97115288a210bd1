//! The status of each variable in each cycle, as recorded by a run.

use std::cell::OnceCell;

use rml_base::Error;
use rml_engine::Status;
use rml_ir::flat::Var;
use rml_pictures::CellStatus as Known;

use crate::session::Session;

/// The statuses that a run has recorded.
pub(super) struct Statuses<'s> {
    session: &'s Session,
    /// The error of a status that could not be read.
    failed: OnceCell<Error>,
}

impl<'s> Statuses<'s> {
    pub(super) fn of(session: &'s Session) -> Self {
        Self { session, failed: OnceCell::new() }
    }

    /// The status of a variable in a cycle; [`read`](Self::read) returns whether it could be read.
    pub(super) fn at(&self, v: Var, n: usize) -> Status {
        self.session.status(n as u64, v).unwrap_or_else(|error| {
            self.failed.get_or_init(|| error);
            Status::default()
        })
    }

    /// Returns the error, if any status could not be read.
    pub(super) fn read(self) -> Result<(), Error> {
        self.failed.into_inner().map_or(Ok(()), Err)
    }
}

/// The form in which a picture shows a status.
pub(super) fn known(status: &Status) -> Known {
    match status {
        Status::Absent => Known::Absent,
        Status::Value(value) => Known::Value(value.as_bool()),
        Status::Bottom | Status::Unknown | Status::Error => Known::Unknown,
    }
}
