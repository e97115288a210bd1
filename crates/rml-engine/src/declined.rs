//! Reasons why an engine declines a program.

use std::fmt;

use rml_base::codes::backend::ENGINE_DECLINES;
use rml_base::memory::Shortage;
use rml_base::{Diagnostic, Span};

/// The kinds of reasons for which an engine declines a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// The engine runs no program for this use. For example, a plan of windows cannot record every variable.
    Use,
    /// The order in which values are computed depends on data in a way that the engine cannot schedule.
    Schedule,
    /// The engine cannot compute an operator or a type of the program.
    Operator,
    /// The device does not exist, or has too little memory for the program.
    Device,
}

impl Reason {
    /// The name of the kind, for tables and tests.
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

/// The answer of an engine that does not run a program.
#[derive(Clone, PartialEq, Debug)]
pub struct Declined {
    /// The kind of reason.
    pub reason: Reason,
    /// The place in the source that causes the decline, if there is one.
    pub span: Option<Span>,
    /// The reason, in one sentence without a full stop.
    pub text: String,
    /// A form of the program, or another way to run it, that this engine accepts.
    pub help: Option<String>,
    /// The missing memory, if that is the reason.
    pub shortage: Option<Shortage>,
}

impl Declined {
    /// A decline for the given reason.
    pub fn new(reason: Reason, text: impl Into<String>) -> Self {
        Self { reason, span: None, text: text.into(), help: None, shortage: None }
    }

    /// A decline for lack of memory; `what` names what needs the memory, such as "one tick of its windows".
    pub fn short(what: &str, shortage: Shortage) -> Self {
        Self { shortage: Some(shortage), ..Self::new(Reason::Device, what) }
    }

    /// Adds a place in the source.
    #[must_use]
    pub fn at(mut self, span: Span) -> Self {
        self.span = Some(span);
        self
    }

    /// Adds help.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The error that is reported if no other engine is available; `engine` is the name of the one that declined.
    pub fn diagnostic(&self, engine: &str) -> Diagnostic {
        if let Some(shortage) = &self.shortage {
            return shortage.diagnostic(&self.text);
        }
        let d = Diagnostic::error(
            ENGINE_DECLINES,
            format!("the engine `{engine}` does not run this program: {}", self.text),
        );
        let d = match self.span {
            Some(span) => d.label(span, "because of this"),
            None => d,
        };
        let d = d.note(format!("the reason is of the kind `{}`", self.reason));
        let d = if let Some(help) = &self.help { d.help(help) } else { d };
        d
            .help("choose another engine: the simulator (`--engine sim`) runs every program, and `--engine auto` uses it if there is no plan")
    }
}
