//! `rml fmt`.

use std::io;
use std::path::Path;

use rml::Source;

use crate::args::Fmt;
use crate::output::{Output, Stop, unwritable};

/// Formats all files; a file with errors is left alone, and the others are done all the same.
pub(crate) fn fmt(args: &Fmt, output: &mut Output) -> Result<(), Stop> {
    let mut failed = false;
    for file in &args.files {
        match one(file, args.check, output) {
            Ok(true) => {}
            Ok(false) => failed = true,
            Err(Stop::Errors(error)) => {
                output.report(error.diagnostics(), error.sources());
                failed = true;
            }
            Err(stop) => return Err(stop),
        }
    }
    if failed { Err(Stop::Reported) } else { Ok(()) }
}

/// Formats a file; `false` if it should have been formatted and was only to be checked.
fn one(file: &Path, check: bool, output: &mut Output) -> Result<bool, Stop> {
    let stdin = file == Path::new("-");
    let source = if stdin { Source::from_reader("standard input", io::stdin())? } else { Source::file(file) };
    let (name, text) = (source.name(), source.read()?);
    let formatted = rml::format(&name, &text)?;
    let same = formatted == text;
    if check {
        if !same {
            output.print(&format!("{name}\n"))?;
        }
        return Ok(same);
    }
    if stdin {
        output.exact(&formatted)?;
    } else if !same {
        replace(file, &formatted).map_err(|e| unwritable(file.display(), &e))?;
    }
    Ok(true)
}

/// Replaces a file's content in one step, so that it is never half written.
fn replace(file: &Path, text: &str) -> io::Result<()> {
    let file = std::fs::canonicalize(file)?;
    let folder = file.parent().unwrap_or(Path::new("."));
    let mut temporary = tempfile::NamedTempFile::new_in(folder)?;
    io::Write::write_all(&mut temporary, text.as_bytes())?;
    std::fs::set_permissions(temporary.path(), std::fs::metadata(&file)?.permissions())?;
    temporary.as_file().sync_all()?;
    temporary.persist(&file).map_err(|e| e.error)?;
    Ok(())
}
