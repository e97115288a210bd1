//! The `rml` command: flags, printing of diagnostics, progress. All work is done by the library `rml`.
//!
//! Results go to standard output, diagnostics and progress to standard error. Exit codes: 0 success, 1 errors were
//! found, 2 the command line was wrong, 128 plus the number of the signal that ended a training (after saving).

mod args;
mod commands;
mod output;
mod pages;
mod progress;
mod signals;
mod values;

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = args::Cli::read().unwrap_or_else(|error| refuse(&error));
    if let Some(bytes) = cli.global.memory {
        rml::memory::set_limit(bytes);
    }
    let mut output = output::Output::new(&cli.global);
    log_spans(output.colour());
    verify_stages();
    let outcome = commands::run(&cli.command, &mut output);
    output.finish(outcome)
}

/// Prints the error in the command line (or the requested help or version), and exits. Arguments may be file names from
/// untrusted sources; if one contains characters that a terminal would obey, the text is written without colours and
/// with these characters escaped.
fn refuse(error: &clap::Error) -> ! {
    let is_shown = |arg: OsString| matches!(rml::visible(&arg.to_string_lossy()), Cow::Borrowed(_));
    if std::env::args_os().all(is_shown) {
        error.exit();
    }
    let text = error.render().to_string();
    let _ = std::io::stderr().lock().write_all(rml::visible(&text).as_bytes());
    std::process::exit(error.exit_code())
}

/// Verifies every stage if `RML_VERIFY=1` asks for it, as debug builds always do.
fn verify_stages() {
    if std::env::var_os("RML_VERIFY").is_some_and(|value| value == "1") {
        rml::ir::check::verify_always();
    }
}

/// Logs the spans and events of passes that `RML_LOG` asks for, with their durations, to standard error.
fn log_spans(colour: bool) {
    use tracing_subscriber::filter::Targets;
    use tracing_subscriber::fmt::{self, format::FmtSpan};
    use tracing_subscriber::prelude::*;

    let Some(filter) = std::env::var("RML_LOG").ok().and_then(|text| text.parse::<Targets>().ok()) else {
        return;
    };
    let lines = fmt::layer().with_span_events(FmtSpan::CLOSE).with_ansi(colour).with_writer(std::io::stderr);
    tracing_subscriber::registry().with(lines.with_filter(filter)).init();
}
