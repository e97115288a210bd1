//! Verifier of the typed stage: the invariants T1 to T6 stated in [`typed`](crate::typed).

use super::{Callee, Equation, Expr, ExprId, ExprKind, Module, Node, NodeId, Var};
use crate::check::{Form, condition, definitions};
use crate::interface::Interface;
use crate::types::Type;

/// Checks T1 to T6; one line for each violation.
pub fn verify(module: &Module) -> Result<(), Vec<String>> {
    let mut found = Vec::new();
    if module.nodes.get(module.root).is_none() {
        found.push(format!("T4: the root {} does not exist", module.root));
    }
    // Only what names nothing that is missing can be looked at further.
    for check in [Checker::tree, Checker::run] {
        if found.is_empty() {
            for (id, node) in module.nodes.iter_enumerated() {
                let mut checker = Checker { module, id, node, found: Vec::new() };
                check(&mut checker);
                found.extend(
                    checker.found.into_iter().map(|line| format!("{line} (node {id} {:?})", node.name)),
                );
            }
        }
    }
    if found.is_empty() { Ok(()) } else { Err(found) }
}

struct Checker<'m> {
    module: &'m Module,
    id: NodeId,
    node: &'m Node,
    found: Vec<String>,
}

impl Checker<'_> {
    /// T1 to T5, where all ids exist and expressions are trees.
    fn run(&mut self) {
        self.definitions();
        for equation in &self.node.equations {
            self.equation(equation);
        }
        for (id, expr) in self.node.exprs.iter_enumerated() {
            self.expression(id, expr);
        }
        self.results();
        for input in self.node.inputs() {
            let wrong = input.clock.and_then(|(c, _)| condition(&self.node.vars[c].ty));
            self.found.extend(wrong.map(|w| format!("T3: clock of {}: {w}", input.var)));
        }
        for claim in &self.node.claims {
            let wrong = condition(&self.node.vars[claim.cond].ty);
            self.found.extend(wrong.map(|w| format!("T3: clock of {}: {w}", claim.var)));
        }
    }

    /// T6, and that all ids exist.
    fn tree(&mut self) {
        let node = self.node;
        let mut places = vec![0_usize; node.exprs.len()];
        let mut vars: Vec<Var> = node.outputs.clone();
        vars.extend(node.equations.iter().flat_map(|e| e.lhs.iter().flatten().copied()));
        vars.extend(node.inputs().flat_map(|i| [Some(i.var), i.clock.map(|c| c.0)]).flatten());
        vars.extend(node.claims.iter().flat_map(|c| [c.var, c.cond]));
        let mut used: Vec<ExprId> = node.equations.iter().map(|e| e.rhs).collect();
        for expr in &node.exprs {
            used.extend(expr.kind.operands());
            if let ExprKind::Var(v) = expr.kind {
                vars.push(v);
            }
        }
        for id in used {
            match places.get_mut(id.0 as usize) {
                Some(n) => *n += 1,
                None => self.found.push(format!("T6: {id} does not exist")),
            }
        }
        let wrong = places.iter().enumerate().filter(|(_, n)| **n != 1);
        self.found.extend(wrong.map(|(e, n)| format!("T6: e{e} belongs to {n} places")));
        let missing = vars.into_iter().filter(|v| node.vars.get(*v).is_none());
        self.found.extend(missing.map(|v| format!("T1: {v} does not exist")));
    }

    /// T1.
    fn definitions(&mut self) {
        let mut counts = vec![0_usize; self.node.vars.len()];
        let inputs = self.node.inputs().map(|i| i.var);
        let defined = self.node.equations.iter().flat_map(|e| e.lhs.iter().flatten().copied());
        for var in inputs.chain(defined) {
            counts[var.0 as usize] += 1;
        }
        self.found.extend(definitions("T1", &counts));
    }

    fn equation(&mut self, equation: &Equation) {
        let expr = &self.node.exprs[equation.rhs];
        let results = match &expr.kind {
            ExprKind::Call { callee, .. } => match self.interface(*callee) {
                Some(interface) => interface.outputs,
                None => return,
            },
            _ => vec![expr.ty.clone()],
        };
        if results.len() != equation.lhs.len() {
            let rule = if matches!(expr.kind, ExprKind::Call { .. }) { "T4" } else { "T2" };
            self.found.push(format!(
                "{rule}: {} has {} results, not {}",
                equation.rhs,
                results.len(),
                equation.lhs.len()
            ));
        }
        for (var, ty) in equation.lhs.iter().zip(&results) {
            let Some(var) = var else { continue };
            if self.node.vars[*var].ty != *ty {
                self.found.push(format!("T2: {var} is {}, its right side {ty}", self.node.vars[*var].ty));
            }
        }
    }

    /// T2, T3 and T4 for one expression.
    fn expression(&mut self, id: ExprId, expr: &Expr) {
        let ty = |e: &ExprId| &self.node.exprs[*e].ty;
        let form = match &expr.kind {
            ExprKind::Const(c) => Form::Const(&c.ty, c.value()),
            ExprKind::Var(v) => Form::alike(vec![&self.node.vars[*v].ty]),
            ExprKind::Apply { op, args, .. } => Form::Apply(op, args.iter().map(|a| ty(a).clone()).collect()),
            ExprKind::If { cond, then, other } => Form::gated(ty(cond), vec![ty(then), ty(other)]),
            ExprKind::When { value, cond } => Form::gated(ty(cond), vec![ty(value)]),
            ExprKind::Merge { cond, on_true, on_false } => {
                Form::gated(ty(cond), vec![ty(on_true), ty(on_false)])
            }
            ExprKind::Fby { init, next } | ExprKind::FbyBack { init, next } => {
                Form::alike(vec![ty(init), ty(next)])
            }
            ExprKind::Post { next } => Form::alike(vec![ty(next)]),
            ExprKind::Param { init, .. } => Form::alike(vec![ty(init)]),
            ExprKind::Call { callee, args, every, .. } => {
                let args: Vec<Type> = args.iter().map(|a| ty(a).clone()).collect();
                let wrong_end = every.and_then(|e| condition(ty(&e)));
                self.found.extend(wrong_end.map(|w| format!("T3: {id}: {w}")));
                self.call(id, expr, *callee, &args);
                return;
            }
        };
        let (types, conditions) = (form.types(&expr.ty), form.conditions());
        self.found.extend(types.map(|w| format!("T2: {id}: {w}")));
        self.found.extend(conditions.map(|w| format!("T3: {id}: {w}")));
    }

    fn call(&mut self, id: ExprId, expr: &Expr, callee: Callee, args: &[Type]) {
        let (Callee::Node(target) | Callee::Diff { node: target, .. }) = callee;
        if target.0 >= self.id.0 {
            self.found.push(format!("T5: {id} calls {target}, which does not stand before its caller"));
        }
        let Some(interface) = self.interface(callee) else {
            self.found.push(format!("T4: {id} calls {target}, which does not exist"));
            return;
        };
        if interface.inputs != args {
            self.found
                .push(format!("T4: {id}: arguments are {args:?}, the callee takes {:?}", interface.inputs));
        }
        let first = interface.outputs.first().cloned().unwrap_or_else(Type::condition);
        if expr.ty != first {
            self.found.push(format!("T4: {id} is {}, its first result {first}", expr.ty));
        }
    }

    /// T4: only at the top of an equation has a call other than one result.
    fn results(&mut self) {
        let mut top = vec![false; self.node.exprs.len()];
        for equation in &self.node.equations {
            top[equation.rhs.0 as usize] = true;
        }
        for ((id, expr), top) in self.node.exprs.iter_enumerated().zip(top) {
            let ExprKind::Call { callee, .. } = expr.kind else { continue };
            let results = self.interface(callee).map_or(1, |i| i.outputs.len());
            if !top && results != 1 {
                self.found.push(format!("T4: {id} has {results} results inside an expression"));
            }
        }
    }

    fn interface(&self, callee: Callee) -> Option<Interface> {
        callee_interface(self.module, callee)
    }
}

/// The streams that a callee takes and gives; `None` if the node does not exist or is malformed.
pub(crate) fn callee_interface(module: &Module, callee: Callee) -> Option<Interface> {
    let (target, order) = match callee {
        Callee::Node(n) => (n, 0),
        Callee::Diff { node, order } => (node, order),
    };
    let node = module.nodes.get(target)?;
    let ty = |v: Var| node.vars.get(v).map(|d| d.ty.clone());
    let inputs = node.inputs().map(|i| ty(i.var)).collect::<Option<_>>()?;
    let outputs = node.outputs.iter().map(|o| ty(*o)).collect::<Option<_>>()?;
    Some(Interface { inputs, outputs }.adjoint(order))
}
