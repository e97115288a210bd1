//! Clocks inside of a typed node, as far as its own samplings say: for each expression the conditions by which its
//! clock is sampled from that of the inputs. What is on wrong clocks is found later, by all equations together.

use rml_base::{EntityId, IndexVec};
use rml_ir::typed::{Callee, ExprId, ExprKind, Node, NodeId, Var};

/// The conditions by which a clock is sampled, outermost first.
pub(crate) type Chain = Vec<(Var, bool)>;

/// More samplings inside each other than that are a clock that depends on itself.
const MAX_CHAIN: usize = 64;

#[derive(Clone, Copy)]
enum Clock {
    /// Not known yet.
    Open,
    /// The same as another.
    Same(usize),
    /// That of the inputs.
    Base,
    /// Sampled from another by a condition.
    On(usize, Var, bool),
    /// Sampled by something that has no name in this node.
    Inside,
}

/// The clocks of a node whose conditions are variables.
#[derive(Default)]
pub(crate) struct Clocks {
    clocks: Vec<Clock>,
    vars: IndexVec<Var, usize>,
    exprs: IndexVec<ExprId, Option<usize>>,
}

impl Clocks {
    /// The clocks of a node; `outputs` says which outputs of a node are on the clock of its inputs.
    pub(crate) fn of(node: &Node, outputs: &mut dyn FnMut(NodeId) -> Vec<bool>) -> Self {
        let mut found = Self {
            clocks: (0..node.vars.len()).map(|_| Clock::Open).collect(),
            vars: (0..node.vars.len()).collect(),
            exprs: IndexVec::filled(None, node.exprs.len()),
        };
        let base = found.new_clock(Clock::Base);
        for input in node.inputs() {
            let own = match input.clock {
                None => base,
                Some((cond, positive)) => {
                    let of = found.vars[cond];
                    found.new_clock(Clock::On(of, cond, positive))
                }
            };
            found.unify(found.vars[input.var], own);
        }
        for claim in &node.claims {
            let of = found.vars[claim.cond];
            let own = found.new_clock(Clock::On(of, claim.cond, claim.positive));
            found.unify(found.vars[claim.var], own);
        }
        for equation in &node.equations {
            let clock = found.expr(node, equation.rhs, outputs);
            let results = match &node.exprs[equation.rhs].kind {
                ExprKind::Call { callee: Callee::Node(callee), .. } => Some(outputs(*callee)),
                _ => None, // one result, or those of an adjoint, which are on its clock
            };
            for (i, var) in equation.lhs.iter().enumerate() {
                let Some(var) = *var else { continue };
                match results.as_ref().map(|results| results.get(i)) {
                    Some(Some(false)) => {
                        let inside = found.new_clock(Clock::Inside);
                        found.unify(found.vars[var], inside);
                    }
                    Some(_) | None => found.unify(found.vars[var], clock),
                }
            }
        }
        found
    }

    /// The conditions by which the clock of an expression is sampled; `None` if one has no name.
    pub(crate) fn chain(&self, expr: ExprId) -> Option<Chain> {
        self.exprs.get(expr).copied().flatten().map_or(Some(Vec::new()), |clock| self.resolve(clock))
    }

    /// The same; `None` too for what is on any clock, as a constant.
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

    /// The same for a variable.
    pub(crate) fn chain_of(&self, var: Var) -> Option<Chain> {
        self.vars.get(var).map_or(Some(Vec::new()), |clock| self.resolve(*clock))
    }

    fn resolve(&self, clock: usize) -> Option<Chain> {
        let (mut at, mut chain) = (clock, Vec::new());
        for _ in 0..MAX_CHAIN {
            match self.clocks[self.find(at)] {
                // what nothing ties to a clock runs with the node
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

    fn find(&self, mut clock: usize) -> usize {
        while let Clock::Same(other) = self.clocks[clock] {
            clock = other;
        }
        clock
    }

    fn unify(&mut self, a: usize, b: usize) {
        let (mut a, mut b) = (self.find(a), self.find(b));
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
            (a, b) = (self.find(next.0), self.find(next.1));
        }
    }

    fn expr(&mut self, node: &Node, id: ExprId, outputs: &mut dyn FnMut(NodeId) -> Vec<bool>) -> usize {
        let operands = node.exprs[id].kind.operands();
        let parts: Vec<usize> = operands.iter().map(|part| self.expr(node, *part, outputs)).collect();
        let clock = match &node.exprs[id].kind {
            ExprKind::Var(var) => match self.vars.get(*var) {
                Some(&clock) => clock,
                None => self.new_clock(Clock::Open), // a parameter of a shared instance
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
            ExprKind::Call { callee, every, .. } => {
                let args = parts.len() - usize::from(every.is_some());
                let inside = self.together(&parts[..args]);
                // an operand is the only output
                let sampled = match callee {
                    Callee::Node(callee) => outputs(*callee).first() == Some(&false),
                    Callee::Diff { .. } => false,
                };
                self.exprs[id] = Some(inside);
                if sampled && !node.equations.iter().any(|equation| equation.rhs == id) {
                    return self.new_clock(Clock::Inside);
                }
                return inside;
            }
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

/// The variable of a condition, and the value that it has where the condition is true.
pub(crate) fn condition(node: &Node, cond: ExprId) -> Option<(Var, bool)> {
    let read = |id: ExprId| match node.exprs[id].kind {
        ExprKind::Var(var) => Some(var),
        _ => None, // a computed condition has no name
    };
    match &node.exprs[cond].kind {
        ExprKind::Var(var) => Some((*var, true)),
        ExprKind::Apply { op: rml_ir::op::Op::Not, args, .. } => Some((read(*args.first()?)?, false)),
        _ => None,
    }
}

/// The conditions of samplings that are no variables.
pub(crate) fn unnamed(node: &Node) -> Vec<ExprId> {
    let conds = node.exprs.iter().filter_map(|expr| match &expr.kind {
        ExprKind::When { cond, .. } | ExprKind::Merge { cond, .. } => Some(*cond),
        ExprKind::Const(_) | ExprKind::Var(_) | ExprKind::Apply { .. } | ExprKind::If { .. } => None,
        ExprKind::Fby { .. } | ExprKind::FbyBack { .. } | ExprKind::Post { .. } => None,
        ExprKind::Param { .. } | ExprKind::Call { .. } => None,
    });
    conds.filter(|cond| condition(node, *cond).is_none()).collect()
}

/// Whether an expression has neither calls nor parameters in it.
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

/// Which outputs of a node are on the clock of its inputs.
pub(crate) fn outputs(node: &Node, clocks: &Clocks) -> Vec<bool> {
    let is_base = |var: &Var| clocks.chain_of(*var).is_some_and(|chain| chain.is_empty());
    node.outputs.iter().map(is_base).collect()
}

/// The number of a variable that does not exist stands for something that a later pass writes.
pub(crate) fn exists(node: &Node, var: Var) -> bool {
    var.index() < node.vars.len()
}
