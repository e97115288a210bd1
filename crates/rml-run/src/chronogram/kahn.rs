//! Tables of the Kahn semantics: values are ordered by their number in the sequence, not by cycle, and there is no
//! absence.

use rml_base::codes::{run as codes, sim};
use rml_base::{Diagnostic, Diagnostics, Error, memory};
use rml_data::Columns;
use rml_data::text::Named;
use rml_driver::Program;
use rml_ir::flat::{Flat, Rhs, Var};
use rml_ir::op::EvalError;
use rml_ir::{Value, surface};
use rml_pictures::{Axis, Cell, Chronogram, Row, Rows, StreamNames};
use rml_sim::kahn::{self, KahnFailure, Sequence, Stop, WaitStep};

use super::build::{DrawnRun, ask, bytes, value_cell};
use crate::trace::{self, RunOptions};

/// Runs a program, compiled with [`Options::all_vars`](rml_driver::Options), in the Kahn semantics of the paper's
/// appendix, and makes a table of it: for each variable the sequence that it reaches. Absent cells of inputs are left
/// out of their sequences; a sequence that continues without further inputs ends with `..`. [`DrawnRun::warnings`]
/// explains each deadlock by the chain of waits.
///
/// # Errors
/// Inputs that do not fit the program; windows, which this semantics does not have; an integer that overflows.
pub fn kahn(
    program: &Program,
    inputs: &Columns,
    options: &RunOptions,
    rows: Rows,
) -> Result<DrawnRun, Error> {
    let flat = program.flat();
    let fail = |d: Diagnostic| Error::new(d, program.sources().clone());
    if let Some(equation) = flat.equations.iter().find(|e| e.rhs.window().is_some()) {
        return Err(fail(window(equation.span)));
    }
    let (cycles, sequences) = trace::sequences(program, inputs, options)?;
    // Each delay makes a sequence longer by at most one; a longer sequence continues without inputs.
    let delays = flat.equations.iter().filter(|e| matches!(e.rhs, Rhs::Fby { .. })).count();
    let limit = cycles.saturating_add(delays + 1);
    let elements = memory::bytes_of(limit, flat.vars.len().saturating_mul(size_of::<Value>()));
    let shown = rml_pictures::shown(flat, rows);
    ask(bytes(shown.len(), limit).saturating_add(elements), limit).map_err(fail)?;
    let found = kahn::run(flat, &sequences, limit).map_err(|f| fail(failed(flat, &f)))?;
    let ends = |v: Var| found.streams[v].stop != Stop::Limit;
    let longest = shown.iter().filter(|(v, _)| ends(*v)).map(|(v, _)| found.streams[*v].values.len()).max();
    let width = longest.unwrap_or(cycles);
    let goes_on = shown.iter().any(|(v, _)| !ends(*v));
    let names = options.names(program)?;
    let row = |(v, name): &(Var, String)| Row {
        name: name.clone(),
        cells: cells((&found.streams[*v], names.of_var(*v)), width, goes_on),
    };
    let chronogram = Chronogram {
        cycles: width + usize::from(goes_on),
        rows: shown.iter().map(row).collect(),
        axis: Axis::Element { goes_on },
        ..Chronogram::default()
    };
    let deadlocks = found.deadlocks.into_iter().map(|circle| deadlock(flat, circle));
    Ok(DrawnRun { chronogram, error: None, warnings: Diagnostics(deadlocks.collect()) })
}

/// The cells of a sequence. With `goes_on` there is one more cell, which says whether the sequence continues.
fn cells((stream, names): (&Sequence, Named<'_>), width: usize, goes_on: bool) -> Vec<Cell> {
    let values = stream.values.iter().take(width);
    let mut cells: Vec<Cell> = values.map(|value| value_cell(value, names)).collect();
    cells.resize(width, Cell::Blank);
    if goes_on {
        let more = stream.stop == Stop::Limit;
        cells.push(if more { Cell::Value("..".to_owned()) } else { Cell::Blank });
    }
    cells
}

fn window(span: rml_base::Span) -> Diagnostic {
    Diagnostic::error(codes::KAHN_WINDOW, "windows have no Kahn semantics")
        .label(span, "this delay restarts in each window")
        .note("a window ends in a cycle; sequences have no cycles in common")
        .help("leave out `--semantics kahn`, or trace a node without `every`")
}

/// The error of an operator that failed.
fn failed(flat: &Flat, failure: &KahnFailure) -> Diagnostic {
    let equation = &flat.equations[failure.equation];
    let at = format!("in element {} of {}", failure.element, Labels::new(flat).of(equation.lhs));
    match failure.error {
        EvalError::IntegerOverflow => {
            Diagnostic::error(sim::INTEGER_OVERFLOW, format!("an integer overflows {at}"))
                .label(equation.span, "the result does not fit 64 bits")
                .help("compute with num where numbers may become this large")
        }
        EvalError::Memory(shortage) => {
            let ty = &flat.vars[equation.lhs].ty;
            shortage.diagnostic(format!("a value {at}")).label(equation.span, format!("the result is {ty}"))
        }
        EvalError::PositionOutside { .. } if let Some((_, deciding)) = flat.decided_by(failure.equation) => {
            let name = flat.vars[equation.lhs].asserts.as_deref().unwrap_or_default();
            let at = format!("in element {} of its condition", failure.element);
            let report = Diagnostic::error(
                sim::ASSERTION_FAILED,
                format!("the assertion \"{name}\" does not hold {at}"),
            )
            .label(equation.span, "its condition is false there");
            let labels = Labels::new(flat);
            deciding.iter().fold(report, |report, v| report.note(format!("it depends on {}", labels.of(*v))))
        }
        EvalError::PositionOutside { index, size } => {
            let what = format!("position {index} is outside of an axis of size {size} {at}");
            Diagnostic::error(sim::POSITION_OUTSIDE, what)
                .label(equation.span, "a position is outside of the axis that it indexes")
                .note(format!("expected a position of at least 0 and less than {size}, found {index}"))
        }
    }
}

/// The warning about a chain of waits, beginning with a named variable of the circle.
fn deadlock(flat: &Flat, mut circle: Vec<WaitStep>) -> Diagnostic {
    let labels = Labels::new(flat);
    let named = |w: &WaitStep| labels.names.short(w.var).is_some();
    let start = circle.iter().position(|w| flat.outputs.contains(&labels.names.group(w.var)));
    let start = start.or_else(|| circle.iter().position(named)).unwrap_or(0);
    circle.rotate_left(start);
    let (first, element) = circle.first().map_or((String::new(), 0), |w| (labels.of(w.var), w.element));
    let mut report = Diagnostic::warning(
        codes::KAHN_DEADLOCK,
        format!("in the Kahn semantics, {first} never gets its element {element}: it waits for itself"),
    );
    for wait in &circle {
        let Some(span) = labels.span(wait.var) else { continue };
        let (var, on) = (labels.of(wait.var), labels.of(wait.on));
        if var == on && wait.element == wait.on_element {
            continue;
        }
        let known = circle.iter().find(|w| w.var == wait.on).map_or(wait.on_element, |w| w.element);
        let late = if known < wait.on_element {
            format!(", which comes after its element {known}")
        } else {
            String::new()
        };
        let text =
            format!("element {} of {var} waits for element {} of {on}{late}", wait.element, wait.on_element);
        report = report.label(span, text);
    }
    report
        .note("a sequence grows at its end only; the synchronous semantics knows a later value before an earlier one")
        .help("leave out `--semantics kahn`")
}

/// The names of variables in reports.
struct Labels<'a> {
    flat: &'a Flat,
    names: StreamNames<'a>,
}

impl<'a> Labels<'a> {
    fn new(flat: &'a Flat) -> Self {
        Self { flat, names: StreamNames::new(flat) }
    }

    fn of(&self, v: Var) -> String {
        let name = self.names.short(v);
        let text = name.or_else(|| {
            Some(surface::expression(self.flat, self.names.definition(v)?, &|v| self.names.short(v)))
        });
        format!("`{}`", text.unwrap_or_default())
    }

    fn span(&self, v: Var) -> Option<rml_base::Span> {
        self.names.definition(v).map(|eq| self.flat.equations[eq].span)
    }
}
