//! Training: a node run over windows of data, epoch after epoch, its states kept in checkpoints.

use observer::{Observer, TrainReport};
use options::TrainOptions;
use rml_base::Error;
use rml_base::profile::Phase;
use rml_data::Columns;
use rml_driver::Source;
use training::Training;

pub(crate) mod observer;
pub(crate) mod options;
mod resume;
mod start;
mod training;

/// Trains a node of a source on data, epoch after epoch. The trace is one: states go on from window to window and from epoch to
/// epoch. The same program, data and seed give the same bits; so does a run that was interrupted and resumed.
///
/// # Errors
/// A program or data that does not fit, a run that fails, a checkpoint that cannot be read or written.
pub fn train(
    source: &Source,
    data: &Columns,
    options: &TrainOptions,
    observer: &mut dyn Observer,
) -> Result<TrainReport, Error> {
    let training = options.engine.time(Phase::Compile, || Training::new(source, data, options, observer));
    training?.run(observer)
}
