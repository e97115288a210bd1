//! Verifier of the normal form: the invariants N1 to N7 stated in [`normal`](crate::normal).

use rml_base::EntityId;

use super::{Callee, ConstId, Eq, Equation, Init, Module, Node, NodeId, Rhs, Var};
use crate::check::{Form, condition, constant, definitions};
use crate::interface::Interface;
use crate::types::Type;

/// Checks N1 to N6; one line for each violation.
pub fn verify(module: &Module) -> Result<(), Vec<String>> {
    let mut found = Vec::new();
    if module.nodes.get(module.root).is_none() {
        found.push(format!("N5: the root {} does not exist", module.root));
    }
    // Only what names nothing that is missing can be looked at further, and only what is whole for recursion.
    for check in [Checker::ids, Checker::run] {
        if found.is_empty() {
            for (id, node) in module.nodes.iter_enumerated() {
                let mut checker = Checker { module, node, found: Vec::new() };
                check(&mut checker);
                found.extend(
                    checker.found.into_iter().map(|line| format!("{line} (node {id} {:?})", node.name)),
                );
            }
        }
    }
    if found.is_empty() {
        found.extend(recursion(module));
    }
    if found.is_empty() { Ok(()) } else { Err(found) }
}

/// Checks N1 to N7.
pub fn verify_differentiated(module: &Module) -> Result<(), Vec<String>> {
    let mut found = verify(module).err().unwrap_or_default();
    for (id, node) in module.nodes.iter_enumerated() {
        for (eq, equation) in node.equations.iter_enumerated() {
            if matches!(equation.rhs, Rhs::Call { callee: Callee::Diff { .. }, .. }) {
                found.push(format!("N7: {eq} still calls an adjoint by name (node {id} {:?})", node.name));
            }
        }
    }
    if found.is_empty() { Ok(()) } else { Err(found) }
}

struct Checker<'m> {
    module: &'m Module,
    node: &'m Node,
    found: Vec<String>,
}

impl Checker<'_> {
    /// N1 to N5, where all ids exist.
    fn run(&mut self) {
        self.definitions();
        for input in self.node.inputs() {
            let wrong = input.clock.and_then(|(c, _)| condition(self.ty(c)));
            self.found.extend(wrong.map(|w| format!("N4: clock of {}: {w}", input.var)));
        }
        for claim in &self.node.claims {
            let wrong = condition(self.ty(claim.cond));
            self.found.extend(wrong.map(|w| format!("N4: clock of {}: {w}", claim.var)));
        }
        for (eq, equation) in self.node.equations.iter_enumerated() {
            self.equation(eq, equation);
        }
    }

    fn ty(&self, var: Var) -> &Type {
        &self.node.vars[var].ty
    }

    /// All ids exist.
    fn ids(&mut self) {
        let node = self.node;
        let mut vars: Vec<(Var, String)> = Vec::new();
        let mut consts: Vec<(ConstId, String)> = Vec::new();
        vars.extend(node.outputs.iter().map(|v| (*v, "an output".to_owned())));
        for input in node.inputs() {
            vars.push((input.var, "an input".to_owned()));
            vars.extend(input.clock.map(|(c, _)| (c, "a clock".to_owned())));
        }
        vars.extend(node.claims.iter().flat_map(|c| [c.var, c.cond]).map(|v| (v, "a claim".to_owned())));
        for (eq, equation) in node.equations.iter_enumerated() {
            vars.extend(equation.lhs.iter().map(|v| (*v, eq.to_string())));
            equation.rhs.for_each_operand(|v| vars.push((v, eq.to_string())));
            consts.extend(equation.rhs.constant().map(|k| (k, eq.to_string())));
        }
        let vars = vars.into_iter().filter(|(v, _)| node.vars.get(*v).is_none());
        self.found.extend(vars.map(|(v, place)| format!("N1: {place} names {v}, which does not exist")));
        let consts = consts.into_iter().filter(|(k, _)| node.consts.get(*k).is_none());
        self.found.extend(consts.map(|(k, place)| format!("N3: {place} names {k}, which does not exist")));
    }

    /// N1.
    fn definitions(&mut self) {
        let mut counts = vec![0_usize; self.node.vars.len()];
        let defined = self.node.equations.iter().flat_map(|e| e.lhs.iter().copied());
        for var in self.node.inputs().map(|i| i.var).chain(defined) {
            counts[var.index()] += 1;
        }
        self.found.extend(definitions("N1", &counts));
    }

    /// N2 to N5 for one equation.
    fn equation(&mut self, eq: Eq, equation: &Equation) {
        if let Rhs::Call { callee, args, every, .. } = &equation.rhs {
            self.call(eq, equation, self.interface(*callee), args);
            let wrong_end = every.and_then(|e| condition(self.ty(e)));
            self.found.extend(wrong_end.map(|w| format!("N4: {eq}: {w}")));
            return;
        }
        if let Rhs::ParamUpdate { init, bp, d, optimiser, .. } = &equation.rhs {
            self.call(eq, equation, self.interface(Callee::Node(*optimiser)), &[*init, *bp, *d]);
        }
        let [result] = equation.lhs[..] else {
            self.found.push(format!("N1: {eq} defines {} variables, not one", equation.lhs.len()));
            return;
        };
        let form = form(self.node, &equation.rhs);
        let (types, conditions) = (form.types(self.ty(result)), form.conditions());
        self.found.extend(types.map(|w| format!("N2: {eq}: {w}")));
        self.found.extend(conditions.map(|w| format!("N4: {eq}: {w}")));
        if let Rhs::Fby { init: Init::Const(k), .. } | Rhs::FbyBack { init: Init::Const(k), .. } =
            equation.rhs
        {
            let wrong = constant(&self.node.consts[k].ty, self.node.consts[k].value(), self.ty(result));
            self.found.extend(wrong.map(|w| format!("N3: {eq}: {w}")));
        }
    }

    /// N5.
    fn call(&mut self, eq: Eq, equation: &Equation, interface: Option<Interface>, args: &[Var]) {
        let Some(interface) = interface else {
            self.found.push(format!("N5: {eq} calls a node that does not exist"));
            return;
        };
        let types = |vars: &[Var]| vars.iter().map(|v| self.ty(*v).clone()).collect::<Vec<_>>();
        let (args, results) = (types(args), types(&equation.lhs));
        if args != interface.inputs {
            self.found
                .push(format!("N5: {eq}: arguments are {args:?}, the callee takes {:?}", interface.inputs));
        }
        if results != interface.outputs {
            self.found
                .push(format!("N5: {eq}: results are {results:?}, the callee gives {:?}", interface.outputs));
        }
    }

    fn interface(&self, callee: Callee) -> Option<Interface> {
        let (target, order) = match callee {
            Callee::Node(n) => (n, 0),
            Callee::Diff { node, order } => (node, order),
        };
        let node = self.module.nodes.get(target)?;
        let ty = |v: Var| node.vars.get(v).map(|d| d.ty.clone());
        let inputs = node.inputs().map(|i| ty(i.var)).collect::<Option<_>>()?;
        let outputs = node.outputs.iter().map(|o| ty(*o)).collect::<Option<_>>()?;
        Some(Interface { inputs, outputs }.adjoint(order))
    }
}

/// The typing rule of an equation that defines one variable.
fn form<'a>(node: &'a Node, rhs: &'a Rhs) -> Form<'a> {
    let ty = |v: &Var| &node.vars[*v].ty;
    match rhs {
        Rhs::Const(k) => Form::Const(&node.consts[*k].ty, node.consts[*k].value()),
        Rhs::Apply { op, args, .. } => Form::Apply(op, args.iter().map(|a| ty(a).clone()).collect()),
        Rhs::If { cond, then, other } => Form::gated(ty(cond), vec![ty(then), ty(other)]),
        Rhs::When { value, cond } => Form::gated(ty(cond), vec![ty(value)]),
        Rhs::Merge { cond, on_true, on_false } => Form::gated(ty(cond), vec![ty(on_true), ty(on_false)]),
        Rhs::Fby { init: Init::Stream(i), next } | Rhs::FbyBack { init: Init::Stream(i), next } => {
            Form::alike(vec![ty(i), ty(next)])
        }
        Rhs::Fby { next, .. } | Rhs::FbyBack { next, .. } | Rhs::Post { next } => Form::alike(vec![ty(next)]),
        Rhs::Param { init, .. } => Form::alike(vec![ty(init)]),
        Rhs::ParamUpdate { init, bp, d, .. } => Form::gated(ty(bp), vec![ty(init), ty(d)]),
        Rhs::Call { .. } => Form::alike(Vec::new()),
    }
}

/// N6: a line if some node calls itself, through others or not.
fn recursion(module: &Module) -> Option<String> {
    let calls = |id: NodeId| -> Vec<NodeId> {
        let rhs = module.nodes[id].equations.iter().map(|e| &e.rhs);
        rhs.filter_map(|rhs| match rhs {
            Rhs::Call { callee: Callee::Node(n) | Callee::Diff { node: n, .. }, .. } => Some(*n),
            Rhs::ParamUpdate { optimiser, .. } => Some(*optimiser),
            _ => None,
        })
        .collect()
    };
    let mut state = vec![0_u8; module.nodes.len()]; // 0 = not seen, 1 = being visited, 2 = done
    for root in module.nodes.ids() {
        let mut stack = vec![(root, None::<Vec<NodeId>>)];
        while let Some((id, pending)) = stack.last_mut() {
            let id = *id;
            let pending = pending.get_or_insert_with(|| calls(id));
            if state[id.index()] == 2 {
                stack.pop();
                continue;
            }
            state[id.index()] = 1;
            match pending.pop() {
                Some(next) if state[next.index()] == 1 => {
                    return Some(format!("N6: {next} is called by itself, from {id}"));
                }
                Some(next) if state[next.index()] == 0 => stack.push((next, None)),
                Some(_) => {}
                None => state[id.index()] = 2,
            }
        }
    }
    None
}

impl Rhs {
    /// The constant that it names.
    pub fn constant(&self) -> Option<ConstId> {
        match self {
            Rhs::Const(k)
            | Rhs::Fby { init: Init::Const(k), .. }
            | Rhs::FbyBack { init: Init::Const(k), .. } => Some(*k),
            _ => None,
        }
    }

    /// What it calls, and the arguments.
    pub fn call(&self) -> Option<(Callee, &[Var])> {
        match self {
            Rhs::Call { callee, args, .. } => Some((*callee, args)),
            Rhs::Const(_)
            | Rhs::Apply { .. }
            | Rhs::If { .. }
            | Rhs::When { .. }
            | Rhs::Merge { .. }
            | Rhs::Fby { .. }
            | Rhs::FbyBack { .. }
            | Rhs::Post { .. }
            | Rhs::Param { .. }
            | Rhs::ParamUpdate { .. } => None,
        }
    }

    /// Calls `f` on every variable it reads, in order.
    pub fn for_each_operand(&self, mut f: impl FnMut(Var)) {
        match self {
            Rhs::Const(_) => {}
            Rhs::Apply { args, .. } => args.iter().copied().for_each(f),
            Rhs::If { cond, then, other } => [*cond, *then, *other].into_iter().for_each(f),
            Rhs::When { value, cond } => [*value, *cond].into_iter().for_each(f),
            Rhs::Merge { cond, on_true, on_false } => [*cond, *on_true, *on_false].into_iter().for_each(f),
            Rhs::Fby { init, next } | Rhs::FbyBack { init, next } => {
                if let Init::Stream(v) = init {
                    f(*v);
                }
                f(*next);
            }
            Rhs::Post { next } => f(*next),
            Rhs::Param { init, .. } => f(*init),
            Rhs::ParamUpdate { init, bp, d, .. } => [*init, *bp, *d].into_iter().for_each(f),
            Rhs::Call { args, every, .. } => args.iter().copied().chain(*every).for_each(f),
        }
    }
}
