//! What is done when all equations are there: which `fby` holds a parameter, the keys of all states, constant
//! initial values of parameters under windows.

use rml_base::codes::autodiff::OPTIMISER_SHAPE;
use rml_base::{Diagnostic, Diagnostics, Span};

use super::Inliner;
use super::paths::Place;
use crate::flat::{Flat, Rhs, State, Var};
use crate::normal::{Eq, NodeId};
use crate::op::Op;

/// A state whose key is still to be chosen.
pub(super) struct Named {
    pub(super) place: Place,
    pub(super) parameter: bool,
}

/// A parameter with an optimiser.
pub(super) struct Update {
    /// The optimiser's output.
    pub(super) output: Var,
    /// Its name.
    pub(super) place: Place,
    /// The optimiser.
    pub(super) optimiser: NodeId,
    /// Whether the source calls it; then it may also be something else than an optimiser.
    pub(super) is_called: bool,
    /// The parameter or the call.
    pub(super) span: Span,
}

impl Inliner<'_> {
    /// Names the states and returns the flat form.
    pub(super) fn finish(mut self) -> Result<Flat, Diagnostics> {
        let defs = definitions(&self.flat);
        self.sample_constants(&defs);
        self.parameters(&defs)?;
        for (eq, named) in self.states {
            let key = named.place.unique(|key| self.flat.states.contains_key(key));
            self.flat.states.insert(key, State { equation: eq, parameter: named.parameter });
        }
        Ok(self.flat)
    }

    /// Makes samples of constants constants of their own.
    fn sample_constants(&mut self, defs: &[Option<Eq>]) {
        for eq in std::mem::take(&mut self.samples) {
            let Rhs::When { value, .. } = self.flat.equations[eq].rhs else { continue };
            let source = origin(&self.flat, defs, value).map(|e| &self.flat.equations[e].rhs);
            if let Some(Rhs::Const(k)) = source {
                self.flat.equations[eq].rhs = Rhs::Const(*k);
            }
        }
    }

    /// Finds the `fby` that holds each parameter and gives it the parameter's name.
    fn parameters(&mut self, defs: &[Option<Eq>]) -> Result<(), Diagnostics> {
        let mut found = Diagnostics::new();
        for update in std::mem::take(&mut self.updates) {
            let holder = origin(&self.flat, defs, update.output);
            match holder.and_then(|eq| self.states.get_mut(&eq)) {
                Some(named) => *named = Named { place: update.place, parameter: true },
                None if update.is_called => {}
                None => found.push(self.no_parameter(&update)),
            }
        }
        if found.is_empty() { Ok(()) } else { Err(found) }
    }

    fn no_parameter(&self, update: &Update) -> Diagnostic {
        let node = &self.module.nodes[update.optimiser];
        Diagnostic::error(
            OPTIMISER_SHAPE,
            format!("the optimiser `{}` does not hold its parameter in a `fby`", node.name),
        )
        .label(update.span, "the parameter that it is to update")
        .label(node.span, "the optimiser")
        .note("expected an output that is defined as `o = init fby next`; found another expression")
        .help("write the output as `o = init fby o1;` and compute the updated value in `o1`")
    }
}

/// The equation that defines each variable; `None` for inputs.
fn definitions(flat: &Flat) -> Vec<Option<Eq>> {
    let mut defs = vec![None; flat.vars.len()];
    for (eq, equation) in flat.equations.iter_enumerated() {
        defs[equation.lhs.0 as usize] = Some(eq);
    }
    defs
}

/// The equation behind a variable, past copies; `None` for an input or a circle of copies.
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
