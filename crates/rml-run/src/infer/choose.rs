//! The windows that inference runs, by the split of the training.

use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Diagnostics, Error};
use rml_data::Dataset;

use super::Split;
use crate::checkpoint::Checkpoint;
use crate::fingerprint;

/// The windows to run.
pub(super) fn choose(
    data: &dyn Dataset,
    split_asked: Split,
    (count, is_cut_as_trained): (usize, bool),
    checkpoint: &Checkpoint,
    warnings: &mut Diagnostics,
) -> Result<(Split, Vec<usize>), Error> {
    let Some(position) =
        checkpoint.position.as_ref().filter(|p| p.setup.test > 0 || split_asked != Split::Auto)
    else {
        return match split_asked {
            Split::Auto | Split::All => Ok((Split::All, (0..count).collect())),
            Split::Test | Split::Train | Split::Validation => {
                let what = match checkpoint.origin() {
                    "" => "no checkpoint says how data was split".to_owned(),
                    origin => format!("{origin} does not say how data was split"),
                };
                Err(Diagnostic::error(codes::NO_TEST_SPLIT, what)
                    .help("run over all windows (`--split all`)")
                    .into())
            }
        };
    };
    let same = is_cut_as_trained
        && position.setup.windows == count
        && position.origin.data == fingerprint::data(data, position.origin.columns.iter().map(|c| &**c))?;
    let asked = if split_asked == Split::Auto && !same { Split::All } else { split_asked };
    if asked == Split::All {
        return Ok((Split::All, (0..count).collect()));
    }
    if !is_cut_as_trained {
        let what =
            "the windows are cut in another way than in the training, so its split does not apply here";
        return Err(Diagnostic::error(codes::NO_TEST_SPLIT, what)
            .help("leave the options out that say what a window is, or run over all windows (`--split all`)")
            .into());
    }
    if position.setup.windows != count {
        let what = "the data is not what the checkpoint was trained on, so its split does not apply here";
        return Err(Diagnostic::error(codes::NO_TEST_SPLIT, what)
            .note(format!("expected {} windows, found {count}", position.setup.windows))
            .help("run over all windows (`--split all`)")
            .into());
    }
    if !same {
        let what = "the data is not the one that the checkpoint was made with";
        warnings.push(Diagnostic::warning(codes::DATA_CHANGED, what));
    }
    let parts = position.setup.parts();
    Ok(match asked {
        Split::Train => (Split::Train, parts.train),
        Split::Validation if parts.validation.is_empty() => {
            let what = format!("the training of {} kept no windows for validation", checkpoint.origin());
            return Err(Diagnostic::error(codes::NO_TEST_SPLIT, what)
                .help("use other windows (`--split test`, `train` or `all`)")
                .into());
        }
        Split::Validation => (Split::Validation, parts.validation),
        Split::Auto | Split::Test | Split::All => (Split::Test, parts.test),
    })
}
