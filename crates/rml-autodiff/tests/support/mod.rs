//! Building small normal modules and running them.
#![allow(dead_code, reason = "each test file uses a part")]

pub(crate) mod check;
pub(crate) mod program;
pub(crate) mod source;

use std::sync::Arc;

use indexmap::IndexMap;
use rml_base::{FileId, IndexVec, Span};
use rml_ir::flat::Flat;
use rml_ir::normal::{
    ConstId, ConstKind, Constant, Equation, Formal, Init, Input, Module, Node, NodeId, Rhs, Var, VarData,
};
use rml_ir::op::Op;
use rml_ir::{Precision, Type, Value, pass};
use rml_sim::{Input as Given, Options, Simulator, Status};

pub(crate) const P: Precision = Precision::F64;

/// A node under construction.
pub(crate) struct NodeBuilder(pub(crate) Node);

impl NodeBuilder {
    pub(crate) fn new(name: &str) -> Self {
        let span = Span::new(FileId(0), 0, 0);
        Self(Node {
            name: Arc::from(name),
            formals: Vec::new(),
            outputs: Vec::new(),
            claims: Vec::new(),
            statics: Vec::new(),
            vars: IndexVec::new(),
            consts: IndexVec::new(),
            equations: IndexVec::new(),
            span,
        })
    }

    pub(crate) fn var(&mut self, name: &str, ty: Type) -> Var {
        let name = (!name.is_empty()).then(|| Arc::from(name));
        self.0.vars.push(VarData { name, ty, span: self.0.span })
    }

    pub(crate) fn input(&mut self, name: &str, ty: Type) -> Var {
        let var = self.var(name, ty);
        self.0.formals.push(Formal::Stream(Input { var, clock: None }));
        var
    }

    pub(crate) fn constant(&mut self, value: Value) -> ConstId {
        let ty = value.ty();
        self.0.consts.push(Constant { kind: ConstKind::Value(value), ty, text: None })
    }

    pub(crate) fn num(&mut self, x: f64) -> Init {
        Init::Const(self.constant(Value::num(x, P)))
    }

    pub(crate) fn eq(&mut self, lhs: &[Var], rhs: Rhs) {
        let span = self.0.span;
        self.0.equations.push(Equation { lhs: lhs.to_vec(), rhs, span });
    }

    pub(crate) fn apply(&mut self, o: Var, op: Op, args: &[Var]) {
        self.eq(&[o], Rhs::Apply { op, args: args.to_vec(), statics: Vec::new() });
    }
}

/// A module of these nodes; the last is the root.
pub(crate) fn module(nodes: Vec<Node>) -> Module {
    let nodes: IndexVec<NodeId, Node> = nodes.into_iter().collect();
    let root = nodes.ids().next_back().expect("a node");
    Module { precision: P, nodes, root, overrides: IndexMap::new(), optimisers: IndexMap::new() }
}

pub(crate) fn flat(module: &Module) -> Flat {
    rml_ir::normal::verify_differentiated(module).unwrap_or_else(|e| panic!("{}", e.join("\n")));
    let flat = pass::inline(module).unwrap_or_else(|e| panic!("{e}"));
    pass::initialise(flat, 1)
}

/// The statuses of all variables by name, of a closed trace.
pub(crate) fn run(
    flat: Flat,
    inputs: &IndexMap<String, Vec<Option<Value>>>,
    cycles: usize,
) -> IndexMap<String, Vec<Status>> {
    let flat = Arc::new(flat);
    let mut sim = Simulator::new(flat.clone(), Options { record: true, ..Options::default() });
    let name = |v: Var| flat.vars[v].name.as_deref().unwrap_or_default().to_owned();
    for n in 0..cycles {
        let row: Vec<Given> = flat
            .inputs
            .iter()
            .map(|i| match inputs.get(&name(i.var)).and_then(|row| row.get(n)) {
                Some(Some(v)) => Given::Given(v.clone()),
                Some(None) => Given::Absent,
                None => panic!("no input {}", name(i.var)),
            })
            .collect();
        sim.feed(&row).unwrap_or_else(|e| panic!("cycle {n}: {e}\n{}", rml_ir::flat::print(&flat)));
    }
    sim.finish(true).unwrap_or_else(|e| panic!("{e}\n{}", rml_ir::flat::print(&flat)));
    let mut table = IndexMap::new();
    for (v, data) in flat.vars.iter_enumerated() {
        let name = data.name.as_deref().map_or_else(|| v.to_string(), str::to_owned);
        let row = (0..cycles).map(|n| sim.status(n as u64, v).unwrap_or(Status::Bottom)).collect();
        table.insert(name, row);
    }
    table
}

/// Numbers that repeat: a small linear congruential generator, so that a failing case can be run again.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    /// In `0..n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next()).expect("31 bits") % n.max(1)
    }

    /// In `lo..hi`.
    #[allow(clippy::cast_precision_loss, reason = "31 bits")]
    pub(crate) fn range(&mut self, lo: f64, hi: f64) -> f64 {
        lo + (hi - lo) * (self.next() as f64 / (1_u64 << 31) as f64)
    }

    pub(crate) fn chance(&mut self, p: f64) -> bool {
        self.range(0.0, 1.0) < p
    }

    pub(crate) fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
}
