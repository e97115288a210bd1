//! `rml run`: a program over a table of inputs. Also the preparation that other commands share.

use rml::{
    Checkpoint, Columns, End, Options, Parameters, Phase, Program, Recipe, RunOptions, Source, Trace,
    Windowing, memory,
};

use super::profile::Measuring;
use crate::args::{self, Execution, Format, Over, Vars};
use crate::output::{Output, Stop};
use crate::progress::continued;

/// Runs, and prints the trace; also prints the values computed before an error.
pub(crate) fn run(args: &args::Run, output: &mut Output) -> Result<(), Stop> {
    let over = &args.execution.over;
    let inputs = [over.inputs.as_ref(), over.params.as_ref()];
    let measuring = Measuring::begin(&args.profiling, &Source::file(&over.program.file), inputs)?;
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

pub(super) fn ask_for_table(trace: &Trace) -> Result<(), Stop> {
    let what = format!("a table of {} cycles", trace.cycles);
    memory::ask(trace.table_bytes())
        .map_err(|short| short.diagnostic(what).help("`rml run --format csv` writes piece by piece").into())
}

/// The program, its inputs, and the settings of the run.
pub(super) fn prepare(
    args: &Execution,
    all_vars: bool,
    measuring: &Measuring,
    output: &mut Output,
) -> Result<(Program, Columns, RunOptions), Stop> {
    let (source, options) = over(&args.over)?;
    let options = Options { all_vars, probes: args.probe.clone(), ..options };
    let read = || args.over.params.as_deref().map(Checkpoint::read).transpose();
    let checkpoint = measuring.time(Phase::Checkpoint, read)?;
    let compile = || match &checkpoint {
        Some(checkpoint) => checkpoint.compile(&source, &options),
        None => rml::compile(&source, &options),
    };
    let program = measuring.time(Phase::Compile, compile)?;
    output.report(program.warnings(), program.sources());
    let cut = args.cutting.cut();
    if args.over.inputs.is_none() {
        super::refuse_unused("they are about the file of `--inputs`", &args.cutting.given())?;
    }
    let over = Over { node: Some(program.node().to_owned()), ..args.over.clone() };
    let (inputs, cut) =
        measuring.time(Phase::Data, || inputs(&over, cut, &source, checkpoint.as_ref(), output))?;
    let beginning = |checkpoint: Checkpoint| {
        let (checkpoint, others) = checkpoint.beginning((&source, &options), &program, args.fresh)?;
        output.note(&continued(&others));
        Ok::<_, Stop>(checkpoint)
    };
    let checkpoint = checkpoint.map(beginning).transpose()?;
    let end = if args.open { End::Open } else { End::Closed };
    let (cycles, allow_nan, params) =
        (args.over.cycles, args.over.allow_nan, checkpoint.map(Parameters::from));
    let run = RunOptions { cycles, end, all_vars, allow_nan, cut, params, ..RunOptions::default() };
    if args.over.inputs.is_some() && !output.json() {
        let notes = rml::window_notes(&program, &inputs, &run)?;
        notes.iter().for_each(|note| output.note(&format!("{note}\n")));
    }
    Ok((program, inputs, run))
}

/// The program that the flags name, and the options to compile it with.
pub(crate) fn over(args: &Over) -> Result<(Source, Options), Stop> {
    let (source, options) = super::program(&args.program)?;
    Ok((source, Options { node: args.node.clone(), seed: args.seed, ..options }))
}

/// The inputs of a program, from the file that the flags name, and the windows that the flags and the mapping file ask
/// for. Without flags that say otherwise, the file is read like the training data of the checkpoint.
pub(crate) fn inputs(
    args: &Over,
    cut: Windowing,
    source: &Source,
    checkpoint: Option<&Checkpoint>,
    output: &mut Output,
) -> Result<(Columns, Windowing), Stop> {
    let Some(file) = &args.inputs else {
        super::refuse_unused("they are about the file of `--inputs`", &args.table.given())?;
        return Ok((Columns::default(), cut));
    };
    let recorded = checkpoint.map(Checkpoint::preparation).unwrap_or_default();
    let asked = Recipe { cut, ..Recipe::default() }.or(args.table.recipe()?);
    let cut = asked.cut.clone();
    let recipe = asked.or_read_as(recorded.recipe());
    let columns = rml::columns_for(source, args.node.as_deref())?.in_format(args.table.format());
    let columns = Columns::read_selected(&[file], &recipe.selection(columns)?)?;
    super::note_assumed(&columns, output);
    Ok((columns, cut))
}
