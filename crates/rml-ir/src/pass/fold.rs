//! Folds constants, propagates copies.
//!
//! An equation on constants becomes a constant, for any number of readers. The clock of a variable is kept as well as
//! its values: a constant is present wherever its readers need it, so it may tie their clocks. An equation on constants
//! stays if a kept variable owes its clock to it (`replace_but_for_clocks`).

use std::collections::{BTreeMap, BTreeSet};

use rml_base::EntityId;

use crate::check::checked;
use crate::flat::{
    By, ClassId, ClockClasses, ConstId, ConstKind, Constant, Eq, Equation, Flat, Init, Rhs, Var, verify,
};
use crate::op::{Binary, Op, eval};
use crate::value::Value;

/// The largest constant that folding makes, and the most elements by which it makes all constants together larger. What
/// exceeds that is computed when it is needed.
const MAX_ELEMENTS: usize = 1 << 22;

/// The largest constant that is computed at once, where that can wait until constants are drawn.
const MAX_KNOWN: usize = 1 << 12;

/// Folds operators on constants, takes constant initialisers into their delays, and lets every equation read what
/// copies copy.
///
/// An operator on constants becomes a constant with the same operator ([`ConstKind::Apply`]), which is computed when
/// constants are drawn. It is computed at once if all its operands have values and are small. Operators that may fail
/// are computed at once or, if they fail or an operand has no value yet, stay equations, so that they fail when the
/// program runs.
///
/// Requires: `flat::verify`. Ensures: the same, and the same outputs, bit for bit, in the same cycles; the outputs and
/// states stay.
pub fn fold(mut flat: Flat) -> Flat {
    let _span = tracing::debug_span!("fold", equations = flat.equations.len()).entered();
    propagate_copies(&mut flat);
    let all: Vec<Var> = flat.vars.ids().collect();
    let (readers, is_seen) = (readers(&flat, true), is_seen(&flat));
    // What nothing else sees says nothing of the clocks of others.
    let private = |v: Var| readers[v.index()] == 1 && !is_seen[v.index()];
    let (changes, room) = Folder::new(&mut flat, readers.clone(), private, MAX_ELEMENTS).changes(&all, true);
    replace(&mut flat, &changes);
    let readers = self::readers(&flat, true);
    let (changes, _) = Folder::new(&mut flat, readers, |_| true, room).changes(&all, true);
    replace_but_for_clocks(&mut flat, changes);
    checked("fold", || verify(&flat));
    flat
}

/// Folds what the initial values of parameters are made of, so that a parameter starts from a constant wherever the
/// program gives one. Variables with names stay as they are.
///
/// Requires and ensures: as [`fold`].
pub fn fold_initial_values(mut flat: Flat) -> Flat {
    let _span = tracing::debug_span!("fold_initial_values").entered();
    let initial = |e: &Equation| if let Rhs::Param { init } = e.rhs { Some(init) } else { None };
    let inits: Vec<Var> = flat.equations.iter().filter_map(initial).collect();
    let readers = readers(&flat, false);
    let is_seen = is_seen(&flat);
    let names: Vec<bool> = flat.vars.iter().map(|data| data.name.is_some()).collect();
    let private = |v: Var| readers[v.index()] == 1 && !is_seen[v.index()] && !names[v.index()];
    let (changes, _) = Folder::new(&mut flat, readers.clone(), private, MAX_ELEMENTS).changes(&inits, false);
    replace(&mut flat, &changes);
    checked("fold_initial_values", || verify(&flat));
    flat
}

/// Gives equations these right sides. Returns those that they had.
fn replace(flat: &mut Flat, changes: &[(Eq, Rhs)]) -> Vec<(Eq, Rhs)> {
    let one = |(eq, rhs): &(Eq, Rhs)| (*eq, std::mem::replace(&mut flat.equations[*eq].rhs, rhs.clone()));
    changes.iter().map(one).collect()
}

/// Makes those changes that no kept variable owes its clock to. An equation that stays ties clocks by its operands, so
/// what defines these stays, too.
fn replace_but_for_clocks(flat: &mut Flat, mut changes: Vec<(Eq, Rhs)>) {
    let before = ClockClasses::new(flat);
    while !changes.is_empty() {
        let former = replace(flat, &changes);
        let mut lost = lost(flat, &before, &former);
        if lost.is_empty() {
            return;
        }
        replace(flat, &former);
        let mut defs = vec![None; flat.vars.len()];
        changes.iter().for_each(|(eq, _)| defs[flat.equations[*eq].lhs.index()] = Some(*eq));
        let mut pending: Vec<Eq> = lost.iter().copied().collect();
        while let Some(eq) = pending.pop() {
            let needed = operands(&flat.equations[eq].rhs).into_iter().filter_map(|v| defs[v.index()]);
            pending.extend(needed.filter(|eq| lost.insert(*eq)));
        }
        changes.retain(|(eq, _)| !lost.contains(eq));
    }
}

/// The changed equations that must be undone, because the clock of a variable in use lost something that determined it.
/// `former` holds their right sides before the change.
fn lost(flat: &Flat, before: &ClockClasses, former: &[(Eq, Rhs)]) -> BTreeSet<Eq> {
    let after = ClockClasses::new(flat);
    // A constant that nothing reads cannot cause an error, and determines nothing.
    let mut kept = vec![true; flat.vars.len()];
    for equation in flat.equations.iter().filter(|equation| matches!(equation.rhs, Rhs::Const(_))) {
        kept[equation.lhs.index()] = false;
    }
    flat.equations.iter().for_each(|equation| equation.rhs.for_each_operand(|v| kept[v.index()] = true));
    let named = flat.outputs.iter().copied().chain(flat.windows.iter().map(|window| window.end));
    named.for_each(|v| kept[v.index()] = true);
    let (all, left) = (told_by(before), told_by(&after));
    // A class is folded as a whole or not at all.
    let (mut apart, mut was) = (vec![false; after.len()], vec![false; before.len()]);
    for v in flat.vars.ids().filter(|v| kept[v.index()]) {
        let is_apart = all.get(&before.of(v)) != left.get(&after.of(v));
        apart[after.of(v).index()] |= is_apart;
        was[before.of(v).index()] |= is_apart;
    }
    let is_apart = |v: Var| apart[after.of(v).index()] || was[before.of(v).index()];
    let touches =
        |(eq, rhs): &&(Eq, Rhs)| is_apart(flat.equations[*eq].lhs) || operands(rhs).into_iter().any(is_apart);
    former.iter().filter(touches).map(|(eq, _)| *eq).collect()
}

/// What tells where each class is present, and whether that is a condition of the class itself.
fn told_by(classes: &ClockClasses) -> BTreeMap<ClassId, BTreeSet<(By, bool)>> {
    let mut found: BTreeMap<ClassId, BTreeSet<(By, bool)>> = BTreeMap::new();
    for driver in classes.drivers().iter().filter(|d| !matches!(d.by, By::Backward(_))) {
        found.entry(classes.of(driver.var)).or_default().insert((driver.by, classes.is_own(driver)));
    }
    found
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

/// By variable, whether something else than equations reads it: it is an output, or decides about windows or inputs.
fn is_seen(flat: &Flat) -> Vec<bool> {
    let mut is_seen = vec![false; flat.vars.len()];
    let ends = flat.windows.iter().map(|w| w.end);
    let clocks = flat.inputs.iter().filter_map(|i| i.clock.map(|(c, _)| c));
    for v in ends.chain(clocks).chain(flat.outputs.iter().copied()) {
        is_seen[v.index()] = true;
    }
    is_seen
}

/// How many equations read each variable. With `past_copies` all equations read what copies copy, so that a copy that
/// nothing reads is no reader.
fn readers(flat: &Flat, past_copies: bool) -> Vec<usize> {
    let mut readers = vec![0_usize; flat.vars.len()];
    let is_seen = is_seen(flat);
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
            operands(&equation.rhs).into_iter().for_each(|v| readers[v.index()] += 1);
        }
    }
    readers
}

/// What an equation reads, each variable once.
fn operands(rhs: &Rhs) -> Vec<Var> {
    let mut operands = Vec::new();
    rhs.for_each_operand(|v| operands.push(v));
    operands.sort_unstable();
    operands.dedup();
    operands
}

struct Folder<'f, P> {
    flat: &'f mut Flat,
    defs: Vec<Option<Eq>>,
    /// How many equations that are not folded read a variable.
    readers: Vec<usize>,
    /// What something else reads.
    is_seen: Vec<bool>,
    /// Whether the constant that a variable is may be folded into its readers.
    may_fold: P,
    /// The constant that a variable is.
    constants: Vec<Option<ConstId>>,
    visited: Vec<bool>,
    /// The elements by which constants may still become larger.
    room: usize,
    changes: Vec<(Eq, Rhs)>,
}

impl<'f, P: Fn(Var) -> bool> Folder<'f, P> {
    fn new(flat: &'f mut Flat, readers: Vec<usize>, may_fold: P, room: usize) -> Self {
        let n = flat.vars.len();
        let (mut defs, mut constants) = (vec![None; n], vec![None; n]);
        for (eq, equation) in flat.equations.iter_enumerated() {
            defs[equation.lhs.index()] = Some(eq);
            if let Rhs::Const(k) = equation.rhs {
                constants[equation.lhs.index()] = Some(k);
            }
        }
        let (is_seen, visited) = (is_seen(flat), vec![false; n]);
        Self { flat, defs, readers, is_seen, may_fold, constants, visited, room, changes: Vec::new() }
    }

    /// What becomes of the equations that define those variables, and with `initialisers` of all delays; and the room
    /// that is left.
    fn changes(mut self, vars: &[Var], initialisers: bool) -> (Vec<(Eq, Rhs)>, usize) {
        vars.iter().for_each(|var| self.visit(*var));
        if initialisers {
            self.take_initialisers();
        }
        (self.changes, self.room)
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

    /// The constant that a variable is, if it may be folded.
    fn constant(&self, var: Var) -> Option<ConstId> {
        self.constants[var.index()].filter(|_| (self.may_fold)(var))
    }

    /// Makes an operator on constants a constant, and a power with the exponent 1 or 2 a product.
    fn apply(&mut self, eq: Eq) {
        if let Some(product) = self.power(eq) {
            return self.change(eq, product);
        }
        let flat = &self.flat;
        let Equation { lhs, rhs: rhs @ Rhs::Apply { op, args }, .. } = &flat.equations[eq] else { return };
        let (lhs, ty) = (*lhs, flat.vars[*lhs].ty.clone());
        if args.is_empty() || ty.shape.len() > MAX_ELEMENTS {
            return;
        }
        let Some(args) = args.iter().map(|a| self.constant(*a)).collect::<Option<Vec<_>>>() else { return };
        let Some(room) = self.room_after(rhs, ty.shape.len()) else { return };
        let operands = || args.iter().map(|k| &flat.consts[*k]);
        let can_wait = !op.may_fail(operands().map(|c| c.ty.dtype));
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
        self.room = room;
        let k = self.flat.consts.push(Constant { kind, ty, text: None });
        self.constants[lhs.index()] = Some(k);
        self.change(eq, Rhs::Const(k));
    }

    /// The product that an equation is, if it is a power with the exponent 1 or 2 of something that is no constant.
    fn power(&self, eq: Eq) -> Option<Rhs> {
        let Equation { lhs, rhs: Rhs::Apply { op: Op::Binary(Binary::Pow), args }, .. } =
            &self.flat.equations[eq]
        else {
            return None;
        };
        let (x, exponent) = (args[0], args[1]);
        let known = self.flat.consts[self.constant(exponent)?].value()?;
        let is = |n: f64| known.same(&Value::filled(&known.ty(), n, self.flat.precision));
        if self.constant(x).is_some() || self.flat.vars[x].ty != self.flat.vars[*lhs].ty {
            return None;
        }
        let args = if is(2.0) { vec![x, x] } else { vec![x, exponent] };
        (is(1.0) || is(2.0)).then_some(Rhs::Apply { op: Op::Binary(Binary::Mul), args })
    }

    /// The room that is left if an equation on constants becomes one with that many elements; none if there is not
    /// enough. Operands that nothing else reads are stored no longer.
    fn room_after(&self, rhs: &Rhs, elements: usize) -> Option<usize> {
        let is_last = |v: &Var| self.readers[v.index()] == 1 && !self.is_seen[v.index()];
        let freed = operands(rhs).into_iter().filter(is_last).map(|v| self.flat.vars[v].ty.shape.len());
        self.room.saturating_add(freed.sum()).checked_sub(elements)
    }

    /// Notes what becomes of an equation, which reads no variables that are constants any longer.
    fn change(&mut self, eq: Eq, rhs: Rhs) {
        let left = operands(&rhs);
        for v in operands(&self.flat.equations[eq].rhs).into_iter().filter(|v| !left.contains(v)) {
            self.readers[v.index()] = self.readers[v.index()].saturating_sub(1);
        }
        self.changes.push((eq, rhs));
    }

    /// Takes initialisers that are constants into their delays.
    fn take_initialisers(&mut self) {
        for eq in self.flat.equations.ids() {
            let mut rhs = self.flat.equations[eq].rhs.clone();
            let (Rhs::Fby { init, .. } | Rhs::FbyBack { init, .. }) = &mut rhs else { continue };
            let Init::Stream(v) = *init else { continue };
            let Some(k) = self.constant(v) else { continue };
            *init = Init::Const(k);
            self.change(eq, rhs);
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
