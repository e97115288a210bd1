//! The clocks of a typed node, as determined by its own `when`, `merge` and declared clocks: for each expression, the
//! conditions that sample its clock from the clock of the inputs. Clock errors are reported later, in the analysis of
//! the whole program.

use rml_base::{EntityId, IndexVec, Span};
use rml_ir::Type;
use rml_ir::op::Op;
use rml_ir::typed::{Callee, Expr, ExprId, ExprKind, Node, NodeId, Var};

/// The conditions that sample a clock, outermost first.
pub(crate) type Chain = Vec<(Var, bool)>;

/// A clock with more nested samplings than this depends on itself.
const MAX_CHAIN: usize = 64;

#[derive(Clone, Copy)]
enum Clock {
    /// A clock that is not known yet.
    Open,
    /// The same clock as another one.
    Same(usize),
    /// The clock of the inputs.
    Base,
    /// A clock sampled from another one where the condition has this value.
    On(usize, Var, bool),
    /// A clock sampled by a condition that has no name in this node.
    Inside,
}

/// The clock of an input or output of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Port {
    /// The clock of the node.
    Base,
    /// Sampled from the clock of the node where that input or output has this value.
    On(Place, bool),
    /// Sampled by a condition that callers cannot see.
    Inside,
}

/// An input or output of a node, by its position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    Input(usize),
    Output(usize),
}

/// The clocks of the inputs and outputs of a node.
#[derive(Clone, Default, Debug)]
pub(crate) struct Interface {
    pub(crate) inputs: Vec<Port>,
    pub(crate) outputs: Vec<Port>,
}

/// Returns the interface of a node that is called.
type Interfaces<'a> = &'a mut dyn FnMut(NodeId) -> Interface;

/// The clocks of a node; conditions are variables.
#[derive(Default)]
pub(crate) struct Clocks {
    clocks: Vec<Clock>,
    vars: IndexVec<Var, usize>,
    exprs: IndexVec<ExprId, Option<usize>>,
}

impl Clocks {
    /// Computes the clocks of a node; `of` returns the interfaces of the nodes that it calls.
    pub(crate) fn of(node: &Node, of: Interfaces<'_>) -> Self {
        let mut found = Self {
            clocks: (0..node.vars.len()).map(|_| Clock::Open).collect(),
            vars: (0..node.vars.len()).collect(),
            exprs: IndexVec::filled(None, node.exprs.len()),
        };
        let base = found.new_clock(Clock::Base);
        for input in node.inputs() {
            let own = match input.clock {
                None => base,
                Some((cond, positive)) => found.new_clock(Clock::On(found.vars[cond], cond, positive)),
            };
            found.unify(found.vars[input.var], own);
        }
        for claim in &node.claims {
            let of = found.vars[claim.cond];
            let own = found.new_clock(Clock::On(of, claim.cond, claim.positive));
            found.unify(found.vars[claim.var], own);
        }
        for equation in &node.equations {
            let clock = found.expr(node, equation.rhs, of);
            for (i, var) in equation.lhs.iter().enumerate() {
                let Some(var) = *var else { continue };
                let own = found.result(node, (equation.rhs, clock), (i, &equation.lhs), of);
                found.unify(found.vars[var], own);
            }
        }
        found
    }

    /// The clock of a result of an expression that is on `clock`. The results of an adjoint are on the clock of the
    /// call.
    fn result(
        &mut self,
        node: &Node,
        (expr, clock): (ExprId, usize),
        (result, lhs): (usize, &[Option<Var>]),
        of: Interfaces<'_>,
    ) -> usize {
        let ExprKind::Call { callee: Callee::Node(callee), args, .. } = &node.exprs[expr].kind else {
            return clock;
        };
        let port = of(*callee).outputs.get(result).copied();
        self.port(node, (args, lhs), clock, port.unwrap_or(Port::Base))
    }

    /// The clock of an input or result of a call with these arguments and results that runs on `clock`.
    fn port(
        &mut self,
        node: &Node,
        (args, lhs): (&[ExprId], &[Option<Var>]),
        clock: usize,
        port: Port,
    ) -> usize {
        let (place, positive) = match port {
            Port::Base => return clock,
            Port::On(place, positive) => (place, positive),
            Port::Inside => return self.new_clock(Clock::Inside),
        };
        let cond = match place {
            Place::Input(at) => args.get(at).and_then(|cond| condition(node, *cond)),
            Place::Output(at) => lhs.get(at).copied().flatten().map(|var| (var, true)),
        };
        self.new_clock(match cond {
            Some((cond, value)) => Clock::On(clock, cond, value == positive),
            None => Clock::Inside,
        })
    }

    /// The clock on which a call runs.
    fn call(&mut self, node: &Node, expr: ExprId, parts: &[usize], of: Interfaces<'_>) -> usize {
        let clock = self.new_clock(Clock::Open);
        let ExprKind::Call { callee, args, .. } = &node.exprs[expr].kind else { return clock };
        let (Callee::Node(called) | Callee::Diff { node: called, .. }) = *callee;
        // The other arguments of an adjoint are gradients, except for the first one.
        let mut ports = of(called).inputs;
        ports.push(Port::Base);
        for (port, part) in ports.into_iter().zip(parts) {
            let own = self.port(node, (args, &[]), clock, port);
            self.unify(*part, own);
        }
        clock
    }

    /// The conditions that sample the clock of an expression; `None` if a condition has no name.
    pub(crate) fn chain(&self, expr: ExprId) -> Option<Chain> {
        self.exprs.get(expr).copied().flatten().map_or(Some(Vec::new()), |clock| self.resolve(clock))
    }

    /// Like [`chain`](Self::chain), but also `None` for an expression that fits any clock, such as a constant.
    pub(crate) fn known_chain(&self, expr: ExprId) -> Option<Chain> {
        let clock = self.exprs.get(expr).copied().flatten()?;
        let (mut at, mut steps) = (self.find(clock), 0);
        while let (Clock::On(of, ..), true) = (self.clocks[at], steps < MAX_CHAIN) {
            (at, steps) = (self.find(of), steps + 1);
        }
        match self.clocks[at] {
            Clock::Open => None,
            Clock::Base | Clock::On(..) | Clock::Inside | Clock::Same(_) => self.resolve(clock),
        }
    }

    /// The same as [`chain`](Self::chain), for a variable.
    pub(crate) fn chain_of(&self, var: Var) -> Option<Chain> {
        self.vars.get(var).map_or(Some(Vec::new()), |clock| self.resolve(*clock))
    }

    fn resolve(&self, clock: usize) -> Option<Chain> {
        let (mut at, mut chain) = (clock, Vec::new());
        for _ in 0..MAX_CHAIN {
            match self.clocks[self.find(at)] {
                // Expressions that are not tied to a clock run with the node.
                Clock::Base | Clock::Open | Clock::Same(_) => {
                    chain.reverse();
                    return Some(chain);
                }
                Clock::On(of, cond, positive) => {
                    chain.push((cond, positive));
                    at = of;
                }
                Clock::Inside => return None,
            }
        }
        None
    }

    fn new_clock(&mut self, clock: Clock) -> usize {
        self.clocks.push(clock);
        self.clocks.len() - 1
    }

    /// The representative of a clock; shortens the path to it.
    fn shortened(&mut self, mut clock: usize) -> usize {
        while let Clock::Same(other) = self.clocks[clock] {
            if let Clock::Same(further) = self.clocks[other] {
                self.clocks[clock] = Clock::Same(further);
            }
            clock = other;
        }
        clock
    }

    fn find(&self, mut clock: usize) -> usize {
        while let Clock::Same(other) = self.clocks[clock] {
            clock = other;
        }
        clock
    }

    fn unify(&mut self, a: usize, b: usize) {
        let (mut a, mut b) = (self.shortened(a), self.shortened(b));
        while a != b {
            let next = match (self.clocks[a], self.clocks[b]) {
                (Clock::Open, _) => {
                    self.clocks[a] = Clock::Same(b);
                    return;
                }
                (_, Clock::Open) => {
                    self.clocks[b] = Clock::Same(a);
                    return;
                }
                (Clock::On(x, c, p), Clock::On(y, d, q)) if c == d && p == q => (x, y),
                (Clock::Base | Clock::On(..) | Clock::Inside | Clock::Same(_), _) => return,
            };
            self.clocks[a] = Clock::Same(b);
            (a, b) = (self.shortened(next.0), self.shortened(next.1));
        }
    }

    fn expr(&mut self, node: &Node, id: ExprId, of: Interfaces<'_>) -> usize {
        let operands = node.exprs[id].kind.operands();
        let mut operand = |part: &ExprId| {
            let clock = self.expr(node, *part, of);
            self.result(node, (*part, clock), (0, &[]), of)
        };
        let parts: Vec<usize> = operands.iter().map(&mut operand).collect();
        let clock = match &node.exprs[id].kind {
            ExprKind::Var(var) => match self.vars.get(*var) {
                Some(&clock) => clock,
                None => self.new_clock(Clock::Open), // A parameter of a shared instance.
            },
            ExprKind::Const(_) | ExprKind::Param { .. } => self.new_clock(Clock::Open),
            ExprKind::Apply { .. }
            | ExprKind::If { .. }
            | ExprKind::Fby { .. }
            | ExprKind::FbyBack { .. }
            | ExprKind::Post { .. } => self.together(&parts),
            ExprKind::When { cond, .. } => {
                let of = self.together(&parts);
                match condition(node, *cond) {
                    Some((cond, positive)) => self.new_clock(Clock::On(of, cond, positive)),
                    None => self.new_clock(Clock::Inside),
                }
            }
            ExprKind::Merge { cond, .. } => {
                if let Some((cond, positive)) = condition(node, *cond) {
                    for (part, value) in [(1, positive), (2, !positive)] {
                        let branch = self.new_clock(Clock::On(parts[0], cond, value));
                        self.unify(parts[part], branch);
                    }
                }
                parts[0]
            }
            ExprKind::Call { args, .. } => self.call(node, id, &parts[..args.len()], of),
        };
        self.exprs[id] = Some(clock);
        clock
    }

    fn together(&mut self, parts: &[usize]) -> usize {
        let clock = self.new_clock(Clock::Open);
        parts.iter().for_each(|part| self.unify(*part, clock));
        clock
    }
}

/// The variable of a condition, and the value of it for which the condition is true.
pub(crate) fn condition(node: &Node, cond: ExprId) -> Option<(Var, bool)> {
    let read = |id: ExprId| {
        let ExprKind::Var(var) = node.exprs[id].kind else { return None };
        Some(var)
    };
    if let ExprKind::Apply { op: Op::Not, args, .. } = &node.exprs[cond].kind {
        return Some((read(*args.first()?)?, false));
    }
    Some((read(cond)?, true))
}

/// The conditions of samplings that are not variables.
pub(crate) fn unnamed(node: &Node) -> Vec<ExprId> {
    let conds = node.exprs.iter().filter_map(|expr| match &expr.kind {
        ExprKind::When { cond, .. } | ExprKind::Merge { cond, .. } => Some(*cond),
        ExprKind::Const(_) | ExprKind::Var(_) | ExprKind::Apply { .. } | ExprKind::If { .. } => None,
        ExprKind::Fby { .. } | ExprKind::FbyBack { .. } | ExprKind::Post { .. } => None,
        ExprKind::Param { .. } | ExprKind::Call { .. } => None,
    });
    conds.filter(|cond| condition(node, *cond).is_none()).collect()
}

/// A value on the clock of a node, sampled by these conditions.
pub(crate) fn sampled(node: &mut Node, mut value: ExprId, chain: &[(Var, bool)], span: Span) -> ExprId {
    let ty = node.exprs[value].ty.clone();
    let mut push = |kind, ty| node.exprs.push(Expr { kind, ty, span });
    for (cond, positive) in chain {
        let mut cond = push(ExprKind::Var(*cond), Type::condition());
        if !positive {
            let not = ExprKind::Apply { op: Op::Not, args: vec![cond], statics: Vec::new() };
            cond = push(not, Type::condition());
        }
        value = push(ExprKind::When { value, cond }, ty.clone());
    }
    value
}

/// Whether an expression contains neither calls nor parameters.
pub(crate) fn is_plain(node: &Node, expr: ExprId) -> bool {
    let own = match &node.exprs[expr].kind {
        ExprKind::Call { .. } | ExprKind::Param { .. } => false,
        ExprKind::Var(var) => exists(node, *var),
        ExprKind::Const(_) | ExprKind::Apply { .. } | ExprKind::If { .. } | ExprKind::When { .. } => true,
        ExprKind::Merge { .. } | ExprKind::Fby { .. } | ExprKind::FbyBack { .. } | ExprKind::Post { .. } => {
            true
        }
    };
    own && node.exprs[expr].kind.operands().iter().all(|operand| is_plain(node, *operand))
}

/// The clocks of the inputs and outputs of a node.
pub(crate) fn interface(node: &Node, clocks: &Clocks) -> Interface {
    let input = |cond: Var| node.inputs().position(|input| input.var == cond).map(Place::Input);
    let result = |cond: Var| node.outputs.iter().position(|output| *output == cond).map(Place::Output);
    let on = |cond, positive| match input(cond).or_else(|| result(cond)) {
        Some(place) => Port::On(place, positive),
        None => Port::Inside,
    };
    let output = |var: &Var| match clocks.chain_of(*var).as_deref() {
        Some([]) => Port::Base,
        Some(&[(cond, positive)]) => on(cond, positive),
        Some(_) | None => Port::Inside,
    };
    let declared = |clock: Option<(Var, bool)>| clock.map_or(Port::Base, |(cond, value)| on(cond, value));
    Interface {
        inputs: node.inputs().map(|formal| declared(formal.clock)).collect(),
        outputs: node.outputs.iter().map(output).collect(),
    }
}

/// Whether the node has the variable. A number beyond its variables is a placeholder for a parameter of a shared
/// instance, which a later pass defines.
pub(crate) fn exists(node: &Node, var: Var) -> bool {
    var.index() < node.vars.len()
}
