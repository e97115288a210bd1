//! Diagnostics as data. Only the command-line tool draws them.

use crate::source::Span;

/// A stable diagnostic code: a short kebab-case name such as `unknown-name`, declared in [`codes`](crate::codes).
///
/// ```
/// # use rml_base as rml;
/// let code = rml::codes::elab::UNKNOWN_NAME;
/// assert_eq!(code.to_string(), "unknown-name");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code {
    /// The name shown to users and used in `docs/errors/<name>.md`.
    pub name: &'static str,
    /// The meaning of the code, in one line.
    pub summary: &'static str,
}

impl std::fmt::Debug for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// How serious a diagnostic is.
///
/// ```
/// # use rml_base as rml;
/// use rml::{Diagnostic, Severity, codes};
///
/// assert_eq!(Diagnostic::error(codes::elab::UNKNOWN_NAME, "..").severity, Severity::Error);
/// assert_eq!(Diagnostic::warning(codes::elab::UNUSED_IMPORT, "..").severity, Severity::Warning);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Severity {
    /// The program or request is rejected.
    Error,
    /// The program or request is accepted, but the user should check it.
    Warning,
}

/// The reason why the operating system refused something, without its error number.
pub fn refusal(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error ").next().unwrap_or(&text).to_owned()
}

/// A source range with a message. The first label of a diagnostic is its primary one.
///
/// ```
/// # use rml_base as rml;
/// use rml::{Diagnostic, Span, codes};
///
/// let mut sources = rml::Sources::new();
/// let file = sources.add("f.rml", "node f(x: num []) -> (o)  o = x + y;");
/// let at = Span::new(file, 34, 35);
/// let found = Diagnostic::error(codes::elab::UNKNOWN_NAME, "`y` is not defined").label(at, "used here");
/// assert_eq!(sources.snippet(found.labels[0].span), "y");
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Label {
    /// The source range.
    pub span: Span,
    /// A remark about the range; may be empty.
    pub message: String,
}

/// A change of a source text that fixes a finding.
///
/// ```
/// # use rml_base as rml;
/// use rml::{Diagnostic, Sources, Span, codes};
///
/// let mut sources = Sources::new();
/// let file = sources.add("f.rml", "o = x + yy;");
/// let at = Span::new(file, 8, 10);
/// let found = Diagnostic::error(codes::elab::UNKNOWN_NAME, "`yy` is not defined").fix("write `y`", at, "y");
/// assert_eq!(found.fixes[0].text, "y");
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fix {
    /// A description of the change; it is one of the help lines.
    pub title: String,
    /// The range to replace; an empty range is a place of insertion.
    pub span: Span,
    /// The text that replaces the range.
    pub text: String,
}

/// One finding: what is wrong, where, what was expected and found, and how to fix it.
///
/// ```
/// # use rml_base as rml;
/// use rml::{Diagnostic, Span, codes};
///
/// let mut sources = rml::Sources::new();
/// let file = sources.add("f.rml", "node f(x: num []) -> (o)  o = x + y;");
/// let at = Span::new(file, 34, 35);
/// let found = Diagnostic::error(codes::elab::UNKNOWN_NAME, "`y` is not defined").label(at, "used here");
/// assert!(found.is_error());
/// assert_eq!(found.span(), Some(at));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// The code.
    pub code: Code,
    /// The severity.
    pub severity: Severity,
    /// The finding, in one sentence without a full stop.
    pub message: String,
    /// Source ranges; the first is the primary one. Empty for findings about data files or flags.
    pub labels: Vec<Label>,
    /// Facts: what was expected, what was found, a chain of causes.
    pub notes: Vec<String>,
    /// Ways to fix the problem.
    pub help: Vec<String>,
    /// Changes of the source for those help lines that a program can apply.
    pub fixes: Vec<Fix>,
}

impl Diagnostic {
    /// Creates an error.
    pub fn error(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            severity: Severity::Error,
            message: message.into(),
            labels: Vec::new(),
            notes: Vec::new(),
            help: Vec::new(),
            fixes: Vec::new(),
        }
    }

    /// Creates a warning.
    pub fn warning(code: Code, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, message) }
    }

    /// Adds a source range; the first one added is the primary one.
    #[must_use]
    pub fn label(mut self, span: Span, message: impl Into<String>) -> Self {
        self.labels.push(Label { span, message: message.into() });
        self
    }

    /// Adds a note: a fact.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Adds a way to fix the problem.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help.push(help.into());
        self
    }

    /// Adds a help line that a program can apply: write `text` in place of the text at `span`.
    #[must_use]
    pub fn fix(mut self, help: impl Into<String>, span: Span, text: impl Into<String>) -> Self {
        let title = help.into();
        self.fixes.push(Fix { title: title.clone(), span, text: text.into() });
        self.help(title)
    }

    /// The primary source range.
    pub fn span(&self) -> Option<Span> {
        self.labels.first().map(|l| l.span)
    }

    /// Whether this is an error.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl std::fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = if self.is_error() { "error" } else { "warning" };
        write!(f, "{kind}[{}]: {}", self.code, self.message)?;
        for note in &self.notes {
            write!(f, "\n  note: {note}")?;
        }
        for help in &self.help {
            write!(f, "\n  help: {help}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostic {}

/// A list of findings: those that made a step fail, or the warnings beside its result.
///
/// ```
/// # use rml_base as rml;
/// use rml::{Diagnostic, Diagnostics, codes};
///
/// let mut found = Diagnostics::new();
/// found.push(Diagnostic::warning(codes::elab::UNUSED_IMPORT, "nothing from this import is used"));
/// assert!(!found.has_errors() && !found.is_empty());
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Diagnostics(pub Vec<Diagnostic>);

impl Diagnostics {
    /// An empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a finding.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.0.push(diagnostic);
    }

    /// Adds findings.
    pub fn extend(&mut self, more: impl IntoIterator<Item = Diagnostic>) {
        self.0.extend(more);
    }

    /// Whether any finding is an error.
    pub fn has_errors(&self) -> bool {
        self.0.iter().any(Diagnostic::is_error)
    }

    /// Whether there are no findings.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Sorts the findings by place; those without a place come first.
    pub fn sort(&mut self) {
        self.0.sort_by_key(|d| d.span().map(|s| (s.file, s.start, s.end)));
    }

    /// All findings.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.0.iter()
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(diagnostic: Diagnostic) -> Self {
        Self(vec![diagnostic])
    }
}

impl IntoIterator for Diagnostics {
    type Item = Diagnostic;
    type IntoIter = std::vec::IntoIter<Diagnostic>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl std::fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, d) in self.0.iter().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            write!(f, "{d}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostics {}
