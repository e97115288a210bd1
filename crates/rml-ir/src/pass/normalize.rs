//! typed → normal: one primitive an equation. Nothing is simplified and no name changes; new variables have
//! no name.

use std::sync::Arc;

use indexmap::IndexMap;
use rml_base::{IndexVec, Span};

use crate::check::checked;
use crate::normal::{self, Callee, Constant, Equation, Init, Rhs, Var, VarData};
use crate::typed::{self, ExprId, ExprKind};
use crate::types::Type;

/// The source name of the node that updates a parameter.
const OPTIMISER: &str = "diff_param";

/// One primitive an equation: nested expressions get variables of their own, every literal its own constant
/// equation, and a call of `diff_param` with three streams becomes a [`Rhs::ParamUpdate`]. Instances are
/// numbered for each source name in textual order, a call before its arguments.
///
/// Requires: `typed::verify`. Ensures: `normal::verify`; the variables of a node keep their ids, names and
/// order.
pub fn normalize(module: &typed::Module) -> normal::Module {
    let _span = tracing::debug_span!("normalize", nodes = module.nodes.len()).entered();
    let nodes = module.nodes.iter().map(|node| Normalizer::new(module, node).run()).collect();
    let result = normal::Module {
        precision: module.precision,
        nodes,
        root: module.root,
        overrides: module.overrides.clone(),
        optimisers: module.optimisers.clone(),
    };
    checked("normalize", || normal::verify(&result));
    result
}

struct Normalizer<'m> {
    module: &'m typed::Module,
    source: &'m typed::Node,
    node: normal::Node,
    /// How many instances of each source name there are so far.
    instances: IndexMap<Arc<str>, usize>,
}

impl<'m> Normalizer<'m> {
    fn new(module: &'m typed::Module, source: &'m typed::Node) -> Self {
        let node = normal::Node {
            name: source.name.clone(),
            formals: source.formals.clone(),
            outputs: source.outputs.clone(),
            claims: source.claims.clone(),
            statics: source.statics.clone(),
            vars: source.vars.clone(),
            consts: IndexVec::new(),
            equations: IndexVec::new(),
            held: source.held,
            span: source.span,
        };
        Self { module, source, node, instances: IndexMap::new() }
    }

    fn run(mut self) -> normal::Node {
        for equation in &self.source.equations {
            let expr = &self.source.exprs[equation.rhs];
            if let ExprKind::Call { .. } = expr.kind {
                self.call(&equation.lhs, equation.rhs, equation.span);
            } else {
                let target = equation.lhs.first().copied().flatten();
                let target = target.unwrap_or_else(|| self.temporary(&expr.ty, expr.span));
                self.define(target, equation.rhs, equation.span);
            }
        }
        self.node
    }

    fn temporary(&mut self, ty: &Type, span: Span) -> Var {
        self.node.vars.push(VarData { name: None, ty: ty.clone(), span, asserts: None, cases: None })
    }

    fn emit(&mut self, lhs: Vec<Var>, rhs: Rhs, span: Span) {
        self.node.equations.push(Equation { lhs, rhs, span });
    }

    fn constant(&mut self, constant: &Constant) -> normal::ConstId {
        self.node.consts.push(constant.clone())
    }

    /// The variable that holds an expression.
    fn operand(&mut self, id: ExprId) -> Var {
        let expr = &self.source.exprs[id];
        if let ExprKind::Var(v) = expr.kind {
            return v;
        }
        let var = self.temporary(&expr.ty, expr.span);
        self.define(var, id, expr.span);
        var
    }

    fn operands(&mut self, ids: &[ExprId]) -> Vec<Var> {
        ids.iter().map(|id| self.operand(*id)).collect()
    }

    fn init(&mut self, id: ExprId) -> Init {
        match &self.source.exprs[id].kind {
            ExprKind::Const(c) => Init::Const(self.constant(c)),
            _ => Init::Stream(self.operand(id)),
        }
    }

    /// Emits the equation `target = expression`, after those of its operands.
    fn define(&mut self, target: Var, id: ExprId, span: Span) {
        let rhs = match &self.source.exprs[id].kind {
            ExprKind::Const(c) => Rhs::Const(self.constant(c)),
            ExprKind::Var(v) => Rhs::Apply { op: crate::op::Op::Copy, args: vec![*v], statics: Vec::new() },
            ExprKind::Apply { op, args, statics } => {
                Rhs::Apply { op: op.clone(), args: self.operands(args), statics: statics.clone() }
            }
            ExprKind::If { cond, then, other } => {
                Rhs::If { cond: self.operand(*cond), then: self.operand(*then), other: self.operand(*other) }
            }
            ExprKind::When { value, cond } => {
                Rhs::When { value: self.operand(*value), cond: self.operand(*cond) }
            }
            ExprKind::Merge { cond, on_true, on_false } => Rhs::Merge {
                cond: self.operand(*cond),
                on_true: self.operand(*on_true),
                on_false: self.operand(*on_false),
            },
            ExprKind::Fby { init, next } => Rhs::Fby { init: self.init(*init), next: self.operand(*next) },
            ExprKind::FbyBack { init, next } => {
                Rhs::FbyBack { init: self.init(*init), next: self.operand(*next) }
            }
            ExprKind::Post { next } => Rhs::Post { next: self.operand(*next) },
            ExprKind::Param { init, by } => Rhs::Param { init: self.operand(*init), by: *by },
            ExprKind::Call { .. } => return self.call(&[Some(target)], id, span),
        };
        self.emit(vec![target], rhs, span);
    }

    fn call(&mut self, results: &[Option<Var>], id: ExprId, span: Span) {
        let ExprKind::Call { callee, args, every, statics, member, instance } = &self.source.exprs[id].kind
        else {
            return;
        };
        let instance = match instance {
            Some(given) => given.clone(),
            None => self.instance(*callee, member.as_deref()),
        };
        let args = self.operands(args);
        let every = every.map(|end| self.operand(end));
        let outputs =
            typed::verify::callee_interface(self.module, *callee).map_or_else(Vec::new, |i| i.outputs);
        let given = results.iter().copied().chain(std::iter::repeat(None));
        let lhs: Vec<Var> = outputs
            .iter()
            .zip(given)
            .map(|(ty, result)| result.unwrap_or_else(|| self.temporary(ty, span)))
            .collect();
        let rhs = match self.optimiser(*callee, every) {
            Some(optimiser) => {
                let (init, bp, d) = (args[0], args[1], args[2]);
                Rhs::ParamUpdate { init, bp, d, optimiser, instance: Some(instance) }
            }
            None => Rhs::Call { callee: *callee, args, every, instance, statics: statics.clone() },
        };
        self.emit(lhs, rhs, span);
    }

    /// The name of the next instance of a callee, in the equation of a member of a family.
    fn instance(&mut self, callee: Callee, member: Option<&str>) -> Arc<str> {
        let (node, order) = match callee {
            Callee::Node(node) => (node, 0),
            Callee::Diff { node, order } => (node, order),
        };
        let member = member.map_or_else(String::new, |member| format!("{member}."));
        let name = &self.module.nodes[node].name;
        let name: Arc<str> = format!("{}{member}{name}", "diff_".repeat(order.into())).into();
        let count = self.instances.entry(name.clone()).or_insert(0);
        let instance = format!("{name}_{count}").into();
        *count += 1;
        instance
    }

    /// The callee if a call of it updates a parameter: `diff_param: (init, bp, d) -> (o)`, without `every`.
    fn optimiser(&self, callee: Callee, every: Option<Var>) -> Option<typed::NodeId> {
        let Callee::Node(id) = callee else { return None };
        if every.is_some() || &*self.module.nodes[id].name != OPTIMISER {
            return None;
        }
        let interface = typed::verify::callee_interface(self.module, callee)?;
        let [output] = &interface.outputs[..] else { return None };
        let expected = [output.clone(), Type::condition(), output.clone()];
        (interface.inputs == expected).then_some(id)
    }
}
