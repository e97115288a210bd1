//! `rml view`: a server on this machine alone, which sends the page of a run to a browser, and another one when a file
//! changes.

use rml::Diagnostic;
use rml::codes::run::BAD_OPTION;

use super::page;
use super::served::{self, Address, http};
use super::watched::{self, State};
use crate::args::View;
use crate::output::{Output, Stop};

/// The page as it was made last.
struct Shown {
    state: State,
    /// How often it was made.
    count: u64,
    html: String,
}

/// Serves the page until Ctrl-C.
pub(crate) fn view(args: &View, output: &mut Output) -> Result<(), Stop> {
    let (listener, address) = Address::open()?;
    let mut shown = make(args, 0, output);
    output.print(&format!("{}\n", address.url()))?;
    output.note("Ctrl-C ends this\n");
    for (request, reply) in http::requests(listener) {
        let asked = address.asked(&request);
        if asked.is_some() && files(args) != shown.state {
            shown = make(args, shown.count + 1, output);
        }
        // The client may be gone.
        let _ = reply.send(served::answer(asked, shown.count, &shown.html));
    }
    Ok(())
}

/// Runs the program as it is now.
fn make(args: &View, count: u64, output: &mut Output) -> Shown {
    let state = files(args);
    let html = match page::make(&args.execution, page::shown(args.vars), true, output) {
        Ok(made) => made.html,
        Err(Stop::Errors(error)) => {
            output.report(error.diagnostics(), error.sources());
            page::of_error(&error, true)
        }
        Err(_) => page::of_error(&Diagnostic::error(BAD_OPTION, "the program does not run").into(), true),
    };
    Shown { state, count, html }
}

/// The files that the page is made of, as they are now.
fn files(args: &View) -> State {
    let over = &args.execution.over;
    watched::state(std::slice::from_ref(&over.program.file), over.inputs.as_slice())
}
