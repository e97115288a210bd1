//! The automata of a node during name resolution.

use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};
use rml_base::Span;
use rml_syntax::ast::{self, Symbol};

use crate::hir::{Equation, Local, States};

/// An equation before its right side is lowered.
pub(super) struct Written<'a> {
    pub(super) ast: &'a ast::Equation<'a>,
    pub(super) lhs: Vec<(Option<Local>, Span)>,
    /// The state that contains the equation.
    pub(super) state: Option<usize>,
}

/// An automaton whose variables are declared.
pub(super) struct Automaton<'a> {
    /// The state that contains the automaton.
    pub(super) outer: Option<usize>,
    pub(super) ast: &'a [ast::StateDef<'a>],
    pub(super) span: Span,
    pub(super) name: String,
    /// The names of the states.
    pub(super) names: Arc<[Arc<str>]>,
    /// The states, each with the variables it defines.
    pub(super) states: Vec<Own>,
    /// The number of the running state, and the flag that its delays restart.
    pub(super) value: Local,
    pub(super) restart: Option<Local>,
    /// The number and the flag before strong transitions are taken; the same variables if there are none.
    pub(super) entry: Local,
    pub(super) entry_restart: Option<Local>,
    /// The flag that the conditions of strong transitions restart.
    pub(super) strong_restart: Option<Local>,
    /// The variables that all states define, for readers outside the automaton.
    pub(super) exports: IndexMap<Symbol, Local>,
}

/// A state whose variables are declared.
pub(super) struct Own {
    /// The number of the resolved state for the equations; `strong` is that for the conditions of strong transitions.
    pub(super) body: usize,
    pub(super) strong: Option<usize>,
    pub(super) path: Arc<str>,
    pub(super) params: Vec<Param>,
    pub(super) names: IndexMap<Symbol, Local>,
}

/// A parameter of a state.
pub(super) struct Param {
    pub(super) name: Symbol,
    pub(super) value: Local,
    /// The value before strong transitions are taken.
    pub(super) held: Local,
    pub(super) first: Local,
}

/// A variable that some states of an automaton define, and others do not.
pub(super) struct Partial {
    pub(super) span: Span,
    pub(super) defines: Arc<str>,
    pub(super) lacking: Vec<(Arc<str>, Span)>,
}

/// All automata of a node.
#[derive(Default)]
pub(super) struct Automata<'a> {
    pub(super) written: Vec<Written<'a>>,
    /// The automata; inner ones come before the ones that contain them.
    pub(super) all: Vec<Automaton<'a>>,
    pub(super) states: States,
    pub(super) partial: IndexMap<Symbol, Partial>,
    /// The exported variables that are read outside their automaton.
    pub(super) read: IndexSet<Local>,
    /// The equations generated for automata, with the state that contains each of them.
    pub(super) made: Vec<(Option<usize>, Equation)>,
    /// The variables that are the number of a state, with the names of all states.
    pub(super) numbered: IndexMap<Local, Arc<[Arc<str>]>>,
    /// Names of states that occur in transitions but not in the automaton.
    pub(super) sought: IndexSet<Symbol>,
    /// The number of declared automata.
    pub(super) count: usize,
    /// The paths of states that are in use.
    pub(super) paths: IndexSet<Arc<str>>,
    /// Whether the condition of a strong transition is being lowered.
    pub(super) entering: bool,
}
