//! Activity analysis: determines what the adjoint of a node must compute, before any equation of the adjoint is made.

use std::collections::{BTreeMap, BTreeSet};

use rml_base::{Diagnostic, Diagnostics, EntityId, codes};
use rml_ir::Type;
use rml_ir::normal::{Callee, Eq, Equation, Init, Module, Node, NodeId, Rhs, Var};

use crate::activity::{ActiveCall, Activity, Adjoints, Formal, Inner, Seed, Use};
use crate::bp::{Bp, BpKind, Guard};
use crate::build::Builder;
use crate::node_clocks::{Class, NodeClocks, Step};
use crate::rules;
use crate::signature::Adjoint;

/// The operands on which the result of an equation depends differentiably, with their positions.
pub(crate) fn flows(eq: &Equation, adjoints: &Adjoints) -> Vec<(usize, Var)> {
    match &eq.rhs {
        Rhs::Const(_) | Rhs::Param { .. } | Rhs::ParamUpdate { .. } => Vec::new(),
        Rhs::Apply { op, args, .. } => {
            let all = args.iter().copied().enumerate();
            all.filter(|&(i, _)| rules::apply::differentiable(op, args, i)).collect()
        }
        Rhs::If { then, other, .. } => vec![(1, *then), (2, *other)],
        Rhs::When { value, .. } => vec![(0, *value)],
        Rhs::Merge { on_true, on_false, .. } => vec![(1, *on_true), (2, *on_false)],
        Rhs::Fby { init, next } | Rhs::FbyBack { init, next } => match init {
            Init::Stream(i) => vec![(0, *i), (1, *next)],
            Init::Const(_) => vec![(1, *next)],
        },
        Rhs::Post { next } => vec![(0, *next)],
        Rhs::Call { callee, args, .. } => {
            let gradients = adjoint_of(callee, adjoints).map_or(&[][..], |a| &a.gradients);
            let flowing = gradients.iter().filter(|g| g.d.is_some() && !g.zero);
            flowing.filter_map(|g| args.get(g.input).map(|&v| (g.input, v))).collect()
        }
    }
}

/// The adjoint of a callee, if it has one.
pub(crate) fn adjoint_of<'a>(callee: &Callee, adjoints: &'a Adjoints) -> Option<&'a Adjoint> {
    match callee {
        Callee::Node(id) => adjoints.get(id),
        Callee::Diff { .. } => None,
    }
}

/// The active variables: those on a differentiable path from a num input or parameter to an output.
pub(crate) fn active(node: &Node, adjoints: &Adjoints) -> BTreeSet<Var> {
    let num = |v: Var| node.vars[v].ty.is_num();
    let ways: Vec<(&Equation, Vec<(usize, Var)>)> =
        node.equations.iter().map(|eq| (eq, flows(eq, adjoints))).collect();
    let mut forward = vec![Vec::new(); node.vars.len()];
    let mut backward = vec![Vec::new(); node.vars.len()];
    let mut sources: Vec<Var> = node.inputs().map(|i| i.var).filter(|&v| num(v)).collect();
    for (eq, ways) in &ways {
        for &o in &eq.lhs {
            backward[o.index()].extend(ways.iter().map(|&(_, v)| v));
            for (_, v) in ways.iter().filter(|_| num(o)) {
                forward[v.index()].push(o);
            }
        }
        let is_source = match &eq.rhs {
            Rhs::Param { .. } | Rhs::ParamUpdate { .. } => node.held == 0,
            Rhs::Call { callee, .. } => adjoint_of(callee, adjoints).is_some_and(|a| a.trains),
            _ => false,
        };
        if is_source {
            sources.extend(eq.lhs.iter().copied().filter(|&v| num(v)));
        }
    }
    let needs = closure(sources, &forward, |_| true);
    let outputs = node.outputs.iter().copied().filter(|v| needs.contains(v)).collect();
    closure(outputs, &backward, |v| needs.contains(&v))
}

/// The variables that can be reached along edges through variables for which `wanted` returns true.
fn closure(mut pending: Vec<Var>, edges: &[Vec<Var>], wanted: impl Fn(Var) -> bool) -> BTreeSet<Var> {
    let mut found: BTreeSet<Var> = pending.iter().copied().collect();
    while let Some(v) = pending.pop() {
        for &next in &edges[v.index()] {
            if wanted(next) && found.insert(next) {
                pending.push(next);
            }
        }
    }
    found
}

/// Gives every active variable a condition and collects the uses.
pub(crate) fn analyse(
    b: &mut Builder,
    module: &Module,
    adjoints: Inner<'_>,
    clocks: &NodeClocks,
    active: &BTreeSet<Var>,
    formals: &[Formal],
) -> Result<Activity, Diagnostics> {
    let mut activity = Activity::default();
    for &v in active {
        let slot = b.conditions.add(BpKind::Or(Vec::new()));
        b.slots.insert(v, slot);
    }
    let mut conditions: BTreeMap<Var, Bp> = BTreeMap::new();
    for formal in formals {
        let bp = *conditions.entry(formal.bp).or_insert_with(|| b.conditions.add(BpKind::Var(formal.bp)));
        let sampled = |of, &cond: &Guard| b.conditions.add(BpKind::When { of, cond });
        let here = formal.path.iter().fold(bp, sampled);
        activity.formals.insert(formal.d, here);
        if let Some(&slot) = b.slots.get(&formal.output) {
            b.conditions.extend(slot, here);
            activity.seeds.push(Seed { output: formal.output, d: formal.d, bp: here });
        }
    }
    for id in b.forward_equations().ids() {
        let eq = b.node.equations[id].clone();
        b.span = eq.span;
        if let Rhs::Call { callee: Callee::Node(node), args, .. } = &eq.rhs {
            activity.call(b, module, adjoints, id, &eq, *node, args)?;
        } else {
            activity.equation(b, adjoints.one, clocks, id, &eq);
        }
    }
    b.conditions.solve();
    activity.widen(b);
    Ok(activity)
}

impl Activity {
    /// Widens the condition of a call's result whose gradient comes only through delays. Such a gradient is already
    /// padded with zeros, so it is present wherever the call needs it, and need not be padded again. Requires: the
    /// conditions are solved.
    fn widen(&self, b: &mut Builder) {
        let is_padded = |found: &Use| match &b.node.equations[found.eq].rhs {
            Rhs::Fby { .. } | Rhs::FbyBack { .. } => found.position == 1,
            rhs => matches!(rhs, Rhs::Post { .. }),
        };
        let mut gated: BTreeSet<Var> = self.seeds.iter().map(|seed| seed.output).collect();
        gated.extend(self.uses.iter().filter(|found| !is_padded(found)).map(|found| found.target));
        for &(output, here) in self.calls.iter().flat_map(|call| &call.outputs) {
            if b.slots.contains_key(&output) && !gated.contains(&output) {
                b.slots.insert(output, here);
            }
        }
    }

    fn add(&mut self, b: &mut Builder, found: Use) {
        if let Some(&slot) = b.slots.get(&found.target) {
            b.conditions.extend(slot, found.bp);
            self.uses.push(found);
        }
    }

    fn equation(&mut self, b: &mut Builder, adjoints: &Adjoints, clocks: &NodeClocks, id: Eq, eq: &Equation) {
        let Some(&o) = eq.lhs.first() else { return };
        let Some(&slot) = b.slots.get(&o) else { return };
        for (position, target) in flows(eq, adjoints) {
            if b.slots.contains_key(&target) {
                if position == 0
                    && let Rhs::Fby { .. } | Rhs::FbyBack { .. } = &eq.rhs
                {
                    self.first(b, matches!(eq.rhs, Rhs::FbyBack { .. }), clocks.class(o), id);
                }
                let bp = self.contribution(b, id, &eq.rhs, position, slot);
                self.add(b, Use { eq: id, position, target, bp, result: None });
            }
        }
    }

    /// Makes `true fby false`, or `true fby back false`, on the clock of a delay; delays on the same clock share it.
    fn first(&mut self, b: &mut Builder, back: bool, class: Class, id: Eq) {
        let known = self.shared_firsts.get(&(back, class)).copied();
        let var = known.unwrap_or_else(|| rules::delay::first(b, back));
        self.shared_firsts.insert((back, class), var);
        self.firsts.insert(id, var);
    }

    /// The condition under which the operand at `position` gets a gradient; `slot` is the condition of the result.
    fn contribution(&mut self, b: &mut Builder, id: Eq, rhs: &Rhs, position: usize, slot: Bp) -> Bp {
        let kind = match rhs {
            Rhs::If { cond, .. } => {
                let cond = b.guard(*cond);
                BpKind::If { cond: if position == 1 { cond } else { cond.negated() }, of: slot }
            }
            Rhs::When { cond, .. } => BpKind::Merge { cond: b.guard(*cond), of: slot },
            Rhs::Merge { cond, .. } => {
                let cond = b.guard(*cond);
                BpKind::When { of: slot, cond: if position == 1 { cond } else { cond.negated() } }
            }
            Rhs::Fby { .. } | Rhs::FbyBack { .. } if position == 0 => match self.firsts.get(&id) {
                Some(&var) => BpKind::If { cond: Guard { var, positive: true }, of: slot },
                None => return slot,
            },
            Rhs::Fby { .. } => BpKind::Delay { back: true, of: slot },
            Rhs::FbyBack { .. } | Rhs::Post { .. } => BpKind::Delay { back: false, of: slot },
            Rhs::Const(_)
            | Rhs::Apply { .. }
            | Rhs::Param { .. }
            | Rhs::ParamUpdate { .. }
            | Rhs::Call { .. } => return slot,
        };
        b.conditions.add(kind)
    }

    #[allow(clippy::too_many_arguments, reason = "one call site, taking the parts of one equation")]
    fn call(
        &mut self,
        b: &mut Builder,
        module: &Module,
        adjoints: Inner<'_>,
        id: Eq,
        eq: &Equation,
        node: NodeId,
        args: &[Var],
    ) -> Result<(), Diagnostics> {
        let Some(adjoint) = adjoints.get(id, node).cloned() else { return Ok(()) };
        let actuals: Vec<Var> = args.iter().chain(&eq.lhs).copied().collect();
        let num: Vec<Var> = eq.lhs.iter().copied().filter(|&v| b.node.vars[v].ty.is_num()).collect();
        if !num.iter().any(|v| b.slots.contains_key(v)) {
            return Ok(());
        }
        let nothing = || BpKind::Or(Vec::new());
        let bps: Vec<Bp> = (0..adjoint.conditions()).map(|_| b.conditions.add(nothing())).collect();
        let mut outputs = Vec::new();
        for (&o, gate) in num.iter().zip(&adjoint.gates) {
            let bp = bps[gate.condition];
            let Some(guards) = caller_path(b, &gate.path, &actuals) else {
                return Err(hidden_clock(module, node, eq).into());
            };
            let here = guards.iter().fold(bp, |of, &cond| b.conditions.add(BpKind::When { of, cond }));
            if let Some(&slot) = b.slots.get(&o) {
                let lifted =
                    guards.iter().rev().fold(slot, |of, &cond| b.conditions.add(BpKind::Merge { cond, of }));
                b.conditions.extend(bp, lifted);
            }
            outputs.push((o, here));
        }
        if adjoint.parameter.is_none() {
            let types = adjoint.result_types(module);
            let results: Vec<Var> = types.into_iter().map(|ty: Type| b.unnamed(ty)).collect();
            for gradient in adjoint.gradients.iter().filter(|g| !g.zero) {
                let (Some(&target), Some(d)) = (args.get(gradient.input), gradient.d) else { continue };
                let condition = match gradient.bp {
                    Some(k) => b.conditions.add(BpKind::Var(results[k])),
                    None => bps[0],
                };
                let result = Some(results[d]);
                self.add(b, Use { eq: id, position: gradient.input, target, bp: condition, result });
            }
            self.calls.push(ActiveCall { eq: id, adjoint, bps, outputs, results });
        } else {
            self.calls.push(ActiveCall { eq: id, adjoint, bps, outputs, results: Vec::new() });
        }
        Ok(())
    }
}

/// The samplings of a callee's clock, in terms of the variables of the caller.
fn caller_path(b: &Builder, path: &[Step], actuals: &[Var]) -> Option<Vec<Guard>> {
    path.iter()
        .map(|step| match *step {
            Step::Interface(k, positive) => {
                let guard = b.guard(*actuals.get(k)?);
                Some(if positive { guard } else { guard.negated() })
            }
            Step::Inside => None,
        })
        .collect()
}

/// The error that a single condition cannot gate all outputs.
pub(crate) fn hidden_clock(module: &Module, node: NodeId, eq: &Equation) -> Diagnostic {
    let callee = &module.nodes[node];
    Diagnostic::error(
        codes::autodiff::GRADIENT_CLOCK,
        format!("the outputs of `{}` are on different clocks that its caller cannot tell apart", callee.name),
    )
    .label(eq.span, "the gradients of these results are present in different cycles")
    .label(callee.span, "a condition inside this node decides which outputs are present")
    .note("the adjoint has one condition `bp`, present with the outputs; it cannot be computed from theirs")
    .help("make the condition an output of the node, or merge the outputs inside it")
}
