//! Findings about the windows that are kept for testing and validation, and what is left to train on.

use rml_base::Diagnostic;
use rml_base::codes::run as codes;

use super::options::{Evaluate, TrainOptions, Validate};
use crate::checkpoint::Setup;

/// A note about how many windows are not used, and why.
pub(super) fn left_out(setup: &Setup) -> String {
    let left = setup.left_out();
    let others = match (setup.test, setup.validation) {
        (_, 0) => "windows for testing",
        (0, _) => "windows for validation",
        _ => "windows for testing or validation",
    };
    match left {
        1 => format!("1 window is left out, since it shares rows with {others}"),
        _ => format!("{left} windows are left out, since they share rows with {others}"),
    }
}

/// A warning that the requested batch size exceeds the windows of an epoch, which is then one batch.
pub(super) fn smaller_batch(asked: usize, setup: &Setup) -> Diagnostic {
    let Setup { windows, test, validation, .. } = setup;
    let train = windows - test - validation - setup.left_out();
    let kept = match (test, validation) {
        (0, 0) => String::new(),
        (test, 0) => format!(", of which {test} are kept for testing"),
        (test, validation) => {
            format!(", of which {test} are kept for testing and {validation} for validation")
        }
    };
    Diagnostic::warning(
        codes::BAD_OPTION,
        format!("batches of {asked} windows are asked for, and there are {train} windows to train on"),
    )
    .note(format!("the data has {windows} windows{kept}; each epoch is one batch of {train}"))
    .help(format!("ask for at most {train} (`--batch {train}`), or give more data"))
}

/// Checks that a requested evaluation has windows, and that some windows remain to train on.
pub(super) fn check_evaluation(
    options: &TrainOptions,
    setup: &Setup,
    evaluates: bool,
) -> Result<(), Diagnostic> {
    let Setup { windows, test, validation, .. } = setup;
    let left_out = setup.left_out();
    if test + validation + left_out >= *windows {
        let shared = match left_out {
            0 => String::new(),
            _ => format!(", {left_out} share rows with these"),
        };
        let what = format!(
            "{test} of {windows} windows are kept for testing and {validation} for validation{shared}, and none is left to train on"
        );
        return Err(Diagnostic::error(codes::BAD_OPTION, what)
            .help("keep fewer, as with `--test 0.1 --validate 0.1`, or give more data"));
    }
    if options.validate.is_some() && !evaluates {
        let what = "windows are kept for validation, and no node runs over them";
        return Err(Diagnostic::error(codes::BAD_OPTION, what)
            .help("name the node that evaluates them (`--evaluate NODE`), or call it `infer`"));
    }
    let validates = *validation > 0 || matches!(options.validate, Some(Validate::Data(_)));
    match &options.evaluate {
        Evaluate::Node(node) if *test == 0 && !validates => Err(Diagnostic::error(
            codes::BAD_OPTION,
            format!("node {node} is to evaluate the test windows, and there are none"),
        )
        .note(format!("of {windows} windows, none is kept for testing"))
        .help("keep some (`--test COUNT`), or evaluate nothing (leave `--evaluate` out)")),
        _ => Ok(()),
    }
}
