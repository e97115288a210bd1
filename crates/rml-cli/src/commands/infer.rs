//! `rml infer`, over data or as a stream.

use std::path::PathBuf;

use rml::{
    Checkpoint, Columns, Dataset, InferOptions, InferReport, Length, Phase, Precision, Recipe, Source, Split,
    Stream, Windowing,
};

use super::Reading;
use super::profile::Measuring;
use super::stream::stream;
use crate::args::{Infer, SplitArg};
use crate::output::{Output, Stop};
use crate::progress::{continued, metrics};

/// Runs `rml infer`.
pub(crate) fn infer(args: &Infer, output: &mut Output) -> Result<(), Stop> {
    let profile = args.profiling.profile.as_ref().and_then(Option::as_ref);
    super::check_distinct([("--out", args.out.as_ref()), ("--profile", profile)], [])?;
    let source = Source::file(&args.program.file);
    let data = rml::data_files(&args.data)?;
    if let Some(out) = &args.out {
        super::check_output(out, &source, data.iter().chain(&args.params).map(Some))?;
        Columns::check_format(out)?;
    }
    let inputs = data.iter().chain(&args.params).map(Some);
    let measuring = Measuring::begin(&args.profiling, &source, inputs)?;
    measuring.survive_signals(output)?;
    let outcome = infer_measured(args, &source, &measuring, output);
    measuring.end(outcome, output)
}

fn infer_measured(
    args: &Infer,
    source: &Source,
    measuring: &Measuring,
    output: &mut Output,
) -> Result<(), Stop> {
    let options = InferOptions {
        node: args.node.clone(),
        params: args.params.clone().map(Into::into),
        set: super::settings(&args.program.set, args.program.batch)?,
        batch: args.program.batch,
        precision: args.program.f64.then_some(Precision::F64),
        split: match args.split {
            None => Split::Auto,
            Some(SplitArg::Test) => Split::Test,
            Some(SplitArg::Train) => Split::Train,
            Some(SplitArg::Validation) => Split::Validation,
            Some(SplitArg::All) => Split::All,
        },
        allow_nan: args.allow_nan,
        cut: Windowing::default(),
        keep_outputs: args.out.is_some(),
        unscale: args.unscale,
        classes: args.confusion.clone().unwrap_or_default(),
        fresh: args.fresh,
        engine: measuring.engine(super::engine(&args.computing)?),
        look_ahead: args.look_ahead,
        interrupt: None,
    };
    if args.stream {
        let given: Vec<_> = args.table.given().into_iter().chain(args.cutting.given()).collect();
        super::refuse_unused("they are about files of `--data`", &given)?;
        return stream(Stream::new(source, &options)?, args.strict, output);
    }
    if args.data.is_empty() {
        return without_data(args, source, &options, output);
    }
    let checkpoint = |params: &PathBuf| measuring.time(Phase::Checkpoint, || Checkpoint::read(params));
    let checkpoint = args.params.as_ref().map(checkpoint).transpose()?;
    let recorded = checkpoint.as_ref().map(Checkpoint::preparation).unwrap_or_default();
    let asked = Recipe { cut: args.cutting.cut(), ..Recipe::default() }.or(args.table.recipe()?);
    asked.check_prepared_as(&recorded.asked)?;
    let options = InferOptions { cut: asked.cut.clone(), ..options };
    let recipe = asked.or_read_as(recorded.recipe());
    let how = Reading { on_disk: args.on_disk, format: args.table.format(), recipe: &recipe };
    let of = (source, Some(&*args.node));
    let data = measuring.time(Phase::Data, || super::dataset(&args.data, &how, of, output))?;
    let options = InferOptions { params: checkpoint.map(Into::into), ..options };
    over_data(args, source, &*data, &options, output)
}

/// Runs a node that makes its own data.
fn without_data(
    args: &Infer,
    source: &Source,
    options: &InferOptions,
    output: &mut Output,
) -> Result<(), Stop> {
    let given = args.table.given().into_iter().chain(args.cutting.given());
    let others = [
        ("split", args.split.is_some()),
        ("strict", args.strict),
        ("allow-nan", args.allow_nan),
        ("unscale", args.unscale),
    ];
    let given: Vec<_> = given.chain(others).collect();
    super::refuse_unused("they are about data", &given)?;
    let number = |n: Option<usize>| n.and_then(|n| u64::try_from(n).ok());
    let (windows, cycles) = (number(args.windows), number(args.cycles));
    let length = Length { windows, cycles, look_ahead: args.look_ahead, ..Length::default() };
    shown(args, &rml::infer_without_data(source, &length, options)?, output)
}

fn over_data(
    args: &Infer,
    source: &Source,
    data: &dyn Dataset,
    options: &InferOptions,
    output: &mut Output,
) -> Result<(), Stop> {
    shown(args, &rml::infer(source, data, options)?, output)
}

/// Prints the result of inference, and writes its outputs.
fn shown(args: &Infer, report: &InferReport, output: &mut Output) -> Result<(), Stop> {
    output.report(&report.warnings, &report.sources);
    if !output.json() {
        report.notes.iter().for_each(|note| output.note(&format!("{note}\n")));
        output.note(&continued(&report.continued));
        output.note(&unseen(args, report));
    }
    if let (Some(file), Some(outputs)) = (&args.out, &report.outputs) {
        outputs.write(file)?;
    }
    if output.json() {
        return output.print_json(&report.json_line());
    }
    output.print(&summary(report))
}

/// Tells the user where the outputs are, if none of them is printed.
fn unseen(args: &Infer, report: &InferReport) -> String {
    let is_seen = args.out.is_some() || !report.metrics.is_empty() || report.confusion.is_some();
    if is_seen || report.others.is_empty() {
        return String::new();
    }
    let names: Vec<String> = report.others.iter().map(|name| format!("`{name}`")).collect();
    let are = if names.len() == 1 { "is" } else { "are" };
    format!(
        "{} {are} computed for each window: `--out FILE.csv`, `--out FILE.json` or `--out FILE.npz` writes them\n",
        names.join(", ")
    )
}

fn summary(report: &InferReport) -> String {
    let which = match report.split {
        Split::Test => "test ",
        Split::Train => "train ",
        Split::Validation => "validation ",
        Split::All | Split::Auto => "",
    };
    let plural = if report.windows == 1 { "" } else { "s" };
    let table = report.confusion.as_ref().map(rml::Confusion::text).unwrap_or_default();
    format!("{} {which}window{plural}\n{}{table}", report.windows, metrics(which, &report.metrics, "\n"))
}
