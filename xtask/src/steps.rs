//! The commands: which steps they consist of, run one after the other.

use std::process::Command;

use crate::python::TOOLS;
use crate::setup::{self, Recipe};
use crate::workspace::{cargo, root, step};
use crate::{book, editors, environments, error_index, exchange, logs, package, pages, tidy, weights};

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
    step("clippy", &mut cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
    step(
        "documentation",
        cargo(&["doc", "--workspace", "--no-deps", "--quiet"]).env("RUSTDOCFLAGS", "-D warnings"),
    )?;
    step("tests", cargo(&["test", "--workspace", "--quiet", "--no-fail-fast"]).env_remove(BLESS))?;
    let rounds = if extent == Extent::Full { "50" } else { "5" };
    fuzz(&["--rounds", rounds, "--seed", "1"].map(str::to_owned))?;
    if extent == Extent::Full {
        for recipe in setup::RECIPES {
            backend(recipe)?;
        }
        suite()?;
        exported_c()?;
        weights::weights_if_possible()?;
        exchange::exchange()?;
        logs::logs()?;
        editors::editors()?;
        pages::pages()?;
        book::book()?;
        workflows()?;
        environments::environments_if_possible()?;
        package::package_if_possible()?;
        opened()?;
        parquet()?;
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

/// Exported C by several compilers and tools, and on emulated boards.
fn exported_c() -> Result<(), String> {
    crate::microcontroller::installed(&[("gcc", "gcc"), ("clang", "clang"), ("valgrind", "valgrind")])?;
    let args = [
        "test",
        "--quiet",
        "--package",
        "rml-c",
        "--test",
        "functions",
        "--test",
        "operators",
        "--test",
        "trainings",
    ];
    step("exported C by several compilers", cargo(&args).env("RML_TEST_C", "1"))?;
    crate::microcontroller::microcontroller()
}

/// The suite of backends, the conformance vectors and the examples on all of them; one that does not open fails.
fn suite() -> Result<(), String> {
    let tests: [(&str, &[&str]); 3] = [
        ("suite of backends", &["--package", "rml-backend", "--test", "suite"]),
        ("vectors on backends", &["--package", "rml-testkit", "--test", "backends"]),
        (
            "examples on backends",
            &[
                "--release",
                "--package",
                "rml-cli",
                "--features",
                "xla,torch",
                "--test",
                "agreement",
                "--test",
                "pages",
            ],
        ),
    ];
    for (name, args) in tests {
        let mut command = cargo(&["test", "--quiet"]);
        command.args(args).env("RML_TEST_BACKENDS", "cpu,xla,torch").env("RML_PAGES", "xla");
        step(name, command.env(setup::VARIABLE, setup::cache_folder()?))?;
    }
    Ok(())
}

/// Workflows without known weaknesses: actions that are not pinned by commit, permissions that are not needed, and so on.
fn workflows() -> Result<(), String> {
    let mut zizmor = Command::new(TOOLS.program("zizmor")?);
    step("workflows", zizmor.args(["--offline", "--no-progress", "--quiet", ".github"]).current_dir(root()))
}

/// The command line in a build that opens backends: which it finds, and what it says about those that it does not.
fn opened() -> Result<(), String> {
    let lint =
        ["clippy", "--package", "rml-cli", "--package", "rml", "--features", "xla,torch", "--all-targets"];
    step("clippy with backends", cargo(&lint).args(["--", "-D", "warnings"]))?;
    let args = [
        "test",
        "--package",
        "rml-cli",
        "--features",
        "xla,torch",
        "--test",
        "backends",
        "--test",
        "explain",
    ];
    step("rml with backends", cargo(&args).arg("--quiet").env_remove(BLESS))
}

/// Parquet files, in a build that reads them.
fn parquet() -> Result<(), String> {
    let lint = ["clippy", "--package", "rml-data", "--features", "parquet", "--all-targets"];
    step("clippy with Parquet", cargo(&lint).args(["--", "-D", "warnings"]))?;
    let read = ["test", "--quiet", "--package", "rml-data", "--features", "parquet", "--lib", "parquet"];
    step("Parquet files", &mut cargo(&read))?;
    let used = ["test", "--quiet", "--package", "rml-cli", "--features", "parquet", "--test", "ragged"];
    step("rml with Parquet", &mut cargo(&used))
}

/// A fuzz campaign, with the flags of `rml-fuzz`.
pub(crate) fn fuzz(flags: &[String]) -> Result<(), String> {
    let run = ["run", "--quiet", "--profile", "fuzz", "--package", "rml-fuzz", "--"];
    step("fuzzing", cargo(&run).args(flags))
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
    let args = ["test", "--package", "rml-cli", "--test", "paper", "--quiet", "chronograms"];
    step("chronograms", cargo(&args).env(BLESS, "1"))
}
