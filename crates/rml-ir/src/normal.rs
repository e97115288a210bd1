//! The normal form: one primitive an equation, over variables; still nodes and calls.
//!
//! Invariants, checked by [`verify`]:
//! - **N1** every variable is an input or defined by exactly one equation, never both; every output is one of
//!   them.
//! - **N2** results and operands of an equation have the types that its primitive asks for; `merge`, `if`,
//!   `fby`, `fby back`, `post`, `when` and `param` keep the type of their operands.
//! - **N3** a constant initialiser of `fby` / `fby back` has the type of the equation's result and is a value
//!   or a random constant.
//! - **N4** conditions, those of clocks and claims, and `every` ends are `bool []`.
//! - **N5** a call has one argument for each input of the callee and one result for each of its outputs, of
//!   equal types.
//! - **N6** calls are not recursive.
//! - **N7** after differentiation no [`Callee::Diff`] is left ([`Differentiated`]).

use std::sync::Arc;

use indexmap::IndexMap;
use rml_base::{IndexVec, Span, entity_id};

use crate::op::Op;
use crate::types::{Precision, Type};

pub use crate::typed::{
    Callee, ClockClaim, ConstKind, Constant, Formal, Input, NodeId, Rule, StaticValue, Var, VarData,
};

mod differentiated;
pub(crate) mod parse;
pub(crate) mod print;
mod verify;

pub use differentiated::Differentiated;
pub use parse::parse;
pub use print::print;
pub use verify::{verify, verify_differentiated};

entity_id!(
    /// A constant of one node.
    ConstId,
    "k"
);
entity_id!(
    /// An equation of one node.
    Eq,
    "eq"
);

/// A program in normal form.
#[derive(Clone, Debug)]
pub struct Module {
    /// How `num` is computed.
    pub precision: Precision,
    /// All nodes.
    pub nodes: IndexVec<NodeId, Node>,
    /// The node to run.
    pub root: NodeId,
    /// As in [`typed::Module`](crate::typed::Module).
    pub overrides: IndexMap<NodeId, NodeId>,
    /// As in [`typed::Module`](crate::typed::Module).
    pub optimisers: IndexMap<(Rule, Type), NodeId>,
}

/// A node in normal form.
#[derive(Clone, Debug)]
pub struct Node {
    /// The source name (not unique: instances share it).
    pub name: Arc<str>,
    /// Formals in the order of the source.
    pub formals: Vec<Formal>,
    /// Outputs.
    pub outputs: Vec<Var>,
    /// The declared clocks of outputs.
    pub claims: Vec<ClockClaim>,
    /// Local static names with their source text (for printing).
    pub statics: Vec<(Arc<str>, Arc<str>)>,
    /// All variables.
    pub vars: IndexVec<Var, VarData>,
    /// All constants.
    pub consts: IndexVec<ConstId, Constant>,
    /// All equations, operands before uses where the source has them so; the order has no meaning.
    pub equations: IndexVec<Eq, Equation>,
    /// As in [`typed::Node`](crate::typed::Node).
    pub held: u8,
    /// The interface in the source.
    pub span: Span,
}

impl Node {
    /// The input streams, in order.
    pub fn inputs(&self) -> impl Iterator<Item = &Input> {
        self.formals.iter().filter_map(|f| if let Formal::Stream(i) = f { Some(i) } else { None })
    }
}

/// An equation. Only calls define other than one variable.
#[derive(Clone, Debug)]
pub struct Equation {
    /// What it defines.
    pub lhs: Vec<Var>,
    /// The primitive.
    pub rhs: Rhs,
    /// In the source.
    pub span: Span,
}

/// The first (for `fby back`: last) value of a delay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Init {
    /// A constant.
    Const(ConstId),
    /// A stream on the same clock, whose value at the first (last) active cycle is taken.
    Stream(Var),
}

/// The primitives.
#[derive(Clone, Debug)]
pub enum Rhs {
    /// A constant, present whenever it is asked for.
    Const(ConstId),
    /// An operator; `statics` = its static arguments as written, for printing (may be empty).
    Apply {
        /// The operator.
        op: Op,
        /// Its operands.
        args: Vec<Var>,
        /// Static arguments as written.
        statics: Vec<Arc<str>>,
    },
    /// `if`: strict in status, lazy in values.
    If {
        /// The condition.
        cond: Var,
        /// Where true.
        then: Var,
        /// Where false.
        other: Var,
    },
    /// `value when cond`.
    When {
        /// What is sampled.
        value: Var,
        /// The condition.
        cond: Var,
    },
    /// `merge cond on_true on_false`.
    Merge {
        /// The condition.
        cond: Var,
        /// Where true.
        on_true: Var,
        /// Where false.
        on_false: Var,
    },
    /// `init fby next`.
    Fby {
        /// First value.
        init: Init,
        /// What is delayed.
        next: Var,
    },
    /// `init fby back next`.
    FbyBack {
        /// Last value.
        init: Init,
        /// What is anticipated.
        next: Var,
    },
    /// `post next`.
    Post {
        /// What is anticipated.
        next: Var,
    },
    /// `param(init)`: the parameter named after the variable defined.
    Param {
        /// Its initial value.
        init: Var,
        /// What updates it.
        by: Rule,
    },
    /// `diff_param(init, bp, d)`: the parameter named after the variable defined, with its update by an
    /// optimiser node of interface `(init, bp, d) -> (o)`.
    ParamUpdate {
        /// Its initial value.
        init: Var,
        /// When there is a gradient.
        bp: Var,
        /// The (negative, scaled) gradient, present iff `bp` is true.
        d: Var,
        /// The optimiser.
        optimiser: NodeId,
        /// The instance's name (`diff_param_0`) where the source calls it; `None` where differentiation made
        /// it.
        instance: Option<Arc<str>>,
    },
    /// A node instance.
    Call {
        /// What is called.
        callee: Callee,
        /// One for each input stream.
        args: Vec<Var>,
        /// `every end`.
        every: Option<Var>,
        /// `<node>_<k>`, k counting the instances of that node in textual order.
        instance: Arc<str>,
        /// The source text of the actuals of static formals, for printing.
        statics: Vec<Arc<str>>,
    },
}
