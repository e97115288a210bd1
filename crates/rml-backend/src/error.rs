//! Failures that a backend reports.

use rml_base::codes::backend as codes;
#[cfg(any(test, feature = "load"))]
use rml_base::codes::run::MEMORY_LIMIT;
use rml_base::memory::Shortage;
use rml_base::{Code, Diagnostic, EntityId};

use crate::function::{DefKind, Function, Val};

/// A failure of a backend, in the terms of the contract; it becomes a diagnostic once the function is known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// The code of the failure: one of [`rml_base::codes::backend`], or `memory-limit`.
    pub code: Code,
    /// The value of the function that causes the failure, if there is one.
    pub at: Option<Val>,
    /// The error, in one sentence without a full stop.
    pub message: String,
    /// Advice on how to fix the failure.
    pub help: Option<String>,
}

impl Failure {
    /// A failure with the given code.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, at: None, message: message.into(), help: None }
    }

    /// The failure for a value that the backend cannot compute.
    pub fn refusal(at: Val, message: impl Into<String>) -> Self {
        Self { at: Some(at), ..Self::new(codes::BACKEND_REFUSES, message) }
    }

    /// The failure of a call.
    pub fn call(message: impl Into<String>) -> Self {
        Self::new(codes::BACKEND_FAILED, message)
    }

    /// The failure for a value that does not fit the memory limit of the process; see [`rml_base::memory`].
    pub fn shortage(at: Option<Val>, shortage: Shortage) -> Self {
        let d = shortage.diagnostic("a tensor");
        let message = format!("{}: {}", d.message, d.notes.join("; "));
        Self { code: d.code, at, message, help: d.help.into_iter().next() }
    }

    /// Adds advice on how to fix the failure.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The failure as a diagnostic, without a place in the source.
    pub fn diagnostic(self) -> Diagnostic {
        let d = Diagnostic::error(self.code, self.message);
        match self.help {
            Some(help) => d.help(help),
            None => d,
        }
    }

    /// The failure as a diagnostic that names the operator and its place in the source.
    pub fn within(self, function: &Function) -> Diagnostic {
        let place = self.at.and_then(|at| function.values.get(at)).cloned();
        let d = self.diagnostic();
        match place {
            Some(def) => match &def.kind {
                DefKind::Apply { op, .. } => d.label(def.span, format!("`{op}`, of type {}", def.ty)),
                DefKind::Input | DefKind::Const(_) => d.label(def.span, "this value"),
            },
            None => d.note(format!("in function {}", function.name)),
        }
    }

    /// The fields on one line, to cross the boundary of a library; [`from_text`](Self::from_text) reads this form.
    pub(crate) fn to_text(&self) -> String {
        let at = self.at.map(|v| v.index().to_string()).unwrap_or_default();
        [self.code.name, &at, &self.message, self.help.as_deref().unwrap_or_default()].join("\u{1f}")
    }

    /// Reads the form of [`to_text`](Self::to_text); any other text becomes the message of a failed call.
    #[cfg(any(test, feature = "load"))]
    pub(crate) fn from_text(text: &str) -> Self {
        let fields: Vec<&str> = text.split('\u{1f}').collect();
        let known = |name: &str| codes::ALL.iter().chain([&MEMORY_LIMIT]).find(|c| c.name == name).copied();
        match fields[..] {
            [code, at, message, help] => Self {
                code: known(code).unwrap_or(codes::BACKEND_FAILED),
                at: at.parse().ok().map(Val::from_index),
                message: message.to_owned(),
                help: (!help.is_empty()).then(|| help.to_owned()),
            },
            _ => Self::call(text),
        }
    }
}

impl From<Failure> for Diagnostic {
    fn from(failure: Failure) -> Self {
        failure.diagnostic()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_crosses_the_boundary_whole() {
        let plain = Failure::call("it broke: code 3");
        let whole = Failure::refusal(Val(7), "no such operator").help("use another");
        let short = Failure::shortage(Some(Val(1)), Shortage { asked: 2048, used: 0, limit: 1024 });
        for failure in [plain, whole, short] {
            assert_eq!(Failure::from_text(&failure.to_text()), failure);
        }
        assert_eq!(Failure::from_text("what is this").message, "what is this");
    }
}
