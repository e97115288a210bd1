//! Models: routines whose inputs and results have names, for formats that other tools read.

use rml_ir::Value;

use super::Routine;

/// The name of an additional result of models with operators that may have no result: whether some integer did not fit,
/// or a position was outside its axis.
pub const SUSPECT: &str = "suspect";

/// The description of [`SUSPECT`].
pub const SUSPICION: &str = "an integer does not fit, or a position is outside of its axis";

/// A window of a plan, of a known length.
#[derive(Clone, Debug)]
pub struct WindowModel {
    /// The computation.
    pub routine: Routine,
    /// A description of each input of the routine.
    pub inputs: Vec<RoutineInput>,
    /// A description of each result of the routine.
    pub outputs: Vec<Port>,
}

/// An input of the routine.
#[derive(Clone, Debug)]
pub enum RoutineInput {
    /// The value is given with each call.
    Port(Port),
    /// The value is the same in all calls.
    Fixed(Value),
}

/// An input or an output of a call.
#[derive(Clone, Debug)]
pub struct Port {
    /// The name; no two ports share one. The new value of a state has the state's name with `.next` appended.
    pub name: String,
    /// The role of the port.
    pub role: PortRole,
    /// The initial value of a state.
    pub start: Option<Value>,
}

/// The role of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PortRole {
    /// An input or output of the program in the cycles from the first number to before the second one, with one row per
    /// cycle.
    Cycles(usize, usize),
    /// An input or output of the program at one cycle.
    Cycle(usize),
    /// Whether the output in the previous port is present, in the same cycles.
    Present,
    /// A state: a parameter, or another value that outlives windows.
    State,
    /// Whether the state in the previous port has a value.
    IsSet,
}

impl Port {
    /// A description of the port in words.
    pub fn told(&self) -> String {
        match self.role {
            PortRole::Cycles(from, to) => format!("cycles {from} to {}", to.saturating_sub(1)),
            PortRole::Cycle(t) => format!("cycle {t}"),
            PortRole::Present => "whether the output before is present".to_owned(),
            PortRole::State => "state".to_owned(),
            PortRole::IsSet => "whether the state before has a value".to_owned(),
        }
    }
}
