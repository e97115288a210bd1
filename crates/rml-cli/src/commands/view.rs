//! `rml view`: a server on this machine alone, which sends the page of a run to a browser, and another one when a file
//! changes.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};
use std::net::{Ipv4Addr, TcpListener};

use rml::Diagnostic;
use rml::codes::run::BAD_OPTION;

use super::page;
use super::watched::{self, State};
use crate::args::View;
use crate::output::{Output, Stop};
use http::{Answer, Request};

mod http;

/// The page as it was made last.
struct Shown {
    state: State,
    /// How often it was made.
    count: u64,
    html: String,
}

/// Serves the page until Ctrl-C.
pub(crate) fn view(args: &View, output: &mut Output) -> Result<(), Stop> {
    let refused = |e: std::io::Error| {
        Diagnostic::error(BAD_OPTION, "no server can be opened on this machine").note(rml::refusal(&e))
    };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(refused)?;
    let host = listener.local_addr().map_err(refused)?.to_string();
    let folder = format!("/{}/", token());
    let mut shown = make(args, 0, output);
    output.print(&format!("http://{host}{folder}\n"))?;
    output.note("Ctrl-C ends this\n");
    for (request, reply) in http::requests(listener) {
        // The client may be gone.
        let _ = reply.send(answer(&request, (&host, &folder), args, &mut shown, output));
    }
    Ok(())
}

/// What a request is answered with. A page of another site, whose name leads here, has another host in its requests.
fn answer(
    request: &Request,
    (host, folder): (&str, &str),
    args: &View,
    shown: &mut Shown,
    output: &mut Output,
) -> Answer {
    let path = request.path.strip_prefix(folder).filter(|_| request.host == host);
    let Some(path) = path.filter(|path| ["", "state"].contains(path)) else {
        let text = "there is nothing at this address\n".to_owned();
        return Answer { status: "404 Not Found", kind: "text/plain", text };
    };
    if files(args) != shown.state {
        *shown = make(args, shown.count + 1, output);
    }
    match path {
        "state" => Answer { status: "200 OK", kind: "text/plain", text: shown.count.to_string() },
        _ => Answer { status: "200 OK", kind: "text/html", text: shown.html.clone() },
    }
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

/// A name that nobody guesses.
fn token() -> String {
    let part = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", part(), part())
}
