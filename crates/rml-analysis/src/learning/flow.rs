//! The path of a gradient through a node, and its sign.

use indexmap::IndexSet;
use rml_ir::normal::{Callee, Eq, NodeId, Rhs, Var};
use rml_ir::op::{Binary, Op, Unary};

use super::Program;
use super::view::{Adjoint, View, stream};

/// A value that carries a gradient.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Carrier {
    pub(super) var: Var,
    /// Whether the value is the gradient times a negative number.
    pub(super) flipped: bool,
    /// Whether an optimiser with its own rate has scaled the gradient.
    pub(super) scaled: bool,
}

impl Carrier {
    /// The gradient itself, unscaled.
    pub(super) fn new(var: Var) -> Self {
        Self { var, flipped: false, scaled: false }
    }
}

/// The effect of an optimiser on a gradient.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Optimiser {
    /// Whether the optimiser moves the parameter against the gradient.
    pub(super) flipped: bool,
    /// Whether the optimiser's own rate determines the step.
    pub(super) scaled: bool,
}

impl Optimiser {
    /// The effect of the program's optimisers, if all updates have the same known sign and scaling.
    pub(super) fn of(program: &Program<'_>) -> Option<Self> {
        let (mut rules, mut found) = (IndexSet::new(), None);
        let all = program.module.optimisers.iter().filter(|((rule, _), _)| rules.insert(*rule));
        for id in all.map(|(_, id)| *id) {
            let view = View::new(program, id);
            let d = view.node.inputs().nth(2)?.var;
            let output = *view.node.outputs.first()?;
            let carriers = carriers(program, &view, [Carrier::new(d)]);
            let reached = carriers.iter().filter(|c| c.var == output);
            for Carrier { flipped, scaled, .. } in reached {
                let own = Self { flipped: *flipped, scaled: *scaled };
                if *found.get_or_insert(own) != own {
                    return None;
                }
            }
        }
        found
    }
}

/// All values of a node that carry these gradients, including the gradients themselves.
pub(super) fn carriers(
    program: &Program<'_>,
    view: &View<'_>,
    from: impl IntoIterator<Item = Carrier>,
) -> IndexSet<Carrier> {
    followed(program, view, from, &sign)
}

/// All values of a node that are monotonic in these values.
pub(super) fn rising(
    program: &Program<'_>,
    view: &View<'_>,
    from: impl IntoIterator<Item = Carrier>,
) -> IndexSet<Carrier> {
    followed(program, view, from, &|view, op, args, v| {
        let rises = matches!(op, Op::Softmax | Op::Unary(Unary::Sigmoid | Unary::Tanh));
        if rises { Some(false) } else { sign(view, op, args, v) }
    })
}

/// Returns whether an operator flips the sign of an operand; `None` if the operand is not to be followed.
type Sign = dyn Fn(&View<'_>, &Op, &[Var], Var) -> Option<bool>;

/// All values of a node that can be reached from these values.
fn followed(
    program: &Program<'_>,
    view: &View<'_>,
    from: impl IntoIterator<Item = Carrier>,
    sign: &Sign,
) -> IndexSet<Carrier> {
    let mut found: IndexSet<Carrier> = from.into_iter().collect();
    let mut at = 0;
    while let Some(carrier) = found.get_index(at).copied() {
        for eq in &view.readers[carrier.var] {
            found.extend(step(program, view, carrier, *eq, sign));
        }
        at += 1;
    }
    found
}

/// The carriers that an equation computes from a carrier that it reads.
fn step(program: &Program<'_>, view: &View<'_>, carrier: Carrier, eq: Eq, sign: &Sign) -> Vec<Carrier> {
    let equation = &view.node.equations[eq];
    let turned = |turn: Option<bool>| {
        let turn = turn?;
        Some(Carrier { var: *equation.lhs.first()?, flipped: carrier.flipped != turn, ..carrier })
    };
    let v = carrier.var;
    let same = |passes: bool| turned(passes.then_some(false)).into_iter().collect();
    match &equation.rhs {
        Rhs::When { value, .. } => same(*value == v),
        Rhs::Merge { on_true, on_false, .. } => same(*on_true == v || *on_false == v),
        Rhs::If { then, other, .. } => same(*then == v || *other == v),
        Rhs::Fby { next, .. } | Rhs::FbyBack { next, .. } | Rhs::Post { next } => same(*next == v),
        Rhs::Apply { op, args, .. } => turned(sign(view, op, args, v)).into_iter().collect(),
        Rhs::Call { callee: Callee::Node(node), args, .. } => passed(program, view, (*node, args), carrier)
            .map_or_else(Vec::new, |(flipped, scaled)| {
                equation.lhs.iter().map(|var| Carrier { var: *var, flipped, scaled }).collect()
            }),
        Rhs::Call { callee: Callee::Diff { .. }, .. } => {
            let Some(call) = view.adjoint(eq).filter(|call| enters(call, v)) else { return Vec::new() };
            call.gradients().map(|var| Carrier { var, ..carrier }).collect()
        }
        Rhs::Const(_) | Rhs::Param { .. } | Rhs::ParamUpdate { .. } => Vec::new(),
    }
}

/// Whether a call of an adjoint uses a value as a gradient.
pub(super) fn enters(call: &Adjoint<'_>, v: Var) -> bool {
    call.seeds().any(|(_, seed)| seed == v)
}

/// Whether an operator flips the sign of an operand; `None` if the result is not a positive or negative multiple of the
/// operand, apart from added terms.
fn sign(view: &View<'_>, op: &Op, args: &[Var], v: Var) -> Option<bool> {
    let first = args.first() == Some(&v);
    if matches!(
        op,
        Op::Copy | Op::StopGradient | Op::Binary(Binary::Add) | Op::Broadcast { .. } | Op::Reshape { .. }
    ) {
        return Some(false);
    }
    if matches!(op, Op::Unary(Unary::Neg)) {
        return Some(true);
    }
    if matches!(op, Op::Binary(Binary::Sub)) {
        return Some(!first);
    }
    if matches!(op, Op::Binary(Binary::Mul)) || matches!(op, Op::Binary(Binary::Div)) && first {
        let by = view.number(*args.get(usize::from(first))?)?;
        return (by != 0.0 && by.is_finite()).then_some(by < 0.0);
    }
    None
}

/// The effect of a library optimiser, or of a node that clips gradients for one, on a gradient: its sign and whether it
/// is scaled.
fn passed(
    program: &Program<'_>,
    view: &View<'_>,
    (id, args): (NodeId, &[Var]),
    carrier: Carrier,
) -> Option<(bool, bool)> {
    let node = &program.module.nodes[id];
    stream(node, "do").filter(|at| args[*at] == carrier.var && (program.library)(node.span))?;
    match stream(node, "rate") {
        None => Some((carrier.flipped, carrier.scaled)),
        // A rate that varies is assumed to be positive.
        Some(rate) => Some((carrier.flipped != view.number(args[rate]).is_some_and(|r| r < 0.0), true)),
    }
}
