//! `rml trace`: a program over a table of inputs, as a chronogram.

use std::path::Path;

use rml::chronogram;
use rml::{Columns, Error, Program, RunOptions, Source};

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
        let why = "the Kahn semantics begins with the values that are written in the program";
        super::refuse_unused(why, &[("params", args.execution.over.params.is_some())])?;
    }
    if args.vcd.is_some() {
        let why = "a value change dump holds variables, not parts of their equations";
        super::refuse_unused(why, &[("vars expressions", args.vars == Some(Rows::Expressions))])?;
    }
    let files = [&args.svg, &args.vcd, &args.html];
    for file in files.into_iter().flatten().filter(|file| !super::is_stream(file)) {
        let over = &args.execution.over;
        super::check_output(
            file,
            &Source::file(&over.program.file),
            [over.inputs.as_ref(), over.params.as_ref()],
        )?;
    }
    let vars = args.vars.unwrap_or(Rows::Node);
    let mut failed = None;
    if let Some(file) = &args.html {
        let made = page::make(&args.execution, page::shown(args.vars.unwrap_or(Rows::All)), false, output)?;
        written(file, made.html.as_bytes(), output)?;
        failed = made.error;
    }
    if let Some(file) = &args.vcd {
        let (program, inputs, options) = prepare(&args.execution, true, &Measuring::default(), output)?;
        failed = dump(file, vars, &program, &inputs, options, output)?;
    }
    if args.svg.is_some() || (args.html.is_none() && args.vcd.is_none()) {
        failed = drawn(args, page::shown(vars), output)?;
    }
    failed.map_or(Ok(()), |error| Err(error.into()))
}

/// Runs, and draws the trace as a picture or as text. Returns the error that the run ended with.
fn drawn(args: &args::Trace, rows: chronogram::Rows, output: &mut Output) -> Result<Option<Error>, Stop> {
    let (program, inputs, options) = prepare(&args.execution, true, &Measuring::default(), output)?;
    let draw = match args.semantics {
        Semantics::Kahn => chronogram::kahn,
        Semantics::Synchronous if args.stages => chronogram::stages,
        Semantics::Synchronous => chronogram::draw,
    };
    let drawn = draw(&program, &inputs, &options, rows)?;
    match &args.svg {
        Some(file) => written(file, drawn.chronogram.to_svg().as_bytes(), output)?,
        None => output.print(&drawn.chronogram.to_text(width()))?,
    }
    output.report(&drawn.warnings, program.sources());
    Ok(drawn.error)
}

/// Writes a file, and prints that it was written.
fn written(file: &Path, content: &[u8], output: &mut Output) -> Result<(), Stop> {
    super::write(file, content)?;
    if !super::is_stream(file) {
        output.note(&format!("written to {}\n", file.display()));
    }
    Ok(())
}

/// Runs, and writes a value change dump. Returns the error that the run ended with.
fn dump(
    file: &Path,
    rows: Rows,
    program: &Program,
    inputs: &Columns,
    options: RunOptions,
    output: &mut Output,
) -> Result<Option<Error>, Stop> {
    let options = RunOptions { all_vars: rows != Rows::Outputs, ..options };
    let mut trace = rml::run(program, inputs, &options)?;
    if rows == Rows::Node {
        trace.values.retain(|name, _| !name.contains('.'));
    }
    ask_for_table(&trace)?;
    written(file, trace.to_vcd(program.node()).as_bytes(), output)?;
    output.report(&trace.warnings, program.sources());
    Ok(trace.error)
}

/// The most characters of a line; no limit if the output is not a terminal.
fn width() -> Option<usize> {
    console::Term::stdout().size_checked().map(|(_, columns)| usize::from(columns))
}
