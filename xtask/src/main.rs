//! Developer commands, called as `cargo xtask <command>`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a developer tool talks to the developer")]

mod bench;
mod binaries;
mod book;
mod cache;
mod chart;
mod compare;
mod error_index;
mod jobs;
mod nightly;
mod peers;
mod startup;
mod tables;
mod tidy;
mod worker;
mod workspace;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};
use xshell::cmd;

use jobs::Extent;
use workspace::{shell, step, target};

/// Developer commands. Libraries that they install go to $RML_BACKENDS, else $XDG_CACHE_HOME/rml, else ~/.cache/rml
#[derive(Parser)]
#[command(name = "cargo xtask", verbatim_doc_comment)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Check everything that must hold before a change is merged: formatting, tidy, clippy, documentation, tests
    Test {
        /// Leave out what needs XLA, libtorch or Python, and run five rounds of fuzzing
        #[arg(long)]
        quick: bool,
    },
    /// Fetch the library of a backend, and build the backend against it
    Setup {
        #[arg(value_parser = cache::BACKENDS)]
        backend: String,
    },
    /// Build rml with and without the backends, and compare sizes and the time of `rml check`
    Startup,
    /// Have PyTorch, Keras and flax make weights and outputs, and compare `rml params` with them
    Weights,
    /// Have JAX and ONNX Runtime run what `rml export` writes for them
    Exchange,
    /// Import the node tests of ONNX and models of packages, and compare with ONNX Runtime
    Imports,
    /// Install the Python package with pip, and test it
    Python,
    /// Build the wheel of the Python package for this system in target/wheels, install it, and train with it
    Wheels,
    /// Have Neovim edit programs, and pack the extension for Visual Studio Code where there is npm
    Editors,
    /// Have Chromium open the pages that `rml trace --html` and `rml train --report` write
    Pages,
    /// Make a site of the pages in target/book/html, and follow its links
    Book,
    /// Have TensorBoard read what `rml train --log` writes
    Logs,
    /// Refuse workflows with known weaknesses
    Workflows,
    /// Compare the environments of the library with Gymnasium, and let an agent learn from it
    Environments,
    /// Time calls, preparation and start-up of the backends that are set up, and write docs/performance-method.md
    Bench {
        /// Keep the benchmark of this tree as a program
        #[arg(long, value_name = "NAME")]
        save: Option<String>,
        /// Keep that of a commit
        #[arg(long, value_name = "COMMIT", requires = "save")]
        at: Option<String>,
        /// Run the benchmark of this tree beside a saved one, and fail if a case is slower beyond noise
        #[arg(long, value_name = "NAME", conflicts_with = "save")]
        compare: Option<String>,
    },
    /// Time jobs beside JAX, PyTorch, Keras and C, and write docs/performance-method.md; if all: its summaries, too
    Peers(peers::Choice),
    /// Let the example learn on two emulated boards, and compare with what it learns here
    Microcontroller,
    /// Compare with the last night, run the peers, and keep the figures and charts in the branch `performance`
    Nightly {
        /// Take the branch from the remote, and give it back
        #[arg(long)]
        push: bool,
    },
    /// Try all orders in which the threads of the pool may run
    Loom,
    /// Interpret tests of code with `unsafe`; needs `rustup toolchain install nightly --component miri,rust-src`
    Miri,
    /// Run random and damaged inputs through every stage, and keep those that fail, as small as possible
    Fuzz {
        /// [--minutes M | --rounds R] [--seed S] [--target T].. [--jobs J] | --replay FILE..
        #[arg(allow_hyphen_values = true, trailing_var_arg = true)]
        flags: Vec<String>,
    },
    /// Check dependency directions, file lengths, codes, rules of the semantics, links, columns, phrases, workflows
    Tidy,
    /// Write the expected output of tests and the index of diagnostics again
    Bless,
    /// Draw the chronograms of the paper's listings again
    Chronograms,
}

fn run(command: Command) -> Result<()> {
    let job = match command {
        Command::Test { quick } => {
            jobs::run("test", if quick { Extent::Quick } else { Extent::Full })?;
            println!("\nall good");
            return Ok(());
        }
        Command::Setup { backend } => backend,
        Command::Startup => return startup::startup(),
        Command::Bench { save: Some(name), at, .. } => return compare::save(&name, at.as_deref()),
        Command::Bench { compare: Some(name), .. } => return compare::compare(&name),
        Command::Bench { .. } => return bench::bench(),
        Command::Peers(choice) => return peers::peers(&choice),
        Command::Nightly { push } => return nightly::nightly(push),
        Command::Fuzz { flags } => return fuzz(&flags),
        Command::Tidy => return tidy::tidy(),
        job => format!("{job:?}").to_lowercase(),
    };
    jobs::run(&job, Extent::Full)
}

/// A fuzz campaign, with the flags of `rml-fuzz`.
fn fuzz(flags: &[String]) -> Result<()> {
    jobs::run("fuzz", Extent::Full)?;
    let (shell, program) = (shell()?, target().join("debug/rml-fuzz"));
    step("fuzzing", cmd!(shell, "{program} {flags...}"))
}

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\nxtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
