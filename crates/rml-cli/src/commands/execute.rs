//! `rml run` and `rml trace`: a program over a table of inputs.

use std::path::Path;

use rml::chronogram;
use rml::{Columns, End, Options, Phase, Program, RunOptions, Source, Trace, memory};

use super::profile::Measuring;
use crate::args::{self, Execution, Format, Over, Rows, Semantics, Vars};
use crate::output::{Output, Stop};

/// Runs, and prints the trace; what was computed before an error is printed too.
pub(crate) fn run(args: &args::Run, output: &mut Output) -> Result<(), Stop> {
    let over = &args.execution.over;
    let inputs = [over.inputs.as_ref()];
    let measuring = Measuring::begin(&args.profiling, &Source::file(&over.program.file), inputs, None)?;
    measuring.survive_signals(output)?;
    let outcome = run_measured(args, &measuring, output);
    measuring.end(outcome, output)
}

fn run_measured(args: &args::Run, measuring: &Measuring, output: &mut Output) -> Result<(), Stop> {
    let engine = measuring.engine(super::engine(&args.computing)?);
    let (program, inputs, options) = prepare(&args.execution, args.vars == Vars::All, measuring, output)?;
    let options = RunOptions { engine, ..options };
    let trace = rml::run(&program, &inputs, &options)?;
    match args.format {
        Format::Json => output.in_pieces(true, |out| {
            trace.write_json(out)?;
            out.write_str("\n")
        }),
        Format::Table => ask_for_table(&trace).and_then(|()| output.print(&trace.to_table())),
        Format::Csv => output.in_pieces(false, |out| trace.write_csv(out)),
    }?;
    output.report(&trace.warnings, program.sources());
    trace.error.map_or(Ok(()), |error| Err(error.into()))
}

fn ask_for_table(trace: &Trace) -> Result<(), Stop> {
    let what = format!("a table of {} cycles", trace.cycles);
    memory::ask(trace.table_bytes())
        .map_err(|short| short.diagnostic(what).help("`rml run --format csv` writes piece by piece").into())
}

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
    let rows = shown(args.vars);
    if let Some(file) = &args.html {
        let made = super::page::make(&args.execution, rows, false, output)?;
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

/// The rows that a flag names.
pub(super) fn shown(rows: Rows) -> chronogram::Rows {
    match rows {
        Rows::All => chronogram::Rows::All,
        Rows::Node => chronogram::Rows::Node,
        Rows::Outputs => chronogram::Rows::Outputs,
        Rows::Expressions => chronogram::Rows::Expressions,
    }
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

/// The program, its inputs, and how to run it.
pub(super) fn prepare(
    args: &Execution,
    all_vars: bool,
    measuring: &Measuring,
    output: &mut Output,
) -> Result<(Program, Columns, RunOptions), Stop> {
    let (source, options) = over(&args.over)?;
    let options = Options { all_vars, probes: args.probe.clone(), ..options };
    let program = measuring.time(Phase::Compile, || rml::compile(&source, &options))?;
    output.report(program.warnings(), program.sources());
    let inputs = measuring.time(Phase::Data, || inputs(&args.over))?;
    let end = if args.open { End::Open } else { End::Closed };
    let (cycles, allow_nan) = (args.over.cycles, args.over.allow_nan);
    Ok((program, inputs, RunOptions { cycles, end, all_vars, allow_nan, ..RunOptions::default() }))
}

/// The program that the flags name, and how they say to compile it.
pub(crate) fn over(args: &Over) -> Result<(Source, Options), Stop> {
    let (source, options) = super::program(&args.program)?;
    Ok((source, Options { node: args.node.clone(), seed: args.seed, ..options }))
}

/// The inputs that the flags name.
pub(crate) fn inputs(args: &Over) -> Result<Columns, Stop> {
    Ok(match &args.inputs {
        Some(file) => Columns::read(file)?,
        None => Columns::default(),
    })
}

/// How many characters a line may have; no limit where the output is not for a terminal.
fn width() -> Option<usize> {
    console::Term::stdout().size_checked().map(|(_, columns)| usize::from(columns))
}
