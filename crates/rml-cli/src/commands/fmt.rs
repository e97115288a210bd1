//! `rml fmt`.

use std::io;
use std::path::Path;

use rml::Source;

use crate::args::Fmt;
use crate::output::{Output, Stop};

/// Formats all files; a file with errors is not changed, and the other files are formatted anyway.
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

/// Formats a file. Returns `false` if `check` is set and the file is not formatted.
fn one(file: &Path, check: bool, output: &mut Output) -> Result<bool, Stop> {
    let stdin = file == Path::new("-");
    let source = if stdin { Source::from_reader("standard input", io::stdin())? } else { Source::file(file) };
    let (name, text) = (source.name(), source.read()?);
    let formatted = rml::format(&name, &text)?;
    let same = formatted == text;
    if check {
        if !same {
            // The name is not shortened, since it may be piped to another command.
            output.exact(&format!("{}\n", rml::visible(&name)))?;
        }
        return Ok(same);
    }
    if stdin {
        output.exact(&formatted)?;
    } else if !same {
        rml::check_output(file, &[])?;
        rml::write_output(file, formatted.as_bytes())?;
    }
    Ok(true)
}
