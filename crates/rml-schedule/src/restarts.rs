//! Rewrites windows that end in the cycle before a condition holds, so that they need no later cycle.

use std::collections::BTreeMap;

use rml_analysis::Clocks;
use rml_base::{EntityId, IndexVec, Span};
use rml_ir::flat::{
    ConstId, ConstKind, Constant, Drawn, Eq, Equation, Flat, Init, Rhs, Var, VarData, Window, WindowData,
};
use rml_ir::{DType, Shape, Type, Value};

/// The most steps for which a condition is followed.
const DEPTH: usize = 100;

/// Rewrites the delays of windows that end where `false fby back r` or `post r` does: they restart where `r` holds
/// instead. So they need no later cycle. None if there is no such delay, or one is on a sampled clock.
///
/// A boundary precedes a cycle if the end held in the cycle before. So `init fby x` in a window is `init` after a
/// boundary, and elsewhere the value of `x` in the cycle before. For the ends above, "the end in the cycle before" is
/// `r`; for other ends, it is a delay.
///
/// Requires: clocks of that program. Ensures: F1 to F8; all outputs and states are those of the program.
pub fn restarts(drawn: &Drawn, clocks: &Clocks) -> Option<Drawn> {
    let ahead = ahead(drawn);
    let looks_ahead = |eq: &Eq| {
        let windows = around(drawn, drawn.equations[*eq].rhs.window());
        windows.into_iter().any(|w| ahead[drawn.windows[w].end])
    };
    let delays: Vec<Eq> = drawn.equations.ids().filter(looks_ahead).collect();
    let on_base = |v: Var| clocks.of[v] == Clocks::BASE;
    let fits = |eq: &Eq| {
        let equation = &drawn.equations[*eq];
        let ends = around(drawn, equation.rhs.window()).into_iter();
        matches!(equation.rhs, Rhs::Fby { .. })
            && on_base(equation.lhs)
            && ends.map(|w| drawn.windows[w].end).all(on_base)
    };
    if delays.is_empty() || !delays.iter().all(fits) {
        return None;
    }
    let flat = (**drawn).clone();
    let mut restarts = Restarts { flat, ahead, before: BTreeMap::new(), never: None };
    delays.into_iter().for_each(|eq| restarts.delay(eq));
    Drawn::new(restarts.flat).ok()
}

/// For each variable, whether it is a value of a later cycle, or computed from one by operators.
fn ahead(flat: &Flat) -> IndexVec<Var, bool> {
    let mut ahead = IndexVec::filled(false, flat.vars.len());
    let mut readers: Vec<Vec<Eq>> = vec![Vec::new(); flat.vars.len()];
    let mut pending = Vec::new();
    for (eq, equation) in flat.equations.iter_enumerated() {
        match equation.rhs {
            Rhs::FbyBack { window: None, .. } | Rhs::Post { window: None, .. } => pending.push(equation.lhs),
            Rhs::Apply { .. } | Rhs::If { .. } => {
                equation.rhs.for_each_operand(|v| readers[v.index()].push(eq));
            }
            _ => {}
        }
    }
    while let Some(v) = pending.pop() {
        if !std::mem::replace(&mut ahead[v], true) {
            pending.extend(readers[v.index()].iter().map(|eq| flat.equations[*eq].lhs));
        }
    }
    ahead
}

/// A window, and those around it.
fn around(flat: &Flat, window: Option<Window>) -> Vec<Window> {
    std::iter::successors(window, |w| flat.windows[*w].parent).collect()
}

struct Restarts {
    flat: Flat,
    ahead: IndexVec<Var, bool>,
    /// For each condition, a variable with its value in the cycle before.
    before: BTreeMap<Var, Var>,
    /// A window that never ends: delays in it are no states of the program.
    never: Option<Window>,
}

impl Restarts {
    /// Replaces a delay by a choice.
    fn delay(&mut self, eq: Eq) {
        let Equation { lhs, rhs, span } = self.flat.equations[eq].clone();
        let Rhs::Fby { init, next, window } = rhs else { return };
        let ends: Vec<Var> = around(&self.flat, window).iter().map(|w| self.flat.windows[*w].end).collect();
        let mut conds = ends.into_iter().map(|end| self.before(end, 0)).collect::<Vec<_>>().into_iter();
        let Some(first) = conds.next() else { return };
        let starts = match init {
            Init::Stream(v) => v,
            Init::Const(k) => self.define(lhs, Rhs::Const(k), span),
        };
        let window = Some(self.endless(span));
        let delayed = self.define(lhs, Rhs::Fby { init, next, window }, span);
        let delayed =
            conds.fold(delayed, |other, cond| self.define(lhs, Rhs::If { cond, then: starts, other }, span));
        self.flat.equations[eq].rhs = Rhs::If { cond: first, then: starts, other: delayed };
    }

    /// A variable with the value of a condition in the cycle before; its value in the first cycle does not matter.
    fn before(&mut self, v: Var, depth: usize) -> Var {
        if let Some(known) = self.before.get(&v) {
            return *known;
        }
        let span = self.flat.vars[v].span;
        let found = match self.rhs(v) {
            Some(Rhs::FbyBack { next, window: None, .. } | Rhs::Post { next, window: None }) => next,
            Some(Rhs::Const(_)) => v,
            Some(Rhs::Apply { op, args }) if depth < DEPTH && self.ahead[v] => {
                let args = args.iter().map(|arg| self.before(*arg, depth + 1)).collect();
                self.define(v, Rhs::Apply { op, args }, span)
            }
            Some(Rhs::If { cond, then, other }) if depth < DEPTH && self.ahead[v] => {
                let [cond, then, other] = [cond, then, other].map(|u| self.before(u, depth + 1));
                self.define(v, Rhs::If { cond, then, other }, span)
            }
            _ => {
                let init = Init::Const(self.zero(v));
                let window = Some(self.endless(span));
                self.define(v, Rhs::Fby { init, next: v, window }, span)
            }
        };
        self.before.insert(v, found);
        found
    }

    fn rhs(&self, v: Var) -> Option<Rhs> {
        self.flat.equations.iter().find(|equation| equation.lhs == v).map(|equation| equation.rhs.clone())
    }

    /// A value of the type of a variable.
    fn zero(&mut self, v: Var) -> ConstId {
        let ty = self.flat.vars[v].ty.clone();
        let kind = ConstKind::Value(Value::zeros(&ty, self.flat.precision));
        self.flat.consts.push(Constant { kind, ty, text: None })
    }

    fn endless(&mut self, span: Span) -> Window {
        if let Some(window) = self.never {
            return window;
        }
        let ty = Type { dtype: DType::Bool, shape: Shape::new(&[]) };
        let kind = ConstKind::Value(Value::Bool(false));
        let value = self.flat.consts.push(Constant { kind, ty: ty.clone(), text: None });
        let end = self.flat.vars.push(VarData { name: None, ty, span, asserts: None, cases: None });
        self.flat.equations.push(Equation { lhs: end, rhs: Rhs::Const(value), span });
        let window = self.flat.windows.push(WindowData { end, parent: None });
        self.never = Some(window);
        window
    }

    /// A variable of the type of another one.
    fn define(&mut self, like: Var, rhs: Rhs, span: Span) -> Var {
        let ty = self.flat.vars[like].ty.clone();
        let lhs = self.flat.vars.push(VarData { name: None, ty, span, asserts: None, cases: None });
        self.flat.equations.push(Equation { lhs, rhs, span });
        lhs
    }
}
