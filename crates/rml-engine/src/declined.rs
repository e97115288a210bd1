//! Why an engine does not run a program.

use std::fmt;

use rml_base::codes::backend::ENGINE_DECLINES;
use rml_base::{Diagnostic, Span};

/// The kinds of reasons for which an engine declines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// It runs no program for that use: a plan of windows keeps no record of every variable, for example.
    Use,
    /// When something is computed depends on data in a way that it cannot schedule.
    Schedule,
    /// There is an operator or a type that it cannot compute.
    Operator,
    /// The device is not there, or has no memory for the program.
    Device,
}

impl Reason {
    /// Its name, for tables and tests.
    pub fn name(self) -> &'static str {
        match self {
            Reason::Use => "use",
            Reason::Schedule => "schedule",
            Reason::Operator => "operator",
            Reason::Device => "device",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// An engine does not run a program.
#[derive(Clone, PartialEq, Debug)]
pub struct Declined {
    /// Of which kind the reason is.
    pub reason: Reason,
    /// What it is about in the source, if it is about something there.
    pub span: Option<Span>,
    /// The reason, in one sentence without a full stop.
    pub text: String,
}

impl Declined {
    /// For that reason.
    pub fn new(reason: Reason, text: impl Into<String>) -> Self {
        Self { reason, span: None, text: text.into() }
    }

    /// The same, about that place in the source.
    #[must_use]
    pub fn at(mut self, span: Span) -> Self {
        self.span = Some(span);
        self
    }

    /// The report where no other engine is asked, with the name of the engine that declined.
    pub fn diagnostic(&self, engine: &str) -> Diagnostic {
        let d = Diagnostic::error(
            ENGINE_DECLINES,
            format!("the engine `{engine}` does not run this program: {}", self.text),
        );
        let d = match self.span {
            Some(span) => d.label(span, "because of this"),
            None => d,
        };
        d.note(format!("the reason is of the kind `{}`", self.reason))
            .help("choose another engine: the simulator runs every program")
    }
}
