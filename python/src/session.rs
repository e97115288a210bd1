//! Running programs.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rml::{DType, Diagnostics, End, Error, Feed, Outputs};

use crate::columns::{Table, stacked};
use crate::states::parameters;
use crate::value::{Array, array};
use crate::{Named, error, interruptible, unlocked};

/// A running program; `None` after its end.
#[pyclass(frozen, module = "rml._native")]
pub(crate) struct Session {
    program: rml::Program,
    session: Arc<Mutex<Option<rml::Session>>>,
}

/// A cycle, and the outputs by name.
type Row<'py> = (u64, Bound<'py, PyDict>);

impl Session {
    pub(crate) fn new(session: rml::Session) -> Self {
        Self { program: session.program().clone(), session: Arc::new(Mutex::new(Some(session))) }
    }

    fn lock(&self) -> MutexGuard<'_, Option<rml::Session>> {
        lock(&self.session)
    }

    /// Runs an action on the session, while other Python threads run.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut rml::Session) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        let done = py.detach(|| self.lock().as_mut().map(work));
        done.ok_or_else(|| PyRuntimeError::new_err("the session has ended"))?
            .map_err(|why| error::raised(py, &why))
    }

    /// The value of an input. An input that the program does not have is refused by the session.
    fn feed_of(&self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<Feed> {
        if value.is_none() {
            return Ok(Feed::Absent);
        }
        let dtype =
            self.program.inputs().iter().find(|i| *i.name == *name).map_or(DType::Num, |i| i.ty.dtype);
        let array = Array::read(&format!("the value of input `{name}`"), value, dtype)?;
        Ok(Feed::Value(array.value(self.program.precision())))
    }

    /// The element type of a state; an arbitrary one for a state that the program does not have, which the session
    /// refuses.
    fn state(&self, key: &str) -> DType {
        let flat = self.program.flat();
        let of = |state: &rml::ir::flat::State| flat.vars[flat.equations[state.equation].lhs].ty.dtype;
        flat.states.get(key).map_or(DType::Num, of)
    }
}

fn lock(session: &Mutex<Option<rml::Session>>) -> MutexGuard<'_, Option<rml::Session>> {
    session.lock().unwrap_or_else(PoisonError::into_inner)
}

fn rows(py: Python<'_>, known: Vec<Outputs>) -> PyResult<Vec<Row<'_>>> {
    let row = |outputs: Outputs| {
        let values = PyDict::new(py);
        for (name, value) in outputs.values {
            values.set_item(&*name, value.map(|value| array(py, value)).transpose()?)?;
        }
        Ok((outputs.cycle, values))
    };
    known.into_iter().map(row).collect()
}

#[pymethods]
impl Session {
    /// The number of cycles fed so far, and how many of them wait for later ones.
    #[getter]
    fn cycles(&self, py: Python<'_>) -> PyResult<(u64, u64)> {
        self.with(py, |session| Ok((session.cycles(), session.open_cycles())))
    }

    /// Runs a cycle, and returns the rows that became known.
    fn feed<'py>(&self, py: Python<'py>, inputs: &Bound<'py, PyDict>) -> PyResult<Vec<Row<'py>>> {
        let feeds = inputs.iter().map(|(name, value)| {
            let name: String = name.extract()?;
            let feed = self.feed_of(&name, &value)?;
            Ok((name, feed))
        });
        let feeds: Named<Feed> = feeds.collect::<PyResult<_>>()?;
        let known = self.with(py, |session| {
            session.step(feeds.iter().map(|(name, feed)| (name.as_str(), feed.clone())))
        })?;
        rows(py, known)
    }

    /// Runs the cycles of a table. Returns columns if exactly the outputs of these cycles are known; otherwise the rows
    /// that became known.
    fn run<'py>(
        &self,
        py: Python<'py>,
        inputs: Table<'py>,
        allow_nan: bool,
    ) -> PyResult<(Option<Bound<'py, PyDict>>, Vec<Row<'py>>)> {
        let inputs = inputs.columns(py)?;
        let session = Arc::clone(&self.session);
        let run = interruptible(py, move |interrupt| {
            let mut session = lock(&session);
            let Some(session) = session.as_mut() else { return Ok(None) };
            let from = session.cycles();
            let known = session.run_until(&inputs, allow_nan, interrupt)?;
            Ok(Some((from, session.cycles(), known)))
        })?;
        let (from, to, known) = run.ok_or_else(|| PyRuntimeError::new_err("the session has ended"))?;
        if !known.iter().map(|outputs| outputs.cycle).eq(from..to) {
            return Ok((None, rows(py, known)?));
        }
        let cells = |i: usize| {
            known.iter().map(move |row| row.values.get_index(i).and_then(|(_, value)| value.clone()))
        };
        let columns = PyDict::new(py);
        for (i, info) in self.program.outputs().iter().enumerate() {
            columns.set_item(&*info.name, stacked(py, cells(i), &info.ty, self.program.precision())?)?;
        }
        Ok((Some(columns), Vec::new()))
    }

    /// Ends the trace, and returns the remaining rows.
    fn finish<'py>(&self, py: Python<'py>, closed: bool) -> PyResult<Vec<Row<'py>>> {
        let end = if closed { End::Closed } else { End::Open };
        let taken = py.detach(|| self.lock().take());
        let session = taken.ok_or_else(|| PyRuntimeError::new_err("the session has ended"))?;
        let known = unlocked(py, || session.finish(end))?;
        rows(py, known)
    }

    /// The states by path: only parameters, or all states.
    fn states<'py>(&self, py: Python<'py>, parameters: bool) -> PyResult<Bound<'py, PyDict>> {
        let states = self.with(py, |session| session.states())?;
        let flat = self.program.flat();
        let dict = PyDict::new(py);
        for (key, value) in states {
            if !parameters || flat.states.get(&key).is_some_and(|state| state.parameter) {
                dict.set_item(&*key, array(py, value)?)?;
            }
        }
        Ok(dict)
    }

    /// Sets states by path; on an error, none is set.
    fn set_states(&self, py: Python<'_>, states: &Bound<'_, PyDict>) -> PyResult<()> {
        let mut values = Vec::new();
        for (key, value) in states {
            let key: String = key.extract()?;
            let array = Array::read(&format!("state `{key}`"), &value, self.state(&key))?;
            values.push((key, array.value(self.program.precision())));
        }
        self.with(py, |session| session.set_all(values.iter().map(|(key, value)| (key.as_str(), value))))
    }

    /// Writes all states to a checkpoint file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        self.with(py, |session| session.save(&path))
    }

    /// Loads all parameters, and other states that fit, from a dict or a checkpoint file.
    fn load(&self, py: Python<'_>, params: &Bound<'_, PyAny>) -> PyResult<()> {
        let params = parameters(params, self.program.precision(), |key| self.state(key))?;
        let checkpoint = unlocked(py, || params.checkpoint())?;
        let warnings = checkpoint.unprepared(&self.program).map(Diagnostics::from).unwrap_or_default();
        error::warn(py, &warnings, self.program.sources())?;
        self.with(py, |session| session.begin_with(&checkpoint.into()))
    }
}
