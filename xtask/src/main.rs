//! Developer commands, called as `cargo xtask <command>`.
//!
//! - `test`: everything that must hold before a change is merged; continuous integration runs exactly this. With
//!   `--quick`: all of it that needs neither XLA nor libtorch nor Python.
//! - `setup`: fetches XLA or libtorch, and builds the backend against it.
//! - `startup`: what the backends cost a program that does not use them.
//! - `environments`: has Gymnasium take steps again, and compares the environments of the library with them; lets an
//!   agent learn from Gymnasium's.
//! - `weights`: has PyTorch, Keras and flax make weights and outputs again, and compares `rml params` with them.
//! - `python`: installs the Python package with pip, and runs its tests.
//! - `editors`: has Neovim edit programs with the language server, and packs the extension for Visual Studio Code.
//! - `pages`: has Chromium open the pages of a chronogram and of a training.
//! - `book`: builds the pages as a site, and follows its links.
//! - `logs`: has TensorBoard read what a training logs.
//! - `exchange`: has JAX and ONNX Runtime run what is exported as StableHLO and ONNX, and compares.
//! - `bench`: what calls, preparation and start-up of the backends cost; writes a table of
//!   `docs/performance-method.md`.
//!   With `--save` and `--compare`: whether this tree is slower than another.
//! - `peers`: the same jobs by this project, JAX, PyTorch, Keras and a program in C; writes the tables of
//!   `docs/performance-method.md`, `docs/performance.md` and the README. With `breadth`: families of models.
//! - `microcontroller`: has the example learn on emulated boards, and compares with what it learns here.
//! - `nightly`: both, with what past nights gave.
//! - `loom`: the threads of the pool in all orders in which they may run.
//! - `miri`: tests of code with `unsafe`, interpreted; needs Rust's nightly toolchain.
//! - `fuzz`: random and damaged inputs through every stage, for as long as it is told to.
//! - `tidy`: the checks that no compiler makes: who may depend on whom, file lengths, codes without an example, rules
//!   of the semantics that nobody declares or cites, links that lead nowhere, tests without a row in their map,
//!   workflows that do what nobody can run.
//! - `chronograms`: draws the chronograms of the paper's listings again.
//! - `bless`: writes expected output again from what the code does now; read the difference before committing it.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a developer tool talks to the developer")]

mod bench;
mod binaries;
mod book;
mod chart;
mod compare;
mod editors;
mod environments;
mod error_index;
mod exchange;
mod logs;
mod microcontroller;
mod nightly;
mod package;
mod page;
mod pages;
mod peers;
mod python;
mod setup;
mod startup;
mod steps;
mod threads;
mod tidy;
mod weights;
mod worker;
mod workspace;

use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask <command>

commands:
  test [--quick]
          formatting, tidy checks, clippy and docs with warnings denied, all tests, twenty rounds of fuzzing, and the backends xla and
          torch, which it sets up; --quick leaves the backends and all but five rounds of the fuzzing out
  setup xla|torch
          fetch the library of a backend (once, into $RML_BACKENDS, else $XDG_CACHE_HOME/rml, else ~/.cache/rml), build the backend
  startup build rml with and without the backends, compare sizes and the time of `rml check`
  weights install PyTorch, Keras and flax (once, into the same folder), have them make weights and outputs, and compare with those
  exchange
          install JAX and ONNX Runtime (once, into the same folder), and have them run what `rml export` writes for them
  python  install NumPy, pytest, Gymnasium and Jupyter's kernel (once, into the same folder), install the Python package, and test it
  editors install Neovim if need be and have it edit programs, and pack the extension for Visual Studio Code where there is npm
  pages   install Chromium if need be and have it open the pages that `rml trace --html` and `rml train --report` write
  book    install mdBook (once, into the same folder), make a site of the pages in target/book/html, and follow its links
  logs    install TensorBoard (once, into the same folder), and have it read what `rml train --log` writes
  environments
          install Gymnasium (once, into the same folder), have it take steps, compare the environments of the library with them, and let an agent learn from it
  bench   time calls, preparation and start-up of the backends that are set up, and write the table of
          docs/performance-method.md
  bench --save NAME [--at COMMIT]
          keep the benchmark of this tree, or of a commit, as a program
  bench --compare NAME
          run the benchmark of this tree beside a saved one, say for each case whether it is faster, slower or the same, and fail if
          one is slower beyond noise
  peers [GROUP].. [--rounds N]
          time training, streams and whole programs beside JAX, PyTorch, Keras and C, and write the tables of
          docs/performance-method.md, and, after a run of all groups, those of docs/performance.md and the README; groups are
          lstm, cells, scalars, windows, stream, cartpole, digits and length
  peers breadth [--family NAME].. [--threads N] [--backend NAME] [--quick]
          time the families of models in benches/breadth beside JAX and PyTorch; a whole run writes the table of
          docs/performance-method.md
  microcontroller
          build examples/microcontroller for this machine and for two boards, let it learn on all of them (the boards are emulated), and
          compare; installs a compiler and an emulator where it may
  nightly [--push]
          compare with the commit of the last night, run the peers, keep the figures and their charts in the branch `performance`, and
          fail if a case has become slower; --push takes the branch from the remote, and gives it back
  loom    try all orders in which the threads of the pool may run
  miri    interpret tests of code with `unsafe`; needs `rustup toolchain install nightly --component miri,rust-src`
  fuzz [--minutes M | --rounds R] [--seed S] [--target T].. [--jobs J] | --replay FILE..
          run random and damaged inputs through every stage; write those that fail to disk, as small as possible
  tidy    dependency directions, file lengths, diagnostic codes, rules of the semantics, links, columns, forbidden
          words and phrases, workflows
  bless   write the expected output of tests and the index of diagnostics again
  chronograms
          draw the chronograms of the paper's listings again";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["test"] => steps::test(steps::Extent::Full),
        ["test", "--quick"] => steps::test(steps::Extent::Quick),
        ["setup", name] => match setup::recipe(name) {
            Some(recipe) => setup::setup(recipe).map(|_| ()),
            None => return usage(),
        },
        ["startup"] => startup::startup(),
        ["weights"] => weights::weights(),
        ["exchange"] => exchange::exchange(),
        ["python"] => package::package(),
        ["editors"] => editors::editors(),
        ["pages"] => pages::pages(),
        ["book"] => book::book(),
        ["logs"] => logs::logs(),
        ["environments"] => environments::environments(),
        ["bench"] => bench::bench(),
        ["bench", "--save", name] => compare::save(name, None),
        ["bench", "--save", name, "--at", commit] => compare::save(name, Some(commit)),
        ["bench", "--compare", name] => compare::compare(name),
        ["peers", ..] => peers::peers(&args[1..]),
        ["microcontroller"] => microcontroller::microcontroller(),
        ["nightly"] => nightly::nightly(false),
        ["nightly", "--push"] => nightly::nightly(true),
        ["loom"] => threads::loom(),
        ["miri"] => threads::miri(),
        ["fuzz", ..] => steps::fuzz(&args[1..]),
        ["tidy"] => steps::tidy(),
        ["bless"] => steps::bless(),
        ["chronograms"] => steps::chronograms(),
        ["help" | "-h" | "--help"] => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => return usage(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("\nxtask: {message}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> ExitCode {
    eprintln!("{USAGE}");
    ExitCode::from(2)
}
