//! The `rml` command: flags, drawing of diagnostics, progress. All work is done by the library `rml`.
//!
//! Results go to standard output, diagnostics and progress to standard error. Exit codes: 0 done, 1 errors were found,
//! 2 the command line was wrong, 130 interrupted (after saving).

mod args;
mod commands;
mod output;
mod pages;
mod progress;
mod render;
mod values;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    let cli = args::Cli::parse();
    if let Some(bytes) = cli.global.memory {
        rml::memory::set_limit(bytes);
    }
    let mut output = output::Output::new(&cli.global);
    log_spans(output.colour());
    let outcome = commands::run(&cli.command, &mut output);
    output.finish(outcome)
}

/// Writes the passes' spans and events that `RML_LOG` asks for to standard error, with their durations.
fn log_spans(colour: bool) {
    use tracing_subscriber::EnvFilter;
    use tracing_subscriber::fmt::format::FmtSpan;

    let Ok(filter) = EnvFilter::try_from_env("RML_LOG") else { return };
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_span_events(FmtSpan::CLOSE)
        .with_ansi(colour)
        .with_writer(std::io::stderr)
        .init();
}
