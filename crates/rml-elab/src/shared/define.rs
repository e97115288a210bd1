//! The equations of the parameters of shared instances: their initial values, and their updates.

use indexmap::IndexMap;
use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, Span};
use rml_ir::op::{Binary, Op};
use rml_ir::typed::{Callee, ConstKind, Constant, Equation, ExprId, ExprKind, NodeId, Var};
use rml_ir::{DType, Type, Value};

use super::resolve::{Contribution, Free, Key, Known, Origin, Own, Resolver, Slot, Work};

/// The instances around a parameter: the node and the call, outermost first.
type Chain = Vec<(NodeId, ExprId)>;

impl Resolver<'_, '_, '_> {
    /// Adds the equations of the parameters that the node shares. Returns the parameters that are shared further out,
    /// and the keys of those for which the node has gradients.
    pub(super) fn define(&mut self, work: &mut Work) -> (Vec<Free>, Vec<Key>) {
        let (mut free, mut trained) = (Vec::new(), Vec::new());
        self.define_windows(work);
        for (key, known) in std::mem::take(&mut work.keys) {
            if work.defined.contains(&key) {
                work.keys.insert(key, known);
                continue;
            }
            let contributions = work.contributions.swap_remove(&key).unwrap_or_default();
            let own = work.tags.owner == Some(key.0.owner);
            if own && work.open {
                if let Some(call) = contributions.first() {
                    let span = work.node.vars[call.bp].span;
                    self.fail(updates_inside(span));
                }
                let path = format!("{}.{}", self.share_name(key.0), key.1).into();
                let Known { var, ty, origin, by, span, .. } = known;
                work.own.push((Own { path, ty, origin, by, span }, var));
                continue;
            }
            if own {
                self.equation(work, &known, contributions);
            } else {
                if let Some((bp, d)) = self.sum(work, contributions, &known.ty) {
                    work.node.outputs.extend([bp, d]);
                    trained.push(key.clone());
                }
                let (ty, origin, by) = (known.ty.clone(), known.origin.clone(), known.by);
                free.push(Free { key: key.clone(), ty, origin, by, span: known.span });
            }
            work.keys.insert(key, known);
        }
        (free, trained)
    }

    /// Adds the equation of a parameter.
    fn equation(&mut self, work: &mut Work, known: &Known, contributions: Vec<Contribution>) {
        let span = known.span;
        let Some(init) = self.initial(work, known) else { return };
        let rhs = match self.sum(work, contributions, &known.ty) {
            None => ExprKind::Param { init, by: known.by },
            Some((bp, d)) => {
                let Some(optimiser) = self.add.optimiser(known.by, &known.ty, span) else {
                    self.sound = false;
                    return;
                };
                let args = vec![init, work.read(bp, span), work.read(d, span)];
                let callee = Callee::Node(optimiser);
                ExprKind::Call {
                    callee,
                    args,
                    every: None,
                    statics: Vec::new(),
                    member: None,
                    instance: None,
                }
            }
        };
        let rhs = work.push(rhs, known.ty.clone(), span);
        work.node.equations.push(Equation { lhs: vec![Some(known.var)], rhs, span });
    }

    /// The condition and the gradient of a parameter, summed over all calls; `None` if there are no calls.
    pub(super) fn sum(
        &mut self,
        work: &mut Work,
        contributions: Vec<Contribution>,
        ty: &Type,
    ) -> Option<(Var, Var)> {
        let precision = self.add.builder.precision;
        let mut all = Vec::with_capacity(contributions.len());
        for Contribution { mut bp, d, chain, .. } in contributions {
            let span = work.node.vars[d].span;
            for (cond, positive) in chain.into_iter().rev() {
                let (cond, here) = (work.read(cond, span), work.read(bp, span));
                let none = work.truth(false, span);
                let (on_true, on_false) = if positive { (here, none) } else { (none, here) };
                bp = work.named(ExprKind::Merge { cond, on_true, on_false }, Type::condition(), span);
            }
            all.push((bp, d));
        }
        if let [] | [_] = all[..] {
            return all.pop();
        }
        let span = work.node.vars[all[0].1].span;
        let mut conditions = all.iter().rev().map(|(bp, _)| *bp);
        let mut either = conditions.next()?;
        for bp in conditions {
            let (cond, then, other) = (work.read(bp, span), work.truth(true, span), work.read(either, span));
            either = work.named(ExprKind::If { cond, then, other }, Type::condition(), span);
        }
        let mut sum = None;
        for (bp, d) in all {
            let (cond, on_true) = (work.read(bp, span), work.read(d, span));
            let on_false = work.zeros(ty, precision, span);
            let padded = work.push(ExprKind::Merge { cond, on_true, on_false }, ty.clone(), span);
            sum = Some(match sum {
                None => padded,
                Some(sum) => {
                    let args = vec![sum, padded];
                    let kind = ExprKind::Apply { op: Op::Binary(Binary::Add), args, statics: Vec::new() };
                    work.push(kind, ty.clone(), span)
                }
            });
        }
        let (value, cond) = (sum?, work.read(either, span));
        let d = work.named(ExprKind::When { value, cond }, ty.clone(), span);
        Some((either, d))
    }

    /// The initial value of a parameter, computed in the node that shares it.
    pub(super) fn initial(&mut self, work: &mut Work, known: &Known) -> Option<ExprId> {
        let mut chain: Chain = Vec::new();
        let (mut at, mut origin) = (work.of, known.origin.clone());
        loop {
            match origin {
                Origin::Here(init) => {
                    let mut copied = Copied { chain, node: at, vars: IndexMap::new() };
                    return self.copied(work, &mut copied, 0, init);
                }
                Origin::Inside(call, callee, slot) => {
                    chain.push((at, call));
                    let open = matches!(slot, Slot::Own(_) | Slot::Free(_, true));
                    let variant = self.variant(callee, open);
                    origin = match slot {
                        Slot::Own(i) => variant.own.get(i)?.origin.clone(),
                        Slot::Free(i, _) => variant.free.get(i)?.origin.clone(),
                    };
                    at = callee;
                }
            }
        }
    }

    /// Copies an expression of an initial value from the node that is `up` calls above the parameter.
    fn copied(&mut self, work: &mut Work, copied: &mut Copied, up: usize, expr: ExprId) -> Option<ExprId> {
        let node = self.node(copied.at(up)).clone();
        let old = &node.exprs[expr];
        let (mut kind, ty, span) = (old.kind.clone(), old.ty.clone(), old.span);
        match &mut kind {
            ExprKind::Var(var) if up < copied.chain.len() => {
                *var = self.copied_var(work, copied, up, *var)?;
            }
            ExprKind::Var(var) => *var = work.of_outside(&node, *var),
            ExprKind::Call { callee, .. } => {
                let (Callee::Node(id) | Callee::Diff { node: id, .. }) = callee;
                let variant = self.variant(*id, false);
                if !variant.free.is_empty() {
                    self.fail(shared_start(span));
                    return None;
                }
                *id = variant.id;
            }
            _ => {} // Only the operands must be copied.
        }
        for operand in kind.operands_mut() {
            *operand = self.copied(work, copied, up, *operand)?;
        }
        Some(work.push(kind, ty, span))
    }

    /// The variable, in the sharing node, that has the value of a variable `up` calls above the parameter.
    fn copied_var(&mut self, work: &mut Work, copied: &mut Copied, up: usize, var: Var) -> Option<Var> {
        if let Some(&known) = copied.vars.get(&(up, var)) {
            return Some(known);
        }
        let id = copied.at(up);
        let node = self.node(id);
        let (ty, span) = (node.vars[var].ty.clone(), node.vars[var].span);
        let input = node.inputs().position(|input| input.var == var);
        let defined = node.equations.iter().find(|equation| equation.lhs.contains(&Some(var))).cloned();
        let made = work.unnamed(ty, span);
        copied.vars.insert((up, var), made);
        if let Some(input) = input {
            let &(caller, call) = copied.chain.get(copied.chain.len().checked_sub(up + 1)?)?;
            let ExprKind::Call { args, .. } = &self.node(caller).exprs[call].kind else { return None };
            let arg = *args.get(input)?;
            if up + 1 == copied.chain.len() {
                self.same_argument(work, caller, call, input);
            }
            let rhs = self.copied(work, copied, up + 1, arg)?;
            work.node.equations.push(Equation { lhs: vec![Some(made)], rhs, span });
            return Some(made);
        }
        let equation = defined?;
        let mut lhs = Vec::with_capacity(equation.lhs.len());
        for other in &equation.lhs {
            lhs.push(match other {
                Some(other) if *other == var => Some(made),
                Some(other) => {
                    let data = self.node(id).vars[*other].clone();
                    let other_made = work.unnamed(data.ty, data.span);
                    copied.vars.insert((up, *other), other_made);
                    Some(other_made)
                }
                None => None,
            });
        }
        let rhs = self.copied(work, copied, up, equation.rhs)?;
        work.node.equations.push(Equation { lhs, rhs, span });
        Some(made)
    }

    /// Checks an initial value that is an argument of the calls of a shared instance: all calls must give the same one.
    fn same_argument(&mut self, work: &Work, caller: NodeId, call: ExprId, input: usize) {
        let Some(share) = work.tags.calls.get(&call).copied() else { return };
        let node = self.node(caller);
        let arg = |call: ExprId| match &node.exprs[call].kind {
            ExprKind::Call { args, .. } => args.get(input).copied(),
            _ => None,
        };
        let first = arg(call);
        let of_share = work.tags.calls.iter().filter(|(_, other)| **other == share);
        let other = of_share.map(|(other, _)| *other).find(|other| !same(node, first, arg(*other)));
        let Some(other) = other else { return };
        let (here, there) = (node.exprs[call].span, node.exprs[other].span);
        let name = self.share_name(share);
        self.fail(
            Diagnostic::error(
                codes::SHARED_INSTANCE,
                format!(
                    "the calls of the shared instance `{name}` give a parameter different initial values"
                ),
            )
            .label(there, "an argument of this call is the initial value of a parameter")
            .label(here, "this call gives another one")
            .help("give it where the instance is shared: `share u = scale(1.0, _);`"),
        );
    }
}

/// Whether two arguments are the same variable or the same constant.
pub(super) fn same(node: &rml_ir::typed::Node, a: Option<ExprId>, b: Option<ExprId>) -> bool {
    let (Some(a), Some(b)) = (a, b) else { return a == b };
    match (&node.exprs[a].kind, &node.exprs[b].kind) {
        (ExprKind::Var(a), ExprKind::Var(b)) => a == b,
        (ExprKind::Const(a), ExprKind::Const(b)) => match (a.value(), b.value()) {
            (Some(a), Some(b)) => a.ty() == b.ty() && format!("{a:?}") == format!("{b:?}"),
            _ => false,
        },
        _ => false,
    }
}

/// The parts of an initial value that are copied.
struct Copied {
    chain: Chain,
    /// The node that contains the parameter.
    node: NodeId,
    /// The variables copied so far, by the number of calls between them and the parameter.
    vars: IndexMap<(usize, Var), Var>,
}

impl Copied {
    /// The node that is `up` calls above the parameter.
    fn at(&self, up: usize) -> NodeId {
        match up.checked_sub(1) {
            None => self.node,
            Some(up) => self.chain[self.chain.len() - 1 - up].0,
        }
    }
}

impl Work {
    fn truth(&mut self, value: bool, span: Span) -> ExprId {
        let ty = Type::scalar(DType::Bool);
        let kind = ConstKind::Value(Value::Bool(value));
        self.push(ExprKind::Const(Constant { kind, ty: ty.clone(), text: None }), ty, span)
    }

    /// Defines a variable for an expression.
    fn named(&mut self, kind: ExprKind, ty: Type, span: Span) -> Var {
        let var = self.unnamed(ty.clone(), span);
        let rhs = self.push(kind, ty, span);
        self.node.equations.push(Equation { lhs: vec![Some(var)], rhs, span });
        var
    }
}

/// The error that a shared instance updates the parameters of an instance that is shared inside it.
fn updates_inside(span: Span) -> Diagnostic {
    Diagnostic::error(codes::SHARED_INSTANCE, "what a shared instance calls updates parameters")
        .label(span, "this call updates parameters of the instance")
        .note("expected a node that updates no parameter, since each call of the instance would update them")
        .help("call `grad_` to hold the parameters here, and `diff_` of the shared instance to train it")
}

/// The error that the initial value of a parameter depends on other parameters.
fn shared_start(span: Span) -> Diagnostic {
    Diagnostic::error(codes::SHARED_INSTANCE, "the initial value of a parameter depends on a shared instance")
        .label(span, "this call has parameters of a shared instance")
        .note("expected a value that is computed from constants")
        .help("compute the initial value from literals, `zeros` or random constants")
}
