//! Programs whose windows end by data of the next cycle, rewritten so that they get these data as additional inputs.

use std::collections::{BTreeMap, BTreeSet};

use rml_analysis::Clocks;
use rml_base::{EntityId, IndexVec, Span};
use rml_ir::DType;
use rml_ir::flat::{self, Drawn, Eq, Equation, Flat, Init, Input, Rhs, Var, VarData, Window};
use rml_ir::op::Op;

/// How deep a condition is followed.
const DEPTH: usize = 100;

/// A program with additional inputs for data of the next cycle.
#[derive(Clone, Debug)]
pub struct Foreseen {
    /// The program. Its new inputs follow the others, and have a value in every cycle.
    pub program: Drawn,
    /// The meaning of each additional input.
    pub next: Vec<NextInput>,
}

/// An input whose value is that of another input in the next cycle.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct NextInput {
    /// The other input.
    pub of: usize,
    /// An input: in cycles in which it is true, a window ends and the next cycle is not needed.
    pub end: Option<usize>,
    /// The value in those cycles; if none, any value will do.
    pub init: Option<bool>,
}

/// The same program with inputs in place of the backward delays that the ends of its outermost windows are computed
/// from: for `false fby back r`, a new input has the value of `r` in the next cycle, or `false` where a window around
/// the delay ends. None if there is no such delay, or if one needs more of the next cycle than inputs and the values
/// that delays remember.
///
/// A cycle is determined if the next cycle is known, or if the input [`NextInput::end`] is true in it.
///
/// Requires: clocks of that program. Ensures: F1 to F8; variables and states keep their ids and keys. All outputs and
/// states are those of the program in the cycles that are determined, but an operator that may fail may do so a cycle
/// earlier.
pub fn foreseen(drawn: &Drawn, clocks: &Clocks) -> Option<Foreseen> {
    let mut defs = IndexVec::filled(None, drawn.vars.len());
    for (eq, equation) in drawn.equations.iter_enumerated() {
        defs[equation.lhs] = Some(eq);
    }
    let flat = (**drawn).clone();
    let mut foresee = Foresee {
        drawn,
        clocks,
        defs,
        flat,
        next: Vec::new(),
        after: BTreeMap::new(),
        given: BTreeSet::new(),
    };
    for eq in foresee.delays()? {
        foresee.delay(eq)?;
    }
    let Foresee { mut flat, next, given, .. } = foresee;
    drop_equations(&mut flat, &given);
    drop_windows(&mut flat);
    Some(Foreseen { program: Drawn::new(flat).ok()?, next })
}

struct Foresee<'a> {
    drawn: &'a Drawn,
    clocks: &'a Clocks,
    defs: IndexVec<Var, Option<Eq>>,
    flat: Flat,
    next: Vec<NextInput>,
    /// For a variable, and the window at whose end any value will do: the variable that has its value in the next
    /// cycle.
    after: BTreeMap<(Var, Option<usize>), Var>,
    /// The delays that were replaced by inputs.
    given: BTreeSet<Eq>,
}

impl Foresee<'_> {
    /// The backward delays from which operators compute the ends of outermost windows; none if there are none.
    fn delays(&self) -> Option<Vec<Eq>> {
        let outermost = self.drawn.windows.iter().filter(|window| window.parent.is_none());
        let mut pending: Vec<Var> = outermost.map(|window| window.end).collect();
        let (mut seen, mut delays) = (BTreeSet::new(), Vec::new());
        while let Some(v) = pending.pop() {
            let Some(eq) = self.defs[v].filter(|_| seen.insert(v)) else { continue };
            let rhs = &self.drawn.equations[eq].rhs;
            match rhs {
                Rhs::FbyBack { .. } | Rhs::Post { .. } => delays.push(eq),
                Rhs::Apply { .. } | Rhs::If { .. } => rhs.for_each_operand(|operand| pending.push(operand)),
                _ => {}
            }
        }
        delays.sort();
        Some(delays).filter(|delays| !delays.is_empty())
    }

    /// Replaces a delay by an input, or computes it from values of the next cycle that exist already.
    fn delay(&mut self, eq: Eq) -> Option<()> {
        let Equation { lhs, rhs, span } = self.drawn.equations[eq].clone();
        let (init, next, window) = match rhs {
            Rhs::FbyBack { init, next, window } => (Some(init), next, window),
            Rhs::Post { next, window: None } => (None, next, None),
            _ => return None,
        };
        let end = match window {
            None => None,
            Some(window) => Some(self.given_end(window)?),
        };
        let first = match init {
            Some(Init::Const(k)) => self.drawn.value(k).as_bool(),
            _ => None,
        };
        if let Some(of) = self.input(next)
            && self.drawn.vars[next].ty.dtype == DType::Bool
            && self.drawn.vars[next].ty.shape.is_scalar()
            && self.is_on_base(lhs)
            && (end.is_none() || first.is_some())
        {
            self.next.push(NextInput { of, end, init: first });
            self.flat.inputs.push(Input { var: lhs, clock: None });
            self.given.insert(eq);
            return Some(());
        }
        let value = self.after(next, end, 0)?;
        self.flat.equations[eq].rhs = match (end, init) {
            (Some(end), Some(init)) => {
                let then = match init {
                    Init::Stream(v) => v,
                    Init::Const(k) => self.define(lhs, Rhs::Const(k), span),
                };
                Rhs::If { cond: self.drawn.inputs[end].var, then, other: value }
            }
            _ => Rhs::Apply { op: Op::Copy, args: vec![value] },
        };
        Some(())
    }

    /// The input that ends an outermost window.
    fn given_end(&self, window: Window) -> Option<usize> {
        let flat::WindowData { end, parent } = self.drawn.windows[window];
        self.input(end).filter(|_| parent.is_none())
    }

    /// The number of the input that a variable is, if it has a value in every cycle.
    fn input(&self, v: Var) -> Option<usize> {
        let at = self.drawn.inputs.iter().position(|input| input.var == v && input.clock.is_none())?;
        self.is_on_base(v).then_some(at)
    }

    fn is_on_base(&self, v: Var) -> bool {
        self.clocks.of[v] == Clocks::BASE
    }

    /// A variable with the value that `v` has in the next cycle.
    fn after(&mut self, v: Var, end: Option<usize>, depth: usize) -> Option<Var> {
        if let Some(known) = self.after.get(&(v, end)) {
            return Some(*known);
        }
        let span = self.drawn.vars[v].span;
        let found = match self.defs[v].map(|eq| self.drawn.equations[eq].rhs.clone()) {
            None => {
                let of = self.input(v)?;
                let var = self.like(v);
                self.next.push(NextInput { of, end, init: None });
                self.flat.inputs.push(Input { var, clock: None });
                var
            }
            Some(Rhs::Const(_)) => v,
            Some(Rhs::Fby { next, window: None, .. }) if self.is_on_base(v) => next,
            Some(Rhs::Apply { op, args }) if depth < DEPTH => {
                let args = args.into_iter().map(|arg| self.after(arg, end, depth + 1));
                let args = args.collect::<Option<_>>()?;
                self.define(v, Rhs::Apply { op, args }, span)
            }
            Some(Rhs::If { cond, then, other }) if depth < DEPTH => {
                let cond = self.after(cond, end, depth + 1)?;
                let then = self.after(then, end, depth + 1)?;
                let other = self.after(other, end, depth + 1)?;
                self.define(v, Rhs::If { cond, then, other }, span)
            }
            _ => return None,
        };
        self.after.insert((v, end), found);
        Some(found)
    }

    /// A new variable of the type of another one.
    fn like(&mut self, v: Var) -> Var {
        let data = VarData { name: None, ..self.flat.vars[v].clone() };
        self.flat.vars.push(data)
    }

    fn define(&mut self, like: Var, rhs: Rhs, span: Span) -> Var {
        let lhs = self.like(like);
        self.flat.equations.push(Equation { lhs, rhs, span });
        lhs
    }
}

/// Drops equations that hold no state.
fn drop_equations(flat: &mut Flat, dropped: &BTreeSet<Eq>) {
    let mut places = BTreeMap::new();
    let mut kept = IndexVec::new();
    for (at, equation) in std::mem::take(&mut flat.equations).into_vec().into_iter().enumerate() {
        let eq = Eq::from_index(at);
        if !dropped.contains(&eq) {
            places.insert(eq, kept.push(equation));
        }
    }
    flat.equations = kept;
    for state in flat.states.values_mut() {
        state.equation = places.get(&state.equation).copied().unwrap_or(state.equation);
    }
}

/// Removes windows that contain no delay.
fn drop_windows(flat: &mut Flat) {
    let mut used = BTreeSet::new();
    for equation in &flat.equations {
        used.extend(std::iter::successors(equation.rhs.window(), |w| flat.windows[*w].parent));
    }
    let places: BTreeMap<Window, Window> =
        used.iter().enumerate().map(|(at, window)| (*window, Window::from_index(at))).collect();
    let place = |window: Window| places.get(&window).copied().unwrap_or(window);
    let mut kept = IndexVec::new();
    for window in &used {
        let data = &flat.windows[*window];
        kept.push(flat::WindowData { end: data.end, parent: data.parent.map(place) });
    }
    flat.windows = kept;
    for equation in flat.equations.iter_mut() {
        if let Rhs::Fby { window: Some(window), .. }
        | Rhs::FbyBack { window: Some(window), .. }
        | Rhs::Post { window: Some(window), .. } = &mut equation.rhs
        {
            *window = place(*window);
        }
    }
}
