//! Warnings about the data of a training, before it begins.

use rml_base::codes::run as codes;
use rml_base::{Diagnostic, visible_name};
use rml_data::{Uneven, Windows};
use rml_driver::Program;

/// Warnings about how the data is read.
pub(super) fn of_reading(windows: &Windows) -> Vec<Diagnostic> {
    let one_hot = windows.one_hot().map(|(name, cycles)| {
        let what = format!("each row of column `{name}` is read as {cycles} cycles, but looks one-hot");
        Diagnostic::warning(codes::DATA_SHAPE, what)
            .note("each row holds zeros and a single 1, and no other input has a value for each cycle")
            .help(format!("store the number of the class, one a row: in NumPy, `{name}.argmax(axis=1)`"))
    });
    let misnamed = windows.misnamed_lengths().map(|name| {
        let what = format!("column `{name}` is ignored, so each window has all {} cycles", windows.cycles);
        Diagnostic::warning(codes::UNUSED_COLUMN, what)
            .note("windows that are filled up are cut to their lengths by a column `lengths`")
            .help(format!("rename `{name}` to `lengths` if it says how many cycles each window has"))
    });
    one_hot.into_iter().chain(misnamed).collect()
}

/// A note that names the groups kept for testing, if whole groups are.
pub(super) fn tested_groups(windows: &Windows, train: &[usize], test: &[usize]) -> Option<String> {
    const NAMED: usize = 8;
    let column = windows.grouped_by().filter(|_| !test.is_empty())?;
    let (trained, tested) = (windows.groups(train), windows.groups(test));
    if tested.iter().any(|group| trained.contains(group)) {
        return None;
    }
    let named: Vec<String> =
        tested.iter().take(NAMED).map(|group| format!("`{}`", visible_name(group))).collect();
    let more = match tested.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let all = windows.groups(&(0..windows.count).collect::<Vec<_>>()).len();
    let (column, count) = (visible_name(column), tested.len());
    Some(format!("{count} of {all} groups of `{column}` are for testing: {}{more}", named.join(", ")))
}

/// Warnings about the windows to train on and to test with; `is_last` says that the last windows are tested.
pub(super) fn of_split(
    windows: &Windows,
    (train, test): (&[usize], &[usize]),
    is_last: bool,
) -> Vec<Diagnostic> {
    let copied = windows.copied().map(|(label, among, element)| {
        let what = format!("input `{label}` is an element of input `{among}`: {among}[{element}]");
        Diagnostic::warning(codes::LABEL_AMONG_INPUTS, what)
            .note("they have the same numbers in all windows that were looked at, so nothing is left to learn")
            .help(format!("leave it out of `{among}`, with one element less: in CSV, `--columns '{among}=..'` names the columns"))
    });
    let uneven = windows.uneven(train, test).map(|found| uneven(&found, is_last));
    copied.into_iter().chain(uneven).collect()
}

fn uneven(found: &Uneven<'_>, is_last: bool) -> Diagnostic {
    let Uneven { input, class, test, train } = found;
    let what = format!(
        "{} of {} windows for testing have class {class} of `{input}`, and {} of {} to train on",
        test.0, test.1, train.0, train.1
    );
    let d = Diagnostic::warning(codes::UNEVEN_SPLIT, what);
    match is_last {
        true => d
            .note(format!("the data seems to be sorted by `{input}`, and its end is tested"))
            .help("draw the windows for testing from all of it: `--test 0.3` in place of `--test last:0.3`, and without `--no-shuffle`"),
        false => d.help("take more windows for testing, or draw others by another `--seed`"),
    }
}

/// Warnings about losses that compare the values of a bounded function with numbers outside of its range.
pub(super) fn of_reach(program: &Program, windows: &Windows, train: &[usize]) -> Vec<Diagnostic> {
    let finding = |bounded: &rml_driver::Bounded| {
        let (least, most) = windows.range(&bounded.input, train)?;
        let (low, high) = bounded.range;
        if least >= low && most <= high {
            return None;
        }
        let (input, function, loss) = (&bounded.input, bounded.function, &bounded.loss);
        let what = format!("`{loss}` compares a `{function}` with numbers that it never has");
        Some(
            Diagnostic::warning(codes::OUT_OF_REACH, what)
                .label(bounded.at, format!("`{input}` has numbers from {least} to {most}"))
                .label(bounded.made, format!("and this is between {low} and {high}"))
                .help(format!("leave out the `{function}` of the last layer"))
                .help(format!("or bring `{input}` into its range, as in `{input} / 100.0`")),
        )
    };
    program.bounded().iter().filter_map(finding).collect()
}
