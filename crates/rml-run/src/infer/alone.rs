//! Inference without data: a node without inputs, run from window to window.

use std::sync::atomic::Ordering;

use indexmap::IndexMap;
use rml_base::codes::run as codes;
use rml_base::memory::Reservation;
use rml_base::{Diagnostic, Error};
use rml_data::{Column, Columns, Elements};
use rml_driver::{Program, Source, ValueNames, enumerated_inputs};
use rml_engine::KnownOutputs;
use rml_ir::{Data, Shape};

use super::kept::{insert, joined};
use super::states::inherited;
use super::{InferOptions, InferReport, Split, family, ports};
use crate::checkpoint::{self, Policy};
use crate::rollout::{Reach, Rollout};
use crate::runner::{Averages, metric_names};
use crate::train::confusion::{self, Classes};
use crate::train::options::Length;

/// Runs a node without inputs, which makes its own data, with the parameters of a checkpoint, for a number of windows
/// or cycles; the last window is finished. In a node without windows, each cycle is a window. [`InferReport::outputs`]
/// have a row for each cycle.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let source = rml::Source::text("n.rml", "node count() -> (n)  n = 1 + (0 fby n);");
/// use rml::{InferOptions, Length};
///
/// let length = Length { cycles: Some(4), ..Length::default() };
/// let options = InferOptions { node: "count".to_owned(), ..InferOptions::default() };
/// let report = rml::infer_without_data(&source, &length, &options)?;
/// assert_eq!((report.windows, report.metrics["n"]), (4, 2.5));
/// # Ok(()) }
/// ```
///
/// # Errors
/// A program or checkpoint that does not fit; a length without an end; a run that fails.
pub fn infer_without_data(
    source: &Source,
    length: &Length,
    options: &InferOptions,
) -> Result<InferReport, Error> {
    let Length { windows: None, cycles: None, .. } = length else {
        return run(source, length, options);
    };
    let d = Diagnostic::error(codes::BAD_OPTION, "nothing says how long to run without data");
    Err(d.help("say how many windows or cycles (`--windows N` or `--cycles N`)").into())
}

fn run(source: &Source, length: &Length, options: &InferOptions) -> Result<InferReport, Error> {
    if options.classes != Classes::Nothing {
        return Err(confusion::no_data().into());
    }
    let checkpoint = options.checkpoint()?;
    let position = checkpoint.position.as_ref();
    let mut family = family(source, options, position)?;
    let program = family.program(1)?.clone();
    options.check_parameters(&program)?;
    let checkpoint = checkpoint.fitted(&program)?;
    let position = checkpoint.position.as_ref();
    family.refuse_rejected(1)?;
    let mut warnings = program.warnings().clone();
    warnings.extend(checkpoint::changed(position, &options.set));
    let preparation = checkpoint.preparation().with_cases(enumerated_inputs(source)?);
    let names = program.names(&preparation.classes, &preparation.axes);
    let mut rollout = Rollout::open(&program, &options.engine, length.look_ahead)?;
    let states = inherited(&mut family, 1, &checkpoint, options.fresh)?;
    rollout.session_mut().restore(&states, Policy::Inference)?;
    let mut averages = Averages::new(rollout.session().program());
    let mut kept = options.keep_outputs.then(|| Cycles::of(&program));
    let (mut windows, mut cycles) = (0, 0);
    let left = |done: u64, limit: Option<u64>| limit.map_or(u64::MAX, |limit| limit.saturating_sub(done));
    let interrupted = || options.interrupt.as_ref().is_some_and(|i| i.load(Ordering::SeqCst));
    while left(windows, length.windows) > 0 && left(cycles, length.cycles) > 0 && !interrupted() {
        let reach = Reach { windows: left(windows, length.windows), cycles: left(cycles, length.cycles) };
        let stretch = rollout.advance(reach)?;
        (windows, cycles) = (windows + stretch.windows, cycles + stretch.cycles);
        let added = averages.add(&stretch.outputs, 1);
        let added = added.and_then(|()| kept.as_mut().map_or(Ok(()), |kept| kept.add(&stretch.outputs)));
        added.map_err(|d| rollout.session().fail(d))?;
    }
    let metrics = metric_names(&program);
    let is_other = |name: &String| !metrics.contains(name);
    Ok(InferReport {
        split: Split::All,
        windows: usize::try_from(windows).unwrap_or(usize::MAX),
        notes: Vec::new(),
        metrics: averages.metrics(),
        others: program.outputs().iter().map(|o| o.name.to_string()).filter(is_other).collect(),
        outputs: kept.map(|kept| kept.columns(&names)),
        names: ports(&program, &names),
        confusion: None,
        warnings,
        continued: states.continued(&program),
        sources: std::sync::Arc::clone(program.sources()),
    })
}

/// The outputs of all cycles.
struct Cycles {
    cells: IndexMap<String, Cells>,
    cycles: usize,
    reserved: Reservation,
}

/// An output: the shape of a value, and its values in the cycles where it is present.
struct Cells {
    shape: Shape,
    values: Vec<Data>,
    present: Vec<usize>,
}

impl Cycles {
    fn of(program: &Program) -> Self {
        let cells = program.outputs().iter().map(|output| {
            let (shape, values, present) = (output.ty.shape.clone(), Vec::new(), Vec::new());
            (output.name.to_string(), Cells { shape, values, present })
        });
        Self { cells: cells.collect(), cycles: 0, reserved: Reservation::default() }
    }

    /// Adds the outputs of some cycles.
    fn add(&mut self, all: &[KnownOutputs]) -> Result<(), Diagnostic> {
        for outputs in all {
            for (i, (name, cells)) in self.cells.iter_mut().enumerate() {
                let mut bytes = 0_u64;
                outputs.for_each_value(i, |t, value| {
                    // The columns are joined from the parts at the end.
                    bytes = bytes.saturating_add(2 * value.ty().bytes(value.precision()) + CELL);
                    cells.values.push(value.to_data());
                    cells.present.push(self.cycles + t);
                })?;
                self.reserved.grow(bytes).map_err(|short| {
                    short.diagnostic(format!("keeping output `{name}`")).help("run fewer cycles at a time")
                })?;
            }
            self.cycles += outputs.cycles();
        }
        Ok(())
    }

    /// The column `cycle`, and one for each output.
    fn columns(self, names: &ValueNames) -> Columns {
        let mut columns = Columns::new("the outputs");
        let rows = self.cycles;
        let numbers = (0..rows).map(|n| i64::try_from(n).unwrap_or(i64::MAX)).collect();
        let cycle = Column { shape: Shape::new(&[rows]), elements: Elements::Int(numbers), present: None };
        columns.columns.insert("cycle".to_owned(), cycle);
        for (name, Cells { shape, values, present }) in self.cells {
            let shape = std::iter::once(rows).chain(shape.dims().iter().copied()).collect();
            let present = (present.len() < rows).then_some(present);
            let column = Column { shape, elements: joined(values), present };
            insert(&mut columns, &name, column, names);
        }
        columns
    }
}

/// The bytes of a cell, without its elements.
const CELL: u64 = (size_of::<Data>() + size_of::<usize>()) as u64;
