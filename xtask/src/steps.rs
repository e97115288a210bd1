//! The commands: which steps they consist of, run one after the other.

use std::process::Command;

use crate::microcontroller::{installed, microcontroller};
use crate::python::TOOLS;
use crate::setup::{self, Recipe};
use crate::workspace::{FEATURES, cargo, plain_tests, program, root, step, tests};
use crate::{
    binaries, book, editors, environments, error_index, exchange, logs, package, pages, tidy, weights,
};

/// Set while tests run that are to write their expected output instead of comparing it.
const BLESS: &str = "RML_BLESS";

/// How much [`test()`] tests.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Extent {
    /// What needs neither XLA nor libtorch nor Python.
    Quick,
    /// Everything.
    Full,
}

/// Everything that must hold.
pub(crate) fn test(extent: Extent) -> Result<(), String> {
    step("formatting", &mut cargo(&["fmt", "--all", "--check"]))?;
    tidy()?;
    let mut clippy = cargo(&["clippy", "--workspace", "--all-targets"]);
    step("clippy", clippy.args(FEATURES).args(["--", "-D", "warnings"]))?;
    step(
        "documentation",
        cargo(&["doc", "--workspace", "--no-deps", "--quiet"]).env("RUSTDOCFLAGS", "-D warnings"),
    )?;
    let mut variables = Vec::new();
    if extent == Extent::Full {
        installed(&[("gcc", "gcc"), ("clang", "clang"), ("valgrind", "valgrind"), ("pip3", "python3-pip")])?;
        variables.push(("RML_TEST_C", "1"));
    }
    binaries::run(&variables, BLESS)?;
    let rounds = if extent == Extent::Full { "20" } else { "5" };
    fuzz(&["--rounds", rounds, "--seed", "1"].map(str::to_owned))?;
    if extent == Extent::Full {
        for recipe in setup::RECIPES {
            backend(recipe)?;
        }
        suite()?;
        features()?;
        microcontroller()?;
        weights::weights_if_possible()?;
        exchange::exchange()?;
        logs::logs()?;
        editors::editors()?;
        pages::pages()?;
        book::book()?;
        workflows()?;
        environments::environments_if_possible()?;
        package::package_if_possible()?;
    }
    println!("\nall good");
    Ok(())
}

/// Sets a backend up, and lints and tests what is built only with its library.
fn backend(recipe: &Recipe) -> Result<(), String> {
    println!();
    setup::setup(recipe)?;
    let mut clippy = setup::command(recipe, "clippy")?;
    step(&format!("{}: clippy", recipe.name), clippy.args(["--all-targets", "--", "-D", "warnings"]))?;
    let mut tests = setup::command(recipe, "test")?;
    step(&format!("{}: tests", recipe.name), tests.arg("--quiet").env_remove(BLESS))
}

/// The suite of backends and the conformance vectors on those that are libraries; one that does not open fails. They
/// were on `cpu` among all tests.
fn suite() -> Result<(), String> {
    let mut tests = tests(&["suite", "backends"]);
    step("suite and vectors on backends", on_backends(&mut tests)?.env("RML_TEST_BACKENDS", "xla,torch"))
}

/// The examples on all backends; and what a build without them and without Parquet files says about them.
fn features() -> Result<(), String> {
    let mut examples = tests(&["agreement", "pages"]);
    step("examples on backends", on_backends(&mut examples)?)?;
    let mut plain = plain_tests(&["backends", "explain", "ragged"]);
    step("without features", plain.env_remove(BLESS))
}

/// The command, told where backends are, and to run on all of them.
fn on_backends(command: &mut Command) -> Result<&mut Command, String> {
    command.env("RML_TEST_BACKENDS", "cpu,xla,torch").env("RML_PAGES", "xla");
    Ok(command.env(setup::VARIABLE, setup::cache_folder()?))
}

/// Refuses workflows with known weaknesses, such as actions that are not pinned by commit.
fn workflows() -> Result<(), String> {
    let mut zizmor = Command::new(TOOLS.program("zizmor")?);
    step("workflows", zizmor.args(["--offline", "--no-progress", "--quiet", ".github"]).current_dir(root()))
}

/// A fuzz campaign, with the flags of `rml-fuzz`.
pub(crate) fn fuzz(flags: &[String]) -> Result<(), String> {
    step("fuzzing", Command::new(program("rml-fuzz", "regressions")?).args(flags).current_dir(root()))
}

/// What [`tidy::check`] finds.
pub(crate) fn tidy() -> Result<(), String> {
    println!("\n== tidy");
    let findings = tidy::check()?;
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => Ok(()),
        n => Err(format!("tidy: {n} finding{}", if n == 1 { "" } else { "s" })),
    }
}

/// Writes the index of diagnostics, and lets the tests write their expected output; they must pass after that.
pub(crate) fn bless() -> Result<(), String> {
    error_index::write()?;
    step("tests, blessing", cargo(&["test", "--workspace", "--quiet"]).env(BLESS, "1"))?;
    step("tests", cargo(&["test", "--workspace", "--quiet"]).env_remove(BLESS))
}

/// Draws the chronograms of the paper's listings.
pub(crate) fn chronograms() -> Result<(), String> {
    step("chronograms", tests(&["paper"]).arg("chronograms").env(BLESS, "1"))
}
