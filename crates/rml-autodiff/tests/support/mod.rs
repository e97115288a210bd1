//! Builds small normal modules.
#![allow(dead_code, reason = "each test file uses a part")]

pub(crate) mod check;
pub(crate) mod source;

use std::sync::Arc;

use indexmap::IndexMap;
use rml_base::{FileId, IndexVec, Span};
use rml_ir::flat::Drawn;
use rml_ir::normal::{
    ConstId, ConstKind, Constant, Differentiated, Equation, Formal, Init, Input, Module, Node, NodeId, Rhs,
    Var, VarData,
};
use rml_ir::op::Op;
use rml_ir::{Type, Value, pass};
use rml_testkit::gradients::P;

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
            held: 0,
            span,
        })
    }

    pub(crate) fn var(&mut self, name: &str, ty: Type) -> Var {
        let name = (!name.is_empty()).then(|| Arc::from(name));
        self.0.vars.push(VarData { name, ty, span: self.0.span, asserts: None, cases: None })
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

/// A module of these nodes; the last one is the root.
pub(crate) fn module(nodes: Vec<Node>) -> Module {
    let nodes: IndexVec<NodeId, Node> = nodes.into_iter().collect();
    let root = nodes.ids().next_back().expect("a node");
    Module { precision: P, nodes, root, overrides: IndexMap::new(), optimisers: IndexMap::new() }
}

pub(crate) fn flat(module: &Differentiated) -> Drawn {
    let flat = pass::inline(module).unwrap_or_else(|e| panic!("{e}"));
    pass::draw(pass::lower(flat, pass::Keep::All), 1).expect("memory for the draws")
}
