//! `f(x) restart r`, and the states of automata: delays that return to their first values.
//!
//! A delay restarts by *flags*, which `expand` notes: `if r then init else (init fby x)`. The flag of a node or state
//! is on the clock of that node or state. If the delay is on a slower clock, the flag is kept until that clock is
//! present: it is true from the cycle of the flag up to the next cycle of the delay. So no future value is needed,
//! whatever the clock of a delay.

use indexmap::IndexMap;
use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, Span};
use rml_ir::Type;
use rml_ir::op::Op;
use rml_ir::typed::{Callee, Equation, ExprId, ExprKind, Node, Var};

use crate::along::Nodes;
use crate::along::edit::Edit;
use crate::chains::{Chain, Clocks};
use crate::shared::Tags;

/// Restarts the delays and calls of a node by their flags.
///
/// # Errors
/// The clock of a delay or call has no name in the node.
pub(crate) fn resolve(nodes: &mut Nodes<'_>, node: Node, mut tags: Tags) -> Result<(Node, Tags), Diagnostic> {
    if tags.restarts.is_empty() {
        return Ok((node, tags));
    }
    let restarted = std::mem::take(&mut tags.restarts);
    let mut edit = Edit::new(node, tags, nodes.precision);
    edit.tags.restarts = restarted;
    edit.fix_names(&nodes.called());
    edit.name_conditions();
    // The argument for the restart flags does not determine the clock of a call.
    for call in edit.tags.restarts.keys().copied().collect::<Vec<_>>() {
        if let Some(at) = flag_argument(nodes, &edit.node, call) {
            let none = edit.fill(&Type::condition(), 0.0, edit.node.exprs[call].span);
            set_argument(&mut edit.node, call, at, none);
        }
    }
    let clocks = Clocks::of(&edit.node, &mut |callee| nodes.interface(callee));
    let restarted = std::mem::take(&mut edit.tags.restarts);
    let mut restart = Restart { edit, clocks, flags: IndexMap::new(), kept: IndexMap::new() };
    for expr in restart.edit.in_order() {
        let Some(flags) = restarted.get(&expr) else { continue };
        let span = restart.edit.node.exprs[expr].span;
        let chain = restart.clock(expr, flags).ok_or_else(|| hidden(span))?;
        let flag = restart.any(flags, &chain, span);
        restart.by(nodes, expr, flag);
    }
    Ok(restart.edit.finish())
}

struct Restart {
    edit: Edit,
    clocks: Clocks,
    /// For each set of flags and each clock: the combined flag on that clock.
    flags: IndexMap<(Vec<Var>, Chain), Var>,
    /// Flags that are kept until a condition has a given value.
    kept: IndexMap<(Var, Var, bool), Var>,
}

impl Restart {
    /// The clock of a delay or call; `None` if it has no name. If any clock fits, it is that of the innermost flag.
    fn clock(&self, expr: ExprId, flags: &[Var]) -> Option<Chain> {
        let chain = self.clocks.chain(expr)?;
        if self.clocks.known_chain(expr).is_some() {
            return Some(chain);
        }
        flags.iter().filter_map(|flag| self.clocks.chain_of(*flag)).max_by_key(Vec::len)
    }

    /// Whether one of the flags is true, as a variable on that clock.
    fn any(&mut self, flags: &[Var], chain: &Chain, span: Span) -> Var {
        let key = (flags.to_vec(), chain.clone());
        if let Some(&known) = self.flags.get(&key) {
            return known;
        }
        let all: Vec<Var> = flags.iter().map(|flag| self.brought(*flag, chain, span)).collect();
        let either = |edit: &mut Edit, a: Var, b: Var| edit.logic(Op::Or, &[a, b], span);
        let made = all.into_iter().reduce(|a, b| either(&mut self.edit, a, b));
        let made = made.unwrap_or_else(|| {
            let no = self.edit.fill(&Type::condition(), 0.0, span);
            self.edit.define(no)
        });
        self.flags.insert(key, made);
        made
    }

    /// The flag on a clock that is slower than its own.
    fn brought(&mut self, flag: Var, chain: &[(Var, bool)], span: Span) -> Var {
        let own = self.clocks.chain_of(flag).unwrap_or_default();
        let Some(slower) = chain.strip_prefix(&own[..]) else { return flag };
        slower.iter().fold(flag, |flag, (cond, positive)| self.kept(flag, (*cond, *positive), span))
    }

    /// A flag that stays true up to the next cycle in which a condition has the given value. The result is sampled in
    /// such cycles: `kept when cond`, with `kept = if flag then true else (false fby (if cond then false else kept))`.
    fn kept(&mut self, flag: Var, (cond, positive): (Var, bool), span: Span) -> Var {
        if let Some(&known) = self.kept.get(&(flag, cond, positive)) {
            return known;
        }
        let (edit, ty) = (&mut self.edit, Type::condition());
        let left = edit.var(None, ty.clone(), span);
        let (init, next) = (edit.fill(&ty, 0.0, span), edit.read(left, span));
        let other = edit.push(ExprKind::Fby { init, next }, ty.clone(), span);
        let (is_flag, then) = (edit.read(flag, span), edit.fill(&ty, 1.0, span));
        let kept = edit.push(ExprKind::If { cond: is_flag, then, other }, ty.clone(), span);
        let kept = edit.define(kept);
        let (is_taken, stays, none) =
            (edit.read(cond, span), edit.read(kept, span), edit.fill(&ty, 0.0, span));
        let (then, other) = if positive { (none, stays) } else { (stays, none) };
        let rhs = edit.push(ExprKind::If { cond: is_taken, then, other }, ty, span);
        edit.node.equations.push(Equation { lhs: vec![Some(left)], rhs, span });
        let sampled = edit.sampled(kept, &[(cond, positive)], span);
        let sampled = edit.define(sampled);
        self.kept.insert((flag, cond, positive), sampled);
        sampled
    }

    /// Restarts a delay by a flag on its clock, or passes the flag to a call.
    fn by(&mut self, nodes: &Nodes<'_>, expr: ExprId, flag: Var) {
        let span = self.edit.node.exprs[expr].span;
        let cond = self.edit.read(flag, span);
        if let ExprKind::Fby { init, next } = self.edit.node.exprs[expr].kind {
            let (init, then) = self.twice(init);
            let ty = self.edit.node.exprs[expr].ty.clone();
            let other = self.edit.push(ExprKind::Fby { init, next }, ty, span);
            self.edit.node.exprs[expr].kind = ExprKind::If { cond, then, other };
        } else if let Some(at) = flag_argument(nodes, &self.edit.node, expr) {
            set_argument(&mut self.edit.node, expr, at, cond);
        }
    }

    /// Two copies of an expression, so that it can be used twice. A constant is copied; any other expression gets a
    /// variable.
    fn twice(&mut self, expr: ExprId) -> (ExprId, ExprId) {
        let old = self.edit.node.exprs[expr].clone();
        if let ExprKind::Const(constant) = &old.kind
            && constant.value().is_some()
        {
            return (expr, self.edit.node.exprs.push(old));
        }
        let var = self.edit.named(expr);
        (self.edit.read(var, old.span), self.edit.read(var, old.span))
    }
}

/// The position of the argument that restarts a call: the last input of the called node. The arguments of an adjoint
/// continue after it.
fn flag_argument(nodes: &Nodes<'_>, node: &Node, call: ExprId) -> Option<usize> {
    let ExprKind::Call { callee, .. } = node.exprs[call].kind else { return None };
    let (Callee::Node(of) | Callee::Diff { node: of, .. }) = callee;
    nodes.nodes[of].inputs().count().checked_sub(1)
}

fn set_argument(node: &mut Node, call: ExprId, at: usize, value: ExprId) {
    if let ExprKind::Call { args, .. } = &mut node.exprs[call].kind
        && let Some(arg) = args.get_mut(at)
    {
        *arg = value;
    }
}

/// The error that the clock of a restarted delay or call is sampled by a condition without a name in its node.
fn hidden(span: Span) -> Diagnostic {
    Diagnostic::error(codes::RESTART_CLOCK, "the clock of what restarts here has no name in its node")
        .label(span, "this restarts in the next cycle in which it is present")
        .note("the clock is that of a result which a node samples inside, by a condition that is not visible here")
        .help("let the node give the condition too, and declare the clock: `-> (c: bool [], y: num [] when c)`")
}
