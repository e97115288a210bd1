//! A copy of the root, and of all nodes that it calls, in which nothing is trained (PARAM-7).

use std::collections::BTreeMap;

use rml_base::{Diagnostic, EntityId};
use rml_ir::Value;
use rml_ir::normal::{Callee, ConstKind, Constant, Eq, Equation, Module, Node, NodeId, Rhs, Rule, Var};

use crate::driver::Driver;

/// Copies the root with parameters in place of their updates. The copy has only the output at position `loss`, unless
/// the program defines the adjoint of the root. Returns the copy and that output.
///
/// A call of a synthesised adjoint whose gradients are unused becomes a call of the node itself, which is equivalent
/// because parameters are held. A node that the program defines as an adjoint keeps its updates where it is used as
/// one.
///
/// # Errors
/// The constants in place of unused results exceed the memory limit.
pub(super) fn hold(driver: &mut Driver, loss: usize) -> Result<(NodeId, Var), Diagnostic> {
    let primals = primals(driver);
    let root = driver.module.root;
    let overridden = driver.module.overrides.contains_key(&root);
    let mut copies = Copies { driver, known: BTreeMap::new(), todo: Vec::new() };
    let copy = copies.copy(root);
    let outputs = &mut copies.driver.module.nodes[copy].outputs;
    let chosen = outputs[loss];
    if !overridden {
        *outputs = vec![chosen];
    }
    while let Some(id) = copies.todo.pop() {
        let mut node = copies.driver.module.nodes[id].clone();
        while let Some((eq, primal)) = unread_adjoint(&node, &primals) {
            call_primal(&copies.driver.module, &mut node, eq, primal)?;
        }
        for eq in node.equations.iter_mut() {
            match &mut eq.rhs {
                Rhs::ParamUpdate { init, optimiser, .. } => {
                    let mut rules = copies.driver.module.optimisers.iter();
                    let rule = rules.find(|(_, node)| *node == optimiser).map(|((rule, _), _)| *rule);
                    eq.rhs = Rhs::Param { init: *init, by: rule.unwrap_or(Rule::DEFAULT) };
                }
                Rhs::Call { callee: Callee::Node(callee), .. } => *callee = copies.copy(*callee),
                Rhs::Const(_)
                | Rhs::Apply { .. }
                | Rhs::If { .. }
                | Rhs::When { .. }
                | Rhs::Merge { .. }
                | Rhs::Fby { .. }
                | Rhs::FbyBack { .. }
                | Rhs::Post { .. }
                | Rhs::Param { .. }
                | Rhs::Call { callee: Callee::Diff { .. }, .. } => {}
            }
        }
        copies.driver.module.nodes[id] = node;
    }
    Ok((copy, chosen))
}

struct Copies<'d> {
    driver: &'d mut Driver,
    known: BTreeMap<NodeId, NodeId>,
    todo: Vec<NodeId>,
}

impl Copies<'_> {
    fn copy(&mut self, id: NodeId) -> NodeId {
        if let Some(&known) = self.known.get(&id) {
            return known;
        }
        let module = &mut self.driver.module;
        let copy = module.nodes.push(module.nodes[id].clone());
        if let Some(&own) = module.overrides.get(&id) {
            module.overrides.insert(copy, own);
        }
        self.driver.copied(id, copy);
        self.known.insert(id, copy);
        self.todo.push(copy);
        copy
    }
}

/// For each synthesised adjoint: the node to which it belongs, and the number of outputs of that node.
fn primals(driver: &Driver) -> BTreeMap<NodeId, (NodeId, usize)> {
    driver.made().map(|(f, a)| (a.node, (f, a.primal_outputs))).collect()
}

/// A call of an adjoint of which only the outputs of the node itself are used.
fn unread_adjoint(node: &Node, primals: &BTreeMap<NodeId, (NodeId, usize)>) -> Option<(Eq, NodeId)> {
    let live = live(node);
    node.equations.iter_enumerated().find_map(|(id, eq)| {
        let Rhs::Call { callee: Callee::Node(callee), .. } = &eq.rhs else { return None };
        let &(primal, outputs) = primals.get(callee)?;
        let unread = eq.lhs[outputs..].iter().all(|v| !live[v.index()]);
        unread.then_some((id, primal))
    })
}

/// For each variable, whether the outputs depend on it.
fn live(node: &Node) -> Vec<bool> {
    let mut defs = vec![None; node.vars.len()];
    for (id, eq) in node.equations.iter_enumerated() {
        eq.lhs.iter().for_each(|v| defs[v.index()] = Some(id));
    }
    let mut live = vec![false; node.vars.len()];
    let clocks = node.inputs().filter_map(|i| i.clock.map(|(c, _)| c));
    let mut todo: Vec<Var> = node.outputs.iter().copied().chain(clocks).collect();
    while let Some(v) = todo.pop() {
        if std::mem::replace(&mut live[v.index()], true) {
            continue;
        }
        if let Some(eq) = defs[v.index()] {
            todo.extend(operands(&node.equations[eq].rhs));
        }
    }
    live
}

/// The variables that an equation reads; for an update, which is held, only the initial value of the parameter.
fn operands(rhs: &Rhs) -> Vec<Var> {
    let mut vars = Vec::new();
    match rhs {
        Rhs::ParamUpdate { init, .. } => vars.push(*init),
        _ => rhs.for_each_operand(|v| vars.push(v)),
    }
    vars
}

/// Calls the node in place of its adjoint. The unused results become constants.
fn call_primal(module: &Module, node: &mut Node, id: Eq, primal: NodeId) -> Result<(), Diagnostic> {
    let (inputs, outputs) = (module.nodes[primal].inputs().count(), module.nodes[primal].outputs.len());
    let eq = &mut node.equations[id];
    let span = eq.span;
    let Rhs::Call { callee, args, .. } = &mut eq.rhs else { return Ok(()) };
    *callee = Callee::Node(primal);
    args.truncate(inputs);
    for v in eq.lhs.split_off(outputs) {
        let ty = node.vars[v].ty.clone();
        let kind = ConstKind::Value(Value::filled_for(span, &ty, 0.0, module.precision)?);
        let zero = node.consts.push(Constant { kind, ty, text: None });
        node.equations.push(Equation { lhs: vec![v], rhs: Rhs::Const(zero), span });
    }
    Ok(())
}
