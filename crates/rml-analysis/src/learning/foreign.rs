//! Warns about gradients that enter for another value than the one of which they are the gradient.

use rml_base::Diagnostic;
use rml_base::codes::analysis::FOREIGN_GRADIENT;
use rml_ir::normal::{Eq, Rhs, Var};

use super::Program;
use super::calls::Call;
use super::depends::followers;
use super::labels::pair;
use super::own::{multiple_of, scaled};
use super::view::{Adjoint, View};

/// The findings in a node: the gradient that enters an adjoint with parameters for one of its outputs is computed by
/// another adjoint as the gradient of a different argument, although that output is an argument of the other adjoint.
pub(super) fn findings(program: &Program<'_>, view: &View<'_>) -> Vec<Diagnostic> {
    let live = |eq: Eq| view.adjoint(eq).filter(|call| !view.is_off(call)).map(|call| (eq, call));
    let calls: Vec<(Eq, Adjoint<'_>)> = view.node.equations.ids().filter_map(live).collect();
    let mut found = Vec::new();
    for (at, taker) in calls.iter().filter(|(_, call)| program.parameters[call.of]) {
        for (output, seed) in taker.results() {
            let givers = calls.iter().filter(|(eq, _)| eq != at);
            found.extend(
                givers
                    .filter_map(|(eq, giver)| {
                        let entry = Entry { at: *at, taker, from: *eq, giver, output, seed };
                        entry.finding(program, view)
                    })
                    .next(),
            );
        }
    }
    found
}

/// A gradient that enters for an output of one adjoint, and another adjoint that may have computed it.
struct Entry<'e> {
    at: Eq,
    taker: &'e Adjoint<'e>,
    from: Eq,
    giver: &'e Adjoint<'e>,
    output: Var,
    seed: Var,
}

impl Entry<'_> {
    fn finding(&self, program: &Program<'_>, view: &View<'_>) -> Option<Diagnostic> {
        // For example, the negative gradient of a target is the gradient of the value that is compared with it.
        let (given, negative) = scaled(view, self.seed);
        if negative {
            return None;
        }
        let (of, d) = self.giver.differentiated().find(|(_, d)| *d == given)?;
        if self.is_own(view, of) {
            let is_late = multiple_of(view, of) != self.output;
            return is_late.then(|| self.late(program, view, (of, d))).flatten();
        }
        // A value computed from the output may pass its own gradient on as the output's gradient, as in rounding.
        if followers(view, &[self.output]).contains(&of) {
            return None;
        }
        let (own, unused) = self.giver.differentiated().find(|(arg, _)| self.is_own(view, *arg))?;
        let is_of_taker = self.taker.outputs().contains(&multiple_of(view, of));
        if view.is_used(unused) && !is_of_taker {
            return None;
        }
        self.told(program, view, (of, d), own)
    }

    /// Whether a value is the output, or the output of an earlier cycle.
    fn is_own(&self, view: &View<'_>, value: Var) -> bool {
        let mut at = multiple_of(view, value);
        // Only a delay that reads itself has more delays than there are equations.
        for _ in 0..view.node.equations.len() {
            match view.definition(at) {
                Some(Rhs::Fby { next, .. }) if at != self.output => at = multiple_of(view, *next),
                _ => break,
            }
        }
        at == self.output
    }

    /// The finding that the gradient of a delayed output enters for the output.
    fn late(&self, program: &Program<'_>, view: &View<'_>, (of, d): (Var, Var)) -> Option<Diagnostic> {
        let call = Call::of_primal(program, view, self.from)?;
        let name = view.node.vars[self.output].name.as_deref().unwrap_or("o");
        let (taker, giver) = (&self.taker.node.name, &self.giver.node.name);
        let d_name = view.node.vars[d].name.as_deref().unwrap_or("d");
        let (bp, seed) =
            (call.argument(self.giver.bp()), self.giver.seeds().next().map(|(_, s)| call.argument(s)));
        let now = call.exchanged(of, self.output);
        let right = now.adjoint_with((&bp, seed.as_deref().unwrap_or("..")), Some((name, d_name)));
        Some(
            Diagnostic::warning(
                FOREIGN_GRADIENT,
                format!("what enters `diff_{taker}` as the gradient of `{name}` is the gradient of `{name}` of an earlier cycle"),
            )
            .label(view.node.equations[self.at].span, format!("`{taker}` learns from this gradient"))
            .label(view.node.equations[self.from].span, format!("`{d_name}` is what `diff_{giver}` gives for a delay of `{name}`"))
            .note("the adjoint multiplies it by derivatives of this cycle, so it is the gradient of no loss")
            .help(format!("for the value of the same cycle, write `{right}`"))
            .help(format!(
                "for the value of an earlier cycle, put `diff_{taker}` and the delay into one node and differentiate that node with `every end`: its adjoint takes the gradient back through the delay"
            )),
        )
    }

    fn told(
        &self,
        program: &Program<'_>,
        view: &View<'_>,
        (of, d): (Var, Var),
        own: Var,
    ) -> Option<Diagnostic> {
        let call = Call::of_primal(program, view, self.from)?;
        let name = |v: Var, other: &str| {
            view.node.vars[v].name.as_deref().map_or_else(|| other.to_owned(), |n| format!("`{n}`"))
        };
        let (own_name, of_name) = (name(own, "its output"), name(of, "another value"));
        let (taker, giver) = (&self.taker.node.name, &self.giver.node.name);
        let (bp, seed) =
            (call.argument(self.giver.bp()), self.giver.seeds().next().map(|(_, seed)| call.argument(seed)));
        let equation = &view.node.equations[self.from];
        let is_turned = pair(program, equation) == Some((of, own));
        let d_name = view.node.vars[d].name.as_deref().unwrap_or("d");
        let named = call.argument(own);
        let with = (bp.as_str(), seed.as_deref().unwrap_or(".."));
        let help = if is_turned {
            let right = call.exchanged(of, own).adjoint_with(with, Some((&named, d_name)));
            format!("`{giver}` takes what is predicted first, and then what is right: write `{right}`")
        } else {
            format!("write `{}`", call.adjoint_with(with, Some((&named, d_name))))
        };
        Some(
            Diagnostic::warning(
                FOREIGN_GRADIENT,
                format!(
                    "what enters `diff_{taker}` as the gradient of {own_name} is the gradient of {of_name}"
                ),
            )
            .label(view.node.equations[self.at].span, format!("`{taker}` learns from this gradient"))
            .label(equation.span, format!("`{d_name}` is what `diff_{giver}` gives for {of_name}"))
            .help(help),
        )
    }
}
