//! From the syntax tree to the typed stage: names, static values, element types and shapes.
//!
//! The whole program is inferred at once from the root node: it is expanded into a tree of instances, element types are
//! unified over the tree, shapes are a least fixpoint over it, and each distinct instance becomes one node of
//! [`rml_ir::typed::Module`]. The steps, in order:
//!
//! 1. `load`: the main file and everything that it imports is parsed;
//! 2. `scope`, `lower`: names are bound, which gives one `hir` node for each source node; `usage` distinguishes
//!    statics from streams;
//! 3. `expand`: copies of nodes are made that have no repetition, no nodes as arguments and no constants; the later
//!    steps use these;
//! 4. `instance`: the tree of instances is built; `infer`: their element types and shapes are inferred; `statics`
//!    evaluates static expressions;
//! 5. `emit`: everything is checked again, and typed nodes are emitted; `adjoints` adds the nodes that differentiation
//!    will call.
//!
//! All findings are collected. Clocks are not computed here; declared clocks are passed on in the interface of typed
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
mod paired;
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
/// The module is `Some` if and only if there is no error among the findings.
pub fn elaborate(
    sources: &mut Sources,
    main: FileId,
    options: &Options,
    loader: &mut dyn Loader,
) -> (Option<Module>, Diagnostics) {
    Resolved::new(sources, main, options, loader).elaborate(options)
}

/// A program with its names bound, of which any node can be elaborated. Parts in error are omitted or marked as such;
/// every method reports their errors again.
#[derive(Debug)]
pub struct Resolved {
    program: Program,
    report: Report,
}

impl Resolved {
    /// Parses the main text and all its imports, adding their texts to `sources`, and binds all names. Only the library
    /// and the prelude of the options are used here.
    pub fn new(sources: &mut Sources, main: FileId, options: &Options, loader: &mut dyn Loader) -> Self {
        Self::with(sources, main, options, loader, |_, _, _, _| ()).0
    }

    /// The same as [`new`](Self::new), with an index of all names.
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

    /// The typed module whose root is chosen by `options.root`, and all findings. The module is `Some` if and only if
    /// there is no error among them.
    pub fn elaborate(&self, options: &Options) -> (Option<Module>, Diagnostics) {
        let _span = debug_span!("elaborate").entered();
        let mut report = self.report.clone();
        let module = root::elaborate(&self.program, options, &mut report).filter(|_| report.errors() == 0);
        if let Some(module) = &module {
            checked("elaborate", || rml_ir::typed::verify(module));
        }
        (module, report.finish())
    }

    /// The same as [`elaborate`](Self::elaborate), but ignores errors in nodes that the root does not need.
    ///
    /// # Errors
    /// The errors of the root and of the nodes that it calls.
    pub fn elaborate_alone(&self, options: &Options) -> Result<Module, Diagnostics> {
        root::elaborate_alone(&self.program, options)
    }

    /// Checks the main text without knowing which node is to run: elaborates every node that no other node calls as a
    /// root, together with all nodes that it calls. Static parameters and named dimensions that only a caller can give
    /// stay unknown.
    ///
    /// Returns all findings, and a module for each of these roots that has no error and lacks no value.
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
