//! Serves the inference of a program over HTTP.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command says what it does")]

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use rml::{InferOptions, Parameters, Source};
use service::{Limits, Service, serve};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

/// Serve the inference of a program over HTTP: sessions, each with states of its own
#[derive(Parser, Debug)]
struct Args {
    /// The program
    file: PathBuf,
    /// The checkpoint with the parameters
    #[arg(long, value_name = "FILE")]
    params: Option<PathBuf>,
    /// The node to run
    #[arg(long, value_name = "NAME", default_value = "infer")]
    node: String,
    /// Where to listen; port 0 is any that is free
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    address: String,
    /// The most sessions at once
    #[arg(long, value_name = "N", default_value_t = Limits::default().sessions)]
    sessions: usize,
    /// How many seconds a session stays that nobody feeds
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    idle: u64,
    /// How many requests are computed at once
    #[arg(long, value_name = "N", default_value_t = Limits::default().workers)]
    workers: usize,
    /// How many cycles of a session may wait for later ones
    #[arg(long, value_name = "CYCLES", default_value_t = 1000)]
    look_ahead: usize,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let source = Source::file(&args.file);
    let options = InferOptions {
        node: args.node.clone(),
        params: args.params.clone().map(Parameters::from),
        look_ahead: args.look_ahead,
        ..InferOptions::default()
    };
    let limits = Limits {
        sessions: args.sessions,
        idle: Duration::from_secs(args.idle),
        workers: args.workers.max(1),
        ..Limits::default()
    };
    let service = match Service::new(&source, &options, limits) {
        Ok(service) => service,
        Err(error) => {
            eprint!("{}", rml_render::human(error.diagnostics(), error.sources(), false));
            return ExitCode::FAILURE;
        }
    };
    let served = tokio::runtime::Builder::new_multi_thread().enable_all().build().and_then(|runtime| {
        let served = runtime.block_on(run(&args.address, service));
        // Requests that did not end in time are not waited for again.
        runtime.shutdown_background();
        served
    });
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("service: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Serves until SIGTERM or Ctrl-C.
async fn run(address: &str, service: Service) -> std::io::Result<()> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let listener = TcpListener::bind(address).await?;
    println!("http://{}/", listener.local_addr()?);
    let stop = async {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        eprintln!("service: answering what has come, then ending");
    };
    serve(listener, service, stop).await
}
