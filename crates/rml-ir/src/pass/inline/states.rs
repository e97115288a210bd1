//! The last steps of inlining: which `fby` holds a parameter, the keys of all states (PARAM-2), constant initial values
//! of parameters under windows.

use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};
use rml_base::codes::autodiff::OPTIMISER_SHAPE;
use rml_base::{Diagnostic, Diagnostics, Span};

use super::super::constant;
use super::paths::InstancePath;
use super::{Inliner, UpdateInstance, Updates, WithGradients};
use crate::flat::{Equation, Flat, Rhs, State, Var};
use crate::normal::{self, Eq, NodeId};
use crate::op::Op;

/// A state whose key is still to be chosen.
pub(super) struct Named {
    pub(super) path: InstancePath,
    pub(super) parameter: bool,
}

/// A parameter with an optimiser.
pub(super) struct Update {
    /// The optimiser's output.
    pub(super) output: Var,
    /// When there is a gradient.
    pub(super) bp: Var,
    /// What the optimiser is given: the initial value, when there is a gradient, and the gradient.
    pub(super) args: [Var; 3],
    /// Whether it is in no other update.
    pub(super) is_outermost: bool,
    /// Its name.
    pub(super) path: InstancePath,
    /// The optimiser.
    pub(super) optimiser: NodeId,
    /// Whether the source calls it; then it may also be something else than an optimiser.
    pub(super) is_called: bool,
    /// The parameter or the call.
    pub(super) span: Span,
}

impl Inliner<'_> {
    /// The parameters that differentiation made trainable under a condition that is constantly false, by instance path.
    pub(super) fn idle_parameters(&self) -> IndexSet<Arc<str>> {
        if self.updates.iter().all(|update| update.is_called) {
            return IndexSet::new();
        }
        let known = constant::conditions(&self.flat);
        let idle = self.updates.iter().filter(|u| !u.is_called && known[u.bp.0 as usize] == Some(false));
        idle.map(|update| update.path.full().clone()).collect()
    }

    /// Names the states and returns the flat form.
    pub(super) fn finish(mut self) -> Result<WithGradients, Diagnostics> {
        let defs = definitions(&self.flat);
        self.is_inside = false;
        self.sample_constants(&defs);
        let holders = self.parameters(&defs)?;
        let (mut gradients, mut keys) = (IndexMap::new(), IndexMap::new());
        for (eq, named) in self.states {
            let key = named.path.unique(|key| self.flat.states.contains_key(key));
            if let Some(&d) = self.gradients.get(&eq) {
                gradients.insert(Arc::clone(&key), d);
            }
            keys.insert(eq, Arc::clone(&key));
            self.flat.states.insert(key, State { equation: eq, parameter: named.parameter });
        }
        let instances = holders.into_iter().map(|(holder, instance)| UpdateInstance {
            key: holder.and_then(|eq| keys.get(&eq).cloned()),
            ..instance
        });
        let (inside, between, sums) = (self.inside, self.between, self.added);
        let updates = Updates { inside, between, sums, instances: instances.collect() };
        Ok(WithGradients { flat: self.flat, gradients, updates })
    }

    /// Lets samples of constant expressions compute the expression again, on the slow clock: then the state
    /// that it initialises starts from a constant.
    fn sample_constants(&mut self, defs: &[Option<Eq>]) {
        for sample in std::mem::take(&mut self.samples) {
            let Rhs::When { value, .. } = self.flat.equations[sample].rhs else { continue };
            let Some(equations) = constant_expression(&self.flat, defs, value) else { continue };
            let mut anew = IndexMap::new();
            for eq in &equations {
                let lhs = self.flat.equations[*eq].lhs;
                let ty = self.flat.vars[lhs].ty.clone();
                let span = self.flat.equations[sample].span;
                anew.insert(lhs, self.temporary(ty, span));
            }
            for eq in equations {
                let Equation { lhs, mut rhs, span } = self.flat.equations[eq].clone();
                rhs.for_each_operand_mut(|v| *v = anew[&*v]);
                self.emit(anew[&lhs], rhs, span);
            }
            self.flat.equations[sample].rhs = Rhs::Apply { op: Op::Copy, args: vec![anew[&value]] };
        }
    }

    /// Finds the `fby` that holds each parameter and gives it the parameter's name. Returns the outermost updates, with
    /// that equation.
    fn parameters(&mut self, defs: &[Option<Eq>]) -> Result<Vec<(Option<Eq>, UpdateInstance)>, Diagnostics> {
        let (mut found, mut holders) = (Diagnostics::new(), Vec::new());
        for update in std::mem::take(&mut self.updates) {
            let holder = origin(&self.flat, defs, update.output);
            let holder = holder.filter(|eq| self.states.contains_key(eq));
            if update.is_outermost {
                let Update { output, args, span, .. } = update;
                holders.push((holder, UpdateInstance { key: None, output, args, span }));
            }
            match holder.and_then(|eq| Some((eq, self.states.get_mut(&eq)?))) {
                Some((eq, named)) => {
                    *named = Named { path: update.path, parameter: true };
                    if !update.is_called {
                        self.gradients.insert(eq, update.args[2]);
                    }
                }
                None if update.is_called => {}
                None => {
                    let d = self.no_parameter(&update);
                    // One optimiser updates all parameters.
                    if found.iter().all(|known| known.span() != d.span()) {
                        found.push(d);
                    }
                }
            }
        }
        if found.is_empty() { Ok(holders) } else { Err(found) }
    }

    fn no_parameter(&self, update: &Update) -> Diagnostic {
        let node = &self.module.nodes[update.optimiser];
        let name =
            |var: Option<normal::Var>| var.and_then(|var| node.vars[var].name.as_deref()).unwrap_or("_");
        let output = node.outputs.first().copied();
        let (o, mut inputs) = (name(output), node.inputs().map(|input| name(Some(input.var))));
        let [init, bp, gradient] = [(); 3].map(|()| inputs.next().unwrap_or("_"));
        let equation = node.equations.iter().find(|e| output.is_some_and(|o| e.lhs.contains(&o)));
        Diagnostic::error(
            OPTIMISER_SHAPE,
            format!("the optimiser `{}` does not hold its parameter in a `fby`", node.name),
        )
        .label(equation.map_or(node.span, |e| e.span), format!("`{o}` is to be the parameter, kept from cycle to cycle"))
        .label(update.span, "a parameter that it updates")
        .note(format!("expected an output that is defined as `{o} = {init} fby {o}1`; found another expression"))
        .help(format!(
            "write `{o} = {init} fby {o}1;`, and add the update to the parameter in an equation of its own: `{o}1 = {o} + merge {bp} (0.1 * {gradient}) 0.0;`"
        ))
    }
}

/// The equation that defines each variable; `None` for inputs.
pub(in crate::pass) fn definitions(flat: &Flat) -> Vec<Option<Eq>> {
    let mut defs = vec![None; flat.vars.len()];
    for (eq, equation) in flat.equations.iter_enumerated() {
        defs[equation.lhs.0 as usize] = Some(eq);
    }
    defs
}

/// The equations of operators and constants that a variable is made of; `None` if anything else is among them,
/// or if there are very many.
pub(in crate::pass) fn constant_expression(flat: &Flat, defs: &[Option<Eq>], var: Var) -> Option<Vec<Eq>> {
    const LIMIT: usize = 10_000;
    let mut found = IndexSet::new();
    let mut pending = vec![var];
    while let Some(var) = pending.pop() {
        let eq = defs[var.0 as usize]?;
        let rhs = &flat.equations[eq].rhs;
        if !matches!(rhs, Rhs::Const(_) | Rhs::Apply { .. }) || found.len() > LIMIT {
            return None;
        }
        if found.insert(eq) {
            rhs.for_each_operand(|v| pending.push(v));
        }
    }
    Some(found.into_iter().collect())
}

/// The equation that defines a variable, past copies; `None` for an input or a circle of copies.
fn origin(flat: &Flat, defs: &[Option<Eq>], mut var: Var) -> Option<Eq> {
    for _ in 0..flat.vars.len() {
        let eq = defs[var.0 as usize]?;
        match &flat.equations[eq].rhs {
            Rhs::Apply { op: Op::Copy, args } => var = *args.first()?,
            _ => return Some(eq),
        }
    }
    None
}
