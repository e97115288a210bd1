//! `rml train`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rml::{Columns, Diagnostic, Evaluate, Source, TrainOptions, TrainReport, codes};

use crate::args::Train;
use crate::output::{INTERRUPTED, Output, Stop};
use crate::progress::{Display, metrics};

/// Trains, showing progress, and prints what came out.
pub(crate) fn train(args: &Train, output: &mut Output) -> Result<(), Stop> {
    let source = Source::file(&args.program.file);
    if let Some(save) = &args.save {
        super::check_output(save, &source, [Some(&args.data)])?;
    }
    let options = options(args)?;
    let data = Columns::read(&args.data)?;
    let mut display = Display::new(output);
    let outcome = rml::train(&source, &data, &options, &mut display);
    display.close();
    let report = outcome?;
    if report.interrupted {
        output.note(&interruption(args, &report));
        return Err(Stop::Interrupted);
    }
    if output.json() { Ok(()) } else { output.print(&result(&report)) }
}

fn options(args: &Train) -> Result<TrainOptions, Stop> {
    let interrupt = Arc::new(AtomicBool::new(false));
    listen(Arc::clone(&interrupt))?;
    Ok(TrainOptions {
        node: args.node.clone(),
        evaluate: args.evaluate.clone().map_or(Evaluate::Infer, Evaluate::Node),
        set: super::settings(&args.program.set, args.program.batch)?,
        batch: args.program.batch,
        epochs: args.epochs,
        seed: args.seed,
        test: args.test,
        shuffle: !args.no_shuffle,
        precision: super::precision(args.program.f64),
        allow_nan: args.allow_nan,
        save: args.save.clone(),
        save_every: args.save_every,
        resume: args.resume.clone(),
        backend: Some(super::backend(&args.computing)?),
        interrupt: Some(interrupt),
    })
}

/// The first Ctrl-C asks training to stop after the window, the second one ends the process.
fn listen(interrupt: Arc<AtomicBool>) -> Result<(), Stop> {
    let handler = move || {
        if interrupt.swap(true, Ordering::SeqCst) {
            std::process::exit(i32::from(INTERRUPTED));
        }
    };
    ctrlc::set_handler(handler).map_err(|e| {
        Diagnostic::error(codes::run::BAD_OPTION, "cannot listen for Ctrl-C").note(e.to_string()).into()
    })
}

fn interruption(args: &Train, report: &TrainReport) -> String {
    match &args.save {
        Some(file) if report.saved => {
            let file = file.display();
            format!("interrupted; saved to {file}, `--resume {file}` goes on from there\n")
        }
        _ => "interrupted; nothing was saved (`--save FILE` keeps what was learned)\n".to_owned(),
    }
}

/// The metrics of the last epoch, those of the test windows where there are any, one a line.
fn result(report: &TrainReport) -> String {
    let Some(last) = report.epochs.last() else { return "no epoch was left to train\n".to_owned() };
    if last.test.is_empty() {
        metrics("train ", &last.train, "\n")
    } else {
        metrics("test ", &last.test, "\n")
    }
}
