//! The typed stage: monomorphic nodes. Names are resolved, static arguments evaluated, every type and shape
//! is concrete; expressions are still nested. There is one node for each distinct (source node, static
//! arguments, input types).
//!
//! Invariants, checked by [`verify`]:
//! - **T1** every variable is an input or defined by exactly one equation, never both; every output is one of
//!   them.
//! - **T2** every expression's type follows from its operands by the rule of its form; operands of `merge`,
//!   `if`, `fby` and `fby back` have equal types (broadcasts are explicit).
//! - **T3** conditions, those of clocks and claims, and `every` ends are `bool []`.
//! - **T4** a call has one argument for each stream formal of the callee, of equal type, and one result for
//!   each of its outputs (for [`Callee::Diff`]: of its canonical outputs); only at the top of an equation may
//!   there be other than one result.
//! - **T5** calls are not recursive.
//! - **T6** every expression belongs to exactly one place (a tree).

use std::sync::Arc;

use indexmap::IndexMap;
use rml_base::{IndexVec, Span, entity_id};

use crate::op::{Distribution, Op};
use crate::types::{Precision, Type};
use crate::value::Value;

mod print;
pub(crate) mod verify;

pub use print::print;
pub use verify::verify;

entity_id!(
    /// A variable of one node.
    Var,
    "v"
);
entity_id!(
    /// A node of a module.
    NodeId,
    "n"
);
entity_id!(
    /// An expression of one node.
    ExprId,
    "e"
);
entity_id!(
    /// The node of the source that updates a parameter: `diff_param`, or one that is given by `by`.
    Rule,
    "r"
);

impl Rule {
    /// `diff_param`.
    pub const DEFAULT: Self = Self(0);
}

/// A typed program.
#[derive(Clone, Debug)]
pub struct Module {
    /// How `num` is computed.
    pub precision: Precision,
    /// All node instances; callees stand before callers.
    pub nodes: IndexVec<NodeId, Node>,
    /// The node to run.
    pub root: NodeId,
    /// Which node the program itself gives as the adjoint of a node (`diff_f` for `f`), for the nodes that
    /// may be differentiated.
    pub overrides: IndexMap<NodeId, NodeId>,
    /// The instances of the nodes that update parameters, for each rule and type of parameter that may be trained.
    pub optimisers: IndexMap<(Rule, Type), NodeId>,
}

impl Module {
    /// Gives back the memory that its tables were to grow into, for who keeps it.
    pub fn shrink_to_fit(&mut self) {
        self.nodes.shrink_to_fit();
        for node in self.nodes.iter_mut() {
            node.vars.shrink_to_fit();
            node.exprs.shrink_to_fit();
            node.equations.shrink_to_fit();
        }
    }
}

/// A node instance.
#[derive(Clone, Debug)]
pub struct Node {
    /// The source name.
    pub name: Arc<str>,
    /// Formals in the order of the source.
    pub formals: Vec<Formal>,
    /// Outputs.
    pub outputs: Vec<Var>,
    /// The declared clocks of outputs.
    pub claims: Vec<ClockClaim>,
    /// Local static names with their source text, in textual order (for printing).
    pub statics: Vec<(Arc<str>, Arc<str>)>,
    /// All variables.
    pub vars: IndexVec<Var, VarData>,
    /// All expressions.
    pub exprs: IndexVec<ExprId, Expr>,
    /// Equations, in textual order.
    pub equations: Vec<Equation>,
    /// How many of its adjoints, the first ones, read its parameters and do not update them: 1 for `grad_f`. Then all
    /// that it calls holds as many.
    pub held: u8,
    /// The interface in the source.
    pub span: Span,
}

/// A formal of a node.
#[derive(Clone, Debug)]
pub enum Formal {
    /// A compile-time value (already substituted everywhere; kept for printing).
    Static {
        /// Its name.
        name: Arc<str>,
        /// Its value in this instance.
        value: StaticValue,
    },
    /// An input stream.
    Stream(Input),
}

/// An input stream.
#[derive(Clone, Debug)]
pub struct Input {
    /// The variable.
    pub var: Var,
    /// Its declared clock: present iff the condition variable is present and equals the flag.
    pub clock: Option<(Var, bool)>,
}

/// A declared clock that is to be proved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClockClaim {
    /// The variable.
    pub var: Var,
    /// It is present iff this is present and equals `positive`.
    pub cond: Var,
    /// For which value of the condition.
    pub positive: bool,
    /// The declaration.
    pub span: Span,
    /// In the flat form, the call that binds the variable, if it is the input of an instance.
    pub call: Option<Span>,
}

impl Node {
    /// The input streams, in order.
    pub fn inputs(&self) -> impl Iterator<Item = &Input> {
        self.formals.iter().filter_map(|f| if let Formal::Stream(i) = f { Some(i) } else { None })
    }
}

/// A variable.
#[derive(Clone, Debug)]
pub struct VarData {
    /// Its source name; `None` for one that a pass made.
    pub name: Option<Arc<str>>,
    /// Its type.
    pub ty: Type,
    /// Where it is declared or first defined.
    pub span: Span,
    /// The name of the property that its equation checks: `assert "name" c;`. Nothing reads such a variable. Its
    /// equation is `gather([0], to_int(not c))`, which has no result where `c` is false (ERROR-4), and is needed by
    /// itself (ERROR-6).
    pub asserts: Option<Arc<str>>,
    /// The names of its values, if they are cases of an enumeration.
    pub cases: Option<Names>,
}

/// The names of integers, from 0.
pub type Names = Arc<[Arc<str>]>;

/// A compile-time value.
///
/// ```
/// # use rml_ir::typed as rml;
/// use rml::StaticValue;
///
/// let shape = StaticValue::Array(vec![StaticValue::Int(2), StaticValue::Int(3)]);
/// assert_eq!(shape.to_string(), "[2, 3]");
/// ```
#[derive(Clone, PartialEq, Debug)]
pub enum StaticValue {
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A number.
    Num(f64),
    /// An array.
    Array(Vec<StaticValue>),
}

impl std::fmt::Display for StaticValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            StaticValue::Bool(b) => write!(f, "{b}"),
            StaticValue::Int(i) => write!(f, "{i}"),
            StaticValue::Num(x) => write!(f, "{x:?}"),
            StaticValue::Array(items) => {
                f.write_str("[")?;
                for (i, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if i > 0 { ", " } else { "" })?;
                }
                f.write_str("]")
            }
        }
    }
}

/// An equation; results in order, `None` = discarded.
#[derive(Clone, Debug)]
pub struct Equation {
    /// What it defines.
    pub lhs: Vec<Option<Var>>,
    /// Its right side.
    pub rhs: ExprId,
    /// In the source.
    pub span: Span,
}

/// An expression.
#[derive(Clone, Debug)]
pub struct Expr {
    /// Which form.
    pub kind: ExprKind,
    /// Its type (for a call with several results at the top of an equation: that of the first, `bool []` if
    /// there is none).
    pub ty: Type,
    /// In the source.
    pub span: Span,
}

/// The forms of expressions.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A constant.
    Const(Constant),
    /// A variable.
    Var(Var),
    /// An operator; `statics` holds the source text of its static arguments, empty where there is none.
    Apply {
        /// The operator.
        op: Op,
        /// Its operands.
        args: Vec<ExprId>,
        /// Static arguments as written, for printing.
        statics: Vec<Arc<str>>,
    },
    /// `if cond then then else other`.
    If {
        /// The condition.
        cond: ExprId,
        /// Where true.
        then: ExprId,
        /// Where false.
        other: ExprId,
    },
    /// `value when cond`.
    When {
        /// What is sampled.
        value: ExprId,
        /// The condition.
        cond: ExprId,
    },
    /// `merge cond on_true on_false`.
    Merge {
        /// The condition.
        cond: ExprId,
        /// Where true.
        on_true: ExprId,
        /// Where false.
        on_false: ExprId,
    },
    /// `init fby next`.
    Fby {
        /// First value.
        init: ExprId,
        /// What is delayed.
        next: ExprId,
    },
    /// `init fby back next`.
    FbyBack {
        /// Last value.
        init: ExprId,
        /// What is anticipated.
        next: ExprId,
    },
    /// `post next`.
    Post {
        /// What is anticipated.
        next: ExprId,
    },
    /// The primitive `param(init)`.
    Param {
        /// The initial value.
        init: ExprId,
        /// What updates it.
        by: Rule,
    },
    /// A node instance.
    Call {
        /// What is called.
        callee: Callee,
        /// One for each stream formal (for `Diff`: of the canonical inputs).
        args: Vec<ExprId>,
        /// `every end`.
        every: Option<ExprId>,
        /// The source text of the actuals of static formals, in order, for printing.
        statics: Vec<Arc<str>>,
        /// The variable of a family that the name of the instance begins with: `h[3]`.
        member: Option<Arc<str>>,
        /// The name of the instance, if it is not that of the callee with a number.
        instance: Option<Arc<str>>,
    },
}

impl ExprKind {
    /// The expressions directly inside, in textual order.
    pub fn operands(&self) -> Vec<ExprId> {
        match self {
            ExprKind::Const(_) | ExprKind::Var(_) => Vec::new(),
            ExprKind::Apply { args, .. } => args.clone(),
            ExprKind::If { cond, then, other } => vec![*cond, *then, *other],
            ExprKind::When { value, cond } => vec![*value, *cond],
            ExprKind::Merge { cond, on_true, on_false } => vec![*cond, *on_true, *on_false],
            ExprKind::Fby { init, next } | ExprKind::FbyBack { init, next } => vec![*init, *next],
            ExprKind::Post { next } => vec![*next],
            ExprKind::Param { init, .. } => vec![*init],
            ExprKind::Call { args, every, .. } => args.iter().copied().chain(*every).collect(),
        }
    }

    /// The expressions directly inside, to be replaced.
    pub fn operands_mut(&mut self) -> Vec<&mut ExprId> {
        match self {
            ExprKind::Const(_) | ExprKind::Var(_) => Vec::new(),
            ExprKind::Apply { args, .. } => args.iter_mut().collect(),
            ExprKind::If { cond, then, other } => vec![cond, then, other],
            ExprKind::When { value, cond } => vec![value, cond],
            ExprKind::Merge { cond, on_true, on_false } => vec![cond, on_true, on_false],
            ExprKind::Fby { init, next } | ExprKind::FbyBack { init, next } => vec![init, next],
            ExprKind::Post { next } => vec![next],
            ExprKind::Param { init, .. } => vec![init],
            ExprKind::Call { args, every, .. } => args.iter_mut().chain(every).collect(),
        }
    }
}

/// What a call calls.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Callee {
    /// A node.
    Node(NodeId),
    /// The adjoint of a node, `order` times (`diff_f` is 1, `diff_diff_f` 2), still to be synthesised.
    ///
    /// Canonical inputs: the node's input streams, `bp: bool []`, then `d<o>` for each num output `o`, of its
    /// type. Canonical outputs: the node's outputs, then `bp<x>: bool []`, `d<x>` for each num input stream
    /// `x`. For order 2 the same applies to the canonical interface of order 1 without its `bp<x>` outputs.
    Diff {
        /// The node that is differentiated.
        node: NodeId,
        /// How often.
        order: u8,
    },
}

/// A constant stream.
#[derive(Clone, Debug)]
pub struct Constant {
    /// What it is.
    pub kind: ConstKind,
    /// Its type.
    pub ty: Type,
    /// As written (`zeros([units])`), for printing; `None` for one that a pass made.
    pub text: Option<Arc<str>>,
}

/// What a constant is.
#[derive(Clone, Debug)]
pub enum ConstKind {
    /// A value.
    Value(Value),
    /// Drawn once for each instance from the seed and the instance path.
    Random(Distribution),
}

impl Constant {
    /// Its value, unless it is random.
    pub fn value(&self) -> Option<&Value> {
        if let ConstKind::Value(value) = &self.kind { Some(value) } else { None }
    }
}
