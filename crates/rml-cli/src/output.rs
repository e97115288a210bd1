//! Standard output and standard error. A reader that closes its end is not an error, and never causes a panic.

use std::fmt;
use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;

use rml::{Code, Diagnostic, Diagnostics, Sources};

use crate::args::{Colour, Global, MessageFormat};

/// Text for standard output; keeps the I/O error, which `fmt::Write` cannot return.
struct Pieces<'a> {
    out: io::BufWriter<io::StdoutLock<'a>>,
    /// Whether the text is JSON, which is escaped for terminals.
    json: bool,
    error: Option<io::Error>,
}

impl fmt::Write for Pieces<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let text = if self.json { rml::visible_json(text) } else { text.into() };
        self.out.write_all(text.as_bytes()).map_err(|e| {
            self.error = Some(e);
            fmt::Error
        })
    }
}

/// Why a command stopped early.
pub(crate) enum Stop {
    /// Nobody reads the output any more.
    NoReader,
    /// Errors were found and have been reported.
    Reported,
    /// Errors were found and are still to be reported.
    Errors(rml::Error),
    /// A signal interrupted the command; this is the exit code for the signal.
    Interrupted(u8),
}

impl From<rml::Error> for Stop {
    fn from(error: rml::Error) -> Self {
        Self::Errors(error)
    }
}

impl From<Diagnostic> for Stop {
    fn from(diagnostic: Diagnostic) -> Self {
        Self::Errors(diagnostic.into())
    }
}

/// The two output streams and how to write to them.
#[derive(Clone)]
pub(crate) struct Output {
    format: MessageFormat,
    colour: bool,
    /// Which of several processes this is, for errors, unless it is the first one. Nothing else is written.
    rank: Option<String>,
}

impl Output {
    pub(crate) fn new(global: &Global) -> Self {
        let colour = match global.color {
            Colour::Always => true,
            Colour::Never => false,
            Colour::Auto => io::stderr().is_terminal() && colours_wanted(),
        };
        Self { format: global.message_format, colour, rank: None }
    }

    /// This is one of several processes that train together. Only the first one writes more than errors.
    pub(crate) fn is_rank(&mut self, rank: usize, host: &str) {
        self.rank = (rank > 0).then(|| format!("rank {rank} on {host}:"));
    }

    /// Whether only errors are written.
    pub(crate) fn is_quiet(&self) -> bool {
        self.rank.is_some()
    }

    /// Whether results and progress are for programs rather than people.
    pub(crate) fn json(&self) -> bool {
        self.format == MessageFormat::Json
    }

    /// Whether standard error accepts colours.
    pub(crate) fn colour(&self) -> bool {
        self.colour
    }

    /// Writes a result for people, and flushes it. Names in it may come from untrusted sources, so control characters
    /// are escaped, and long words are cut.
    pub(crate) fn print(&mut self, text: &str) -> Result<(), Stop> {
        self.exact(&rml::visible_words(text))
    }

    /// Writes a whole JSON document, escaped for terminals.
    pub(crate) fn print_json(&mut self, document: &str) -> Result<(), Stop> {
        self.exact(&format!("{}\n", rml::visible_json(document.trim_end())))
    }

    /// Writes a result for programs unchanged: source text, tables of values.
    pub(crate) fn exact(&mut self, text: &str) -> Result<(), Stop> {
        self.bytes(text.as_bytes())
    }

    /// Writes bytes for programs.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        if self.is_quiet() {
            return Ok(());
        }
        let mut out = io::stdout().lock();
        out.write_all(bytes).and_then(|()| out.flush()).map_err(|e| match e.kind() {
            io::ErrorKind::BrokenPipe => Stop::NoReader,
            _ => unwritable("standard output", &e).into(),
        })
    }

    /// Writes a result for programs piece by piece, as [`Output::print_json`] or [`Output::exact`] does, without
    /// keeping the whole text in memory.
    pub(crate) fn in_pieces(
        &mut self,
        json: bool,
        write: impl FnOnce(&mut dyn fmt::Write) -> fmt::Result,
    ) -> Result<(), Stop> {
        let mut out = Pieces { out: io::BufWriter::new(io::stdout().lock()), json, error: None };
        let written = write(&mut out);
        let flushed = out.out.flush().err();
        match out.error.or(flushed) {
            None => {
                written.map_err(|_| unwritable("standard output", &io::Error::other("it has no text")).into())
            }
            Some(e) if e.kind() == io::ErrorKind::BrokenPipe => Err(Stop::NoReader),
            Some(e) => Err(unwritable("standard output", &e).into()),
        }
    }

    /// Prints diagnostics.
    pub(crate) fn report(&mut self, diagnostics: &Diagnostics, sources: &Sources) {
        if self.is_quiet() && !diagnostics.has_errors() {
            return;
        }
        let text = match self.format {
            MessageFormat::Human => rml_render::human(diagnostics, sources, self.colour),
            MessageFormat::Json => rml::visible_json(&rml_render::json(diagnostics, sources)).into_owned(),
        };
        if let Some(rank) = self.rank.as_ref().filter(|_| !self.json()) {
            self.error(&format!("{rank}\n"));
        }
        self.error(&text);
    }

    /// Writes a remark for people to standard error, escaped for terminals as in [`Output::print`].
    pub(crate) fn note(&mut self, text: &str) {
        if self.is_quiet() {
            return;
        }
        self.error(&rml::visible_words(text));
    }

    /// Writes a remark for programs to standard error: a JSON document on one line.
    pub(crate) fn note_json(&mut self, document: &str) {
        if self.is_quiet() {
            return;
        }
        self.error(&format!("{}\n", rml::visible_json(document)));
    }

    /// Writes to standard error; errors in writing are ignored.
    fn error(&mut self, text: &str) {
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }

    /// Reports the errors that are still to be reported, and returns the exit code.
    pub(crate) fn finish(mut self, outcome: Result<(), Stop>) -> ExitCode {
        match outcome {
            Ok(()) | Err(Stop::NoReader) => ExitCode::SUCCESS,
            Err(Stop::Reported) => ExitCode::FAILURE,
            Err(Stop::Errors(error)) => {
                self.report(error.diagnostics(), error.sources());
                ExitCode::FAILURE
            }
            Err(Stop::Interrupted(code)) => ExitCode::from(code),
        }
    }
}

fn colours_wanted() -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|v| !v.is_empty());
    !set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|t| t != "dumb")
}

/// The diagnostic for a file that cannot be written.
pub(crate) fn unwritable(what: impl std::fmt::Display, error: &io::Error) -> Diagnostic {
    file_error(rml::codes::run::UNWRITABLE_FILE, format!("cannot write {what}"), error)
}

/// The diagnostic for a file that cannot be read.
pub(crate) fn unreadable(what: impl std::fmt::Display, error: &io::Error) -> Diagnostic {
    file_error(rml::codes::run::UNREADABLE_FILE, format!("cannot read {what}"), error)
}

fn file_error(code: Code, message: String, error: &io::Error) -> Diagnostic {
    Diagnostic::error(code, message).note(rml::refusal(error))
}
