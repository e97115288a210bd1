//! Training: runs a node over windows of data, epoch after epoch, or over windows that it makes itself, and saves its
//! states in checkpoints.
//!
//! `course` has the loop. Its blocks come from a `course::Blocks`: `data`, `free` or `stream`. Each `keeper::Keeper`
//! keeps one kind of record: `until`, `stats`, `best`, `log`, the checkpoint.

use data::OnData;
use free::Free;
use observer::{Observer, TrainReport};
use options::TrainOptions;
use rml_base::Error;
use rml_base::profile::Phase;
use rml_data::Dataset;
use rml_driver::Source;

mod best;
mod carried;
pub(crate) mod compare;
pub(crate) mod confusion;
mod course;
mod data;
mod doubts;
pub(crate) mod episode;
pub(crate) mod episodes;
mod evaluation;
mod free;
mod keeper;
mod kept;
pub(crate) mod log;
pub(crate) mod observer;
pub(crate) mod options;
pub(crate) mod plot;
pub(crate) mod ranks;
mod reach;
pub(crate) mod record;
mod records;
mod repeated;
mod resume;
pub(crate) mod samples;
mod scale;
mod shards;
mod start;
mod stats;
mod steps;
mod still;
pub(crate) mod stream;
pub(crate) mod sweep;
pub(crate) mod targets;
mod test;
mod unbound;
pub(crate) mod until;
pub(crate) mod updates;

/// Trains a node of a source on data, epoch after epoch. States continue from window to window, and those that do not
/// depend on the data from epoch to epoch; [`TrainOptions::keep_states`] says more. The same program, data and seed
/// give the same bits; so does an interrupted run that is resumed.
///
/// With [`TrainOptions::length`], the node has no inputs and makes its own data. Then `data` is not used, and there are
/// reports instead of epochs.
///
/// # Errors
/// A program or data that does not fit, a run that fails, a checkpoint that cannot be read or written.
pub fn train(
    source: &Source,
    data: &dyn Dataset,
    options: &TrainOptions,
    observer: &mut dyn Observer,
) -> Result<TrainReport, Error> {
    let outcome = train_here(source, data, options, observer);
    if let (Err(error), Some(ranks)) = (&outcome, options.group()) {
        ranks.fail(error);
    }
    outcome
}

fn train_here(
    source: &Source,
    data: &dyn Dataset,
    options: &TrainOptions,
    observer: &mut dyn Observer,
) -> Result<TrainReport, Error> {
    if let Some(length) = &options.length {
        let free = options.engine.time(Phase::Compile, || Free::new(source, length, options, observer));
        return free?.run(observer);
    }
    let training = options.engine.time(Phase::Compile, || OnData::new(source, data, options, observer));
    training?.run(observer)
}
