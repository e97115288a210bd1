//! The flat form: the root node with every call inlined and every window explicit. Engines run the [`Drawn`] form.
//!
//! Invariants, checked by [`verify`]:
//! - **F1** every variable is an input or defined by exactly one equation, never both; every output is one of
//!   them.
//! - **F2** types as N2.
//! - **F3** a constant initialiser has the type of its equation's result.
//! - **F4** conditions, window ends and the conditions of clocks and claims are `bool []`.
//! - **F5** a window's parent comes before it.
//! - **F6** every state names a `Fby` outside windows or a `Param`; no two have the same key; each such
//!   equation has one.
//! - **F7** an applied constant names constants that stand before it, its operator gives its type and cannot fail;
//!   every random constant has a key.
//! - **F8** once drawn, every constant is a value ([`Drawn`]).

use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};
use rml_base::{IndexVec, Span, entity_id};

use crate::op::{Class, Op};
use crate::types::Precision;

pub use crate::normal::{ClockClaim, ConstId, Eq, Init, Input, Var, VarData};
pub use classes::{By, ClassId, ClockClasses, Driver};
pub use constant::{ConstKind, Constant};
pub use drawn::Drawn;
pub use instances::around;

mod assertion;
pub mod classes;
mod constant;
mod drawn;
mod instances;
mod parse;
mod print;
mod verify;

pub use parse::parse;
pub use print::print;
pub use verify::{verify, verify_drawn};

entity_id!(
    /// A window: a run of cycles that `every` makes a trace of its own.
    Window,
    "w"
);

/// A flat program.
#[derive(Clone, Debug)]
pub struct Flat {
    /// The root node's name.
    pub name: Arc<str>,
    /// How `num` is computed.
    pub precision: Precision,
    /// Inputs, in order.
    pub inputs: Vec<Input>,
    /// Outputs, in order.
    pub outputs: Vec<Var>,
    /// The declared clocks of outputs, and of the inputs of instances; those of inputs are facts and stand there.
    pub claims: Vec<ClockClaim>,
    /// All variables; names are instance paths (`lstm_0.h`).
    pub vars: IndexVec<Var, VarData>,
    /// All constants; the path of a random one is in `random_keys`.
    pub consts: IndexVec<ConstId, Constant>,
    /// The key that a random constant is drawn by, for each of them.
    pub random_keys: IndexMap<ConstId, Arc<str>>,
    /// All windows; a parent stands before its children.
    pub windows: IndexVec<Window, WindowData>,
    /// All equations.
    pub equations: IndexVec<Eq, Equation>,
    /// The states that survive windows, by checkpoint key.
    pub states: IndexMap<Arc<str>, State>,
}

impl Flat {
    /// The keys of the states that count the draws of random streams (DRAW-3).
    pub fn ticks(&self) -> IndexSet<Arc<str>> {
        let tick = |equation: &Equation| {
            let Rhs::Apply { op, args } = &equation.rhs else { return None };
            args.last().copied().filter(|_| op.class() == Class::Random)
        };
        let ticks: IndexSet<Var> = self.equations.iter().filter_map(tick).collect();
        let is_tick = |state: &State| ticks.contains(&self.equations[state.equation].lhs);
        self.states.iter().filter(|(_, state)| is_tick(state)).map(|(key, _)| Arc::clone(key)).collect()
    }

    /// Gives back the memory that its tables were to grow into, for who keeps it.
    pub fn shrink_to_fit(&mut self) {
        self.vars.shrink_to_fit();
        self.consts.shrink_to_fit();
        self.windows.shrink_to_fit();
        self.equations.shrink_to_fit();
        self.states.shrink_to_fit();
    }
}

/// A window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WindowData {
    /// A boundary follows each cycle in which this is true.
    pub end: Var,
    /// The window around it, whose boundaries are its own too.
    pub parent: Option<Window>,
}

/// A named state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct State {
    /// The `Fby` that holds it, or the `Param` that reads it.
    pub equation: Eq,
    /// Whether it is a parameter (else optimiser or program state).
    pub parameter: bool,
}

/// An equation; defines one variable.
#[derive(Clone, Debug)]
pub struct Equation {
    /// What it defines.
    pub lhs: Var,
    /// The primitive.
    pub rhs: Rhs,
    /// In the source.
    pub span: Span,
}

/// The primitives of the flat form.
#[derive(Clone, Debug)]
pub enum Rhs {
    /// A constant, present whenever it is asked for.
    Const(ConstId),
    /// An operator.
    Apply {
        /// The operator.
        op: Op,
        /// Its operands.
        args: Vec<Var>,
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
    /// `init fby next`, restarting in each window.
    Fby {
        /// First value.
        init: Init,
        /// What is delayed.
        next: Var,
        /// The innermost window around it.
        window: Option<Window>,
    },
    /// `init fby back next`, ending in each window.
    FbyBack {
        /// Last value.
        init: Init,
        /// What is anticipated.
        next: Var,
        /// The innermost window around it.
        window: Option<Window>,
    },
    /// `post next`, undetermined at the end of each window.
    Post {
        /// What is anticipated.
        next: Var,
        /// The innermost window around it.
        window: Option<Window>,
    },
    /// A parameter: its loaded value, or `init`.
    Param {
        /// Its initial value.
        init: Var,
    },
}

impl Rhs {
    /// Calls `f` on every variable it reads, in order; window ends are not included.
    pub fn for_each_operand(&self, mut f: impl FnMut(Var)) {
        let init = |i: &Init, f: &mut dyn FnMut(Var)| {
            if let Init::Stream(v) = i {
                f(*v);
            }
        };
        match self {
            Rhs::Const(_) => {}
            Rhs::Apply { args, .. } => args.iter().copied().for_each(f),
            Rhs::If { cond, then, other } => [*cond, *then, *other].into_iter().for_each(f),
            Rhs::When { value, cond } => [*value, *cond].into_iter().for_each(f),
            Rhs::Merge { cond, on_true, on_false } => [*cond, *on_true, *on_false].into_iter().for_each(f),
            Rhs::Fby { init: i, next, .. } | Rhs::FbyBack { init: i, next, .. } => {
                init(i, &mut f);
                f(*next);
            }
            Rhs::Post { next, .. } => f(*next),
            Rhs::Param { init } => f(*init),
        }
    }

    /// The innermost window around a delay.
    pub fn window(&self) -> Option<Window> {
        match self {
            Rhs::Fby { window, .. } | Rhs::FbyBack { window, .. } | Rhs::Post { window, .. } => *window,
            Rhs::Const(_)
            | Rhs::Apply { .. }
            | Rhs::If { .. }
            | Rhs::When { .. }
            | Rhs::Merge { .. }
            | Rhs::Param { .. } => None,
        }
    }
}
