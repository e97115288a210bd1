//! Warns about gradients that a program computes itself from the outputs of a net.

use rml_base::codes::analysis as codes;
use rml_base::{Diagnostic, Span};
use rml_ir::normal::{Callee, Eq, Rhs, Var};
use rml_ir::op::{Binary, Op, Unary};

use super::Program;
use super::calls::Call;
use super::depends::{dependents, sources, within};
use super::flow::{Carrier, Optimiser, rising};
use super::seeds::LOSS;
use super::view::{Adjoint, View};

/// The findings in a node.
pub(super) fn findings(
    program: &Program<'_>,
    view: &View<'_>,
    optimiser: Option<&Optimiser>,
) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for eq in view.node.equations.ids() {
        let Some(call) = view.adjoint(eq).filter(|call| program.parameters[call.of] && !view.is_off(call))
        else {
            continue;
        };
        for (output, seed) in call.results() {
            if view.number(seed).is_some() {
                continue;
            }
            let entry = Entry { call: &call, eq, at: view.node.equations[eq].span, output, seed };
            let finding = loss_itself(program, view, &entry)
                .or_else(|| beside(program, view, &entry))
                .or_else(|| away(program, view, &entry, optimiser?));
            found.extend(finding);
        }
    }
    found
}

/// A gradient that enters for an output of a net.
struct Entry<'e> {
    call: &'e Adjoint<'e>,
    eq: Eq,
    at: Span,
    output: Var,
    seed: Var,
}

impl Entry<'_> {
    /// The name of the net's output.
    fn name(&self, view: &View<'_>) -> String {
        let at = self.call.outputs().iter().position(|v| *v == self.output).unwrap_or_default();
        let own = view.node.vars[self.output].name.as_ref();
        own.or(self.call.node.vars[self.call.node.outputs[at]].name.as_ref())
            .map_or_else(|| "_".to_owned(), |name| name.to_string())
    }
}

/// The warning that a loss of the net's output enters in the place of its gradient.
fn loss_itself(program: &Program<'_>, view: &View<'_>, entry: &Entry<'_>) -> Option<Diagnostic> {
    let loss = multiple_of(view, entry.seed);
    let made = view.equation(loss).filter(|eq| *eq != entry.eq)?;
    let depends = dependents(program, view, [entry.output]).contains(&loss);
    if !depends || !is_loss(program, view, loss) {
        return None;
    }
    let (name, net) = (entry.name(view), &entry.call.node.name);
    let d = Diagnostic::warning(
        codes::LOSS_AS_GRADIENT,
        format!("the loss itself enters `diff_{net}`, in the place of its gradient"),
    )
    .label(entry.at, format!("needs minus the learning rate times the derivative of the loss by `{name}`"))
    .label(view.node.equations[made].span, "the loss");
    Some(match Call::of_primal(program, view, made) {
        Some(call) => d
            .help(format!("write `{}`, and pass `d{name}` to `diff_{net}`", call.adjoint("-0.1", Some(&name))))
            .note("-0.1 is minus the learning rate"),
        None => d.help(format!(
            "put the loss into a node `cost(..) -> (loss)`; `diff_cost(.., true, -0.1)` gives `d{name}`, where -0.1 is minus the learning rate"
        )),
    })
}

/// The value of which a value is a constant multiple.
pub(super) fn multiple_of(view: &View<'_>, v: Var) -> Var {
    scaled(view, v).0
}

/// The value of which a value is a constant multiple, and whether the multiple is negative.
pub(super) fn scaled(view: &View<'_>, mut v: Var) -> (Var, bool) {
    let mut negative = false;
    // In a correct node, equations form cycles only through delays, which are not followed.
    for _ in 0..view.node.equations.len() {
        let next = match view.definition(v) {
            Some(Rhs::When { value, .. }) => Some(*value),
            Some(Rhs::Apply { op, args, .. }) => match (op, &args[..]) {
                (Op::Copy | Op::StopGradient | Op::Broadcast { .. } | Op::Reshape { .. }, [of]) => Some(*of),
                (Op::Unary(Unary::Neg), [of]) => {
                    negative = !negative;
                    Some(*of)
                }
                (Op::Binary(Binary::Mul | Binary::Div), [of, by]) if view.number(*by).is_some() => {
                    negative ^= view.number(*by).is_some_and(|by| by < 0.0);
                    Some(*of)
                }
                (Op::Binary(Binary::Mul), [by, of]) if view.number(*by).is_some() => {
                    negative ^= view.number(*by).is_some_and(|by| by < 0.0);
                    Some(*of)
                }
                _ => None,
            },
            _ => None,
        };
        let Some(of) = next else { return (v, negative) };
        v = of;
    }
    (v, negative)
}

/// Whether a value has the name of a loss, here or in the node that returns it.
fn is_loss(program: &Program<'_>, view: &View<'_>, v: Var) -> bool {
    if view.node.vars[v].name.as_deref() == Some(LOSS) {
        return true;
    }
    let Some(equation) = view.equation(v).map(|eq| &view.node.equations[eq]) else { return false };
    let Rhs::Call { callee: Callee::Node(id) | Callee::Diff { node: id, order: 1 }, .. } = &equation.rhs
    else {
        return false;
    };
    let node = &program.module.nodes[*id];
    let at = equation.lhs.iter().position(|l| *l == v);
    let output = at.and_then(|at| node.outputs.get(at));
    output.is_some_and(|output| node.vars[*output].name.as_deref() == Some(LOSS))
}

/// The sign of the entering gradient as a function of the net's output: `Some(true)` if it falls with the output,
/// `Some(false)` if it rises. None if it also depends on the output in another way, or not at all.
fn falls(program: &Program<'_>, view: &View<'_>, entry: &Entry<'_>) -> Option<bool> {
    let all = sources(view, entry.seed, entry.eq);
    let carried = rising(program, view, [Carrier::new(entry.output)]);
    let mut carried = carried.iter().filter(|c| all.contains(&c.var));
    let mut signs: Vec<(Var, bool)> = Vec::new();
    if !carried.all(|c| {
        let is_new = signs.iter().all(|(v, _)| *v != c.var);
        signs.push((c.var, c.flipped));
        is_new
    }) {
        return None;
    }
    let known = |v: &Var| signs.iter().any(|(known, _)| known == v);
    let depends = within(view, entry.call.outputs(), &all);
    if !depends.iter().all(known) {
        return None;
    }
    signs.iter().find(|(v, _)| *v == entry.seed).map(|(_, flipped)| *flipped)
}

/// The warning that a gradient drives the net's output away from the point where the gradient is 0, although a loss
/// should become small.
fn away(
    program: &Program<'_>,
    view: &View<'_>,
    entry: &Entry<'_>,
    optimiser: &Optimiser,
) -> Option<Diagnostic> {
    let falls = falls(program, view, entry)?;
    let reached = dependents(program, view, [entry.output]);
    let mut losses = reached.iter().filter(|v| **v != entry.output && is_loss(program, view, **v));
    let loss = *losses.next()?;
    if falls != optimiser.flipped {
        return None;
    }
    let (name, net) = (entry.name(view), &entry.call.node.name);
    let (how, kept) = if falls { ("falls", "subtracts") } else { ("grows", "adds") };
    Some(
        Diagnostic::warning(
            codes::GRADIENT_SIGN,
            format!("the gradient of `diff_{net}` has the wrong sign: each update makes the loss grow"),
        )
        .label(view.place(entry.seed), format!("this enters as the gradient of `{name}`, and {how} with `{name}`"))
        .label(view.place(loss), "the loss")
        .note(format!("a parameter {kept} the gradient that it gets, so `{name}` is driven away from where the gradient is 0"))
        .help(match optimiser.flipped {
            false => format!("turn the sign round: minus the learning rate times the derivative of the loss, such as `0.1 * (y - {name})`"),
            true => format!("turn the sign round: the derivative of the loss, such as `{name} - y`"),
        }),
    )
}

/// The warning that a program uses the gradient of an input of a net although the entering gradient does not come from
/// a loss.
fn beside(program: &Program<'_>, view: &View<'_>, entry: &Entry<'_>) -> Option<Diagnostic> {
    let call = entry.call;
    let is_formal = view.definition(multiple_of(view, entry.seed)).is_none();
    if is_formal || !call.gradients().any(|d| view.is_used(d)) {
        return None;
    }
    let all = sources(view, entry.seed, entry.eq);
    let enters = |eq: &Eq| *eq == entry.eq || view.node.equations[*eq].lhs.iter().all(|v| all.contains(v));
    let only_enters = |v: &Var| !view.node.outputs.contains(v) && view.readers[*v].iter().all(enters);
    let unused = call.outputs().iter().all(|v| !view.is_used(*v));
    let grows = call.outputs().iter().all(only_enters) && falls(program, view, entry) == Some(false);
    // A value that is a gradient already comes from a loss, wherever that is.
    let from_adjoint = |v: &Var| {
        let made = view.equation(*v).filter(|eq| *eq != entry.eq).and_then(|eq| view.adjoint(eq));
        made.is_some_and(|made| made.gradients().any(|d| d == *v))
    };
    if !(unused || grows) || all.iter().any(from_adjoint) {
        return None;
    }
    let name = &call.node.name;
    Some(
        Diagnostic::warning(
            codes::GRADIENT_UPDATES,
            format!("`diff_{name}` gives the gradient of an input, and updates the parameters of `{name}`, too"),
        )
        .label(entry.at, "the gradient that enters here is not the gradient of a loss")
        .note(format!("each update adds that gradient times the derivative of what `{name}` gives, as if that were to be trained"))
        .help(format!("call `grad_{name}` in its place: it has the same interface, and holds the parameters")),
    )
}
