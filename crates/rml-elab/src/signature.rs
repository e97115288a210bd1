//! Interfaces of the nodes of a program, for tools that need them before a run.

use indexmap::IndexMap;
use rml_ir::DType;
use rml_syntax::ast::DefinitionForm;

use crate::hir::{ExprKind, Item, LocalKind, Node, Role, SourceId};
use crate::scope::Program;

/// The interface of a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeSignature {
    /// The name.
    pub name: String,
    /// The formals, in order.
    pub formals: Vec<FormalSignature>,
    /// The named dimensions that the inputs bind, in textual order.
    pub dimensions: Vec<String>,
    /// The names of the outputs.
    pub outputs: Vec<String>,
    /// Whether differentiation uses the node: it updates parameters, or replaces the adjoint of another node.
    pub overrides: bool,
    /// Whether the node is only declared: it has no equations, and has outputs that are not inputs.
    pub is_extern: bool,
    /// The nodes of the main text that the node calls, or whose adjoints it calls, in the textual order of their
    /// definitions.
    pub calls: Vec<String>,
}

/// A formal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FormalSignature {
    /// The name.
    pub name: String,
    /// The kind of formal.
    pub kind: FormalKind,
    /// The declared clock: the condition, and the value of the condition for which the formal is present.
    pub clock: Option<(String, bool)>,
}

/// The kinds of formals.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FormalKind {
    /// A node.
    Node,
    /// A compile-time parameter.
    Static,
    /// An input stream. A formal that is not used is a stream, too.
    Stream {
        /// The element type, if written.
        dtype: Option<DType>,
        /// The name of the first dimension, if the shape is written and begins with a name.
        leading: Option<String>,
    },
}

/// The interfaces of all nodes of the main text that resolve, in textual order.
pub(crate) fn signatures(program: &Program) -> Vec<NodeSignature> {
    let Some(scope) = program.scopes.files.get(&program.main) else { return Vec::new() };
    let place: IndexMap<SourceId, usize> = scope.own.values().enumerate().map(|(i, id)| (*id, i)).collect();
    let names: Vec<&String> = scope.own.keys().collect();
    let is_node = |id: &&SourceId| program.nodes[**id].form == DefinitionForm::Node;
    let signature = |id: &SourceId| {
        let node = &program.nodes[*id];
        let mut called: Vec<usize> = callees(node).filter_map(|callee| place.get(&callee).copied()).collect();
        called.sort_unstable();
        called.dedup();
        let calls = called.into_iter().map(|i| names[i].clone()).collect();
        let overrides = program.scopes.overrides(program.main, &node.name);
        NodeSignature { calls, overrides, ..signature(node) }
    };
    scope.own.values().filter(is_node).map(signature).collect()
}

/// The nodes that a node calls, one entry per call.
fn callees(node: &Node) -> impl Iterator<Item = SourceId> {
    crate::lower::callees(node).into_iter().map(|(callee, ..)| callee)
}

fn signature(node: &Node) -> NodeSignature {
    let formals = node.formals.iter().map(|&local| {
        let data = &node.locals[local];
        let kind = match node.roles[local] {
            Role::Static | Role::Both if data.kind == LocalKind::Node => FormalKind::Node,
            Role::Static | Role::Both => FormalKind::Static,
            Role::Stream | Role::Unused => FormalKind::Stream {
                dtype: data.types.first().and_then(|ty| ty.element.dtype()),
                leading: data
                    .types
                    .first()
                    .and_then(|ty| ty.dims.first())
                    .and_then(|item| leading(node, item)),
            },
        };
        let clock = data.clock.map(|c| (node.name_of(c.cond).to_string(), c.positive));
        FormalSignature { name: data.name.to_string(), kind, clock }
    });
    let dims = node.locals.iter().filter(|l| l.kind == LocalKind::Dim);
    NodeSignature {
        name: node.name.to_string(),
        formals: formals.collect(),
        dimensions: dims.map(|l| l.name.to_string()).collect(),
        outputs: node.outputs.iter().map(|l| node.name_of(*l).to_string()).collect(),
        overrides: false,
        is_extern: node.is_extern,
        calls: Vec::new(),
    }
}

fn leading(node: &Node, item: &Item) -> Option<String> {
    match *item {
        Item::Splice(local, _) => Some(node.name_of(local).to_string()),
        Item::Expr(e) => match node.exprs[e].kind {
            ExprKind::Local(local) => Some(node.name_of(local).to_string()),
            _ => None,
        },
    }
}
