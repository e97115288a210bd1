//! Folds constants, propagates copies.
//!
//! Statuses are kept exactly, not only values: a literal has a clock of its own, so a constant is folded into
//! its reader only where nothing else can see it: it is no output, bounds no window, gates no input, and has
//! that one reader. Then the result is a constant as well, present where it is asked for.

use rml_base::{Diagnostic, EntityId};

use super::initialise::ask_for_draws;
use crate::flat::{
    ConstId, ConstKind, Constant, Eq, Equation, Flat, Init, Rhs, Var, verify, verify_initialised,
};
use crate::op::{Op, eval};
use crate::value::Value;

/// The largest constant that folding makes; larger ones are computed when they are needed.
const MAX_ELEMENTS: usize = 1 << 22;

/// Folds operators on constants, takes constant initialisers into their delays, and lets every equation read
/// past copies. Operators that fail stay, so that they fail when the program runs.
///
/// Requires: `flat::verify_initialised`. Ensures: the same, and the same outputs, bit for bit, in the same
/// cycles; the outputs and states stay.
pub fn fold(mut flat: Flat) -> Flat {
    let _span = tracing::debug_span!("fold", equations = flat.equations.len()).entered();
    propagate_copies(&mut flat);
    let all: Vec<Var> = flat.vars.ids().collect();
    let mut folder = Folder::new(&mut flat, true);
    folder.visit_all(all);
    folder.take_initialisers();
    super::checked("fold", || verify_initialised(&flat));
    flat
}

/// The largest constant whose value [`fold_undrawn`] computes.
const MAX_KNOWN: usize = 1 << 12;

/// What [`initialise`](super::initialise) and [`fold`] make of a program, as far as types tell: nothing is drawn, and what would be
/// computed from random constants, or is large, becomes a constant without a value. A program in this form says which of its
/// variables are constants, how large they are and what small ones are; it does not run.
///
/// Requires: `flat::verify`. Ensures: the same; the outputs and states stay.
///
/// # Errors
/// If the draws would take more memory than is allowed.
pub fn fold_undrawn(mut flat: Flat) -> Result<Flat, Diagnostic> {
    let _span = tracing::debug_span!("fold_undrawn", equations = flat.equations.len()).entered();
    ask_for_draws(&flat)?;
    let inits: Vec<Var> = initial_values(&flat).collect();
    Folder { draws: false, ..Folder::new(&mut flat, false) }.visit_all(inits);
    propagate_copies(&mut flat);
    let all: Vec<Var> = flat.vars.ids().collect();
    let mut folder = Folder { draws: false, ..Folder::new(&mut flat, true) };
    folder.visit_all(all);
    folder.take_initialisers();
    super::checked("fold_undrawn", || verify(&flat));
    Ok(flat)
}

/// What parameters start from.
pub(super) fn initial_values(flat: &Flat) -> impl Iterator<Item = Var> {
    flat.equations.iter().filter_map(|e| if let Rhs::Param { init } = e.rhs { Some(init) } else { None })
}

/// Folds only what defines those variables, and no variable with a name into another.
pub(super) fn fold_behind(flat: &mut Flat, vars: Vec<Var>) {
    Folder::new(flat, false).visit_all(vars);
}

/// Operators that give their operand back.
pub(super) fn is_identity(flat: &Flat, lhs: Var, op: &Op, args: &[Var]) -> bool {
    match op {
        Op::Copy | Op::StopGradient => true,
        Op::Reshape { .. } | Op::Broadcast { .. } | Op::SumTo { .. } => {
            args.first().is_some_and(|a| flat.vars[*a].ty == flat.vars[lhs].ty)
        }
        _ => false,
    }
}

/// Makes every reader of a copy read what is copied. The copies stay, `cone` drops those that nothing reads
/// any more.
fn propagate_copies(flat: &mut Flat) {
    let mut source: Vec<Var> = flat.vars.ids().collect();
    for equation in &flat.equations {
        if let Rhs::Apply { op, args } = &equation.rhs
            && is_identity(flat, equation.lhs, op, args)
            && let Some(from) = args.first()
        {
            source[equation.lhs.index()] = *from;
        }
    }
    let source = resolve(source);
    let past = |v: &mut Var| *v = source[v.index()];
    for equation in flat.equations.iter_mut() {
        equation.rhs.for_each_operand_mut(past);
    }
    for window in flat.windows.iter_mut() {
        past(&mut window.end);
    }
}

/// For each variable the end of its chain of copies; the variable itself where the chain runs into a circle.
fn resolve(mut source: Vec<Var>) -> Vec<Var> {
    let mut done: Vec<bool> = source.iter().enumerate().map(|(i, s)| s.index() == i).collect();
    let mut on_path = vec![false; source.len()];
    for start in 0..source.len() {
        let mut path = Vec::new();
        let mut at = start;
        while !done[at] && !on_path[at] {
            on_path[at] = true;
            path.push(at);
            at = source[at].index();
        }
        let end = done[at].then_some(source[at]);
        for i in path {
            source[i] = end.unwrap_or(Var::from_index(i));
            done[i] = true;
        }
    }
    source
}

/// How many equations read each variable; `past_copies` if all read past copies, so that a copy that nothing
/// reads does not count.
fn readers(flat: &Flat, past_copies: bool) -> Vec<usize> {
    let mut seen = vec![0_usize; flat.vars.len()];
    let ends = flat.windows.iter().map(|w| w.end);
    let clocks = flat.inputs.iter().filter_map(|i| i.clock.map(|(c, _)| c));
    for v in ends.chain(clocks).chain(flat.outputs.iter().copied()) {
        seen[v.index()] += 2;
    }
    let is_copy = |e: &Equation| match &e.rhs {
        Rhs::Apply { op, args } => past_copies && is_identity(flat, e.lhs, op, args),
        _ => false,
    };
    for copies in [false, true] {
        // Every copy reads the end of its chain, so whether one is read is known when all others have been
        // counted.
        let is_counted = |e: &&Equation| is_copy(e) == copies && (!copies || seen[e.lhs.index()] > 0);
        let counted: Vec<_> = flat.equations.iter().filter(is_counted).collect();
        for equation in counted {
            let mut operands = Vec::new();
            equation.rhs.for_each_operand(|v| operands.push(v));
            operands.sort_unstable();
            operands.dedup();
            for v in operands {
                seen[v.index()] += 1;
            }
        }
    }
    seen
}

struct Folder<'f> {
    flat: &'f mut Flat,
    defs: Vec<Option<Eq>>,
    /// How many equations read each variable; one that is seen otherwise counts as read by many.
    readers: Vec<usize>,
    /// Whether variables with a name may be folded away, and all equations read past copies.
    names_too: bool,
    /// Whether values are computed; else only which variables are constants, and the values of small ones.
    draws: bool,
    visited: Vec<bool>,
}

impl<'f> Folder<'f> {
    fn new(flat: &'f mut Flat, names_too: bool) -> Self {
        let n = flat.vars.len();
        let mut defs = vec![None; n];
        for (eq, equation) in flat.equations.iter_enumerated() {
            defs[equation.lhs.index()] = Some(eq);
        }
        let readers = readers(flat, names_too);
        Self { flat, defs, readers, names_too, draws: true, visited: vec![false; n] }
    }

    /// Folds what defines those variables.
    fn visit_all(&mut self, vars: Vec<Var>) {
        vars.into_iter().for_each(|var| self.visit(var));
    }

    /// Folds what defines `root`, operands first. The order is kept on a stack of its own, so that no chain
    /// is too long.
    fn visit(&mut self, root: Var) {
        let mut stack = vec![(root, false)];
        while let Some((var, operands_done)) = stack.pop() {
            let Some(eq) = self.defs[var.index()] else { continue };
            let Rhs::Apply { args, .. } = &self.flat.equations[eq].rhs else { continue };
            if operands_done {
                self.apply(eq);
            } else if !std::mem::replace(&mut self.visited[var.index()], true) {
                let args = args.clone();
                stack.push((var, true));
                stack.extend(args.into_iter().map(|a| (a, false)));
            }
        }
    }

    /// The constant that a variable is, if this reader is the only one that can see it.
    fn constant(&self, var: Var) -> Option<ConstId> {
        let is_private =
            self.readers[var.index()] == 1 && (self.names_too || self.flat.vars[var].name.is_none());
        let eq = self.defs[var.index()].filter(|_| is_private)?;
        if let Rhs::Const(k) = self.flat.equations[eq].rhs { Some(k) } else { None }
    }

    /// Makes an operator on constants a constant.
    fn apply(&mut self, eq: Eq) {
        let equation = &self.flat.equations[eq];
        let Rhs::Apply { op, args } = &equation.rhs else { return };
        let ty = self.flat.vars[equation.lhs].ty.clone();
        if args.is_empty() || ty.shape.len() > MAX_ELEMENTS {
            return;
        }
        let Some(operands) = args.iter().map(|a| self.constant(*a)).collect::<Option<Vec<_>>>() else {
            return;
        };
        let values: Option<Vec<&Value>> = operands.iter().map(|k| self.known(*k)).collect();
        let kind = match values.filter(|_| self.draws || ty.shape.len() <= MAX_KNOWN) {
            Some(values) => match eval(op, &values, self.flat.precision) {
                Ok(value) => ConstKind::Value(value),
                Err(_) => return,
            },
            None if self.draws => return,
            None => ConstKind::Undrawn,
        };
        let k = self.flat.consts.push(Constant { kind, ty, text: None });
        self.flat.equations[eq].rhs = Rhs::Const(k);
    }

    /// The value of a constant, if it is there and may be computed with.
    fn known(&self, k: ConstId) -> Option<&Value> {
        let constant = &self.flat.consts[k];
        match &constant.kind {
            ConstKind::Value(value) if self.draws || constant.ty.shape.len() <= MAX_KNOWN => Some(value),
            ConstKind::Value(_) | ConstKind::Random(_) | ConstKind::Undrawn => None,
        }
    }

    /// Takes initialisers that are constants into their delays.
    fn take_initialisers(&mut self) {
        for eq in self.flat.equations.ids() {
            let (Rhs::Fby { init: Init::Stream(v), .. } | Rhs::FbyBack { init: Init::Stream(v), .. }) =
                self.flat.equations[eq].rhs
            else {
                continue;
            };
            let Some(k) = self.constant(v) else { continue };
            if let Rhs::Fby { init, .. } | Rhs::FbyBack { init, .. } = &mut self.flat.equations[eq].rhs {
                *init = Init::Const(k);
            }
        }
    }
}

impl Rhs {
    /// Calls `f` on every variable it reads, in order, so that it may read another; window ends are not
    /// included.
    pub(crate) fn for_each_operand_mut(&mut self, mut f: impl FnMut(&mut Var)) {
        match self {
            Rhs::Const(_) => {}
            Rhs::Apply { args, .. } => args.iter_mut().for_each(f),
            Rhs::If { cond, then, other } => [cond, then, other].into_iter().for_each(f),
            Rhs::When { value, cond } => [value, cond].into_iter().for_each(f),
            Rhs::Merge { cond, on_true, on_false } => [cond, on_true, on_false].into_iter().for_each(f),
            Rhs::Fby { init, next, .. } | Rhs::FbyBack { init, next, .. } => {
                if let Init::Stream(v) = init {
                    f(v);
                }
                f(next);
            }
            Rhs::Post { next, .. } => f(next),
            Rhs::Param { init } => f(init),
        }
    }
}
