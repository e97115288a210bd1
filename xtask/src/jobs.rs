//! The commands that `xtask/data/jobs.toml` describes, and the test run.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail, ensure};
use serde::Deserialize;
use xshell::{Shell, cmd};

use crate::cache;
use crate::workspace::{
    self, cargo, emptied, files, output, read, regex, root, shell, step, target, variable,
};
use crate::{binaries, book, error_index, tidy};

#[derive(Deserialize)]
struct Jobs {
    variables: BTreeMap<String, String>,
    job: BTreeMap<String, Job>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Job {
    /// Debian packages by the program that they provide.
    #[serde(default)]
    packages: BTreeMap<String, String>,
    environment: Option<String>,
    lock: Option<String>,
    stamp: Option<String>,
    #[serde(default)]
    from: Vec<String>,
    /// Whether the test run omits it if there is no Python.
    #[serde(default)]
    optional: bool,
    #[serde(default)]
    step: Vec<Step>,
}

#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct Step {
    name: String,
    job: Option<String>,
    call: Option<String>,
    run: String,
    env: BTreeMap<String, String>,
    within: String,
    when: Option<Extent>,
    /// The systems that the step is for, as `std::env::consts::OS` names them; if there are none, it is for all.
    on: Vec<String>,
    needs: Option<String>,
    empties: Option<String>,
    hint: Option<String>,
    shows: Vec<String>,
    refuses: Option<String>,
    alike: bool,
}

/// The extent of the tests: those that need neither XLA nor libtorch nor Python, or all.
#[derive(Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Extent {
    Quick,
    Full,
}

fn jobs() -> Result<Jobs> {
    toml::from_str(&read("xtask/data/jobs.toml")?).context("xtask/data/jobs.toml")
}

/// Executes the steps of the job with this name.
pub(crate) fn run(name: &str, extent: Extent) -> Result<()> {
    let (jobs, shell, mut printed) = (jobs()?, shell()?, None);
    let job = jobs.job.get(name).with_context(|| format!("there is no job {name}"))?;
    let _lock = job.lock.as_ref().map(|name| cache::lock(&cache::folder()?, name)).transpose()?;
    let made = job.environment.as_ref().map(|name| environment(name)).transpose()?;
    let variables = (jobs.variables, made.as_ref().map(|(bin, _)| bin.display().to_string()));
    let stamp = job.stamp.as_ref().map(|path| filled(path, &variables)).transpose()?;
    let wanted = job.content()?;
    if stamp.as_ref().is_some_and(|path| read(path).is_ok_and(|found| found == wanted)) {
        return Ok(());
    }
    install(&shell, job, &variables)?;
    for step in job.step.iter().filter(|step| step.is_for(extent)) {
        let program = step.needs.as_ref().filter(|program| !is_there(&shell, program));
        if let Some(program) = program {
            println!("\n== {}: skipped: there is no {program}", step.name);
            continue;
        }
        match (&step.job, &step.call) {
            (Some(other), _) if jobs.job.get(other).is_some_and(|job| job.optional) => {
                match cache::check_python() {
                    Ok(()) => run(other, extent)?,
                    Err(why) => println!("\n== {other}: skipped: {why}"),
                }
            }
            (Some(other), _) => run(other, extent)?,
            (_, Some(function)) => call(function, step, &variables)?,
            _ => match (take(step, &variables, &mut printed), &step.hint) {
                (Err(why), Some(hint)) => return Err(why.context(hint.clone())),
                (taken, _) => taken?,
            },
        }
    }
    Ok(stamp.map_or(Ok(()), |path| fs_err::write(path, wanted))?)
}

/// The name of the folder of programs in a Python environment.
const SCRIPTS: &str = if cfg!(windows) { "Scripts" } else { "bin" };

/// The folder of the programs of a Python environment, which is created if needed, and locked until the second value is
/// dropped.
pub(crate) fn environment(name: &str) -> Result<(PathBuf, File)> {
    let cache = cache::folder()?;
    let lock = cache::lock(&cache, name)?;
    run(&format!("{name} environment"), Extent::Full)?;
    Ok((cache.join(name).join("venv").join(SCRIPTS), lock))
}

impl Job {
    /// The content of a job for comparison: the texts of its files, and its commands.
    fn content(&self) -> Result<String> {
        let files = self.from.iter().map(|path| files(&root().join(path), &[""]));
        let files = files.collect::<Result<Vec<_>>>()?.concat();
        let texts = files.iter().map(|file| format!("{}\n{}\n", file.path, file.text));
        Ok(texts.chain(self.step.iter().map(|step| format!("{}\n", step.run))).collect())
    }
}

impl Step {
    /// Whether the step is taken in tests of this extent, on this system.
    fn is_for(&self, extent: Extent) -> bool {
        let is_here = self.on.is_empty() || self.on.iter().any(|system| system == std::env::consts::OS);
        is_here && self.when.is_none_or(|when| when == extent)
    }
}

fn call(function: &str, step: &Step, variables: &Variables) -> Result<()> {
    match function {
        "tidy" => tidy::tidy(),
        "tests" => binaries::run(&words(&step.run, variables)?, &step.env),
        "book" => book::book(variables.1.as_deref().unwrap_or_default()),
        "error index" => error_index::write(),
        "python" => cache::check_python(),
        "platform" => cache::check_platform(),
        _ => bail!("there is no function {function}"),
    }
}

fn is_there(shell: &Shell, program: &str) -> bool {
    cmd!(shell, "{program} --version").quiet().ignore_stdout().ignore_stderr().run().is_ok()
}

/// Installs the packages of missing programs, if possible.
fn install(shell: &Shell, job: &Job, variables: &Variables) -> Result<()> {
    let is_missing = |program: &str| !filled(program, variables).is_ok_and(|name| is_there(shell, &name));
    let missing = job.packages.iter().filter(|(program, _)| is_missing(program));
    let missing: Vec<&String> = missing.map(|(_, package)| package).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let is_root = cmd!(shell, "id -u").quiet().read().is_ok_and(|id| id == "0");
    ensure!(is_root, "install the packages {missing:?} (on Debian: apt-get install)");
    step("apt-get update", cmd!(shell, "apt-get update --quiet"))?;
    let name = format!("apt-get install {missing:?}");
    step(&name, cmd!(shell, "apt-get install --yes --quiet --no-install-recommends {missing...}"))
}

/// Runs the command of a step; `printed` is the output of the first of the steps that must print the same.
fn take(step: &Step, variables: &Variables, printed: &mut Option<String>) -> Result<()> {
    let shell = shell()?;
    if let Some(folder) = &step.empties {
        emptied(&root().join(filled(folder, variables)?))?;
    }
    shell.change_dir(filled(&step.within, variables)?);
    let words = words(&step.run, variables)?;
    let (program, args) = words.split_first().context("no command")?;
    let mut command = cmd!(shell, "{program} {args...}").env_remove("RML_BLESS");
    for (name, value) in &step.env {
        if let Ok(value) = filled(value, variables) {
            command = command.env(name, value);
        }
    }
    if step.shows.is_empty() && step.refuses.is_none() && !step.alike {
        return workspace::step(&step.name, command);
    }
    println!("\n== {}", step.name);
    let (printed_here, errors) = output(command).with_context(|| format!("{} failed", step.name))?;
    // Emulators print the output of the board to either stream.
    let all = format!("{printed_here}{errors}");
    let missing = step.shows.iter().find(|part| !printed_here.contains(*part));
    let refused = step.refuses.as_ref().and_then(|mark| errors.lines().find(|line| line.contains(mark)));
    ensure!(missing.is_none() && refused.is_none(), "{}: missing: {missing:?}; said: {refused:?}", step.name);
    if step.alike {
        let wanted = printed.get_or_insert_with(|| all.clone());
        ensure!(all == *wanted, "{} printed\n{all}in place of\n{wanted}", step.name);
        print!("{all}");
    }
    Ok(())
}

/// The variables of the file, and the folder of the programs of the Python environment.
pub(crate) type Variables = (BTreeMap<String, String>, Option<String>);

/// The words of a command, separated by white space, or quoted. A variable of the file may expand to several words,
/// other variables to one.
pub(crate) fn words(command: &str, variables: &Variables) -> Result<Vec<String>> {
    let mut command = command.to_owned();
    let names = |name: &str| format!("{{{name}}}");
    while let Some((name, value)) = variables.0.iter().find(|(name, _)| command.contains(&names(name))) {
        command = command.replace(&names(name), value);
    }
    let word = regex(r#""([^"]*)"|'([^']*)'|(\S+)"#);
    word.captures_iter(&command).map(|found| filled(found.extract::<1>().1[0], variables)).collect()
}

/// The text with the names of variables replaced by their values.
fn filled(text: &str, variables: &Variables) -> Result<String> {
    let (name, mut text) = (regex(r"\{(\w+)\}"), text.to_owned());
    while let Some(found) = name.captures(&text) {
        let value = variables.0.get(&found[1]).cloned().or_else(|| known(&found[1], variables.1.as_deref()));
        text =
            text.replace(&found[0], &value.with_context(|| format!("there is no variable {}", &found[0]))?);
    }
    Ok(text)
}

fn known(name: &str, bin: Option<&str>) -> Option<String> {
    let shown = |path: PathBuf| path.display().to_string();
    match name {
        "bin" => bin.map(str::to_owned),
        "scripts" => Some(SCRIPTS.to_owned()),
        "root" => Some(shown(root())),
        "target" => Some(shown(target())),
        "cache" => Some(shown(cache::folder().ok()?)),
        "torch" => Some(shown(cache::libraries("python", "torch")?)),
        "cargo" => Some(cargo()),
        "cxx" => Some(variable("CXX").unwrap_or_else(|| "g++".to_owned())),
        "cc" => Some(variable("CC").unwrap_or_else(|| "cc".to_owned())),
        "wide" => {
            Some(if cfg!(target_arch = "x86_64") { "-mprefer-vector-width=512" } else { "-O3" }.to_owned())
        }
        "path" => variable("PATH"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_name_what_exists() {
        let jobs = jobs().unwrap();
        let (variables, jobs) = ((jobs.variables, Some("/bin".to_owned())), jobs.job);
        for (name, job) in &jobs {
            let environment = job.environment.as_ref().map(|name| format!("{name} environment"));
            assert!(environment.is_none_or(|other| jobs.contains_key(&other)), "{name}");
            for step in &job.step {
                assert!(step.on.iter().all(|on| ["linux", "macos", "windows"].contains(&&**on)), "{name}");
                assert!(step.job.as_ref().is_none_or(|other| jobs.contains_key(other)), "{name}");
                let is_command = step.job.is_none() && step.call.is_none();
                let words = words(&step.run, &variables).unwrap();
                assert!(!is_command || !words.is_empty() && !step.name.is_empty(), "{name}: {}", step.name);
            }
        }
    }

    #[test]
    fn modules_whose_tests_are_interpreted_exist() {
        let jobs = jobs().unwrap();
        let parts = regex("--package ([^ ]+) .* -- (.*)");
        for step in jobs.job["miri"].step.iter().chain(&jobs.job["loom"].step) {
            let (_, [package, modules]) = parts.captures(&step.run).unwrap().extract();
            for module in modules.split(' ') {
                let path = root().join("crates").join(package).join("src").join(module.replace("::", "/"));
                assert!(path.with_extension("rs").exists() || path.join("mod.rs").exists(), "{module}");
            }
        }
    }

    #[test]
    fn commands_have_words_and_variables() {
        let variables = [("a", "1 {b}"), ("b", "2")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        let variables = (variables.into(), Some("x y".to_owned()));
        let read = words("{bin}/x {a} '{b} 3' \"it's\"", &variables).unwrap();
        assert_eq!(read, ["x y/x", "1", "2", "2 3", "it's"]);
        assert!(words("{c}", &variables).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn what_commands_print_is_compared() {
        let mut printed = None;
        for (run, shows, refuses, is_right) in [
            ("echo a b", "b", "c", true),
            ("echo a b", "d", "c", false),
            ("echo a c", "a", "x", false),
            ("echo a b; false", "a", "c", false),
            ("echo a b >&2", "", "b", false),
        ] {
            let (run, shows) = (format!("sh -c '{run}'"), vec![shows.to_owned()]);
            let step = Step { run, shows, refuses: Some(refuses.to_owned()), alike: true, ..Step::default() };
            assert_eq!(take(&step, &Variables::default(), &mut printed).is_ok(), is_right, "{}", step.run);
        }
    }
}
