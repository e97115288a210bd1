//! Processes that train together: those of a launcher, or a group that a Python object connects.

use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rml::collective::Group;
use rml::launch::Launch;
use rml::{Diagnostic, Ranks, codes};

use crate::unlocked;

/// The processes that train together, from the attributes of a Python object.
#[derive(FromPyObject)]
pub(crate) struct Together<'py> {
    /// Whether a launcher started them.
    launched: bool,
    /// How long to wait for them, in seconds.
    patience: f64,
    /// An object that connects them.
    group: Option<Bound<'py, PyAny>>,
}

impl Together<'_> {
    /// Meets the others, if there are any.
    pub(crate) fn join(self, py: Python<'_>) -> PyResult<Option<Ranks>> {
        if let Some(group) = self.group {
            let (rank, size) = (group.getattr("rank")?.extract()?, group.getattr("size")?.extract()?);
            if size == 0 || rank >= size {
                return Err(PyValueError::new_err(format!("a group of {size} has no rank {rank}")));
            }
            return Ok(Some(Ranks::new(Object { group: group.unbind(), rank, size })));
        }
        if !self.launched {
            return Ok(None);
        }
        let Ok(patience) = Duration::try_from_secs_f64(self.patience) else {
            return Err(PyValueError::new_err(format!("expected seconds, found {}", self.patience)));
        };
        unlocked(py, || Ok(Launch::required()?.join(patience)?)).map(Some)
    }
}

/// A group that a Python object connects.
struct Object {
    group: Py<PyAny>,
    rank: usize,
    size: usize,
}

impl Group for Object {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn exchange(&mut self, mut to: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Diagnostic> {
        // In each round, every rank has one partner, who has it as partner, too.
        for round in 0..self.size {
            let partner = (round + self.size - self.rank) % self.size;
            if partner != self.rank {
                to[partner] = self.with(partner, &to[partner]).map_err(|error| {
                    let what = format!("the exchange with rank {partner} failed");
                    Diagnostic::error(codes::run::PEER_LOST, what).note(error.to_string())
                })?;
            }
        }
        Ok(to)
    }

    fn fail(&mut self, why: &str) {
        // The object may have a way to tell the others; without one, their exchange fails.
        drop(Python::attach(|py| self.group.call_method1(py, "abort", (why,)).map(drop)));
    }
}

impl Object {
    /// Sends to a rank and receives from it.
    fn with(&self, partner: usize, bytes: &[u8]) -> PyResult<Vec<u8>> {
        Python::attach(|py| {
            let got = self.group.call_method1(py, "exchange", (partner, PyBytes::new(py, bytes)))?;
            Ok(got.bind(py).extract::<&[u8]>()?.to_vec())
        })
    }
}
