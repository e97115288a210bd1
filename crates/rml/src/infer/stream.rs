//! Inference cycle by cycle: JSON lines in, JSON lines out.

use std::sync::Arc;

use rml_backend::Backend;
use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Diagnostics, Sources};
use rml_ir::{Shape, Type, Value};
use serde_json::{Map, Value as Json};

use super::states::inherited;
use super::{InferOptions, changed_settings, family};
use crate::checkpoint::{Checkpoint, Policy};
use crate::compile::{InputInfo, Program, keep_inputs};
use crate::data::{bind, json_cell, unique};
use crate::error::Error;
use crate::session::{End, Feed, Outputs, Session, unknown_input};
use crate::text;

/// A program that reads JSON objects, one a cycle, and answers with JSON objects, one a cycle.
///
/// The first line says which inputs there are: it names each of them, with `null` where it is absent. Outputs that
/// need other inputs (a loss that needs the label, for example) are left out. Where the node can stack windows and no batch size is
/// given, there is one window, and values go in and out without the dimension `batch`.
#[derive(Debug)]
pub struct Stream {
    program: Program,
    warnings: Diagnostics,
    checkpoint: Checkpoint,
    /// Whether an input or output loses its first dimension outside.
    single: bool,
    stacked: Vec<String>,
    allow_nan: bool,
    backend: Option<Arc<dyn Backend>>,
    running: Option<Session>,
    lines: usize,
}

impl Stream {
    /// Compiles and loads.
    ///
    /// # Errors
    /// A program or checkpoint that does not fit.
    pub fn new(source: &crate::Source, options: &InferOptions) -> Result<Self, Error> {
        let checkpoint = Checkpoint::read(&options.params)?;
        let mut family = family(source, options, checkpoint.position.as_ref())?;
        let asked = options.batch.is_some() || options.set.contains_key(crate::compile::BATCH);
        let size = if asked {
            crate::runner::batch_size(source, &options.node, options.batch, &mut options.set.clone())?
        } else {
            1
        };
        let stacked = family.stacked_outputs(size)?;
        let program = family.program(size)?.clone();
        let names =
            program.outputs().iter().zip(stacked).filter(|(_, s)| *s).map(|(o, _)| o.name.to_string());
        let stacked = names.collect();
        // Whether the states fit is known now, not only when the first line comes.
        let mut warnings = program.warnings().clone();
        warnings.extend(changed_settings(options, checkpoint.position.as_ref()));
        let checkpoint = inherited(&mut family, size, &checkpoint, options.fresh)?;
        checkpoint
            .select(&program, Policy::Inference)
            .map_err(|d| Error::from(d).with_sources(program.sources()))?;
        let single = !asked && family.stacks;
        let (allow_nan, backend) = (options.allow_nan, options.backend.clone());
        let (running, lines) = (None, 0);
        Ok(Self { program, warnings, checkpoint, single, stacked, allow_nan, backend, running, lines })
    }

    /// Findings that did not stop it.
    pub fn warnings(&self) -> &Diagnostics {
        &self.warnings
    }

    /// The texts that the findings point into.
    pub fn sources(&self) -> &Sources {
        self.program.sources()
    }

    /// Feeds one line, `{"x": [..], "end": false}`; a missing or `null` entry is absent. Returns the lines that became known,
    /// `{"cycle": 0, "o": 1.5}`, without line ends; an absent output is `null`. A blank line is nothing.
    ///
    /// # Errors
    /// A line that is not such an object, values that do not fit the inputs, what goes wrong in the run. Nothing is fed then.
    pub fn line(&mut self, line: &str) -> Result<Vec<String>, Error> {
        self.lines += 1;
        if line.trim().is_empty() {
            return Ok(Vec::new());
        }
        let number = self.lines;
        let at = |d: Diagnostic| Diagnostic { message: format!("line {number}: {}", d.message), ..d };
        let bad = |why: String| at(Diagnostic::error(codes::MALFORMED_DATA, "not a JSON object").note(why));
        let object = match unique::parse(line.as_bytes()).map_err(|e| bad(e.to_string()))? {
            Json::Object(object) => object,
            _ => return Err(bad("expected {\"x\": .., ..}".to_owned()).into()),
        };
        if self.running.is_none() {
            self.running = Some(self.start(&object).map_err(|e| e.map(at))?);
        }
        let Some(session) = &mut self.running else { return Ok(Vec::new()) };
        let inputs = session.program().inputs().to_vec();
        if let Some(name) = object.keys().find(|k| !inputs.iter().any(|i| *i.name == ***k)) {
            let d = if self.program.inputs().iter().any(|i| *i.name == **name) {
                Diagnostic::error(codes::UNKNOWN_INPUT, format!("input `{name}` is not in the first line"))
                    .help("name every input in the first line, with null where it is absent")
            } else {
                unknown_input(&self.program, name)
            };
            return Err(session.fail(at(d)));
        }
        let precision = session.program().precision();
        let mut row = Vec::with_capacity(inputs.len());
        for input in &inputs {
            let cell = object.get(&*input.name).unwrap_or(&Json::Null);
            let feed = feed(input, cell, self.single && input.batched, precision, self.allow_nan);
            row.push(feed.map_err(|d| session.fail(at(d)))?);
        }
        let rows = session.step_row(&row).map_err(|e| e.map(at))?;
        Ok(self.print(&rows))
    }

    /// The program for the inputs that the first line names.
    fn start(&self, first: &Map<String, Json>) -> Result<Session, Error> {
        let program = keep_inputs(&self.program, |name| first.contains_key(name));
        if program.outputs().is_empty() && !self.program.outputs().is_empty() {
            let missing: Vec<String> = self
                .program
                .inputs()
                .iter()
                .filter(|i| !first.contains_key(&*i.name))
                .map(|i| format!("`{}`", i.name))
                .collect();
            let d = Diagnostic::error(
                codes::MISSING_INPUT,
                format!("no output can be computed without {}", missing.join(", ")),
            )
            .help("name every input in the first line, with null where it is absent");
            return Err(Error::from(d).with_sources(program.sources()));
        }
        let mut session = Session::on(&program, self.backend.clone());
        session.restore(&self.checkpoint, Policy::Inference)?;
        Ok(session)
    }

    /// The end of the input: what was still waiting for the end of the trace.
    ///
    /// # Errors
    /// What goes wrong in the run; outputs that nothing determines.
    pub fn finish(mut self) -> Result<Vec<String>, Error> {
        match self.running.take() {
            Some(session) => Ok(self.print(&session.finish(End::Closed)?)),
            None => Ok(Vec::new()),
        }
    }

    fn print(&self, rows: &[Outputs]) -> Vec<String> {
        rows.iter()
            .map(|row| {
                let mut out = format!("{{\"cycle\": {}", row.cycle);
                for (name, value) in &row.values {
                    out.push_str(", ");
                    out.push_str(&Json::from(&**name).to_string());
                    out.push_str(": ");
                    match value {
                        Some(v) if self.single && self.stacked.iter().any(|s| **s == **name) => {
                            text::json_value(&mut out, &without_first_dimension(v));
                        }
                        Some(v) => text::json_value(&mut out, v),
                        None => out.push_str("null"),
                    }
                }
                out.push('}');
                out
            })
            .collect()
    }
}

/// The only entry of a value whose first dimension is 1.
fn without_first_dimension(v: &Value) -> Value {
    let shape = v.shape();
    match shape.dims() {
        [1, rest @ ..] => Value::new(Shape::new(rest), v.to_data()),
        _ => v.clone(),
    }
}

/// What an input is, from its entry in a line.
fn feed(
    input: &InputInfo,
    cell: &Json,
    single: bool,
    precision: rml_ir::Precision,
    allow_nan: bool,
) -> Result<Feed, Diagnostic> {
    let bad = |why: String| Diagnostic::error(codes::INPUT_TYPE, format!("input `{}`: {why}", input.name));
    let Some(column) = json_cell(cell).map_err(bad)? else { return Ok(Feed::Absent) };
    let found = Shape::new(column.shape.dims().get(1..).unwrap_or_default());
    let dims = input.ty.shape.dims();
    let expected = if single { dims.get(1..).unwrap_or_default() } else { dims };
    if found.dims() != expected {
        return Err(bad(format!("its value has another shape than {}", input.ty))
            .note(format!("expected {}, found {found}", Shape::new(expected))));
    }
    let ty = Type { dtype: input.ty.dtype, shape: found };
    let data = bind::convert(&input.name, &column, &ty, precision, allow_nan, &|_| "its value".into())?;
    Ok(Feed::Value(data.gather(&[0], &input.ty.shape)))
}
