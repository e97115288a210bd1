//! Folds constants, propagates copies.
//!
//! The clock of a variable is kept as well as its values. A constant is present wherever its readers ask for it, so it is folded
//! into its reader only if nothing else can see it: it is no output, bounds no window, gates no input, and has no other reader.
//! Then the result is a constant too.

use rml_base::EntityId;

use crate::check::checked;
use crate::flat::{ConstId, ConstKind, Constant, Eq, Equation, Flat, Init, Rhs, Var, cannot_fail, verify};
use crate::op::{Op, eval};
use crate::value::Value;

/// The largest constant that folding makes; larger ones are computed when they are needed.
const MAX_ELEMENTS: usize = 1 << 22;

/// The largest constant that is computed at once, where that can wait until constants are drawn.
const MAX_KNOWN: usize = 1 << 12;

/// Folds operators on constants, takes constant initialisers into their delays, and lets every equation read what copies copy.
///
/// An operator on constants becomes a constant with the same operator ([`ConstKind::Apply`]), which is computed when constants are
/// drawn. It is computed at once if all its operands have values and are small. Operators that may fail are computed at once or,
/// if they fail or an operand has no value yet, stay equations, so that they fail when the program runs.
///
/// Requires: `flat::verify`. Ensures: the same, and the same outputs, bit for bit, in the same cycles; the outputs and states stay.
pub fn fold(mut flat: Flat) -> Flat {
    let _span = tracing::debug_span!("fold", equations = flat.equations.len()).entered();
    propagate_copies(&mut flat);
    let (all, private) = (flat.vars.ids().collect(), private(&flat, true));
    let mut folder = Folder::new(&mut flat, private);
    folder.visit_all(all);
    folder.take_initialisers();
    checked("fold", || verify(&flat));
    flat
}

/// Folds what the initial values of parameters are made of, so that a parameter starts from a constant wherever the program gives
/// one. Variables with names stay as they are.
///
/// Requires and ensures: as [`fold`].
pub fn fold_initial_values(mut flat: Flat) -> Flat {
    let _span = tracing::debug_span!("fold_initial_values").entered();
    let initial = |e: &Equation| if let Rhs::Param { init } = e.rhs { Some(init) } else { None };
    let inits = flat.equations.iter().filter_map(initial).collect();
    let mut private = private(&flat, false);
    for (private, data) in private.iter_mut().zip(&flat.vars) {
        *private &= data.name.is_none();
    }
    Folder::new(&mut flat, private).visit_all(inits);
    checked("fold_initial_values", || verify(&flat));
    flat
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

/// Which variables one equation reads and nothing else can see. With `past_copies` all equations read what copies copy, so that a
/// copy that nothing reads is no reader.
fn private(flat: &Flat, past_copies: bool) -> Vec<bool> {
    let mut readers = vec![0_usize; flat.vars.len()];
    let mut is_seen = vec![false; flat.vars.len()];
    let ends = flat.windows.iter().map(|w| w.end);
    let clocks = flat.inputs.iter().filter_map(|i| i.clock.map(|(c, _)| c));
    for v in ends.chain(clocks).chain(flat.outputs.iter().copied()) {
        is_seen[v.index()] = true;
    }
    let is_copy = |e: &Equation| match &e.rhs {
        Rhs::Apply { op, args } => past_copies && is_identity(flat, e.lhs, op, args),
        _ => false,
    };
    for copies in [false, true] {
        // Every copy reads the end of its chain, so whether one is read is known when all others have been
        // counted.
        let is_read = |v: Var| is_seen[v.index()] || readers[v.index()] > 0;
        let is_counted = |e: &&Equation| is_copy(e) == copies && (!copies || is_read(e.lhs));
        let counted: Vec<_> = flat.equations.iter().filter(is_counted).collect();
        for equation in counted {
            let mut operands = Vec::new();
            equation.rhs.for_each_operand(|v| operands.push(v));
            operands.sort_unstable();
            operands.dedup();
            for v in operands {
                readers[v.index()] += 1;
            }
        }
    }
    readers.iter().zip(is_seen).map(|(readers, is_seen)| *readers == 1 && !is_seen).collect()
}

struct Folder<'f> {
    flat: &'f mut Flat,
    defs: Vec<Option<Eq>>,
    /// Whether the constant that a variable is may be folded into its reader.
    private: Vec<bool>,
    visited: Vec<bool>,
}

impl<'f> Folder<'f> {
    fn new(flat: &'f mut Flat, private: Vec<bool>) -> Self {
        let n = flat.vars.len();
        let mut defs = vec![None; n];
        for (eq, equation) in flat.equations.iter_enumerated() {
            defs[equation.lhs.index()] = Some(eq);
        }
        Self { flat, defs, private, visited: vec![false; n] }
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

    /// The constant that a variable is, if its reader is the only one that can see it.
    fn constant(&self, var: Var) -> Option<ConstId> {
        let eq = self.defs[var.index()].filter(|_| self.private[var.index()])?;
        if let Rhs::Const(k) = self.flat.equations[eq].rhs { Some(k) } else { None }
    }

    /// Makes an operator on constants a constant.
    fn apply(&mut self, eq: Eq) {
        let flat = &self.flat;
        let Equation { lhs, rhs: Rhs::Apply { op, args }, .. } = &flat.equations[eq] else { return };
        let ty = flat.vars[*lhs].ty.clone();
        if args.is_empty() || ty.shape.len() > MAX_ELEMENTS {
            return;
        }
        let Some(args) = args.iter().map(|a| self.constant(*a)).collect::<Option<Vec<_>>>() else { return };
        let operands = || args.iter().map(|k| &flat.consts[*k]);
        let can_wait = cannot_fail(op, operands().map(|c| &c.ty));
        let is_small = operands().map(|c| &c.ty).chain([&ty]).all(|ty| ty.shape.len() <= MAX_KNOWN);
        let values: Option<Vec<&Value>> = operands().map(Constant::value).collect();
        let kind = match values.filter(|_| is_small || !can_wait) {
            Some(values) => match eval(op, &values, flat.precision) {
                Ok(value) => ConstKind::Value(value),
                Err(_) => return,
            },
            None if can_wait => ConstKind::Apply { op: op.clone(), args },
            None => return,
        };
        let k = self.flat.consts.push(Constant { kind, ty, text: None });
        self.flat.equations[eq].rhs = Rhs::Const(k);
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
