//! Why something cannot be imported.

use rml_base::codes::run as codes;
use rml_base::{Code, Diagnostic};

/// Why a node, or a whole model, cannot be imported; the place is added where it is known.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    code: Code,
    what: String,
    notes: Vec<String>,
    help: Vec<String>,
    /// The operator that it is about.
    operator: Option<String>,
}

/// What may be refused.
pub(crate) type Res<T> = Result<T, Refusal>;

impl Refusal {
    /// Something that the language, or the importer, has nothing for.
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self {
            code: codes::IMPORT_REFUSED,
            what: what.into(),
            notes: Vec::new(),
            help: Vec::new(),
            operator: None,
        }
    }

    /// A file that is not what the format asks for.
    pub(crate) fn malformed(what: impl Into<String>) -> Self {
        Self { code: codes::MALFORMED_MODEL, ..Self::new(what) }
    }

    /// The same with what is possible instead.
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help.push(help.into());
        self
    }

    /// The same with a fact.
    pub(crate) fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// The same of an operator at that place; a place around one that is known is not named.
    pub(crate) fn placed(mut self, operator: String, place: String) -> Self {
        if self.operator.is_none() {
            self.notes.insert(0, format!("it is the {place}"));
            self.operator = Some(operator);
        }
        self
    }

    /// As a finding about that file.
    pub(crate) fn diagnostic(self, origin: &str) -> Diagnostic {
        let message = match self.operator {
            Some(operator) => format!("{origin}: operator `{operator}` cannot be imported: {}", self.what),
            None => format!("{origin}: {}", self.what),
        };
        let d = Diagnostic::error(self.code, message);
        let d = self.notes.into_iter().fold(d, Diagnostic::note);
        self.help.into_iter().fold(d, Diagnostic::help)
    }
}

/// Refuses with that text.
pub(crate) fn refuse<T>(what: impl Into<String>) -> Res<T> {
    Err(Refusal::new(what))
}
