//! Dependences between values.

use std::collections::BTreeMap;
use std::rc::Rc;

use indexmap::IndexSet;
use rml_ir::normal::{Callee, Eq, Init, NodeId, Rhs, Var};
use rml_ir::op::{Op, OpInfo, info};

use super::Program;
use super::view::View;

/// By node and index of an input: whether each output depends differentiably on the input.
pub(super) type Through = BTreeMap<(NodeId, usize), Rc<[bool]>>;

/// The values of a node through which gradients flow to one of the values in `from`, including these: the values that
/// depend on them other than through `stop_gradient`, and only nums.
pub(super) fn dependents(
    program: &Program<'_>,
    view: &View<'_>,
    from: impl IntoIterator<Item = Var>,
) -> IndexSet<Var> {
    let mut found: IndexSet<Var> = from.into_iter().filter(|v| is_num(view, *v)).collect();
    let mut at = 0;
    while let Some(&v) = found.get_index(at) {
        for eq in &view.readers[v] {
            let next = step(program, view, v, *eq);
            found.extend(next.into_iter().filter(|v| is_num(view, *v)));
        }
        at += 1;
    }
    found
}

fn is_num(view: &View<'_>, v: Var) -> bool {
    view.node.vars[v].ty.is_num()
}

/// Whether an operator lets gradients pass.
pub(super) fn passes(op: &Op) -> bool {
    op.surface().and_then(info).is_none_or(OpInfo::is_differentiable)
}

/// The values that an equation computes from a value that it reads, if gradients pass.
fn step(program: &Program<'_>, view: &View<'_>, v: Var, eq: Eq) -> Vec<Var> {
    let equation = &view.node.equations[eq];
    let passes = match &equation.rhs {
        Rhs::Apply { op, .. } => passes(op),
        Rhs::If { then, other, .. } => *then == v || *other == v,
        Rhs::When { value, .. } => *value == v,
        Rhs::Merge { on_true, on_false, .. } => *on_true == v || *on_false == v,
        Rhs::Fby { init, next } | Rhs::FbyBack { init, next } => {
            *next == v || matches!(init, Init::Stream(first) if *first == v)
        }
        Rhs::Post { next } => *next == v,
        Rhs::Call { callee: Callee::Node(node) | Callee::Diff { node, .. }, args, .. } => {
            return called(program, *node, args, v).map(|output| equation.lhs[output]).collect();
        }
        Rhs::Const(_) | Rhs::Param { .. } | Rhs::ParamUpdate { .. } => false,
    };
    if passes { equation.lhs.clone() } else { Vec::new() }
}

/// The indices of the outputs of a call that depend on an argument.
fn called(program: &Program<'_>, node: NodeId, args: &[Var], v: Var) -> impl Iterator<Item = usize> + use<> {
    let inputs = program.module.nodes[node].inputs().count();
    let reached = (0..inputs.min(args.len())).filter(|i| args[*i] == v).map(|i| through(program, node, i));
    let reached: Vec<_> = reached.collect();
    let outputs = program.module.nodes[node].outputs.len();
    (0..outputs).filter(move |o| reached.iter().any(|reached| reached[*o]))
}

/// Whether each output of a node depends on an input.
pub(super) fn through(program: &Program<'_>, node: NodeId, input: usize) -> Rc<[bool]> {
    if let Some(known) = program.through.borrow().get(&(node, input)) {
        return Rc::clone(known);
    }
    let view = View::new(program, node);
    let reached = dependents(program, &view, view.node.inputs().nth(input).map(|input| input.var));
    let found: Rc<[bool]> = view.node.outputs.iter().map(|o| reached.contains(o)).collect();
    program.through.borrow_mut().insert((node, input), Rc::clone(&found));
    found
}

/// All values of the node from which a value is computed, including itself. The equation `without` is not followed.
pub(super) fn sources(view: &View<'_>, v: Var, without: Eq) -> IndexSet<Var> {
    let mut found = IndexSet::from([v]);
    let mut at = 0;
    while let Some(&v) = found.get_index(at) {
        if let Some(eq) = view.equation(v).filter(|eq| *eq != without) {
            view.node.equations[eq].rhs.for_each_operand(|v| {
                found.insert(v);
            });
        }
        at += 1;
    }
    found
}

/// All values of a set that depend in any way on these values.
pub(super) fn within(view: &View<'_>, from: &[Var], all: &IndexSet<Var>) -> IndexSet<Var> {
    following(view, from, &|v| all.contains(&v))
}

/// All values that depend in any way on these values.
pub(super) fn followers(view: &View<'_>, from: &[Var]) -> IndexSet<Var> {
    following(view, from, &|_| true)
}

fn following(view: &View<'_>, from: &[Var], counts: &dyn Fn(Var) -> bool) -> IndexSet<Var> {
    let mut found: IndexSet<Var> = from.iter().copied().filter(|v| counts(*v)).collect();
    let mut at = 0;
    while let Some(&v) = found.get_index(at) {
        for eq in &view.readers[v] {
            found.extend(view.node.equations[*eq].lhs.iter().copied().filter(|v| counts(*v)));
        }
        at += 1;
    }
    found
}
