//! Verifier of the flat form: the invariants F1 to F8 stated in [`flat`](crate::flat).

use rml_base::EntityId;

use super::{ConstId, ConstKind, Eq, Equation, Flat, Init, Rhs, Var, Window};
use crate::check::{Form, condition, constant, definitions};
use crate::types::Type;

/// Checks F1 to F7; one line for each violation.
pub fn verify(flat: &Flat) -> Result<(), Vec<String>> {
    let mut checker = Checker { flat, found: Vec::new() };
    checker.ids();
    if checker.found.is_empty() {
        checker.definitions();
        for (eq, equation) in flat.equations.iter_enumerated() {
            checker.equation(eq, equation);
        }
        checker.windows();
        checker.states();
        checker.constants();
    }
    if checker.found.is_empty() { Ok(()) } else { Err(checker.found) }
}

/// Checks F1 to F8.
pub fn verify_drawn(flat: &Flat) -> Result<(), Vec<String>> {
    let mut found = verify(flat).err().unwrap_or_default();
    let undrawn = flat.consts.iter_enumerated().filter(|(_, constant)| constant.value().is_none());
    found.extend(undrawn.map(|(id, _)| format!("F8: {id} is still to be drawn")));
    if found.is_empty() { Ok(()) } else { Err(found) }
}

struct Checker<'f> {
    flat: &'f Flat,
    found: Vec<String>,
}

impl Checker<'_> {
    fn ty(&self, var: Var) -> &Type {
        &self.flat.vars[var].ty
    }

    /// All ids exist.
    fn ids(&mut self) {
        let flat = self.flat;
        let mut vars: Vec<(Var, String)> = Vec::new();
        let mut consts: Vec<(ConstId, String)> = Vec::new();
        let mut windows: Vec<(Window, String)> = Vec::new();
        vars.extend(flat.outputs.iter().map(|v| (*v, "an output".to_owned())));
        for input in &flat.inputs {
            vars.push((input.var, "an input".to_owned()));
            vars.extend(input.clock.map(|(c, _)| (c, "a clock".to_owned())));
        }
        vars.extend(flat.claims.iter().flat_map(|c| [c.var, c.cond]).map(|v| (v, "a claim".to_owned())));
        for (id, window) in flat.windows.iter_enumerated() {
            vars.push((window.end, id.to_string()));
            windows.extend(window.parent.map(|p| (p, id.to_string())));
        }
        for (eq, equation) in flat.equations.iter_enumerated() {
            vars.push((equation.lhs, eq.to_string()));
            equation.rhs.for_each_operand(|v| vars.push((v, eq.to_string())));
            consts.extend(equation.rhs.constant().map(|k| (k, eq.to_string())));
            windows.extend(equation.rhs.window().map(|w| (w, eq.to_string())));
        }
        consts.extend(flat.random_keys.keys().map(|k| (*k, "a random key".to_owned())));
        for (id, constant) in flat.consts.iter_enumerated() {
            consts.extend(constant.operands().iter().map(|k| (*k, id.to_string())));
        }
        let vars = vars.into_iter().filter(|(v, _)| flat.vars.get(*v).is_none());
        self.found.extend(vars.map(|(v, place)| format!("F1: {place} names {v}, which does not exist")));
        let consts = consts.into_iter().filter(|(k, _)| flat.consts.get(*k).is_none());
        self.found.extend(consts.map(|(k, place)| format!("F3: {place} names {k}, which does not exist")));
        let windows = windows.into_iter().filter(|(w, _)| flat.windows.get(*w).is_none());
        self.found.extend(windows.map(|(w, place)| format!("F5: {place} names {w}, which does not exist")));
    }

    /// F1.
    fn definitions(&mut self) {
        let mut counts = vec![0_usize; self.flat.vars.len()];
        let defined = self.flat.equations.iter().map(|e| e.lhs);
        for var in self.flat.inputs.iter().map(|i| i.var).chain(defined) {
            counts[var.index()] += 1;
        }
        self.found.extend(definitions("F1", &counts));
    }

    /// F2, F3 and the conditions of F4 for one equation.
    fn equation(&mut self, eq: Eq, equation: &Equation) {
        let form = form(self.flat, &equation.rhs);
        let result = self.ty(equation.lhs);
        let (types, conditions) = (form.types(result), form.conditions());
        let init = match equation.rhs {
            Rhs::Fby { init: Init::Const(k), .. } | Rhs::FbyBack { init: Init::Const(k), .. } => {
                constant(&self.flat.consts[k].ty, self.flat.consts[k].value(), result)
            }
            _ => None,
        };
        self.found.extend(types.map(|w| format!("F2: {eq}: {w}")));
        self.found.extend(init.map(|w| format!("F3: {eq}: {w}")));
        self.found.extend(conditions.map(|w| format!("F4: {eq}: {w}")));
    }

    /// F5, and the window ends and clocks of F4.
    fn windows(&mut self) {
        for (id, window) in self.flat.windows.iter_enumerated() {
            let wrong = condition(self.ty(window.end));
            self.found.extend(wrong.map(|w| format!("F4: end of {id}: {w}")));
            if window.parent.is_some_and(|p| p.0 >= id.0) {
                self.found.push(format!("F5: the parent of {id} does not stand before it"));
            }
        }
        for input in &self.flat.inputs {
            let wrong = input.clock.and_then(|(c, _)| condition(self.ty(c)));
            self.found.extend(wrong.map(|w| format!("F4: clock of {}: {w}", input.var)));
        }
        for claim in &self.flat.claims {
            let wrong = condition(self.ty(claim.cond));
            self.found.extend(wrong.map(|w| format!("F4: clock of {}: {w}", claim.var)));
        }
    }

    /// F6; that no two states have the same key is in the type of the table.
    fn states(&mut self) {
        let flat = self.flat;
        let mut named = vec![0_usize; flat.equations.len()];
        for (key, state) in &flat.states {
            match named.get_mut(state.equation.index()) {
                Some(n) => *n += 1,
                None => self
                    .found
                    .push(format!("F6: state {key:?} names {}, which does not exist", state.equation)),
            }
        }
        for ((eq, equation), n) in flat.equations.iter_enumerated().zip(named) {
            let is_state = matches!(equation.rhs, Rhs::Param { .. } | Rhs::Fby { window: None, .. });
            if n != usize::from(is_state) {
                self.found.push(format!("F6: {eq} has {n} states, not {}", usize::from(is_state)));
            }
        }
    }

    /// F7.
    fn constants(&mut self) {
        let flat = self.flat;
        for (id, constant) in flat.consts.iter_enumerated() {
            let wrong = match &constant.kind {
                ConstKind::Value(_) => None,
                ConstKind::Random(_) => {
                    (!flat.random_keys.contains_key(&id)).then(|| "has no key".to_owned())
                }
                ConstKind::Apply { args, .. } if args.iter().any(|arg| *arg >= id) => {
                    Some("names a constant that does not stand before it".to_owned())
                }
                ConstKind::Apply { op, args } => {
                    let types = || args.iter().map(|arg| &flat.consts[*arg].ty);
                    let wrong = Form::Apply(op, types().cloned().collect()).types(&constant.ty);
                    wrong.or_else(|| {
                        op.may_fail(types().map(|ty| ty.dtype)).then(|| format!("`{op}` may fail"))
                    })
                }
            };
            self.found.extend(wrong.map(|w| format!("F7: {id}: {w}")));
        }
    }
}

/// The typing rule of an equation.
fn form<'a>(flat: &'a Flat, rhs: &'a Rhs) -> Form<'a> {
    let ty = |v: &Var| &flat.vars[*v].ty;
    match rhs {
        Rhs::Const(k) => Form::Const(&flat.consts[*k].ty, flat.consts[*k].value()),
        Rhs::Apply { op, args } => Form::Apply(op, args.iter().map(|a| ty(a).clone()).collect()),
        Rhs::If { cond, then, other } => Form::gated(ty(cond), vec![ty(then), ty(other)]),
        Rhs::When { value, cond } => Form::gated(ty(cond), vec![ty(value)]),
        Rhs::Merge { cond, on_true, on_false } => Form::gated(ty(cond), vec![ty(on_true), ty(on_false)]),
        Rhs::Fby { init: Init::Stream(i), next, .. } | Rhs::FbyBack { init: Init::Stream(i), next, .. } => {
            Form::alike(vec![ty(i), ty(next)])
        }
        Rhs::Fby { next, .. } | Rhs::FbyBack { next, .. } | Rhs::Post { next, .. } => {
            Form::alike(vec![ty(next)])
        }
        Rhs::Param { init } => Form::alike(vec![ty(init)]),
    }
}

impl Rhs {
    /// The constant that it names.
    pub fn constant(&self) -> Option<ConstId> {
        match self {
            Rhs::Const(k)
            | Rhs::Fby { init: Init::Const(k), .. }
            | Rhs::FbyBack { init: Init::Const(k), .. } => Some(*k),
            _ => None,
        }
    }
}
