//! Warns about losses and draws of the library that get probabilities instead of logits, or the logit of a single
//! class.

use rml_base::codes::analysis::NOT_LOGITS;
use rml_base::{Diagnostic, Span};
use rml_ir::DType;
use rml_ir::normal::{Callee, Equation, Node, Rhs, Var};
use rml_ir::op::{Op, Unary};

use super::Program;
use super::seeds::LOSS;
use super::view::{View, stream};

/// The input of a loss that applies the softmax or the sigmoid itself.
const LOGITS: &str = "logits";
/// The input of a loss for the correct class.
const LABEL: &str = "label";
/// Nodes other than losses that expect logits, with the effect of probabilities.
const OTHERS: [(&str, &str); 4] = [
    ("categorical", DRAWN),
    ("categorical_log", DRAWN),
    ("categorical_entropy", DRAWN),
    ("binary_accuracy", "what is above 0 counts as true, and a probability always is"),
];
const DRAWN: &str =
    "the softmax of a softmax is nearly the same for all actions, so they are drawn nearly at random";
/// The maximum depth of the search for the operator that computes an argument.
const DEPTH: usize = 32;

/// The findings in a node; each operator is reported once.
pub(super) fn findings(program: &Program<'_>, view: &View<'_>) -> Vec<Diagnostic> {
    let mut places: Vec<Span> = Vec::new();
    let finding = |equation: &Equation| {
        let Rhs::Call { callee: Callee::Node(id) | Callee::Diff { node: id, .. }, args, .. } = &equation.rhs
        else {
            return None;
        };
        let callee = &program.module.nodes[*id];
        let is_loss = callee.outputs.iter().any(|o| callee.vars[*o].name.as_deref() == Some(LOSS));
        let other = OTHERS.iter().find(|(name, _)| *name == &*callee.name).map(|(_, note)| *note);
        let takes = (is_loss || other.is_some()) && (program.library)(callee.span);
        let arg = *args.get(stream(callee, LOGITS).filter(|_| takes)?)?;
        if is_loss
            && stream(callee, LABEL).is_some_and(|label| has_classes(view, arg, args[label]))
            && view.node.vars[arg].ty.shape.dims().last() == Some(&1)
        {
            return Some(one_class(&callee.name, equation.span));
        }
        let (op, at) = [("softmax", Op::Softmax), ("sigmoid", Op::Unary(Unary::Sigmoid))]
            .into_iter()
            .find_map(|(name, op)| Some((name, made_by(program, view, arg, &|other| *other == op)?)))?;
        if places.contains(&at) {
            return None;
        }
        places.push(at);
        Some(twice(callee, equation.span, (op, at), other))
    };
    view.node.equations.iter().filter_map(finding).collect()
}

/// The warning that the logits of a node are the result of an operator that the node applies itself.
fn twice(callee: &Node, span: Span, (op, at): (&str, Span), other: Option<&str>) -> Diagnostic {
    let name = &callee.name;
    // A loss of truth values applies the sigmoid, other losses the softmax.
    let of_bool = stream(callee, LABEL).and_then(|place| callee.inputs().nth(place));
    let is_bool = of_bool.is_some_and(|input| callee.vars[input.var].ty.dtype == DType::Bool);
    let own_op = if is_bool { "sigmoid" } else { "softmax" };
    let own = match &**name {
        "binary_accuracy" => "`binary_accuracy` compares logits with 0".to_owned(),
        name => format!("`{name}` takes the {own_op} itself"),
    };
    let note = match (other, is_bool) {
        (Some(note), _) => note.to_owned(),
        (None, false) => {
            format!("the softmax of a {op} is nearly the same for all classes, so the loss hardly falls")
        }
        (None, true) => {
            format!("the sigmoid of a {op} is between 0.5 and 0.74, so the loss hardly falls")
        }
    };
    Diagnostic::warning(NOT_LOGITS, format!("`{name}` takes logits, and gets the {op} of them"))
        .label(span, own)
        .label(at, format!("here the {op} is taken before"))
        .help(format!("leave this `{op}` out, and take it where the program gives its predictions"))
        .note(note)
}

/// Whether the last axis of the logits counts classes: then the label has one axis less.
fn has_classes(view: &View<'_>, logits: Var, label: Var) -> bool {
    let rank = |v: Var| view.node.vars[v].ty.shape.rank();
    rank(logits) == rank(label) + 1
}

/// The warning that there is only one class: a softmax of one number is always 1.
fn one_class(loss: &str, at: Span) -> Diagnostic {
    Diagnostic::warning(NOT_LOGITS, format!("`{loss}` gets the logit of a single class, so it is always 0"))
        .label(at, "the last axis of the logits has size 1")
        .note("the softmax of one number is 1, and there is nothing to learn")
        .help("for labels that are true or false, take `bce_with_logits(o[.., 0], label)`, with `label: bool [batch]`")
        .help("for numbers, take `mse(o[.., 0], y)`; for classes, give the last layer as many units as there are classes")
}

/// The place of the operator that computes a variable, apart from changes of clock and shape.
pub(super) fn made_by(
    program: &Program<'_>,
    view: &View<'_>,
    v: Var,
    is_meant: &dyn Fn(&Op) -> bool,
) -> Option<Span> {
    made_within(program, view, v, is_meant, DEPTH)
}

fn made_within(
    program: &Program<'_>,
    view: &View<'_>,
    v: Var,
    is_meant: &dyn Fn(&Op) -> bool,
    depth: usize,
) -> Option<Span> {
    let depth = depth.checked_sub(1)?;
    let equation = view.node.equations.iter().find(|e| e.lhs.contains(&v))?;
    let made = |v: Var| made_within(program, view, v, is_meant, depth);
    match &equation.rhs {
        Rhs::Apply { op, .. } if is_meant(op) => Some(equation.span),
        Rhs::When { value, .. } => made(*value),
        // These keep the values of elements.
        Rhs::Apply { op: Op::Reshape { .. } | Op::Transpose { .. } | Op::Index { .. }, args, .. } => {
            made(*args.first()?)
        }
        Rhs::Merge { on_true: a, on_false: b, .. } | Rhs::If { then: a, other: b, .. } => {
            made(*a).filter(|_| made(*b).is_some())
        }
        Rhs::Call { callee: Callee::Node(id) | Callee::Diff { node: id, order: 1 }, .. } => {
            let callee = View::new(program, *id);
            let output = callee.node.outputs.get(equation.lhs.iter().position(|l| *l == v)?)?;
            made_within(program, &callee, *output, is_meant, depth)
        }
        Rhs::Const(_) | Rhs::Apply { .. } | Rhs::Call { .. } => None,
        Rhs::Fby { .. } | Rhs::FbyBack { .. } | Rhs::Post { .. } => None,
        Rhs::Param { .. } | Rhs::ParamUpdate { .. } => None,
    }
}
