//! Conformance vectors: the JSON files described in `tests/conformance/README.md`.
//!
//! [`ConformanceVector::parse`] reads a vector, [`check`] runs it on both engines and lists every cell that is not as
//! expected, and [`check_file`] does both for a file. This module prints nothing.

mod compare;
mod engines;
mod plan;
mod vector;

use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rml_backend::Backend;
use rml_ir::flat::Drawn;
use rml_sim::InputCell;

pub use vector::{ConformanceVector, Expected};

/// A failure of a vector, with its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum VectorMismatch {
    /// The vector cannot be run: a malformed file, a program that does not compile, a panic.
    Broken {
        /// The reason.
        message: String,
    },
    /// An engine failed as a whole.
    Engine {
        /// The engine.
        engine: VectorRunner,
        /// The failure.
        message: String,
    },
    /// A cell is not as expected.
    Cell {
        /// The engine.
        engine: VectorRunner,
        /// The variable.
        variable: String,
        /// The cycle.
        cycle: usize,
        /// The cell that the vector expects.
        expected: String,
        /// The cell that the engine returns.
        got: String,
    },
}

/// The engines that run vectors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VectorRunner {
    /// The event-driven simulator.
    Simulator,
    /// The naive least fixed point.
    Oracle,
    /// The simulator with a backend that computes tensor functions.
    Backend,
    /// Plans on the embedded backend.
    Plan,
}

impl fmt::Display for VectorRunner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            VectorRunner::Simulator => "simulator",
            VectorRunner::Oracle => "oracle",
            VectorRunner::Backend => "backend",
            VectorRunner::Plan => "plan",
        })
    }
}

impl fmt::Display for VectorMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            VectorMismatch::Broken { message } => f.write_str(message),
            VectorMismatch::Engine { engine, message } => write!(f, "{engine}: {message}"),
            VectorMismatch::Cell { engine, variable, cycle, expected, got } => {
                write!(f, "{engine}: {variable} at cycle {cycle}: expected {expected}, got {got}")
            }
        }
    }
}

/// The outcome of one vector.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VectorOutcome {
    /// The file.
    pub file: PathBuf,
    /// The vector's name: the name of the file without its extension.
    pub name: String,
    /// The failures; the vector passed if there are none.
    pub failures: Vec<VectorMismatch>,
    /// Whether the vector was run by plan.
    pub planned: bool,
}

/// Runs a vector on both engines, and on the simulator with a backend if one is given. Returns the failures.
pub fn check(vector: &ConformanceVector, backend: Option<&Arc<dyn Backend>>) -> Vec<VectorMismatch> {
    let mut engines = vec![VectorRunner::Oracle, VectorRunner::Simulator];
    engines.extend(backend.map(|_| VectorRunner::Backend));
    guarded(|| Ok(engines::Prepared::new(vector, engines.clone(), backend.cloned())?.check()))
}

/// Runs a vector on one engine. Returns the failures, and whether it was run by plan. Without a plan there are no
/// failures.
pub fn check_on(vector: &ConformanceVector, engine: VectorRunner) -> (Vec<VectorMismatch>, bool) {
    if engine != VectorRunner::Plan {
        return (guarded(|| Ok(engines::Prepared::new(vector, vec![engine], None)?.check())), false);
    }
    let mut planned = false;
    let failures = guarded(|| {
        let found = plan::check(vector)?;
        planned = found.is_some();
        Ok(found.unwrap_or_default())
    });
    (failures, planned)
}

/// The failures that a check finds. A check that cannot be made or panics is a failure.
fn guarded(check: impl FnOnce() -> Result<Vec<VectorMismatch>, String>) -> Vec<VectorMismatch> {
    let broken = |message: String| vec![VectorMismatch::Broken { message }];
    catch_unwind(AssertUnwindSafe(check))
        .unwrap_or_else(|_| Err("panicked".to_owned()))
        .unwrap_or_else(broken)
}

/// The program of a vector as it runs, reduced to the equations that its outputs need, with a row of inputs for each
/// cycle.
///
/// # Errors
/// The program does not compile, or the inputs do not fit.
pub fn program(vector: &ConformanceVector) -> Result<(Arc<Drawn>, Vec<Vec<InputCell>>), String> {
    engines::program(vector, false).map(|(program, inputs)| (Arc::clone(program.flat()), inputs))
}

/// Reads a vector from a file and runs it as [`check`] does.
pub fn check_file(file: &Path, backend: Option<&Arc<dyn Backend>>) -> VectorOutcome {
    outcome(file, |vector| (check(vector, backend), false))
}

/// Reads a vector from a file and runs it on one engine, as [`check_on`] does.
pub fn check_file_on(file: &Path, engine: VectorRunner) -> VectorOutcome {
    outcome(file, |vector| check_on(vector, engine))
}

fn outcome(
    file: &Path,
    check: impl FnOnce(&ConformanceVector) -> (Vec<VectorMismatch>, bool),
) -> VectorOutcome {
    let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let read = std::fs::read_to_string(file).map_err(|e| format!("cannot be read: {e}"));
    let (failures, planned) = match read.and_then(|text| ConformanceVector::parse(&text)) {
        Ok(vector) => check(&vector),
        Err(message) => (vec![VectorMismatch::Broken { message }], false),
    };
    VectorOutcome { file: file.to_path_buf(), name, failures, planned }
}

/// The vector files of a folder, by name.
///
/// # Errors
/// The folder cannot be listed.
pub fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_file() && path.extension().is_some_and(|e| e.eq_ignore_ascii_case("json")) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
