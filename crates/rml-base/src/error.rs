//! The error of a failed request: findings, together with the source texts that their spans point into.

use std::fmt;
use std::sync::Arc;

use crate::{Code, Diagnostic, Diagnostics, Sources};

/// The error of a failed request: one or more [`Diagnostic`]s, and the source texts needed to draw them.
///
/// `Display` writes plain text, with a line `file:line:column` below each finding that has a place.
///
/// ```
/// # use rml_base as rml;
/// use std::sync::Arc;
/// use rml::{Diagnostic, Error, Span, codes};
///
/// let mut sources = rml::Sources::new();
/// let file = sources.add("f.rml", "node f(x: num []) -> (o)  o = x + y;");
/// let at = Span::new(file, 34, 35);
/// let found = Diagnostic::error(codes::elab::UNKNOWN_NAME, "`y` is not defined").label(at, "used here");
/// let error = Error::new(found, Arc::new(sources));
/// assert_eq!(error.code(), Some(codes::elab::UNKNOWN_NAME));
/// assert!(error.to_string().contains("f.rml"));
/// ```
#[derive(Clone, Debug)]
pub struct Error {
    diagnostics: Box<Diagnostics>,
    sources: Arc<Sources>,
}

impl Error {
    /// The error with these findings about a program whose texts are `sources`.
    pub fn new(diagnostics: impl Into<Diagnostics>, sources: Arc<Sources>) -> Self {
        Self { diagnostics: Box::new(diagnostics.into()), sources }
    }

    /// The findings.
    pub fn diagnostics(&self) -> &Diagnostics {
        &self.diagnostics
    }

    /// The texts that the findings' spans point into.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// The code of the first error among the findings; if there are only warnings, the code of the first one.
    pub fn code(&self) -> Option<Code> {
        let list = &self.diagnostics.0;
        list.iter().find(|d| d.is_error()).or(list.first()).map(|d| d.code)
    }

    /// The texts and the findings.
    pub fn into_parts(self) -> (Arc<Sources>, Diagnostics) {
        (self.sources, *self.diagnostics)
    }

    /// The same error, with a note added to each finding.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        let note = note.into();
        for d in &mut self.diagnostics.0 {
            d.notes.push(note.clone());
        }
        self
    }

    /// The same error, with a help line added to each finding.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        let help = help.into();
        for d in &mut self.diagnostics.0 {
            d.help.push(help.clone());
        }
        self
    }

    /// The same findings, with the texts of the program that they are about.
    #[must_use]
    pub fn with_sources(mut self, sources: &Arc<Sources>) -> Self {
        self.sources = Arc::clone(sources);
        self
    }
}

impl From<Diagnostic> for Error {
    fn from(diagnostic: Diagnostic) -> Self {
        Self::new(diagnostic, Arc::default())
    }
}

impl From<Diagnostics> for Error {
    fn from(diagnostics: Diagnostics) -> Self {
        Self::new(diagnostics, Arc::default())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, d) in self.diagnostics.iter().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            let (head, rest) = d
                .to_string()
                .split_once('\n')
                .map_or((d.to_string(), None), |(a, b)| (a.to_owned(), Some(b.to_owned())));
            f.write_str(&head)?;
            for label in &d.labels {
                let (line, column) = self.sources.line_column(label.span.file, label.span.start);
                write!(f, "\n  at {}:{line}:{column}", self.sources.name(label.span.file))?;
                if !label.message.is_empty() {
                    write!(f, ": {}", label.message)?;
                }
            }
            if let Some(rest) = rest {
                write!(f, "\n{rest}")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for Error {}
