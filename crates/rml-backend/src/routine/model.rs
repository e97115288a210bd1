//! Models: routines whose inputs and results have names, for formats that other tools read.

use rml_ir::Value;

use super::Routine;

/// The name of one more result, where operators may have none: whether some integer did not fit, or a position was
/// outside of its axis.
pub const SUSPECT: &str = "suspect";

/// What is said about [`SUSPECT`].
pub const SUSPICION: &str = "an integer does not fit, or a position is outside of its axis";

/// A window of a plan, of a known length.
#[derive(Clone, Debug)]
pub struct Model {
    /// What is computed.
    pub routine: Routine,
    /// What each input of the routine is.
    pub inputs: Vec<Given>,
    /// What each result of the routine is.
    pub outputs: Vec<Port>,
}

/// What an input of the routine is.
#[derive(Clone, Debug)]
pub enum Given {
    /// It is given with each call.
    Port(Port),
    /// It is the same in all calls.
    Fixed(Value),
}

/// What goes into a call, or comes out of it.
#[derive(Clone, Debug)]
pub struct Port {
    /// Its name; no two ports share one. What a state becomes is called as the state, with `.next` after it.
    pub name: String,
    /// What it is.
    pub role: Role,
    /// What a state starts with.
    pub start: Option<Value>,
}

/// What a port is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// An input or output of the program at all cycles from the first number to before the second one, a row for each.
    Cycles(usize, usize),
    /// An input or output of the program at one cycle.
    Cycle(usize),
    /// Whether the output before is present, at the same cycles.
    Present,
    /// A state: a parameter, or what else outlives windows.
    State,
    /// Whether the state before has a value.
    IsSet,
}

impl Port {
    /// What it is, in words.
    pub fn told(&self) -> String {
        match self.role {
            Role::Cycles(from, to) => format!("cycles {from} to {}", to.saturating_sub(1)),
            Role::Cycle(t) => format!("cycle {t}"),
            Role::Present => "whether the output before is present".to_owned(),
            Role::State => "state".to_owned(),
            Role::IsSet => "whether the state before has a value".to_owned(),
        }
    }
}
