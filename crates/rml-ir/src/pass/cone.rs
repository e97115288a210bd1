//! Restricts a flat program to what its results depend on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use indexmap::IndexMap;
use rml_base::{EntityId, IndexVec};

use super::constant;
use super::determined::{Determined, Failures};
use crate::check::checked;
use crate::flat::{
    By, ClassId, ClockClaim, ClockClasses, ConstId, ConstKind, Constant, Eq, Flat, Init, Rhs, Var, Window,
    verify,
};

/// Keeps what the outputs, the updates of parameters and assertions depend on, and renumbers what is kept, in its
/// order. A program without outputs is kept whole. All inputs stay. An assertion that is folded holds, and goes.
///
/// A stream that nothing drives is present in every cycle. So that none becomes one only because what drove
/// it was dropped, the equations that tie the clock of a kept stream to an input or a sampling stay, too;
/// and if that stream's own sampling may wait for ever, all others that say where it is present.
///
/// Requires: `flat::verify`. Ensures: the same, and the same outputs in the same cycles for every trace
/// without errors whose inputs are given. What is dropped finds no errors, and does not ask for inputs that
/// are only offered (ERROR-6, CLOCK-4).
pub fn cone(flat: Flat) -> Flat {
    let _span = tracing::debug_span!("cone", equations = flat.equations.len()).entered();
    if flat.outputs.is_empty() {
        return flat;
    }
    let live = Live::of(&flat);
    let result = restrict(flat, &live);
    checked("cone", || verify(&result));
    result
}

/// Which variables are kept; an equation is kept with its variable.
pub(super) struct Live<'f> {
    flat: &'f Flat,
    defs: Vec<Option<Eq>>,
    vars: Vec<bool>,
    pending: Vec<Var>,
}

impl<'f> Live<'f> {
    /// By variable, whether it is kept.
    pub(super) fn of(flat: &'f Flat) -> Vec<bool> {
        if flat.outputs.is_empty() {
            return vec![true; flat.vars.len()];
        }
        let mut live = Self::needed(flat);
        let whole = ClockClasses::new(flat);
        let conditions = constant::conditions(flat);
        while live.add_drivers(&whole, &conditions) {
            live.close();
        }
        live.vars
    }

    /// What the values of the results depend on.
    fn needed(flat: &'f Flat) -> Self {
        let mut defs = vec![None; flat.vars.len()];
        for (eq, equation) in flat.equations.iter_enumerated() {
            defs[equation.lhs.index()] = Some(eq);
        }
        let mut live = Self { flat, defs, vars: vec![false; flat.vars.len()], pending: Vec::new() };
        live.add(flat.outputs.iter().copied());
        live.add(flat.inputs.iter().flat_map(|i| [Some(i.var), i.clock.map(|c| c.0)]).flatten());
        // A parameter that nothing updates is read by what needs it.
        let parameters = flat.states.values().filter(|s| s.parameter).map(|s| &flat.equations[s.equation]);
        live.add(parameters.filter(|e| matches!(e.rhs, Rhs::Fby { .. })).map(|e| e.lhs));
        live.add(flat.assertions().map(|e| e.lhs));
        live.close();
        live
    }

    fn add(&mut self, vars: impl Iterator<Item = Var>) {
        for var in vars {
            if !std::mem::replace(&mut self.vars[var.index()], true) {
                self.pending.push(var);
            }
        }
    }

    /// Adds everything that the pending variables depend on.
    fn close(&mut self) {
        while let Some(var) = self.pending.pop() {
            let Some(eq) = self.defs[var.index()] else { continue };
            let rhs = &self.flat.equations[eq].rhs;
            let mut operands = Vec::new();
            rhs.for_each_operand(|v| operands.push(v));
            let mut window = rhs.window();
            while let Some(w) = window {
                operands.push(self.flat.windows[w].end);
                window = self.flat.windows[w].parent;
            }
            self.add(operands.into_iter());
        }
    }

    /// Adds the whole clock class of each kept variable of which the presence is known by something that is not kept.
    fn add_drivers(&mut self, whole: &ClockClasses, conditions: &[Option<bool>]) -> bool {
        let lost = self.lost(whole, conditions);
        let lost_classes = lost.iter_enumerated().filter(|(_, lost)| **lost).map(|(class, _)| class);
        let mut drivers: Vec<Var> = lost_classes.flat_map(|class| whole.members(class)).copied().collect();
        // What samples or merges a member of the class stands outside it.
        for equation in &self.flat.equations {
            let ties = match equation.rhs {
                Rhs::When { value, .. } => lost[whole.of(value)],
                Rhs::Merge { on_true, on_false, .. } => lost[whole.of(on_true)] || lost[whole.of(on_false)],
                _ => false,
            };
            if ties {
                drivers.push(equation.lhs);
            }
        }
        self.add(drivers.into_iter());
        !self.pending.is_empty()
    }

    /// The classes of the whole program with a kept variable whose presence is driven there, but no longer in what is
    /// kept; or known there by a condition that is not kept, while none that is kept surely has a value.
    fn lost(&self, whole: &ClockClasses, conditions: &[Option<bool>]) -> IndexVec<ClassId, bool> {
        let is_kept = |v: Var| self.vars[v.index()];
        let kept = ClockClasses::among(self.flat, is_kept);
        let determined = Determined::new(self.flat, &kept, is_kept, conditions, Failures::Never);
        let by_class = |classes: &ClockClasses| {
            let mut found: BTreeMap<ClassId, BTreeSet<By>> = BTreeMap::new();
            for driver in classes.drivers() {
                found.entry(classes.of(driver.var)).or_default().insert(driver.by);
            }
            found
        };
        let (all, left, none) = (by_class(whole), by_class(&kept), BTreeSet::new());
        let mut lost = IndexVec::filled(false, whole.len());
        let mut seen = IndexVec::filled(false, kept.len());
        for var in self.flat.vars.ids().filter(|v| is_kept(*v)) {
            let (class, part) = (whole.of(var), kept.of(var));
            if std::mem::replace(&mut seen[part], true) {
                continue;
            }
            let known = kept.is_driven(part) && determined.is_timed(part);
            if !whole.is_driven(class) {
                // A sampling within the class says where it is present if it is no longer within it.
                lost[class] |= kept.is_driven(part) && !known;
                continue;
            }
            let is_left = |by: &BTreeSet<By>| by.is_subset(left.get(&part).unwrap_or(&none));
            lost[class] |= !known && !all.get(&class).is_none_or(is_left);
        }
        lost
    }
}

/// New ids for what is kept of a table.
struct Renumbered<I>(Vec<Option<I>>);

impl<I: EntityId> Renumbered<I> {
    /// Takes the entries that are kept out of a table.
    fn take<T>(table: IndexVec<I, T>, kept: impl Fn(I) -> bool) -> (Self, IndexVec<I, T>) {
        let (mut ids, mut rest) = (Vec::with_capacity(table.len()), IndexVec::new());
        for (i, entry) in table.into_vec().into_iter().enumerate() {
            ids.push(if kept(I::from_index(i)) { Some(rest.push(entry)) } else { None });
        }
        (Self(ids), rest)
    }

    fn get(&self, id: I) -> Option<I> {
        self.0[id.index()]
    }

    /// The new id of something that is kept because what names it is.
    fn of(&self, id: I) -> I {
        self.get(id).expect("what a kept equation names is kept")
    }
}

/// By constant, whether an equation of a variable that is live names it, or a constant that is computed from it.
fn constants_used(flat: &Flat, is_live: impl Fn(Var) -> bool) -> Vec<bool> {
    let mut used = vec![false; flat.consts.len()];
    let named = flat.equations.iter().filter(|e| is_live(e.lhs)).filter_map(|e| e.rhs.constant());
    named.for_each(|k| used[k.index()] = true);
    // Operands stand before what is computed from them.
    for (k, constant) in flat.consts.iter().enumerate().rev() {
        if used[k] {
            constant.operands().iter().for_each(|arg| used[arg.index()] = true);
        }
    }
    used
}

/// Drops all constants that neither an equation names nor a constant that one names.
pub(super) fn restrict_constants(mut flat: Flat) -> Flat {
    let used = constants_used(&flat, |_| true);
    let (consts, table) = Renumbered::take(std::mem::take(&mut flat.consts), |k: ConstId| used[k.index()]);
    flat.consts = table;
    flat.random_keys = renumber_constants(&mut flat.consts, flat.random_keys, &consts);
    for equation in flat.equations.iter_mut() {
        renumber_constant(&mut equation.rhs, &consts);
    }
    flat
}

/// Renumbers what constants are computed from, and their keys.
fn renumber_constants(
    table: &mut IndexVec<ConstId, Constant>,
    keys: IndexMap<ConstId, Arc<str>>,
    ids: &Renumbered<ConstId>,
) -> IndexMap<ConstId, Arc<str>> {
    for constant in table.iter_mut() {
        if let ConstKind::Apply { args, .. } = &mut constant.kind {
            args.iter_mut().for_each(|arg| *arg = ids.of(*arg));
        }
    }
    keys.into_iter().filter_map(|(k, key)| Some((ids.get(k)?, key))).collect()
}

fn renumber_constant(rhs: &mut Rhs, ids: &Renumbered<ConstId>) {
    match rhs {
        Rhs::Const(k) | Rhs::Fby { init: Init::Const(k), .. } | Rhs::FbyBack { init: Init::Const(k), .. } => {
            *k = ids.of(*k)
        }
        _ => {}
    }
}

/// Drops all variables that are not live, with their equations, and what only those name.
pub(super) fn restrict(flat: Flat, live: &[bool]) -> Flat {
    let is_live = |v: Var| live[v.index()];
    let consts_used = constants_used(&flat, is_live);
    let mut windows_used = vec![false; flat.windows.len()];
    for equation in flat.equations.iter().filter(|e| is_live(e.lhs)) {
        let mut window = equation.rhs.window();
        while let Some(w) = window {
            windows_used[w.index()] = true;
            window = flat.windows[w].parent;
        }
    }
    let equation_lives: Vec<bool> = flat.equations.iter().map(|e| is_live(e.lhs)).collect();
    let (vars, var_table) = Renumbered::take(flat.vars, is_live);
    let (consts, mut const_table) = Renumbered::take(flat.consts, |k: ConstId| consts_used[k.index()]);
    let (windows, window_table) = Renumbered::take(flat.windows, |w: Window| windows_used[w.index()]);
    let (equations, equation_table) = Renumbered::take(flat.equations, |e: Eq| equation_lives[e.index()]);
    let claims = flat.claims.into_iter().filter_map(|claim| {
        Some(ClockClaim { var: vars.get(claim.var)?, cond: vars.get(claim.cond)?, ..claim })
    });
    let random_keys = renumber_constants(&mut const_table, flat.random_keys, &consts);
    let mut result = Flat {
        claims: claims.collect(),
        name: flat.name,
        precision: flat.precision,
        inputs: flat.inputs,
        outputs: flat.outputs.into_iter().map(|v| vars.of(v)).collect(),
        vars: var_table,
        consts: const_table,
        random_keys,
        windows: window_table,
        equations: equation_table,
        states: flat.states,
    };
    for input in &mut result.inputs {
        input.var = vars.of(input.var);
        input.clock = input.clock.map(|(c, flag)| (vars.of(c), flag));
    }
    for window in result.windows.iter_mut() {
        window.end = vars.of(window.end);
        window.parent = window.parent.map(|p| windows.of(p));
    }
    for equation in result.equations.iter_mut() {
        equation.lhs = vars.of(equation.lhs);
        renumber(&mut equation.rhs, &vars, &consts, &windows);
    }
    result.states.retain(|_, state| equations.get(state.equation).is_some());
    for state in result.states.values_mut() {
        state.equation = equations.of(state.equation);
    }
    result
}

fn renumber(
    rhs: &mut Rhs,
    vars: &Renumbered<Var>,
    consts: &Renumbered<ConstId>,
    windows: &Renumbered<Window>,
) {
    rhs.for_each_operand_mut(|v| *v = vars.of(*v));
    renumber_constant(rhs, consts);
    if let Rhs::Fby { window, .. } | Rhs::FbyBack { window, .. } | Rhs::Post { window, .. } = rhs {
        *window = window.map(|w| windows.of(w));
    }
}
