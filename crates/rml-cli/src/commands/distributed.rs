//! `rml train --distributed`: one of several processes that train together.

use std::thread::available_parallelism;
use std::time::SystemTime;

use rml::launch::{Launch, host, variable};
use rml::{Error, Ranks};
use serde_json::json;

use super::train::train as train_here;
use crate::args::Train;
use crate::output::{Output, Stop};
use crate::values::Report;

/// Meets the other processes, and trains with them.
pub(super) fn train(args: &Train, output: &mut Output) -> Result<(), Stop> {
    let launch = Launch::required()?;
    output.is_rank(launch.rank, &host());
    let outcome = join(args, launch).and_then(|(args, ranks)| {
        let outcome = train_here(&args, Some(&ranks), output);
        if let Err(Stop::Errors(error)) = &outcome {
            ranks.fail(error);
        }
        outcome
    });
    if let Err(Stop::Errors(error)) = &outcome {
        tell_launcher(error);
    }
    outcome
}

/// Meets the others. Returns what this process does of what the flags say.
fn join(args: &Train, launch: Launch) -> Result<(Train, Ranks), Stop> {
    let ranks = launch.join(args.exchange_timeout)?;
    let mut args = args.clone();
    let cores = available_parallelism().map_or(1, usize::from);
    args.computing.threads = args.computing.threads.or(Some((cores / launch.here).max(1)));
    if Launch::restarts(variable) > 0 && args.resume.is_none() {
        args.resume = args.save.clone().filter(|file| file.exists());
    }
    if !ranks.is_first() {
        (args.plot, args.profiling.profile, args.view) = (None, None, false);
        args.report.retain(|report| matches!(report, Report::Every(_)));
    }
    Ok((args, ranks))
}

/// Writes an error to the file that `torchrun` names. It shows the first one of all processes.
fn tell_launcher(error: &Error) {
    let Some(file) = variable("TORCHELASTIC_ERROR_FILE") else { return };
    let seconds = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let told = json!({ "message": error.to_string(), "timestamp": seconds });
    // The error itself is on standard error, whatever becomes of the file.
    drop(super::write(file.as_ref(), told.to_string().as_bytes()));
}
