//! The inverse of inlining: cuts a flat program into nodes that call each other.

use std::collections::BTreeSet;
use std::sync::Arc;

use rml_base::{EntityId, FileId, IndexVec, Span};
use rml_ir::flat::{self, Drawn, Window};
use rml_ir::normal::{self, Callee, ConstKind, Constant, Formal, Module, Node, NodeId, Rule};

use crate::Lcg;

/// A group of equations that becomes a node.
struct Group {
    /// The group whose node calls this one; `None` for the root.
    parent: Option<usize>,
    /// The window that the call opens.
    opens: Option<Window>,
    /// The innermost window around the group's equations.
    window: Option<Window>,
    inputs: BTreeSet<flat::Var>,
    outputs: BTreeSet<flat::Var>,
}

/// Cuts a program into a node for each window and some other nodes, each called once. The equations are distributed
/// over the nodes at random. A variable has the name `v` with its number in every node.
///
/// The result satisfies `normal::verify_differentiated`. After inlining, each cell of a variable is the same as before.
pub fn outlined(flat: &Drawn, r: &mut Lcg) -> Module {
    let mut groups = vec![Group::new(None, None, None)];
    let mut of_window = Vec::new();
    for (w, data) in flat.windows.iter_enumerated() {
        let parent = data.parent.map_or(0, |p: Window| of_window[p.index()]);
        of_window.push(groups.len());
        groups.push(Group::new(Some(parent), Some(w), Some(w)));
    }
    for _ in 0..r.below(4) {
        let parent = r.below(groups.len());
        groups.push(Group::new(Some(parent), None, groups[parent].window));
    }
    let mut home = IndexVec::filled(0, flat.vars.len());
    for equation in &flat.equations {
        let is_delay = matches!(
            equation.rhs,
            flat::Rhs::Fby { .. } | flat::Rhs::FbyBack { .. } | flat::Rhs::Post { .. }
        );
        let fits = |g: &usize| !is_delay || groups[*g].window == equation.rhs.window();
        let choices: Vec<usize> = (0..groups.len()).filter(fits).collect();
        home[equation.lhs] = *r.pick(&choices);
    }
    for equation in &flat.equations {
        equation.rhs.for_each_operand(|v| carry(&mut groups, v, home[v], home[equation.lhs]));
    }
    for (window, group) in flat.windows.iter().zip(&of_window) {
        let caller = groups[*group].parent.unwrap_or(0);
        carry(&mut groups, window.end, home[window.end], caller);
    }
    let clocks = flat.inputs.iter().filter_map(|i| i.clock.map(|(c, _)| c));
    for v in flat.outputs.iter().copied().chain(clocks) {
        carry(&mut groups, v, home[v], 0);
    }
    let nodes = (0..groups.len()).map(|g| Maker::new(flat, &groups, g).node(&home)).collect();
    Module {
        precision: flat.precision,
        nodes,
        root: NodeId::from_index(0),
        overrides: indexmap::IndexMap::new(),
        optimisers: indexmap::IndexMap::new(),
    }
}

/// Makes `to` able to read a variable that `from` defines: the variable becomes an output of the groups up to the
/// common ancestor, and an input of the groups below it.
fn carry(groups: &mut [Group], v: flat::Var, mut from: usize, mut to: usize) {
    let depth = |groups: &[Group], mut at: usize| {
        let mut depth = 0;
        while let Some(parent) = groups[at].parent {
            (at, depth) = (parent, depth + 1);
        }
        depth
    };
    while from != to {
        if depth(groups, from) >= depth(groups, to) {
            groups[from].outputs.insert(v);
            from = groups[from].parent.unwrap_or(0);
        } else {
            groups[to].inputs.insert(v);
            to = groups[to].parent.unwrap_or(0);
        }
    }
}

impl Group {
    fn new(parent: Option<usize>, opens: Option<Window>, window: Option<Window>) -> Group {
        Group { parent, opens, window, inputs: BTreeSet::new(), outputs: BTreeSet::new() }
    }
}

/// Makes the node of one group.
struct Maker<'a> {
    flat: &'a Drawn,
    groups: &'a [Group],
    group: usize,
    /// For each variable of the program, the variable of the node, if the node has it.
    vars: IndexVec<flat::Var, Option<normal::Var>>,
    node: Node,
}

impl<'a> Maker<'a> {
    fn new(flat: &'a Drawn, groups: &'a [Group], group: usize) -> Maker<'a> {
        let node = Node {
            name: format!("g{group}").into(),
            formals: Vec::new(),
            outputs: Vec::new(),
            claims: Vec::new(),
            statics: Vec::new(),
            vars: IndexVec::new(),
            consts: IndexVec::new(),
            equations: IndexVec::new(),
            held: 0,
            span: Span::new(FileId(0), group, group + 1),
        };
        Maker { flat, groups, group, vars: IndexVec::filled(None, flat.vars.len()), node }
    }

    fn var(&mut self, v: flat::Var) -> normal::Var {
        let data = &self.flat.vars[v];
        let node = &mut self.node;
        *self.vars[v].get_or_insert_with(|| {
            node.vars.push(normal::VarData { name: Some(v.to_string().into()), ..data.clone() })
        })
    }

    fn node(mut self, home: &IndexVec<flat::Var, usize>) -> Node {
        let group = &self.groups[self.group];
        let inputs: Vec<normal::Input> = match group.parent {
            Some(_) => group.inputs.iter().map(|&var| normal::Input { var, clock: None }).collect(),
            None => self.flat.inputs.clone(),
        };
        for input in inputs {
            let clock = input.clock.map(|(c, positive)| (self.var(c), positive));
            let var = self.var(input.var);
            self.node.formals.push(Formal::Stream(normal::Input { var, clock }));
        }
        let own: Vec<flat::Equation> =
            self.flat.equations.iter().filter(|e| home[e.lhs] == self.group).cloned().collect();
        for equation in own {
            let (lhs, rhs) = (self.var(equation.lhs), self.rhs(&equation.rhs));
            self.node.equations.push(normal::Equation { lhs: vec![lhs], rhs, span: equation.span });
        }
        let (groups, at) = (self.groups, self.group);
        for callee in (0..groups.len()).filter(|&g| groups[g].parent == Some(at)) {
            self.call(callee);
        }
        let outputs: Vec<flat::Var> = match group.parent {
            Some(_) => group.outputs.iter().copied().collect(),
            None => self.flat.outputs.clone(),
        };
        self.node.outputs = outputs.into_iter().map(|v| self.var(v)).collect();
        self.node
    }

    fn call(&mut self, callee: usize) {
        let group = &self.groups[callee];
        let lhs = group.outputs.iter().map(|&v| self.var(v)).collect();
        let args = group.inputs.iter().map(|&v| self.var(v)).collect();
        let every = group.opens.map(|w| self.var(self.flat.windows[w].end));
        let rhs = normal::Rhs::Call {
            callee: Callee::Node(NodeId::from_index(callee)),
            args,
            every,
            instance: Arc::from(format!("g{callee}_0")),
            statics: Vec::new(),
        };
        let span = self.node.span;
        self.node.equations.push(normal::Equation { lhs, rhs, span });
    }

    fn constant(&mut self, k: flat::ConstId) -> normal::ConstId {
        let value = self.flat.value(k).clone();
        let (ty, kind) = (value.ty(), ConstKind::Value(value));
        self.node.consts.push(Constant { kind, ty, text: None })
    }

    fn init(&mut self, init: flat::Init) -> normal::Init {
        match init {
            flat::Init::Const(k) => normal::Init::Const(self.constant(k)),
            flat::Init::Stream(v) => normal::Init::Stream(self.var(v)),
        }
    }

    fn rhs(&mut self, rhs: &flat::Rhs) -> normal::Rhs {
        use normal::Rhs as N;
        match rhs {
            flat::Rhs::Const(k) => N::Const(self.constant(*k)),
            flat::Rhs::Apply { op, args } => {
                let args = args.iter().map(|&v| self.var(v)).collect();
                N::Apply { op: op.clone(), args, statics: Vec::new() }
            }
            flat::Rhs::If { cond, then, other } => {
                N::If { cond: self.var(*cond), then: self.var(*then), other: self.var(*other) }
            }
            flat::Rhs::When { value, cond } => N::When { value: self.var(*value), cond: self.var(*cond) },
            flat::Rhs::Merge { cond, on_true, on_false } => {
                N::Merge { cond: self.var(*cond), on_true: self.var(*on_true), on_false: self.var(*on_false) }
            }
            flat::Rhs::Fby { init, next, .. } => N::Fby { init: self.init(*init), next: self.var(*next) },
            flat::Rhs::FbyBack { init, next, .. } => {
                N::FbyBack { init: self.init(*init), next: self.var(*next) }
            }
            flat::Rhs::Post { next, .. } => N::Post { next: self.var(*next) },
            flat::Rhs::Param { init } => N::Param { init: self.var(*init), by: Rule::DEFAULT },
        }
    }
}
