//! The commands, one a module: each asks the library and prints what it says.

mod backends;
mod check;
mod doc;
mod execute;
mod explain;
mod fmt;
mod grad;
mod infer;
mod params;
mod show;
mod stream;
mod train;
mod verdict;

use std::sync::Arc;

use rml::backend::{self, Backend};
use rml::{Options, Precision, Source};

use crate::args::{self, Command};
use crate::output::{Output, Stop};

/// Runs a command.
pub(crate) fn run(command: &Command, output: &mut Output) -> Result<(), Stop> {
    match command {
        Command::Check(args) => check::check(args, output),
        Command::Run(args) => execute::run(args, output),
        Command::Trace(args) => execute::trace(args, output),
        Command::Diff(args) => show::diff(args, output),
        Command::Dump(args) => show::dump(args, output),
        Command::Grad(args) => grad::grad(args, output),
        Command::Gradcheck(args) => grad::gradcheck(args, output),
        Command::Fmt(args) => fmt::fmt(args, output),
        Command::Train(args) => train::train(args, output),
        Command::Infer(args) => infer::infer(args, output),
        Command::Params(args) => params::params(args, output),
        Command::Doc(args) => doc::doc(args, output),
        Command::Backends(args) => backends::backends(args, output),
        Command::Explain(args) => explain::explain(args, output),
    }
}

/// The program that the flags name, and how they say to compile it.
fn program(program: &args::Program) -> (Source, Options) {
    let options = Options {
        set: program.set.iter().cloned().collect(),
        batch: program.batch,
        precision: precision(program.f64),
        ..Options::default()
    };
    (Source::file(&program.file), options)
}

fn precision(f64: bool) -> Precision {
    if f64 { Precision::F64 } else { Precision::F32 }
}

/// The backend that the flags choose, open.
fn backend(computing: &args::Computing) -> Result<Arc<dyn Backend>, Stop> {
    let options = backend::Options { device: computing.device.clone(), threads: computing.threads };
    Ok(backend::open(&computing.backend, &options)?)
}
