//! Warns about constants that enter as gradients.

use rml_base::codes::analysis as codes;
use rml_base::{Diagnostic, Span};
use rml_ir::normal::{Callee, Eq, Node, Rhs, Var};
use rml_ir::op::{Op, Unary};

use super::Program;
use super::depends::dependents;
use super::flow::{Carrier, Optimiser, carriers};
use super::view::{Adjoint, View, stream};

/// The rate from which on the gradient of a loss is reported as scaled far too much.
const FAR: f64 = 100.0;
/// The same for the rate of an optimiser that divides the gradient by its size.
const FAR_STEP: f64 = 10.0;

/// The findings in a node.
pub(super) fn findings(
    program: &Program<'_>,
    view: &View<'_>,
    optimiser: Option<&Optimiser>,
) -> Vec<Diagnostic> {
    let mut found: Vec<Diagnostic> =
        view.node.equations.ids().filter_map(|eq| far_step(program, view, eq)).collect();
    let Some(optimiser) = optimiser else { return found };
    for eq in view.node.equations.ids() {
        let Some(call) = view.adjoint(eq).filter(|call| !view.is_off(call)) else { continue };
        let at = view.node.equations[eq].span;
        found.extend(still(program, view, &call));
        for (output, seed) in call.seeds() {
            let Some(number) = view.number(seed).filter(|n| *n != 0.0) else { continue };
            let entry = Entry { call: &call, at, seed, number };
            let name = call.node.vars[output].name.as_deref().unwrap_or_default();
            if name == LOSS {
                found.extend(loss(program, view, &entry, optimiser));
            } else {
                found.extend(beside(program, view, &entry));
            }
        }
    }
    found
}

/// The name of an output that should become small.
pub(super) const LOSS: &str = "loss";

/// A constant that enters an adjoint.
struct Entry<'e> {
    call: &'e Adjoint<'e>,
    at: Span,
    seed: Var,
    number: f64,
}

impl Entry<'_> {
    /// The place of the constant, and its text if it is a literal.
    fn literal<'v>(&self, view: &'v View<'_>) -> (Span, Option<&'v str>) {
        let text = match view.definition(self.seed) {
            Some(Rhs::Const(k)) => view.node.consts[*k].text.as_deref(),
            _ => None,
        };
        (view.place(self.seed), text)
    }
}

/// The finding about a constant that enters as the gradient of a loss, if it is wrong.
fn loss(
    program: &Program<'_>,
    view: &View<'_>,
    entry: &Entry<'_>,
    optimiser: &Optimiser,
) -> Option<Diagnostic> {
    let flipped = reaches(program, view, entry.call)?;
    let rises = flipped.is_some_and(|flipped| (entry.number > 0.0) != (flipped != optimiser.flipped));
    let (at, text) = entry.literal(view);
    let name = &entry.call.node.name;
    if rises && let Some(found) = negative(program) {
        return Some(found);
    }
    if rises {
        let d = Diagnostic::warning(
            codes::GRADIENT_SIGN,
            format!("the gradient of `diff_{name}` has the wrong sign: each update makes the loss grow"),
        )
        .label(at, format!("{} enters as the gradient of the loss", shown(entry.number)));
        let d = if optimiser.flipped {
            d.note("the program's `diff_param` subtracts the gradient that it gets, so pass the learning rate itself, a positive number")
        } else {
            d.note("a parameter adds the gradient that it gets, so pass minus the learning rate, a negative number")
        };
        let other = shown(-entry.number);
        if let Some((at, name)) = negated(program, view).filter(|_| flipped == Some(true)) {
            let d = d.label(at, format!("this turns the sign of `{name}` round"));
            return Some(d.fix(format!("write `{name}` in place of `-{name}`"), at, name));
        }
        return Some(match text {
            Some(_) => d.fix(format!("write `{other}`"), at, other),
            None => d.help("turn the sign round"),
        });
    }
    let far = entry.number.abs() >= FAR && !optimiser.scaled;
    far.then(|| {
        Diagnostic::warning(
            codes::LEARNING_RATE,
            format!("a learning rate of {} is too large", shown(entry.number.abs())),
        )
        .label(at, "enters as the gradient of the loss")
        .note("each update adds that many times the derivative of the loss, and overshoots")
        .help("begin with a rate between 0.001 and 1, and halve it while the loss rises")
    })
}

/// A negated gradient that enters an adjoint with parameters: the place of the negation, and the name of the gradient.
fn negated<'v>(program: &Program<'_>, view: &View<'v>) -> Option<(Span, &'v str)> {
    let calls = view.node.equations.ids().filter_map(|eq| view.adjoint(eq));
    let calls = calls.filter(|call| program.parameters[call.of] && !view.is_off(call));
    let seeds: Vec<Var> =
        calls.flat_map(|call| call.seeds().map(|(_, seed)| seed).collect::<Vec<_>>()).collect();
    seeds.into_iter().filter(|seed| view.node.vars[*seed].name.is_none()).find_map(|seed| {
        let Rhs::Apply { op: Op::Unary(Unary::Neg), args, .. } = view.definition(seed)? else { return None };
        Some((view.place(seed), view.node.vars[*args.first()?].name.as_deref()?))
    })
}

/// The warning that an adjoint gets 0 as the gradient of all outputs although parameters depend on the gradients that
/// it propagates.
fn still(program: &Program<'_>, view: &View<'_>, call: &Adjoint<'_>) -> Option<Diagnostic> {
    let mut seeds = call.seeds().map(|(_, seed)| seed).peekable();
    let first = *seeds.peek()?;
    let zeros = seeds.all(|seed| view.number(seed) == Some(0.0));
    if !zeros || reaches(program, view, call).is_none() {
        return None;
    }
    let what = format!("`diff_{}` gets 0 as the gradient, and propagates nothing else", call.node.name);
    Some(zero(view).label(view.place(first), what))
}

/// The warning about a rate of 0.
fn zero(view: &View<'_>) -> Diagnostic {
    let message =
        format!("a learning rate of 0 changes no parameter, so `{}` learns nothing", view.node.name);
    let d = Diagnostic::warning(codes::LEARNING_RATE, message);
    d.help("begin with a rate between 0.001 and 1; to leave the parameters as they are on purpose, pass `false` for `bp`")
}

/// A number as it would be written in a program.
fn shown(number: f64) -> String {
    #[allow(clippy::cast_possible_truncation, reason = "compared with the number itself")]
    let single = number as f32;
    if f64::from(single) == number { format!("{single:?}") } else { format!("{number:?}") }
}

/// Whether the gradients that a call computes reach parameters; if so, whether their sign is flipped on the way. The
/// sign is unknown if only some gradients are flipped. It is also unknown for a value that does not depend on these
/// parameters: the negative gradient of a target may be the gradient of the value that is compared with it.
fn reaches(program: &Program<'_>, view: &View<'_>, call: &Adjoint<'_>) -> Option<Option<bool>> {
    if program.parameters[call.of] {
        return Some(Some(false));
    }
    let mut signs = Vec::new();
    let mut found = false;
    for (of, d) in call.differentiated() {
        for carrier in carriers(program, view, [Carrier::new(d)]) {
            let trained = trained(program, view, carrier.var);
            found |= !trained.is_empty();
            if dependents(program, view, trained).contains(&of) {
                signs.push(carrier.flipped);
            }
        }
    }
    let first = signs.first().copied().filter(|first| signs.iter().all(|sign| sign == first));
    found.then_some(first)
}

/// The values that a gradient trains: the outputs for which it enters an adjoint with parameters, and the parameters
/// that it updates.
fn trained(program: &Program<'_>, view: &View<'_>, d: Var) -> Vec<Var> {
    let mut found = Vec::new();
    for eq in &view.readers[d] {
        let equation = &view.node.equations[*eq];
        if matches!(&equation.rhs, Rhs::ParamUpdate { d: taken, .. } if *taken == d) {
            found.extend(&equation.lhs);
        }
        if let Some(call) = view.adjoint(*eq).filter(|call| program.parameters[call.of] && !view.is_off(call))
        {
            found.extend(call.results().filter(|(_, seed)| *seed == d).map(|(output, _)| output));
        }
    }
    found
}

/// The warning that a program uses the gradient of an input of a node with parameters although the entering gradient
/// does not come from a loss.
fn beside(program: &Program<'_>, view: &View<'_>, entry: &Entry<'_>) -> Option<Diagnostic> {
    let Entry { call, at, number, .. } = entry;
    let taken = call.gradients().any(|d| view.is_used(d));
    let unused = call.outputs().iter().all(|v| !view.is_used(*v));
    if !program.parameters[call.of] || !taken || !(*number > 0.0 || unused) {
        return None;
    }
    let (name, number) = (&call.node.name, shown(*number));
    Some(
        Diagnostic::warning(
            codes::GRADIENT_UPDATES,
            format!("`diff_{name}` gives the gradient of an input, and updates the parameters of `{name}`, too"),
        )
        .label(*at, format!("{number} enters as the gradient: it is not the gradient of a loss"))
        .note(format!("each update adds {number} times the derivative of what `{name}` gives, as if that were to be trained"))
        .help(format!("call `grad_{name}` in its place: it has the same interface, and holds the parameters")),
    )
}

/// The optimiser of the library that an equation calls, with its rate, if that is a known number.
fn step<'m>(program: &Program<'m>, view: &View<'_>, eq: Eq) -> Option<(&'m Node, Var, f64)> {
    let Rhs::Call { callee: Callee::Node(id), args, .. } = &view.node.equations[eq].rhs else { return None };
    let node = &program.module.nodes[*id];
    let own = (program.library)(node.span) && stream(node, "do").is_some();
    let rate = args[stream(node, "rate").filter(|_| own)?];
    Some((node, rate, view.number(rate)?))
}

/// The warning about a negative rate of an optimiser, in a program whose updates make the loss grow.
fn negative(program: &Program<'_>) -> Option<Diagnostic> {
    program.module.optimisers.values().find_map(|id| {
        let view = View::new(program, *id);
        let steps = view.node.equations.ids().filter_map(|eq| step(program, &view, eq));
        let (node, rate, number) = steps.into_iter().find(|(_, _, number)| *number < 0.0)?;
        let what =
            format!("a learning rate of {} is negative: each update makes the loss grow", shown(number));
        let d = Diagnostic::warning(codes::LEARNING_RATE, what)
            .label(view.place(rate), format!("the rate of `{}`", node.name));
        Some(d.help(format!("give it a positive number: {}", shown(-number))))
    })
}

/// The warning about a rate of a library optimiser that is too high for any network, or that changes nothing.
fn far_step(program: &Program<'_>, view: &View<'_>, eq: Eq) -> Option<Diagnostic> {
    let (node, rate, number) = step(program, view, eq)?;
    if number == 0.0 {
        return Some(zero(view).label(view.place(rate), format!("the rate of `{}`", node.name)));
    }
    if number.abs() < FAR_STEP {
        return None;
    }
    Some(
        Diagnostic::warning(
            codes::LEARNING_RATE,
            format!("a learning rate of {} is too large", shown(number)),
        )
        .label(view.place(rate), format!("the rate of `{}`", node.name))
        .note(format!("`{}` moves each element of a parameter by about that much in each update", node.name))
        .help("begin with a rate between 0.0001 and 0.01"),
    )
}
