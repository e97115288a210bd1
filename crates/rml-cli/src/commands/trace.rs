//! `rml trace`: a program over a table of inputs, as a chronogram.

use std::path::Path;

use rml::chronogram;
use rml::{Columns, Program, RunOptions, Source};

use super::execute::{ask_for_table, prepare};
use super::page;
use super::profile::Measuring;
use crate::args::{self, Rows, Semantics};
use crate::output::{Output, Stop};

/// Runs, and draws the trace.
pub(crate) fn trace(args: &args::Trace, output: &mut Output) -> Result<(), Stop> {
    if args.semantics == Semantics::Kahn {
        let why = "in the Kahn semantics sequences are endless anyway";
        super::refuse_unused(why, &[("open", args.execution.open)])?;
    }
    if args.vcd.is_some() {
        let why = "a value change dump holds variables, not parts of their equations";
        super::refuse_unused(why, &[("vars expressions", args.vars == Rows::Expressions)])?;
    }
    let files = [&args.svg, &args.vcd, &args.html];
    if let Some(file) = files.into_iter().find_map(Option::as_ref).filter(|file| !super::is_stream(file)) {
        let over = &args.execution.over;
        super::check_output(file, &Source::file(&over.program.file), [over.inputs.as_ref()])?;
    }
    let rows = page::shown(args.vars);
    if let Some(file) = &args.html {
        let made = page::make(&args.execution, rows, false, output)?;
        super::write(file, made.html.as_bytes())?;
        return made.error.map_or(Ok(()), |error| Err(error.into()));
    }
    let (program, inputs, options) = prepare(&args.execution, true, &Measuring::default(), output)?;
    if let Some(file) = &args.vcd {
        return dump(file, args.vars, &program, &inputs, options, output);
    }
    let draw = match args.semantics {
        Semantics::Kahn => chronogram::kahn,
        Semantics::Synchronous if args.stages => chronogram::stages,
        Semantics::Synchronous => chronogram::draw,
    };
    let drawn = draw(&program, &inputs, &options, rows)?;
    match &args.svg {
        Some(file) => super::write(file, drawn.chronogram.to_svg().as_bytes())?,
        None => output.print(&drawn.chronogram.to_text(width()))?,
    }
    output.report(&drawn.warnings, program.sources());
    drawn.error.map_or(Ok(()), |error| Err(error.into()))
}

/// Runs, and writes a value change dump.
fn dump(
    file: &Path,
    rows: Rows,
    program: &Program,
    inputs: &Columns,
    options: RunOptions,
    output: &mut Output,
) -> Result<(), Stop> {
    let options = RunOptions { all_vars: rows != Rows::Outputs, ..options };
    let mut trace = rml::run(program, inputs, &options)?;
    if rows == Rows::Node {
        trace.values.retain(|name, _| !name.contains('.'));
    }
    ask_for_table(&trace)?;
    super::write(file, trace.to_vcd(program.node()).as_bytes())?;
    output.report(&trace.warnings, program.sources());
    trace.error.map_or(Ok(()), |error| Err(error.into()))
}

/// How many characters a line may have; no limit where the output is not for a terminal.
fn width() -> Option<usize> {
    console::Term::stdout().size_checked().map(|(_, columns)| usize::from(columns))
}
