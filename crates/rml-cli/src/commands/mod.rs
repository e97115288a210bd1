//! The commands, one per module: each calls the library and prints the result.

mod backends;
mod check;
mod distributed;
mod doc;
mod execute;
mod explain;
mod export;
mod fmt;
mod grad;
mod import;
mod infer;
mod lsp;
mod manual;
mod new;
mod page;
mod params;
mod profile;
mod runs;
mod served;
mod show;
mod stream;
mod sweep;
mod trace;
mod train;
mod train_page;
mod train_stream;
mod view;
mod watched;

use std::io;
use std::path::{Path, PathBuf};

use rml::backend;
use rml::codes::run::{BAD_OPTION, MEMORY_LIMIT};
use rml::launch::Launch;
use rml::{
    Columns, Dataset, Diagnostic, Engine, OnDisk, Options, Precision, Recipe, Settings, Source, StaticValue,
    Written,
};

use crate::args::{self, Command};
use crate::output::{Output, Stop, unwritable};

/// Runs a command.
pub(crate) fn run(command: &Command, output: &mut Output) -> Result<(), Stop> {
    match command {
        Command::Check(args) => check::check(args, output),
        Command::Run(args) => execute::run(args, output),
        Command::Trace(args) => trace::trace(args, output),
        Command::Diff(args) => show::diff(args, output),
        Command::Dump(args) => show::dump(args, output),
        Command::Export(args) => export::export(args, output),
        Command::Grad(args) => grad::grad(args, output),
        Command::Gradcheck(args) => grad::gradcheck(args, output),
        Command::Fmt(args) => fmt::fmt(args, output),
        Command::Train(args) => match &args.runs {
            Some(folder) => sweep::sweep(args, folder, output),
            None if args.distributed => distributed::train(args, output),
            None if let Some(launch) = Launch::here() => Err(launch.refused().into()),
            None if args.stream => train_stream::train(args, output),
            None => train::train(args, None, output),
        },
        Command::Infer(args) => infer::infer(args, output),
        Command::Import(args) => import::import(args, output),
        Command::Params(args) => params::params(args, output),
        Command::Doc(args) => doc::doc(args, output),
        Command::Backends(args) => backends::backends(args, output),
        Command::Explain(args) => explain::explain(args, output),
        Command::View(args) => view::view(args, output),
        Command::New(args) => new::new(args, output),
        Command::Completions(args) => manual::completions(args, output),
        Command::Man(args) => manual::man(args),
        Command::Lsp(_) => lsp::lsp(),
    }
}

/// The program that the flags name, and the options to compile it with.
fn program(program: &args::Program) -> Result<(Source, Options), Stop> {
    let options = Options {
        set: settings(&program.set, program.batch)?,
        batch: program.batch,
        precision: precision(program.f64),
        ..Options::default()
    };
    Ok((Source::file(&program.file), options))
}

/// The settings by name. A setting that is given twice is an error, also `batch` beside `--batch`.
fn settings(set: &[(String, StaticValue)], batch: Option<usize>) -> Result<Settings, Stop> {
    let mut settings = Settings::new();
    for (name, value) in set {
        let other = match (settings.get(name), batch) {
            (Some(other), _) => Some(other.to_string()),
            (None, Some(batch)) if name == "batch" => Some(batch.to_string()),
            (None, _) => None,
        };
        if let Some(other) = other {
            let d = Diagnostic::error(BAD_OPTION, format!("`{name}` is given twice"));
            return Err(d.note(format!("as {other} and as {value}")).help("give it once").into());
        }
        settings.insert(name.clone(), value.clone());
    }
    Ok(settings)
}

/// Refuses flags that are given but have no effect: pairs of a flag and whether it is given.
fn refuse_unused(why: &str, flags: &[(&str, bool)]) -> Result<(), Stop> {
    let given: Vec<String> =
        flags.iter().filter(|(_, given)| *given).map(|(flag, _)| format!("`--{flag}`")).collect();
    if given.is_empty() {
        return Ok(());
    }
    let what = format!("{} can have no effect here", given.join(", "));
    Err(Diagnostic::error(BAD_OPTION, what).note(why).help("leave it out").into())
}

/// The flags of a program, for [`refuse_unused`].
fn given(program: &args::Program) -> [(&'static str, bool); 3] {
    [("set", !program.set.is_empty()), ("batch", program.batch.is_some()), ("f64", program.f64)]
}

/// How to read data files: into memory or not, the format if it is given, and the recipe.
struct Reading<'r> {
    on_disk: bool,
    format: Option<rml::Format>,
    recipe: &'r Recipe,
}

/// The columns of these files that a node of the source may need. A note says how the files are read.
fn dataset(
    files: &[PathBuf],
    &Reading { on_disk, format, recipe }: &Reading<'_>,
    (source, node): (&Source, Option<&str>),
    output: &mut Output,
) -> Result<Box<dyn Dataset>, Stop> {
    let selection = recipe.selection(rml::columns_for(source, node)?.in_format(format))?;
    if on_disk {
        let data = OnDisk::read_selected(files, &selection)?;
        note_assumed(data.columns(), output);
        return Ok(Box::new(data));
    }
    let columns = Columns::read_selected(files, &selection).map_err(|e| match e.code() {
        Some(MEMORY_LIMIT) => e.note("with `--on-disk`, data may be larger than memory"),
        _ => e,
    });
    let columns = columns?;
    note_assumed(&columns, output);
    Ok(Box::new(columns))
}

/// Prints a note about tables whose dialect was detected.
fn note_assumed(columns: &Columns, output: &mut Output) {
    let notes = columns.notes();
    if !notes.is_empty() && !output.json() {
        output.note(&format!("{}: {}\n", columns.called(), notes.join("; ")));
    }
}

fn precision(f64: bool) -> Precision {
    if f64 { Precision::F64 } else { Precision::F32 }
}

/// Checks, before any work begins, that a command that reads a program and these inputs can write the file.
fn check_output<'p>(
    output: &Path,
    source: &Source,
    inputs: impl IntoIterator<Item = Option<&'p PathBuf>>,
) -> Result<(), Stop> {
    let inputs = inputs.into_iter().flatten().map(|path| rml::params_file(path));
    let inputs: Vec<PathBuf> = source.files().into_iter().chain(inputs).collect();
    Ok(rml::check_output(output, &inputs)?)
}

/// Checks that no two results, each given with its flag, go to the same file.
fn check_distinct<'p>(
    files: impl IntoIterator<Item = (&'p str, Option<&'p PathBuf>)>,
    folders: impl IntoIterator<Item = (&'p str, Option<&'p PathBuf>, &'p [&'p str])>,
) -> Result<(), Stop> {
    let files = files.into_iter().filter_map(|(flag, path)| Some(Written::file(flag, path?)));
    let folders =
        folders.into_iter().filter_map(|(flag, path, names)| Some(Written::folder(flag, path?, names)));
    Ok(rml::check_distinct(&files.chain(folders).collect::<Vec<_>>())?)
}

/// Signal handlers could not be installed.
fn deaf(why: &io::Error) -> Diagnostic {
    Diagnostic::error(BAD_OPTION, "cannot install signal handlers").note(why.to_string())
}

/// Writes a result to a file that was checked before.
fn write(file: &Path, content: &[u8]) -> Result<(), Stop> {
    if is_stream(file) {
        return std::fs::write(file, content).map_err(|e| unwritable(file.display(), &e).into());
    }
    Ok(rml::write_output(file, content)?)
}

/// Whether the file is written to directly, like `/dev/stdout`, and not replaced.
fn is_stream(file: &Path) -> bool {
    std::fs::metadata(file).is_ok_and(|data| !data.is_file() && !data.is_dir())
}

/// The engine that the flags choose, on an open backend.
fn engine(computing: &args::Computing) -> Result<Engine, Stop> {
    engine_with(computing, computing.threads)
}

/// The engine that the flags choose, with this number of threads.
fn engine_with(computing: &args::Computing, threads: Option<usize>) -> Result<Engine, Stop> {
    let programs = backend::programs(&computing.backend);
    let options = backend::Options { device: computing.device.clone(), threads, programs };
    Ok(backend::engine(computing.engine.runner(), &computing.backend, &options)?)
}
