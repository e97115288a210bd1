//! Messages about windows that end while values in them wait for later cycles.

use rml_base::codes::analysis::UNCUT_RECURRENCE;
use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Error};
use rml_data::Windows;
use rml_driver::Program;

use crate::session::Session;

/// Completes an error about a value that waits for cycles after its window, with what the data says about the window.
/// `is_told` says that the error already has advice.
pub(super) fn about_windows(
    d: Diagnostic,
    data: &Windows,
    (windows, is_told): (&[usize], bool),
) -> Diagnostic {
    let cycles = windows.first().map_or(0, |window| data.length(*window));
    let d = match cycles {
        1 => d
            .note("each row of the data is a window here: its columns have one value per row, so a window is one cycle")
            .help("if each row is a cycle, say how many of them are a window: `--window 24`")
            .help("or store several cycles in a row: an array [windows, cycles, ..], or lists in JSON, `{\"x\": [[..], ..]}`"),
        n => d.note(format!("a window of the data has {n} cycles")),
    };
    match data.not_ended(windows).unwrap_or_default() {
        None if is_told => d,
        None => d.help(CUT),
        Some(end) => d.note(format!("column `{end}` is false in the last cycle of the window")).help(
            format!("leave column `{end}` out of the data: then it is true in the last cycle of each window"),
        ),
    }
}

/// The error that a value waits for cycles after its window.
pub(crate) fn incomplete(session: &Session) -> Error {
    let found = waiting(session);
    session.fail(if uncut(session).next().is_some() { found } else { found.help(CUT) })
}

const CUT: &str = "cut backward dependences at the end of each window: `f(x) every end`, or `merge` on `end`; where windows end before a restart, `every (false fby back r)`, let the data end the last one: `l = last(r) every end`, see \"Restarts\" in docs/language/gradients.md";

pub(crate) fn waiting(session: &Session) -> Diagnostic {
    let mut d = Diagnostic::error(
        codes::WINDOW_INCOMPLETE,
        "a window ended, and values in it still wait for later cycles",
    );
    if uncut(session).next().is_some() {
        d.labels = uncut(session).flat_map(|d| d.labels.clone()).collect();
        d.help = uncut(session).flat_map(|d| d.help.clone()).collect();
        return uncut(session).fold(d, |d, found| d.note(found.message.clone()));
    }
    if let Some(why) = session.waiting() {
        // Only a value that needs itself, and a `post`, get the advice: more cycles would not belong to this window.
        d.help.extend(why.report.help.into_iter().filter(|_| why.cyclic || why.at_end));
        if why.at_end {
            d.help.extend(without_last(session.program()));
        }
        d.labels = why.report.labels;
        d = d.note(why.report.message);
        d.notes.extend(why.report.notes);
    }
    d
}

/// The warnings that a window waits for the next one, because its gradient is not cut.
pub(super) fn uncut(session: &Session) -> impl Iterator<Item = &Diagnostic> {
    session.program().warnings().iter().filter(|d| d.code == UNCUT_RECURRENCE)
}

/// Advice on how to call a network that gets no gradient in the last cycle of a window.
fn without_last(program: &Program) -> Option<String> {
    let nets = program.learned().iter().filter_map(|key| key.split('.').next()?.rsplit_once('_'));
    let mut nets: Vec<String> = nets.map(|(name, _)| format!("`diff_{name}`")).collect();
    nets.sort_unstable();
    nets.dedup();
    (!nets.is_empty()).then(|| {
        format!(
            "then pass `not end` in place of `true` to {}, too: in the last cycle there is no gradient",
            nets.join(" and ")
        )
    })
}

/// The error that the update of a parameter waits for cycles after its window, made of the finding of `rml check`.
pub(super) fn update_waits(late: &Diagnostic) -> Diagnostic {
    let what = "a window ended, and the update of a parameter in it waits for later cycles";
    let mut d = Diagnostic::error(codes::WINDOW_INCOMPLETE, what);
    (d.labels, d.help) = (late.labels.clone(), late.help.clone());
    d.note(late.message.clone())
}

/// The names of windows in a message.
pub(super) fn among(windows: &[usize]) -> String {
    const SHOWN: usize = 8;
    let shown: Vec<String> = windows.iter().take(SHOWN).map(ToString::to_string).collect();
    match windows.len() {
        1 => format!("in window {} of the data", shown[0]),
        n if n > SHOWN => format!("in a batch of windows {}, .. of the data", shown.join(", ")),
        _ => format!("in a batch of windows {} of the data", shown.join(", ")),
    }
}
