//! `rml view`: a server for this machine only. It sends the page of a run, or of the runs in a folder, to a browser,
//! and a new page whenever a file changes.

use std::path::PathBuf;

use rml::Diagnostic;
use rml::codes::run::BAD_OPTION;

use super::served::{self, Address};
use super::watched::{self, State};
use super::{page, runs};
use crate::args::{Rows, View};
use crate::output::{Output, Stop};

/// The page that was made last.
struct Shown {
    state: State,
    /// The number of pages made so far.
    count: u64,
    html: String,
}

/// Serves the page until Ctrl-C.
pub(crate) fn view(args: &View, output: &mut Output) -> Result<(), Stop> {
    let folder = &args.execution.over.program.file;
    if folder.is_dir() {
        super::refuse_unused("a folder of runs is shown, and no program", &args.given())?;
        return runs::view(folder, output);
    }
    let over = &args.execution.over;
    let mut shown = make(args, 0, output);
    let is_missing = |file: &PathBuf| shown.state.iter().any(|(path, found)| path == file && found.is_none());
    if std::iter::once(&over.program.file).chain(&over.inputs).any(is_missing) {
        return Err(Stop::Reported);
    }
    let (listener, address) = Address::open()?;
    output.print(&format!("{}\n", address.url()))?;
    output.note("Ctrl-C ends this\n");
    served::serve(listener, &address, || {
        if files(args) != shown.state {
            shown = make(args, shown.count + 1, output);
        }
        (shown.count, shown.html.clone())
    });
    Ok(())
}

/// Runs the program in its current state, and makes its page.
fn make(args: &View, count: u64, output: &mut Output) -> Shown {
    let state = files(args);
    let html = match page::make(&args.execution, page::shown(args.vars.unwrap_or(Rows::All)), true, output) {
        Ok(made) => made.html,
        Err(Stop::Errors(error)) => {
            output.report(error.diagnostics(), error.sources());
            page::of_error(&error, true)
        }
        Err(_) => page::of_error(&Diagnostic::error(BAD_OPTION, "the program does not run").into(), true),
    };
    Shown { state, count, html }
}

/// The current state of the files that the page is made of.
fn files(args: &View) -> State {
    let over = &args.execution.over;
    watched::state(std::slice::from_ref(&over.program.file), over.inputs.as_slice())
}
