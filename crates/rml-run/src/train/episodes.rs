//! The log of episodes, for programs that train in environments: a line for each episode that has ended.
//!
//! An instance of the program says where episodes end, such as one of the node `episodes` of `std.environments`: it has
//! the variables `ended`, `length` and `total`, each with a value per row, and may have `truncated`.

use std::path::{Path, PathBuf};

use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Error};
use rml_driver::{Options, Program, Source, variables};
use rml_engine::KnownOutputs;
use rml_files::{Growing, contents, write_output};
use rml_ir::{DType, Data, Type, Value};

use super::episode::Episode;
use super::observer::Observer;

/// The variables of the instance that says where episodes end: the first three are required.
const VARIABLES: [&str; 4] = ["ended", "length", "total", "truncated"];
const HEADER: &str = "cycle,row,return,length,end\n";

/// Which episodes of a training are observed and logged.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let text = "import std.environments;
/// #   node hold() -> (k)  k = param(1.0);
/// #   node train() -> (loss)
/// #     seen, reward, terminated, _, _ = cart_pole(20.0, broadcast([2], 1));
/// #     _, _, _, _ = episodes(20.0, reward, terminated);
/// #     loss = diff_hold(true, -0.01);";
/// # let source = rml::Source::text("p.rml", text);
/// # let data = rml::Columns::new("none");
/// use rml::{Episode, EpisodeOptions, Length, Observer, TrainOptions};
///
/// struct Seen(Vec<Episode>);
/// impl Observer for Seen {
///     fn episodes(&mut self, episodes: &[Episode]) {
///         self.0.extend(episodes);
///     }
/// }
/// let length = Some(Length { cycles: Some(100), ..Length::default() });
/// let options = TrainOptions { length, episodes: Some(EpisodeOptions::default()), ..TrainOptions::default() };
/// let mut seen = Seen(Vec::new());
/// rml::train(&source, &data, &options, &mut seen)?;
/// assert!(seen.0.iter().all(|episode| episode.total == episode.length));
/// assert!(seen.0.iter().any(|episode| episode.row == 1));
/// # Ok(()) }
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct EpisodeOptions {
    /// The path of the instance that says where episodes end; by default the outermost one.
    pub of: Option<String>,
    /// The file: `.jsonl` or `.csv`. A resumed run continues it.
    pub file: Option<PathBuf>,
}

/// The path of the instance that says where the episodes of a node end.
///
/// # Errors
/// No instance has the variables, several outermost ones do, or the named one does not.
pub(super) fn probes(
    source: &Source,
    compile: &Options,
    of: Option<&str>,
) -> Result<Vec<String>, Diagnostic> {
    let variables = variables(source, compile);
    let ty = |path: &str, name: &str| variables.get(&*format!("{path}.{name}"));
    let fits = |path: &str| {
        let row = |ty: &Type| ty.shape.dims().len() == 1;
        let number = |name: &str| ty(path, name).is_some_and(|ty| row(ty) && ty.dtype == DType::Num);
        let ended = ty(path, VARIABLES[0]).is_some_and(|ty| row(ty) && ty.dtype == DType::Bool);
        ended && number(VARIABLES[1]) && number(VARIABLES[2])
    };
    let depth = |path: &&str| path.matches('.').count();
    let path = match of {
        Some(path) if fits(path) => path,
        Some(path) => return Err(no_episodes(&format!("`{path}` does not say where episodes end"))),
        None => {
            let ends = variables.keys().filter_map(|name| name.strip_suffix(".ended"));
            let all: Vec<&str> = ends.filter(|path| fits(path)).collect();
            let least = all.iter().map(depth).min();
            let outer: Vec<&str> = all.into_iter().filter(|path| Some(depth(path)) == least).collect();
            match outer[..] {
                [path] => path,
                [] => return Err(no_episodes("nothing in the node says where episodes end")),
                _ => return Err(several(&outer)),
            }
        }
    };
    let truncated = ty(path, VARIABLES[3]).is_some_and(|ty| ty.dtype == DType::Bool);
    let names = &VARIABLES[..if truncated { 4 } else { 3 }];
    Ok(names.iter().map(|name| format!("{path}.{name}")).collect())
}

fn no_episodes(what: &str) -> Diagnostic {
    Diagnostic::error(codes::BAD_OPTION, what)
        .note("expected an instance with the variables `ended: bool [n]`, `length: num [n]` and `total: num [n]`")
        .help("call `episodes` of `std.environments`, `_, ended, _, _ = episodes(500.0, reward, terminated);`")
        .help("or leave `--episodes` out")
}

fn several(paths: &[&str]) -> Diagnostic {
    let names: Vec<String> = paths.iter().map(|path| format!("`{path}`")).collect();
    Diagnostic::error(codes::BAD_OPTION, "several instances say where episodes end")
        .note(format!("there are {}", names.join(", ")))
        .help(format!("choose one: `--episodes-of {}`", paths[0]))
}

/// Finds the episodes among the outputs of a training.
pub(super) struct Episodes {
    /// The outputs that are the variables, in the order of `VARIABLES`.
    places: Vec<usize>,
    file: Option<Growing>,
    is_csv: bool,
}

impl Episodes {
    /// Begins a log if this process `writes`, or continues that of the run to resume, which has reached this cycle.
    ///
    /// # Errors
    /// A file that cannot be written, or exists although the run is new.
    pub(super) fn open(
        options: &EpisodeOptions,
        program: &Program,
        probes: &[String],
        resumed: Option<u64>,
        writes: bool,
    ) -> Result<Self, Error> {
        let place = |name: &String| program.outputs().iter().position(|output| *output.name == **name);
        let places = probes.iter().filter_map(place).collect();
        let is_csv = options.file.as_deref().map(is_csv).transpose()?.unwrap_or_default();
        let begin = |file: &PathBuf| {
            let kept = match resumed {
                _ if !file.exists() => Vec::new(),
                Some(cycle) => before(file, is_csv, cycle)?,
                None => return Err(Error::from(exists(file))),
            };
            let head = if is_csv { HEADER.as_bytes() } else { &[] };
            write_output(file, &[head, &kept].concat())?;
            Growing::open(file)
        };
        let file = options.file.as_ref().filter(|_| writes);
        Ok(Self { places, file: file.map(begin).transpose()?, is_csv })
    }

    /// The episodes that end in these outputs of a shard, the first of which is that of a cycle.
    ///
    /// # Errors
    /// The outputs cannot be read.
    pub(super) fn see(
        &self,
        outputs: &[KnownOutputs],
        first: u64,
        shard: usize,
    ) -> Result<Vec<Episode>, Diagnostic> {
        let mut found: Vec<Episode> = Vec::new();
        let mut cycle = first;
        for known in outputs {
            found.extend(self.found(known, cycle, shard)?);
            cycle += known.cycles() as u64;
        }
        Ok(found)
    }

    /// Reports and logs episodes.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn tell(&mut self, found: &[Episode], observer: &mut dyn Observer) -> Result<(), Error> {
        if found.is_empty() {
            return Ok(());
        }
        observer.episodes(found);
        let Some(file) = &mut self.file else { return Ok(()) };
        let line = if self.is_csv { Episode::csv_line } else { Episode::json_line };
        file.write(found.iter().map(line).collect::<String>().as_bytes())
    }

    /// The episodes that end in these cycles, in the order of cycles and rows. The rows of a shard follow those of the
    /// shards before it.
    fn found(&self, known: &KnownOutputs, first: u64, shard: usize) -> Result<Vec<Episode>, Diagnostic> {
        let mut columns: Vec<Vec<Option<Value>>> = vec![vec![None; known.cycles()]; VARIABLES.len()];
        for (column, place) in columns.iter_mut().zip(&self.places) {
            known.for_each_value(*place, |at, value| column[at] = Some(value.clone()))?;
        }
        let [ended, length, total, truncated] = &columns[..] else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for (at, ended) in ended.iter().enumerate() {
            let Some(Data::Bool(ended)) = ended.as_ref().map(Value::to_data) else { continue };
            let cut = truncated[at].as_ref().map(Value::to_data);
            let before = shard * ended.len();
            for (row, _) in ended.iter().enumerate().filter(|(_, ended)| **ended) {
                let truncated = match &cut {
                    Some(Data::Bool(cut)) => cut.get(row).copied(),
                    Some(Data::Int(_) | Data::F32(_) | Data::F64(_)) | None => None,
                };
                let (length, total) = (element(length[at].as_ref(), row), element(total[at].as_ref(), row));
                found.push(Episode { cycle: first + at as u64, row: before + row, total, length, truncated });
            }
        }
        Ok(found)
    }
}

/// An element of a vector of numbers; NaN if it is absent.
fn element(value: Option<&Value>, row: usize) -> f64 {
    match value.map(Value::to_data) {
        Some(Data::F32(v)) => v.get(row).map_or(f64::NAN, |x| f64::from(*x)),
        Some(Data::F64(v)) => v.get(row).copied().unwrap_or(f64::NAN),
        Some(Data::Bool(_) | Data::Int(_)) | None => f64::NAN,
    }
}

/// Whether the file of a log is a table.
fn is_csv(file: &Path) -> Result<bool, Diagnostic> {
    let ending = file.extension().and_then(|ending| ending.to_str()).map(str::to_ascii_lowercase);
    match ending.as_deref() {
        Some("csv") => Ok(true),
        Some("jsonl") => Ok(false),
        Some(_) | None => {
            let what = format!("the ending of {} says no format of a log of episodes", file.display());
            let d = Diagnostic::error(codes::UNKNOWN_FORMAT, what).note("expected .jsonl or .csv");
            Err(d.help("name the file so, e.g. `--episodes episodes.csv`"))
        }
    }
}

fn exists(file: &Path) -> Diagnostic {
    Diagnostic::error(codes::LOG_EXISTS, format!("{} exists, and this is a new run", file.display()))
        .note("it is left as it is")
        .help("log to another file (`--episodes FILE`), or continue that run (`--resume FILE`)")
}

/// The lines of a log about cycles before one.
fn before(file: &Path, is_csv: bool, cycle: u64) -> Result<Vec<u8>, Diagnostic> {
    let bytes = contents::data(file)?.bytes;
    let mut kept = Vec::new();
    let lines = bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
    for (at, line) in lines.enumerate().skip(usize::from(is_csv)) {
        let text = String::from_utf8_lossy(line);
        let number = if is_csv {
            text.split(',').next().and_then(|cell| cell.parse().ok())
        } else {
            serde_json::from_str::<serde_json::Value>(&text).ok().and_then(|row| row["cycle"].as_u64())
        };
        let Some(number) = number else {
            let what = format!("{} is not a log of episodes", file.display());
            let d = Diagnostic::error(codes::MALFORMED_DATA, what);
            return Err(d
                .note(format!("line {} has no cycle", at + 1))
                .help("log to another file (`--episodes FILE`)"));
        };
        if number < cycle {
            kept.extend_from_slice(line);
        }
    }
    Ok(kept)
}
