//! Calls with parameters as additional arguments, and the gradients of the parameters as additional results.

use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, Span};
use rml_ir::typed::{Callee, ConstKind, Constant, Equation, ExprId, ExprKind, Var, VarData};
use rml_ir::{Precision, Type, Value};

use super::resolve::{Contribution, Key, Resolver, Work};
use crate::chains::sampled;

/// An input or result of a call.
#[derive(Clone)]
struct Port {
    ty: Type,
    what: What,
}

#[derive(Clone, Copy)]
enum What {
    /// An argument or result that the call already has.
    Written,
    /// The parameter with that number.
    Parameter(usize),
    /// The gradient of a result that is not read.
    Zero,
    /// A result that is not read.
    Dropped,
    /// The condition or the gradient of the parameter with that number.
    Condition(usize),
    Gradient(usize),
}

/// The interface of the adjoint of a node.
struct Ports {
    inputs: Vec<Port>,
    outputs: Vec<Port>,
}

impl Ports {
    /// The canonical interface of the adjoint. If `updates`, its last results are gradients that update parameters.
    fn adjoint(mut self, order: u8, updates: bool) -> Ports {
        let mut outputs = self.outputs.clone();
        for step in 1..=order {
            let is_num = |port: &&Port| port.ty.is_num();
            let gradient = |port: &Port| match port.what {
                What::Written => Port { ty: port.ty.clone(), what: What::Written },
                _ => Port { ty: port.ty.clone(), what: What::Zero },
            };
            let inputs = self.inputs.clone();
            self.inputs.push(Port { ty: Type::condition(), what: What::Written });
            self.inputs.extend(self.outputs.iter().filter(is_num).map(gradient));
            outputs.clone_from(&self.outputs);
            for input in inputs.iter().filter(is_num) {
                let (bp, d) = match input.what {
                    What::Written => (What::Written, What::Written),
                    What::Parameter(i) if updates && step == order => (What::Condition(i), What::Gradient(i)),
                    _ => (What::Dropped, What::Dropped),
                };
                outputs.push(Port { ty: Type::condition(), what: bp });
                outputs.push(Port { ty: input.ty.clone(), what: d });
                self.outputs.push(Port { ty: input.ty.clone(), what: d });
            }
        }
        Ports { inputs: self.inputs, outputs }
    }
}

impl Resolver<'_, '_, '_> {
    /// Replaces a call by a call of a variant.
    pub(super) fn call(&mut self, work: &mut Work, name: &str, expr: ExprId) {
        let ExprKind::Call { callee, .. } = work.node.exprs[expr].kind else { return };
        let (id, order) = match callee {
            Callee::Node(id) => (id, 0),
            Callee::Diff { node, order } => (node, order),
        };
        let shared = work.tags.calls.contains_key(&expr);
        let variant = self.variant(id, shared || work.open);
        let passed = self.passed(work, name, expr, id, &variant);
        let target = match callee {
            Callee::Node(_) => Callee::Node(variant.id),
            Callee::Diff { .. } => Callee::Diff { node: variant.id, order },
        };
        if passed.is_empty() {
            if let ExprKind::Call { callee, .. } = &mut work.node.exprs[expr].kind {
                *callee = target;
            }
            return;
        }
        let Some(chain) = self.chain(work, expr) else { return };
        let span = work.node.exprs[expr].span;
        let updates = order.saturating_sub(self.node(id).held);
        if updates > 1 || order > 0 && !variant.trained.is_empty() {
            return self.fail(trained_twice(span));
        }
        if updates > 0 && passed.iter().any(|(key, _)| key.is_none()) {
            return self.fail(trains_inside(span));
        }
        let node = self.node(id);
        let port = |var: Var| Port { ty: node.vars[var].ty.clone(), what: What::Written };
        let mut ports = Ports {
            inputs: node.inputs().map(|input| port(input.var)).collect(),
            outputs: node.outputs.iter().map(|output| port(*output)).collect(),
        };
        for (i, (_, var)) in passed.iter().enumerate() {
            ports.inputs.push(Port { ty: work.node.vars[*var].ty.clone(), what: What::Parameter(i) });
        }
        for key in &variant.trained {
            let Some(i) = passed.iter().position(|(of, _)| of.as_ref() == Some(key)) else { continue };
            let ty = work.node.vars[passed[i].1].ty.clone();
            ports.outputs.push(Port { ty: Type::condition(), what: What::Condition(i) });
            ports.outputs.push(Port { ty, what: What::Gradient(i) });
        }
        let ports = ports.adjoint(order, updates == 1);
        let precision = self.add.builder.precision;
        work.arguments(expr, target, &ports, (&passed, &chain), precision);
        work.results(expr, &ports, (&passed, &chain));
    }
}

/// The parameters that a call passes on, and the clock of the call.
type Passed<'a> = (&'a [(Option<Key>, Var)], &'a [(Var, bool)]);

impl Work {
    /// Adds the additional arguments to a call.
    fn arguments(
        &mut self,
        expr: ExprId,
        target: Callee,
        ports: &Ports,
        (passed, chain): Passed<'_>,
        precision: Precision,
    ) {
        let span = self.node.exprs[expr].span;
        let ExprKind::Call { args, .. } = self.node.exprs[expr].kind.clone() else { return };
        let mut written = args.into_iter();
        let mut all = Vec::with_capacity(ports.inputs.len());
        for port in &ports.inputs {
            all.extend(match port.what {
                What::Parameter(i) => Some(self.sampled(passed[i].1, chain, span)),
                What::Zero => Some(self.zeros(&port.ty, precision, span)),
                What::Written | What::Dropped | What::Condition(_) | What::Gradient(_) => written.next(),
            });
        }
        if let ExprKind::Call { callee, args, .. } = &mut self.node.exprs[expr].kind {
            (*callee, *args) = (target, all);
        }
    }

    /// Adds the additional results to a call.
    fn results(&mut self, expr: ExprId, ports: &Ports, (passed, chain): Passed<'_>) {
        let span = self.node.exprs[expr].span;
        let ExprKind::Call { every, .. } = self.node.exprs[expr].kind else { return };
        let top = self.node.equations.iter().position(|equation| equation.rhs == expr);
        if top.is_none() && ports.outputs.len() == 1 {
            return;
        }
        let before = match top {
            Some(top) => std::mem::take(&mut self.node.equations[top].lhs),
            None => vec![Some(self.unnamed(self.node.exprs[expr].ty.clone(), span))],
        };
        let first = before.first().copied().flatten();
        let mut written = before.into_iter();
        let mut conditions = vec![None; passed.len()];
        let mut lhs = Vec::with_capacity(ports.outputs.len());
        for port in &ports.outputs {
            lhs.push(match port.what {
                What::Condition(i) => {
                    let bp = self.unnamed(Type::condition(), span);
                    conditions[i] = Some(bp);
                    Some(bp)
                }
                What::Gradient(i) => {
                    let d = self.unnamed(port.ty.clone(), span);
                    if let (Some(key), Some(bp)) = (&passed[i].0, conditions[i]) {
                        let contribution = Contribution { bp, d, chain: chain.to_vec(), every };
                        self.contributions.entry(key.clone()).or_default().push(contribution);
                    }
                    Some(d)
                }
                What::Dropped => None,
                What::Written | What::Parameter(_) | What::Zero => written.next().flatten(),
            });
        }
        if let Some(port) = ports.outputs.first() {
            self.node.exprs[expr].ty = port.ty.clone();
        }
        match (top, first) {
            (Some(top), _) => self.node.equations[top].lhs = lhs,
            (None, Some(result)) => {
                let call = self.node.exprs[expr].clone();
                self.node.exprs[expr].ty = self.node.vars[result].ty.clone();
                self.node.exprs[expr].kind = ExprKind::Var(result);
                let rhs = self.node.exprs.push(call);
                self.node.equations.push(Equation { lhs, rhs, span });
            }
            (None, None) => {}
        }
    }

    /// A variable, sampled to the clock of a call.
    pub(super) fn sampled(&mut self, var: Var, chain: &[(Var, bool)], span: Span) -> ExprId {
        let value = self.read(var, span);
        sampled(&mut self.node, value, chain, span)
    }

    pub(super) fn unnamed(&mut self, ty: Type, span: Span) -> Var {
        self.node.vars.push(VarData { name: None, ty, span, asserts: None, cases: None })
    }

    pub(super) fn zeros(&mut self, ty: &Type, precision: Precision, span: Span) -> ExprId {
        let kind = ConstKind::Value(Value::filled(ty, 0.0, precision));
        let constant = Constant { kind, ty: ty.clone(), text: None };
        self.push(ExprKind::Const(constant), ty.clone(), span)
    }
}

/// The error that a call which updates the parameters of a shared instance is differentiated.
fn trained_twice(span: Span) -> Diagnostic {
    Diagnostic::error(
        codes::SHARED_INSTANCE,
        "the update of the parameters of a shared instance cannot be differentiated here",
    )
    .label(span, "this call differentiates what updates them")
    .note("expected a call of the instance, of its `diff_`, or of its `grad_`")
    .help("share the instance in the node that is differentiated, so that the update stands there too")
}

/// The error that a node called by a shared instance updates its parameters.
fn trains_inside(span: Span) -> Diagnostic {
    Diagnostic::error(codes::SHARED_INSTANCE, "what a shared instance calls updates parameters")
        .label(span, "this call updates parameters of the instance")
        .note("expected a node that updates no parameter, since each call of the instance would update them")
        .help("call `grad_` to hold the parameters here, and `diff_` of the shared instance to train it")
}
