//! Which windows of the data a run trains on, and which it keeps for tests and validation.

use rml_data::{Kept, Parts, split};

use crate::checkpoint::Position;

impl Position {
    /// What is kept for testing, and to compare epochs by.
    pub(crate) fn kept(&self) -> (Kept, Kept) {
        let Self { test, last_test, validation, last_validation, .. } = *self;
        (Kept { count: test, last: last_test }, Kept { count: validation, last: last_validation })
    }

    /// What each window of the data is for.
    pub(crate) fn parts(&self) -> Parts {
        let (test, validation) = self.kept();
        split(self.windows, test, validation, self.seed)
    }
}
