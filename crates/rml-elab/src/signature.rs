//! Interfaces of the nodes of a program, for tools that have to know them before anything runs.

use bumpalo::Bump;
use rml_base::{Diagnostics, FileId, Sources};
use rml_ir::DType;

use crate::hir::{ExprKind, Item, LocalKind, Node, Role, SourceId};
use crate::options::{Loader, Options};
use crate::report::Report;

/// The interface of a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeSignature {
    /// Its name.
    pub name: String,
    /// Its formals, in order.
    pub formals: Vec<FormalSignature>,
    /// The named dimensions that its inputs bind, in textual order.
    pub dimensions: Vec<String>,
    /// The names of its outputs.
    pub outputs: Vec<String>,
    /// The nodes of the main text that it calls, or whose adjoints it calls.
    pub calls: Vec<String>,
}

/// A formal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FormalSignature {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: FormalKind,
    /// Its declared clock: the condition, and which value of it.
    pub clock: Option<(String, bool)>,
}

/// What a formal is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FormalKind {
    /// A compile-time parameter.
    Static,
    /// An input stream. A formal that is not used is one, too.
    Stream {
        /// The element type, if written.
        dtype: Option<DType>,
        /// The name of the first dimension, if the shape is written and begins with a name.
        leading: Option<String>,
    },
}

/// The interfaces of all nodes of the main text, in textual order, as far as they resolve, and what does not.
pub fn signatures(
    sources: &mut Sources,
    main: FileId,
    options: &Options,
    loader: &mut dyn Loader,
) -> (Vec<NodeSignature>, Diagnostics) {
    let mut report = Report::default();
    let bump = Bump::new();
    let mut names = lasso::Rodeo::new();
    let loaded = crate::load::load(&bump, &mut names, sources, main, options, loader, &mut report);
    let program = crate::lower::lower(&loaded, &names, &mut report);
    let scope = program.scopes.files.get(&program.main);
    let found = scope.map(|scope| {
        let signature = |id: &SourceId| {
            let called = calls(&program.nodes[*id]);
            let own = scope.own.iter().filter(|(_, callee)| called.contains(callee));
            let calls = own.map(|(name, _)| name.to_string()).collect();
            NodeSignature { calls, ..signature(&program.nodes[*id]) }
        };
        scope.own.values().map(signature).collect()
    });
    (found.unwrap_or_default(), report.finish())
}

fn calls(node: &Node) -> Vec<SourceId> {
    let callee = |e: &crate::hir::Expr| match &e.kind {
        ExprKind::Call(call) => Some(call.callee),
        _ => None,
    };
    node.exprs.iter().filter_map(callee).collect()
}

fn signature(node: &Node) -> NodeSignature {
    let formals = node.formals.iter().map(|&local| {
        let data = &node.locals[local];
        let kind = match node.roles[local] {
            Role::Static | Role::Both => FormalKind::Static,
            Role::Stream | Role::Unused => FormalKind::Stream {
                dtype: data.types.first().map(|ty| ty.dtype),
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
