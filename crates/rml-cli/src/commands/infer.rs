//! `rml infer`, over data or as a stream.

use std::io::{BufRead as _, Read as _};

use rml::{Columns, Diagnostic, InferOptions, InferReport, Precision, Source, Split, Stream, codes};

use crate::args::{Infer, SplitArg};
use crate::output::{Output, Stop, unreadable};
use crate::progress::{json_metrics, metrics};

/// A line of a stream longer than that is refused.
const MAX_LINE: u64 = 64 << 20;

/// Infers.
pub(crate) fn infer(args: &Infer, output: &mut Output) -> Result<(), Stop> {
    let source = Source::file(&args.program.file);
    let options = InferOptions {
        node: args.node.clone(),
        params: args.params.clone(),
        set: args.program.set.iter().cloned().collect(),
        batch: args.program.batch,
        precision: args.program.f64.then_some(Precision::F64),
        split: match args.split {
            None => Split::Auto,
            Some(SplitArg::Test) => Split::Test,
            Some(SplitArg::Train) => Split::Train,
            Some(SplitArg::All) => Split::All,
        },
        allow_nan: args.allow_nan,
        keep_outputs: args.out.is_some(),
        fresh: args.fresh,
        backend: Some(super::backend(&args.computing)?),
    };
    match &args.data {
        Some(data) => over_data(args, &source, &Columns::read(data)?, &options, output),
        None => stream(Stream::new(&source, &options)?, output),
    }
}

fn over_data(
    args: &Infer,
    source: &Source,
    data: &Columns,
    options: &InferOptions,
    output: &mut Output,
) -> Result<(), Stop> {
    let report = rml::infer(source, data, options)?;
    output.report(&report.warnings, &report.sources);
    if let (Some(file), Some(outputs)) = (&args.out, &report.outputs) {
        outputs.write(file)?;
    }
    if output.json() {
        let metrics = json_metrics(&report.metrics, &[("windows", report.windows.into())]);
        return output.print_json(&metrics.to_string());
    }
    output.print(&summary(&report))
}

fn summary(report: &InferReport) -> String {
    let which = match report.split {
        Split::Test => "test ",
        Split::Train => "train ",
        Split::All | Split::Auto => "",
    };
    let plural = if report.windows == 1 { "" } else { "s" };
    format!("{} {which}window{plural}\n{}", report.windows, metrics(which, &report.metrics, "\n"))
}

/// Answers each line of standard input as soon as its answer is known.
fn stream(mut stream: Stream, output: &mut Output) -> Result<(), Stop> {
    output.report(stream.warnings(), stream.sources());
    let mut input = std::io::stdin().lock();
    let mut bytes = Vec::new();
    for number in 1_u64.. {
        bytes.clear();
        let read = input.by_ref().take(MAX_LINE).read_until(b'\n', &mut bytes);
        if read.map_err(|e| unreadable("standard input", &e))? == 0 {
            break;
        }
        let malformed = |what: &str| {
            Diagnostic::error(
                codes::run::MALFORMED_DATA,
                format!("line {number} of standard input is {what}"),
            )
        };
        if bytes.len() as u64 == MAX_LINE && bytes.last() != Some(&b'\n') {
            return Err(malformed("too long").note(format!("at most {MAX_LINE} bytes are read")).into());
        }
        let line = std::str::from_utf8(&bytes).map_err(|_| malformed("not UTF-8"))?;
        answer(&stream.line(line)?, output)?;
    }
    answer(&stream.finish()?, output)
}

fn answer(lines: &[String], output: &mut Output) -> Result<(), Stop> {
    if lines.is_empty() { Ok(()) } else { output.print_json(&lines.join("\n")) }
}
