//! Developer commands, called as `cargo xtask <command>`.
//!
//! - `test`: everything that must hold before a change is merged; continuous integration runs exactly this.
//! - `tidy`: the checks that no compiler makes: who may depend on whom, file lengths, codes without an example.
//! - `chronograms`: draws the chronograms of the paper's listings anew.
//! - `bless`: writes expected output anew from what the code does now; read the difference before committing it.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a developer tool talks to the developer")]

mod error_index;
mod steps;
mod tidy;
mod workspace;

use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask <command>

commands:
  test    formatting, tidy checks, clippy and docs with warnings denied, all tests
  tidy    dependency directions, file lengths, diagnostic codes, forbidden words
  bless   write the expected output of tests and the index of diagnostics anew
  chronograms
          draw the chronograms of the paper's listings anew";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["test"] => steps::test(),
        ["tidy"] => steps::tidy(),
        ["bless"] => steps::bless(),
        ["chronograms"] => steps::chronograms(),
        ["help" | "-h" | "--help"] => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("\nxtask: {message}");
            ExitCode::FAILURE
        }
    }
}
