//! From the syntax tree to the typed stage: names, static values, element types and shapes.
//!
//! The whole program is inferred at once from the node that runs: it is expanded into a tree of instances, element
//! types are unified over the tree, shapes are a least fixpoint over it, and each distinct instance becomes one node of
//! [`rml_ir::typed::Module`]. In the order of the work:
//!
//! 1. `load`: the main file and everything that it imports is parsed;
//! 2. `scope`, `lower`: names are bound, giving one `hir` node for each source node; `usage` tells statics from
//!    streams;
//! 3. `expand`: copies of nodes without repetition, nodes as arguments, and constants, which the rest works on;
//! 4. `instance`: the tree of instances; `infer`: their element types and shapes; `statics` evaluates what is static;
//! 5. `emit`: everything is checked once more, and written down as typed nodes; `adjoints` adds the nodes that
//!    differentiation will call.
//!
//! All findings are collected. Clocks are not computed here: declared clocks are passed on in the interface of typed
//! nodes.

mod adjoints;
mod along;
mod builtins;
mod chains;
mod clocks;
mod constant;
mod context;
mod emit;
mod expand;
mod habits;
mod hir;
mod index;
mod infer;
mod instance;
mod instantiate;
mod load;
mod lower;
mod ops;
mod options;
mod repair;
mod report;
mod restarts;
mod root;
mod scope;
mod shared;
mod signature;
mod statics;
mod text;
mod typed;
mod usage;

use bumpalo::Bump;
use rml_base::{Diagnostics, FileId, Sources};
use rml_ir::check::checked;
use rml_ir::typed::Module;
use tracing::debug_span;

pub use index::{Index, Meaning, NamePlace, NodePlace, Variable, VariableKind};
pub use options::{Loader, NoFiles, NotLoaded, Options, Root};
pub use signature::{FormalKind, FormalSignature, NodeSignature};

use report::Report;
use scope::Program;

/// Elaborates the program whose main text is `main`: parses it and all its imports (adding their texts to `sources`),
/// and makes the typed module whose root is chosen by `options.root`.
///
/// The module is `Some` iff there is no error among the findings.
pub fn elaborate(
    sources: &mut Sources,
    main: FileId,
    options: &Options,
    loader: &mut dyn Loader,
) -> (Option<Module>, Diagnostics) {
    Resolved::new(sources, main, options, loader).elaborate(options)
}

/// A program with its names bound, of which any node can be elaborated. What is in error is left out, or marked as
/// such; every method reports it again.
#[derive(Debug)]
pub struct Resolved {
    program: Program,
    report: Report,
}

impl Resolved {
    /// Parses the main text and all its imports, adding their texts to `sources`, and binds all names. Of the options,
    /// only the library and the prelude matter here.
    pub fn new(sources: &mut Sources, main: FileId, options: &Options, loader: &mut dyn Loader) -> Self {
        Self::with(sources, main, options, loader, |_, _, _, _| ()).0
    }

    /// As [`new`](Self::new), with an index of all names.
    pub fn indexed(
        sources: &mut Sources,
        main: FileId,
        options: &Options,
        loader: &mut dyn Loader,
    ) -> (Self, Index) {
        Self::with(sources, main, options, loader, index::index)
    }

    fn with<T>(
        sources: &mut Sources,
        main: FileId,
        options: &Options,
        loader: &mut dyn Loader,
        look: impl FnOnce(&load::Loaded<'_>, &lasso::Rodeo, &lower::Headers<'_>, &Program) -> T,
    ) -> (Self, T) {
        let _span = debug_span!("resolve").entered();
        let mut report = Report::default();
        let bump = Bump::new();
        let mut names = lasso::Rodeo::new();
        let loaded = load::load(&bump, &mut names, sources, main, options, loader, &mut report);
        let (program, headers) = lower::lower(&loaded, &names, &mut report);
        let seen = look(&loaded, &names, &headers, &program);
        (Self { program, report }, seen)
    }

    /// The typed module whose root is chosen by `options.root`, and all findings. The module is `Some` iff there is no
    /// error among them.
    pub fn elaborate(&self, options: &Options) -> (Option<Module>, Diagnostics) {
        let _span = debug_span!("elaborate").entered();
        let mut report = self.report.clone();
        let module = root::elaborate(&self.program, options, &mut report).filter(|_| report.errors() == 0);
        if let Some(module) = &module {
            checked("elaborate", || rml_ir::typed::verify(module));
        }
        (module, report.finish())
    }

    /// As [`elaborate`](Self::elaborate), whatever is wrong with nodes that the root does not need.
    ///
    /// # Errors
    /// What is wrong with the root, or with what it calls.
    pub fn elaborate_alone(&self, options: &Options) -> Result<Module, Diagnostics> {
        root::elaborate_alone(&self.program, options)
    }

    /// Checks the main text without knowing which node is to run: every node that no other node calls is elaborated as
    /// root, and with it all nodes it calls, as far as that is possible without the static parameters and named
    /// dimensions that only a caller can give.
    ///
    /// Returns a module for each node so checked that has no error and lacks no value, and all findings.
    pub fn check_all(&self, options: &Options) -> (Vec<Module>, Diagnostics) {
        let _span = debug_span!("check").entered();
        let mut report = self.report.clone();
        let modules = root::check_all(&self.program, options, &mut report);
        (modules, report.finish())
    }

    /// Whether the program's own texts call an adjoint.
    pub fn differentiates(&self) -> bool {
        let mut own = self.program.nodes.iter().filter(|node| !self.program.scopes.is_library(node.file));
        let is_adjoint = |expr: &hir::Expr| match &expr.kind {
            hir::ExprKind::Call(call) => call.order.times > 0,
            hir::ExprKind::Structure(hir::Structure::Apply(apply)) => apply.order.times > 0,
            hir::ExprKind::Structure(hir::Structure::Node(passed)) => passed.order.times > 0,
            _ => false,
        };
        own.any(|node| node.exprs.iter().any(is_adjoint))
    }

    /// The interfaces of all nodes of the main text, in textual order, as far as they resolve.
    pub fn signatures(&self) -> Vec<NodeSignature> {
        signature::signatures(&self.program)
    }
}
