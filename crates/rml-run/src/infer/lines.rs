//! The lines of a stream: JSON objects as rows of inputs, rows of outputs as JSON objects.

use std::borrow::Cow;
use std::sync::Arc;

use indexmap::IndexMap;
use rml_base::codes::run as codes;
use rml_base::codes::sim::SYNC_ERROR;
use rml_base::{Diagnostic, Diagnostics, Error, suggest, visible_name};
use rml_data::{
    ArrowAnswers, ArrowCell, ArrowField, ArrowType, Feed, JsonCell, Preparation, Wrong, cells, convert, text,
};
use rml_driver::{Program, ValueNames};
use rml_engine::{CycleRow, Status};
use rml_ir::{DType, Data, InputInfo, OutputInfo, Shape, Type, Value};

use super::units::Units;
use crate::session::unknown_input;

/// How values are written in lines.
#[derive(Clone, Debug)]
pub(crate) struct Format {
    /// Whether values in lines lack the first dimension that inputs and outputs have in the program.
    pub(crate) single: bool,
    /// The outputs that lack the first dimension in lines.
    pub(crate) stacked: Vec<String>,
    pub(crate) allow_nan: bool,
    /// The preparation of input values.
    pub(crate) preparation: Arc<Preparation>,
    /// The names of the values of outputs.
    pub(crate) names: Arc<ValueNames>,
    /// The units of outputs.
    pub(crate) units: Arc<Units>,
}

impl Format {
    /// Reads a line.
    pub(crate) fn read(&self, line: &str) -> Result<Line, Diagnostic> {
        object(line, &self.preparation)
    }

    /// The value of each input of the running program in a line; other entries are ignored. `whole` is the program with
    /// all its inputs.
    pub(crate) fn row(
        &self,
        line: &Line,
        whole: &Program,
        running: &Program,
    ) -> Result<Vec<Feed>, Diagnostic> {
        let has = |program: &Program, name: &str| program.inputs().iter().any(|i| *i.name == *name);
        if let Some(name) = line.keys().find(|name| has(whole, name) && !has(running, name)) {
            let what = format!("input `{name}` is not in the first line");
            return Err(Diagnostic::error(codes::UNKNOWN_INPUT, what)
                .help("name every input in the first line, with null where it is absent"));
        }
        refuse_foreign(line, whole)?;
        let cell = |input: &InputInfo| match line.get(&*input.name) {
            Some(cell) => self.feed(input, cell, running.precision()),
            None => Ok(Feed::Absent),
        };
        running.inputs().iter().map(cell).collect()
    }

    /// A row of outputs as an object. Integers that have names are written by name, and undetermined values as `"?"`.
    pub(crate) fn answer(&self, running: &Program, row: &CycleRow) -> String {
        let mut out = format!("{{\"cycle\": {}", row.cycle);
        for (info, status) in running.outputs().iter().zip(&row.values) {
            let names = self.names.of(&info.name);
            out.push_str(", ");
            out.push_str(&serde_json::Value::from(&*info.name).to_string());
            out.push_str(": ");
            match status {
                Status::Value(v) => text::json_value(&mut out, &self.shown(&info.name, v), names),
                Status::Absent => out.push_str("null"),
                Status::Bottom | Status::Unknown | Status::Error => out.push_str("\"?\""),
            }
        }
        out.push('}');
        out
    }
}

/// A parsed line: cells by name.
pub(crate) type Line = IndexMap<String, JsonCell>;

/// Refuses a line that names no input, or that lacks an input and has an entry with a similar name. Other entries are
/// ignored, like other columns of files.
pub(crate) fn refuse_foreign(line: &Line, program: &Program) -> Result<(), Diagnostic> {
    let inputs = || program.inputs().iter().map(|input| &*input.name);
    if inputs().next().is_none() {
        return Ok(());
    }
    let is_input = |name: &String| inputs().any(|input| *input == **name);
    let lacking = || inputs().filter(|input| !line.contains_key(*input));
    let is_misspelt = |name: &&String| !is_input(name) && suggest(name, lacking()).is_some();
    let first = line.keys().next().filter(|_| !line.keys().any(is_input));
    if let Some(name) = line.keys().find(is_misspelt).or(first) {
        return Err(unknown_input(program, &visible_name(name)));
    }
    if !line.is_empty() {
        return Ok(());
    }
    let absent: Vec<String> = inputs().map(|input| format!("\"{input}\": null")).collect();
    Err(Diagnostic::error(codes::MISSING_INPUT, "the line names no input")
        .help(format!("a cycle in which all inputs are absent is written `{{{}}}`", absent.join(", "))))
}

/// The names of entries of a line that are not inputs.
pub(crate) fn foreign<'l>(line: &'l Line, program: &Program) -> Vec<&'l str> {
    let is_input = |name: &str| program.inputs().iter().any(|input| *input.name == *name);
    line.keys().map(String::as_str).filter(|name| !is_input(name)).collect()
}

/// Entries of lines that are not inputs: they are ignored, with one warning for a stream, or refused.
#[derive(Clone, Debug, Default)]
pub(crate) struct Foreign {
    /// Whether they are refused.
    pub(crate) strict: bool,
    is_told: bool,
    found: Option<Diagnostic>,
}

impl Foreign {
    /// For another stream.
    pub(crate) fn anew(&self) -> Self {
        Self { strict: self.strict, ..Self::default() }
    }

    /// Searches for such entries in a line.
    ///
    /// # Errors
    /// The line has some, and they are refused.
    pub(crate) fn look(
        &mut self,
        line: &Line,
        program: &Program,
        preparation: &Preparation,
    ) -> Result<(), Diagnostic> {
        if self.is_told && !self.strict {
            return Ok(());
        }
        let names = foreign(line, program);
        let Some(first) = names.first() else { return Ok(()) };
        refuse_foreign(line, program).map_err(|d| fed(d, line, preparation))?;
        if self.strict {
            return Err(unknown_input(program, &visible_name(first)));
        }
        let shown: Vec<String> = names.iter().map(|name| format!("`{}`", visible_name(name))).collect();
        let (are, they) =
            if names.len() == 1 { ("is no input", "it is") } else { ("are no inputs", "they are") };
        let what = format!("{} {are} of node {}, so {they} ignored", shown.join(", "), program.node());
        let d =
            Diagnostic::warning(codes::UNKNOWN_INPUT, what).note("later lines are not examined for others");
        self.found = Some(fed(d, line, preparation).help("`--strict` refuses such lines"));
        self.is_told = true;
        Ok(())
    }

    /// The warning, if it has not been returned yet.
    pub(crate) fn take(&mut self) -> Option<Diagnostic> {
        self.found.take()
    }
}

/// Adds to a finding about entries of a line which inputs the training took from columns of these names.
pub(crate) fn fed(d: Diagnostic, line: &Line, preparation: &Preparation) -> Diagnostic {
    let columns = &preparation.asked.columns;
    let mut inputs: IndexMap<&str, Vec<String>> = IndexMap::new();
    for name in line.keys() {
        for input in columns.fed_by(name).into_iter().filter(|input| *input != name) {
            inputs.entry(input).or_default().push(format!("`{}`", visible_name(name)));
        }
    }
    inputs.iter().fold(d, |d, (input, names)| {
        let (column, value) = if names.len() == 1 { ("column", "..") } else { ("columns", "[.., ..]") };
        let names = names.join(", ");
        d.help(format!(
            "the training took `{input}` from {column} {names}; a line names inputs: `\"{input}\": {value}`"
        ))
    })
}

/// Replaces what an error says about values inside the program, if the line has null for an input without a declared
/// clock.
fn without_value(error: Error, line: &Line, program: &Program) -> Error {
    let is_null =
        |input: &&InputInfo| input.clock.is_none() && matches!(line.get(&*input.name), Some(Ok(None)));
    let nulls: Vec<&InputInfo> = program.inputs().iter().filter(is_null).collect();
    if error.code() != Some(SYNC_ERROR) || nulls.is_empty() {
        return error;
    }
    let (sources, found) = error.into_parts();
    let told = |mut d: Diagnostic| {
        d.labels.retain(|label| label.message.starts_with("the input "));
        d.help = nulls
            .iter()
            .map(|input| {
                let value = if input.ty.dtype == DType::Bool { "`true` or `false`" } else { "a value" };
                let name = &input.name;
                format!("`{name}` is null in the line, and the program needs it in this cycle: write {value}")
            })
            .collect();
        d
    };
    Error::new(Diagnostics(found.into_iter().map(told).collect()), sources)
}

/// Adds the line to an error about it.
pub(crate) fn quoted(error: Error, line: &str, (format, program): (&Format, &Program)) -> Error {
    let error = match format.read(line) {
        Ok(read) => without_value(error, &read, program),
        Err(_) => error,
    };
    error.note(format!("the line is `{}`", visible_name(line.trim())))
}

/// Parses a line of values that are prepared in this way.
fn object(line: &str, preparation: &Preparation) -> Result<Line, Diagnostic> {
    // A line number would be useless, since there is only one line.
    cells(line, preparation).map_err(|ill| {
        let d = Diagnostic::error(codes::MALFORMED_DATA, "the line is not a JSON object")
            .note(format!("{}, at column {}", ill.why, ill.column));
        match rml_data::line_advice(line, &ill) {
            _ if !line.contains('{') && line.contains(',') => {
                d.help("if the lines are a table, give it as data, without `--stream`: `--data FILE`, or `--data -` for what is piped")
            }
            Some(help) => d.help(help),
            None => d.help("a line names the inputs: `{\"x\": 1.0, \"y\": [1, 2]}`"),
        }
    })
}

/// Turns a finding about a column into a finding about a value in a line.
fn of_line(mut d: Diagnostic, input: &InputInfo) -> Diagnostic {
    d.message =
        d.message.replace(&format!("column `{}`", input.name), &format!("the value of `{}`", input.name));
    if d.code == codes::DATA_TYPE {
        d.notes.clear();
        d.help = vec![
            match input.ty.dtype {
                DType::Bool => "write `true` or `false`",
                DType::Int => "write an integer without a point, or declare the input as num",
                DType::Num => "write a number, or declare the input as bool",
            }
            .to_owned(),
        ];
    }
    d
}

/// Adds to an error about an absent value that the line lacks inputs which the first line named.
pub(crate) fn lacking(error: Error, line: &Line, running: &Program) -> Error {
    let inputs = running.inputs().iter().filter(|i| i.clock.is_none() && !line.contains_key(&*i.name));
    let missing: Vec<String> = inputs.map(|i| format!("`{}`", i.name)).collect();
    if missing.is_empty() || error.code() != Some(SYNC_ERROR) {
        return error;
    }
    let what = format!("the line has no value for {}", missing.join(", "));
    let d = Diagnostic::error(codes::MISSING_INPUT, what)
        .note("the first line says which inputs each line has")
        .help("give each input a value in each line, or null where its clock makes it absent");
    running.error(d)
}

/// The only entry of a value whose first dimension is 1.
fn without_first_dimension(v: &Value) -> Value {
    let shape = v.shape();
    match shape.dims() {
        [1, rest @ ..] => Value::new(Shape::new(rest), v.to_data()),
        _ => v.clone(),
    }
}

/// The columns of the answers of a stream of Arrow beside its outputs: the cycle, and why a row was refused.
const CYCLE: &str = "cycle";
const ROW: &str = "row";
const ERROR: &str = "error";

impl Format {
    /// The columns of answers in Arrow.
    pub(crate) fn columns(&self, running: &Program) -> ArrowAnswers {
        let number = |name: &str| ArrowField::of(name, &Type::scalar(DType::Int), running.precision());
        let output = |info: &OutputInfo| {
            let dims = info.ty.shape.dims();
            let is_single = self.single && self.stacked.iter().any(|stacked| **stacked == *info.name);
            let dims = if is_single { dims.get(1..).unwrap_or_default() } else { dims };
            let field = ArrowField::of(&info.name, &Type::new(info.ty.dtype, dims), running.precision());
            match self.names.of(&info.name) {
                Some(_) => ArrowField { elements: ArrowType::Text, ..field },
                None => field,
            }
        };
        let outputs = running.outputs().iter().map(output);
        let refused = [number(ROW), ArrowField::text(ERROR)];
        ArrowAnswers::new(std::iter::once(number(CYCLE)).chain(outputs).chain(refused).collect())
    }

    /// A row of outputs in these columns. An undetermined value is absent.
    pub(crate) fn cells(&self, running: &Program, row: &CycleRow) -> Vec<ArrowCell> {
        let cycle = Value::Int(i64::try_from(row.cycle).unwrap_or(i64::MAX));
        let mut cells = vec![ArrowCell::Value(cycle)];
        for (info, status) in running.outputs().iter().zip(&row.values) {
            let Status::Value(v) = status else {
                cells.push(ArrowCell::Absent);
                continue;
            };
            let value = self.shown(&info.name, v).into_owned();
            cells.push(match (self.names.of(&info.name), value.to_data()) {
                (Some(names), Data::Int(v)) => {
                    let name = |i: &i64| {
                        let name = usize::try_from(*i).ok().and_then(|at| names.get(at));
                        name.map_or_else(|| i.to_string(), ToString::to_string)
                    };
                    ArrowCell::Texts(v.iter().map(name).collect())
                }
                (_, _) => ArrowCell::Value(value),
            });
        }
        cells.extend([ArrowCell::Absent, ArrowCell::Absent]);
        cells
    }

    /// The answer to a refused row.
    pub(crate) fn refusal(running: &Program, row: u64, why: &str) -> Vec<ArrowCell> {
        let outputs = running.outputs().iter().map(|_| ArrowCell::Absent);
        let row = ArrowCell::Value(Value::Int(i64::try_from(row).unwrap_or(i64::MAX)));
        let refused = [row, ArrowCell::Texts(vec![why.to_owned()])];
        std::iter::once(ArrowCell::Absent).chain(outputs).chain(refused).collect()
    }

    /// The value of an output as it is written.
    fn shown<'v>(&self, output: &str, value: &'v Value) -> Cow<'v, Value> {
        let value = self.units.value(output, value);
        match self.single && self.stacked.iter().any(|stacked| **stacked == *output) {
            true => Cow::Owned(without_first_dimension(&value)),
            false => value,
        }
    }

    /// The value of an input, from its entry in a line.
    fn feed(
        &self,
        input: &InputInfo,
        cell: &JsonCell,
        precision: rml_ir::Precision,
    ) -> Result<Feed, Diagnostic> {
        let single = self.single && input.batched;
        let bad =
            |why: String| Diagnostic::error(codes::INPUT_TYPE, format!("input `{}`: {why}", input.name));
        let read = cell.as_ref().map_err(|wrong| match wrong {
            Wrong::Text(why) | Wrong::Shape(why) => bad(why.clone()),
            Wrong::Memory(short) => short.diagnostic(format!("input `{}`", input.name)),
        });
        let gap = || self.preparation.gap(input, single, precision);
        let Some((column, names)) = read? else { return Ok(gap().map_or(Feed::Absent, Feed::Value)) };
        let found = Shape::new(column.shape.dims().get(1..).unwrap_or_default());
        let dims = input.ty.shape.dims();
        let expected = if single { dims.get(1..).unwrap_or_default() } else { dims };
        if found.dims() != expected {
            let expected = Shape::new(expected);
            let d = bad(format!("its value has shape {found}, expected {expected}"));
            return Err(match single {
                true => d.help(format!(
                    "a line holds one row: write its value, without the dimension `batch` of {}",
                    input.ty
                )),
                false => d,
            });
        }
        let ty = Type { dtype: input.ty.dtype, shape: found };
        let column = self.preparation.column(&input.name, column, names.as_deref())?;
        let allow_nan = self.allow_nan || self.preparation.fills(&input.name);
        let read = self.preparation.precision_of(&input.name, precision);
        let data = convert(&input.name, &column, &ty, read, allow_nan, &|_| "its value".into());
        let value = data.map_err(|d| of_line(d, input))?.gather(&[0], &input.ty.shape);
        Ok(Feed::Value(self.preparation.applied(&input.name, value, precision)))
    }
}
