//! Automata: the variables of their states, and the states in which equations run.

use std::sync::Arc;

use indexmap::IndexMap;
use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, Span};
use rml_syntax::ast::{self, DTypeName, Symbol};

use super::node::Lower;
use super::states::{Automaton, Own, Param, Partial, Written};
use super::written::brief;
use crate::hir::{Equation, Local, LocalData, LocalKind, State, States};

/// The kind of a variable whose equation is not made yet.
const LATER: LocalKind = LocalKind::Defined { equation: usize::MAX };

/// The length of the word `automaton`.
const WORD: u32 = 9;

/// The equations of a node, during lowering.
struct Work<'a> {
    written: Vec<Option<Written<'a>>>,
    equations: Vec<Option<Equation>>,
    /// The equations that a `split` adds.
    parts: Vec<Equation>,
}

impl<'a> Lower<'a, '_> {
    /// Declares the variables that equations define; they belong to a state if one is given.
    pub(super) fn declare(
        &mut self,
        equations: &mut dyn Iterator<Item = &'a ast::Equation<'a>>,
        state: Option<usize>,
    ) {
        for ast in equations {
            if let ast::ExprKind::Automaton(states) = ast.rhs.kind {
                self.declare_automaton(states, ast.span, state);
                continue;
            }
            let lhs = self.sides(ast, self.automata.written.len());
            self.automata.written.push(Written { ast, lhs, state });
        }
    }

    fn declare_automaton(&mut self, ast: &'a [ast::StateDef<'a>], span: Span, outer: Option<usize>) {
        let span = Span { end: span.end.min(span.start + WORD), ..span };
        let path = outer.map_or(String::new(), |outer| format!("{}.", self.automata.states.all[outer].path));
        let number = match self.automata.count {
            0 => String::new(),
            count => count.to_string(),
        };
        self.automata.count += 1;
        let name = format!("{path}automaton{number}");
        let names: Arc<[Arc<str>]> =
            ast.iter().map(|state| Arc::from(self.names.resolve(&state.name.name))).collect();
        let has = |strong: bool| ast.iter().any(|state| state.transitions(strong).next().is_some());
        let restarts = |strong: bool| ast.iter().any(|state| state.transitions(strong).any(|t| !t.resume));
        let any = restarts(false) || restarts(true);
        let value = self.hidden(&format!("{name}.state"), span);
        let restart = any.then(|| self.hidden(&format!("{name}.restart"), span));
        let (entry, entry_restart) = match has(true) {
            true => {
                let entry = self.hidden(&format!("{name}.entry"), span);
                (entry, any.then(|| self.hidden(&format!("{name}.entry.restart"), span)))
            }
            false => (value, restart),
        };
        let strong_restart = match restarts(true) {
            true => Some(self.hidden(&format!("{name}.unless.restart"), span)),
            false => entry_restart,
        };
        self.automata.numbered.extend([value, entry].map(|local| (local, Arc::clone(&names))));
        let mut states = Vec::new();
        for (number, state) in ast.iter().enumerate() {
            self.repeated_state(&ast[..number], state);
            let path = self.free_path(format!("{path}{}", names[number]));
            let run = |value, restart, path| State {
                outer,
                value,
                number,
                names: Arc::clone(&names),
                restart,
                path,
            };
            let body = run(value, restart, Arc::clone(&path));
            let strong = has(true).then(|| run(entry, strong_restart, format!("{path}.unless").into()));
            states.push(self.declare_state(state, path, body, strong));
        }
        let exports = self.exports(ast, &states);
        self.automata.all.push(Automaton {
            outer,
            ast,
            span,
            name,
            names,
            states,
            value,
            restart,
            entry,
            entry_restart,
            strong_restart,
            exports,
        });
    }

    /// `path`, changed if necessary so that no other state of the node has it.
    fn free_path(&mut self, path: String) -> Arc<str> {
        let numbered = (1_u64..).map(|k| format!("{path}_{k}"));
        let mut all = std::iter::once(path.clone()).chain(numbered).map(Arc::<str>::from);
        let free = all.find(|path| !self.automata.paths.contains(path)).unwrap_or_else(|| path.into());
        self.automata.paths.insert(Arc::clone(&free));
        free
    }

    fn repeated_state(&mut self, before: &[ast::StateDef<'_>], state: &ast::StateDef<'_>) {
        let Some(first) = before.iter().find(|other| other.name.name == state.name.name) else { return };
        let name = self.names.resolve(&state.name.name);
        self.report.push(
            Diagnostic::error(codes::DUPLICATE_DEFINITION, format!("the state `{name}` is defined twice"))
                .label(state.name.span, "defined again here")
                .label(first.name.span, "first defined here")
                .help("rename or remove one of them"),
        );
    }

    fn declare_state(
        &mut self,
        ast: &'a ast::StateDef<'a>,
        path: Arc<str>,
        body: State,
        strong: Option<State>,
    ) -> Own {
        let mut run = |state: State| {
            self.automata.states.all.push(state);
            self.automata.states.all.len() - 1
        };
        let (body, strong) = (run(body), strong.map(run));
        let outer = std::mem::take(&mut self.by_name);
        let params = ast.params.iter().map(|param| self.declare_param(param, strong.is_some(), &path));
        let params = params.collect();
        self.declare(&mut ast.equations(), Some(body));
        let names = std::mem::replace(&mut self.by_name, outer);
        Own { body, strong, path, params, names }
    }

    fn declare_param(&mut self, param: &ast::StateParam<'_>, strong: bool, path: &str) -> Param {
        let ast::Ident { name, span } = param.decl.name;
        if let Some(&first) = self.by_name.get(&name) {
            self.duplicate("parameter", span, first);
        }
        let text = format!("{path}.{}", self.names.resolve(&name));
        let value = self.local(name, span, LATER);
        let held = if strong { self.hidden(&format!("{text}.held"), span) } else { value };
        let first = self.hidden(&format!("{text}.first"), span);
        Param { name, value, held, first }
    }

    /// Declares the variables that all states define, and notes those that only some states define.
    fn exports(&mut self, ast: &[ast::StateDef<'_>], states: &[Own]) -> IndexMap<Symbol, Local> {
        let of = |lower: &Self, own: &Own, name: &Symbol| {
            let local = own.names.get(name).copied()?;
            let is_param = own.params.iter().any(|param| param.value == local);
            (!is_param && lower.locals[local].kind != LocalKind::Node).then_some(local)
        };
        let mut exports = IndexMap::new();
        for (own, state) in states.iter().zip(ast) {
            for name in own.names.keys() {
                let Some(local) = of(self, own, name).filter(|_| !exports.contains_key(name)) else {
                    continue;
                };
                let span = self.locals[local].span;
                let lacks = states.iter().zip(ast).filter(|(own, _)| of(self, own, name).is_none());
                let text = |state: &ast::StateDef<'_>| Arc::<str>::from(self.names.resolve(&state.name.name));
                let lacking: Vec<(Arc<str>, Span)> =
                    lacks.map(|(_, state)| (text(state), state.name.span)).collect();
                if lacking.is_empty() {
                    exports.insert(*name, self.local(*name, span, LATER));
                } else {
                    let partial = Partial { span, defines: text(state), lacking };
                    self.automata.partial.entry(*name).or_insert(partial);
                }
            }
        }
        exports
    }

    /// Adds a variable that the program text cannot name.
    pub(super) fn hidden(&mut self, name: &str, span: Span) -> Local {
        let (name, types) = (name.into(), Vec::new());
        self.locals.push(LocalData { name, span, kind: LATER, types, clock: None, element: None })
    }

    /// Lowers all equations of the node; returns them with the states in which they run.
    pub(super) fn bodies(&mut self) -> (Vec<Equation>, Option<Box<States>>) {
        let written: Vec<_> = std::mem::take(&mut self.automata.written).into_iter().map(Some).collect();
        let all = std::mem::take(&mut self.automata.all);
        let equations = written.iter().map(|_| None).collect();
        let mut work = Work { written, equations, parts: Vec::new() };
        self.body(None, &all, &mut work);
        self.merge_exports(&all);
        let mut equations: Vec<Equation> = work.equations.into_iter().flatten().collect();
        equations.extend(work.parts);
        for (state, equation) in std::mem::take(&mut self.automata.made) {
            let at = equations.len();
            if let Some(state) = state {
                self.automata.states.of.insert(at, state);
            }
            for local in equation.lhs.iter().filter_map(|(local, _)| *local) {
                self.locals[local].kind = LocalKind::Defined { equation: at };
            }
            equations.push(equation);
        }
        for own in all.iter().flat_map(|automaton| &automaton.states) {
            for local in own.names.values() {
                let data = &mut self.locals[*local];
                data.name = format!("{}.{}", own.path, data.name).into();
            }
        }
        equations.shrink_to_fit();
        let states = std::mem::take(&mut self.automata.states);
        (equations, (!states.all.is_empty()).then(|| Box::new(states)))
    }

    /// Lowers the equations of a state and the automata in it; without a state, those of the node itself.
    fn body(&mut self, state: Option<usize>, all: &[Automaton<'a>], work: &mut Work<'a>) {
        let total = work.written.len();
        for at in 0..total {
            let Some(written) = work.written[at].take_if(|written| written.state == state) else { continue };
            let before = work.parts.len();
            let equation = self.equation(written.ast, written.lhs, (total, &mut work.parts));
            work.equations[at] = Some(equation);
            if let Some(state) = state {
                let parts = (before..work.parts.len()).map(|part| total + part);
                self.automata.states.of.extend(std::iter::once(at).chain(parts).map(|at| (at, state)));
            }
        }
        for automaton in all.iter().filter(|automaton| automaton.outer == state) {
            self.states_of(automaton, all, work);
        }
    }

    fn states_of(&mut self, automaton: &Automaton<'a>, all: &[Automaton<'a>], work: &mut Work<'a>) {
        self.clashes(automaton);
        let mut taken = Vec::new();
        for (number, own) in automaton.states.iter().enumerate() {
            let outer = self.enter(&own.names);
            self.body(Some(own.body), all, work);
            let weak = self.transitions(automaton, number, false);
            self.leave(outer, &own.names);
            let held = own.params.iter().map(|param| (param.name, param.held)).collect();
            let outer = self.enter(&held);
            self.automata.entering = true;
            let strong = self.transitions(automaton, number, true);
            self.automata.entering = false;
            self.leave(outer, &held);
            taken.push((strong, weak));
        }
        self.compose(automaton, &taken);
    }

    /// Brings names into scope; returns the previous scope.
    fn enter(&mut self, names: &IndexMap<Symbol, Local>) -> IndexMap<Symbol, Local> {
        let outer = self.by_name.clone();
        self.by_name.extend(names.iter().map(|(name, local)| (*name, *local)));
        outer
    }

    /// Leaves the scope of names; constants and unknown names found in it are kept.
    fn leave(&mut self, outer: IndexMap<Symbol, Local>, names: &IndexMap<Symbol, Local>) {
        let inner = std::mem::replace(&mut self.by_name, outer);
        for (name, local) in inner {
            if !names.contains_key(&name) {
                self.by_name.entry(name).or_insert(local);
            }
        }
    }

    /// Reports names defined in states that are also defined outside of the automaton.
    fn clashes(&mut self, automaton: &Automaton<'a>) {
        let mut known: Vec<Symbol> = Vec::new();
        for own in &automaton.states {
            for (name, local) in &own.names {
                let Some(&outside) = self.by_name.get(name) else { continue };
                let is_own = automaton.exports.get(name) == Some(&outside);
                let hidden =
                    matches!(self.locals[outside].kind, LocalKind::Constant(_) | LocalKind::Undefined);
                if !is_own && !hidden && !known.contains(name) {
                    known.push(*name);
                    let again = self.locals[*local].span;
                    match self.defined_around(automaton, *name, (again, outside)) {
                        Some(d) => self.report.push(d),
                        None => self.duplicate("variable", again, outside),
                    }
                }
            }
        }
    }

    /// The error that an equation beside an automaton defines a variable that its states define, too.
    fn defined_around(
        &self,
        automaton: &Automaton<'a>,
        name: Symbol,
        (again, outside): (Span, Local),
    ) -> Option<Diagnostic> {
        let span = self.locals[outside].span;
        let text = self.names.resolve(&name);
        let value = self.header.ast.equations.iter().find_map(|equation| match equation.lhs {
            [ast::Lhs::Var(decl)] if decl.name.span == span => Some(brief(self.names, equation.rhs)),
            _ => None, // Several variables, or none at that place.
        })?;
        let states = automaton.states.iter().zip(automaton.ast);
        let lacks = states.filter(|(own, _)| !own.names.contains_key(&name));
        let lacking: Vec<String> =
            lacks.map(|(_, state)| format!("`{}`", self.names.resolve(&state.name.name))).collect();
        let message = format!("variable `{text}` is defined twice");
        let d = Diagnostic::error(codes::DUPLICATE_DEFINITION, message)
            .label(again, "defined again here")
            .label(span, "first defined here");
        Some(match &lacking[..] {
            [] => d.help(format!("each state defines `{text}`: leave out the equation beside the automaton")),
            states => d.note("an equation beside an automaton holds in all states").help(format!(
                "leave it out there, and put `{text} = {value};` into the state{} {}",
                if states.len() == 1 { "" } else { "s" },
                states.join(", ")
            )),
        })
    }

    /// The error that a variable which only some states define is read outside of these states.
    pub(super) fn defined_in_part(&self, name: Symbol, span: Span) -> Option<Diagnostic> {
        let partial = self.automata.partial.get(&name)?;
        let text = self.names.resolve(&name);
        if self.automata.entering {
            let message = format!("`{text}` is not known where `unless` is decided");
            let d = Diagnostic::error(codes::STATE_VARIABLE, message).label(span, "read here");
            return Some(
                d.label(partial.span, "a variable of the state")
                    .note("a strong transition is taken before the equations of a state run")
                    .help("write `until` in place of `unless`, or compute the condition outside of the automaton"),
            );
        }
        let (lacking, at) = partial.lacking.first()?;
        let message = format!("the state `{lacking}` does not define `{text}`");
        let d = Diagnostic::error(codes::STATE_VARIABLE, message)
            .label(span, format!("read outside of the state `{}`", partial.defines))
            .label(*at, "this state")
            .label(partial.span, format!("defined in the state `{}`", partial.defines))
            .note("a variable that each state defines can be read outside, any other in its state only");
        let others: Vec<String> =
            partial.lacking.iter().skip(1).map(|(name, _)| format!("`{name}`")).collect();
        let d = match &others[..] {
            [] => d,
            others => d.note(format!("neither do {}", others.join(", "))),
        };
        let declared = self.header.ast.outputs.iter().find(|output| output.name.name == name);
        let first = match declared.and_then(|output| output.ty).map(|ty| ty.dtype) {
            Some(DTypeName::Num) | None => "0.0",
            Some(DTypeName::Int) => "0",
            Some(DTypeName::Bool) => "false",
            Some(DTypeName::Named(_)) => "..",
        };
        Some(d.help(format!("add an equation for `{text}` to the state `{lacking}`")).help(format!(
            "to keep its value there, write `last_{text} = {first} fby {text};` outside of the automaton, and `{text} = last_{text};` in the state"
        )))
    }
}
