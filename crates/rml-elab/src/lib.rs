//! From the syntax tree to the typed stage: names, static values, element types and shapes.
//!
//! The whole program is inferred at once from the node that runs: it is expanded into a tree of instances, element types are
//! unified over the tree, shapes are a least fixpoint over it, and each distinct instance becomes one node of
//! [`rml_ir::typed::Module`]. In the order of the work:
//!
//! 1. `load`: the main file and everything that it imports is parsed;
//! 2. `scope`, `lower`: names are bound, giving one `hir` node for each source node; `usage` tells statics from streams;
//! 3. `instance`: the tree of instances; `infer`: their element types and shapes; `statics` evaluates what is static;
//! 4. `emit`: everything is checked once more, and written down as typed nodes; `adjoints` adds the nodes that
//!    differentiation will call.
//!
//! All findings are collected. Clocks are not computed here: declared clocks are passed on in the interface of typed nodes.

mod adjoints;
mod builtins;
mod clocks;
mod constant;
mod context;
mod emit;
mod hir;
mod infer;
mod instance;
mod load;
mod lower;
mod ops;
mod options;
mod report;
mod root;
mod scope;
mod signature;
mod statics;
mod text;
mod usage;

use bumpalo::Bump;
use rml_base::{Diagnostics, FileId, Sources};
use rml_ir::typed::Module;
use tracing::debug_span;

pub use options::{Loader, NoFiles, NotLoaded, Options, Root};
pub use signature::{FormalKind, FormalSignature, NodeSignature, signatures};

use report::Report;
use scope::Program;

/// Elaborates the program whose main text is `main`: parses it and all its imports (adding their texts to `sources`), and makes the
/// typed module whose root is chosen by `options.root`.
///
/// The module is `Some` iff there is no error among the findings.
pub fn elaborate(
    sources: &mut Sources,
    main: FileId,
    options: &Options,
    loader: &mut dyn Loader,
) -> (Option<Module>, Diagnostics) {
    let _span = debug_span!("elaborate").entered();
    let mut report = Report::default();
    let program = resolve(sources, main, options, loader, &mut report);
    let module = root::elaborate(&program, options, &mut report).filter(|_| report.errors() == 0);
    #[cfg(debug_assertions)]
    if let Some(Err(found)) = module.as_ref().map(rml_ir::typed::verify) {
        panic!("elaboration made a typed module that does not verify:\n{}", found.join("\n"));
    }
    (module, report.finish())
}

/// As [`elaborate`], whatever is wrong with nodes that the root does not need, and without findings: `None` if the root, or what it
/// calls, is in error.
pub fn elaborate_alone(
    sources: &mut Sources,
    main: FileId,
    options: &Options,
    loader: &mut dyn Loader,
) -> Option<Module> {
    let program = resolve(sources, main, options, loader, &mut Report::default());
    root::elaborate_alone(&program, options)
}

/// Checks the main text without knowing which node is to run: every node that no other node calls is elaborated as root, and with it
/// all nodes it calls, as far as that is possible without the static parameters and named dimensions that only a caller can give.
///
/// Returns a module for each node so checked that has no error and lacks no value, and all findings.
pub fn check_all(
    sources: &mut Sources,
    main: FileId,
    options: &Options,
    loader: &mut dyn Loader,
) -> (Vec<Module>, Diagnostics) {
    let _span = debug_span!("check").entered();
    let mut report = Report::default();
    let program = resolve(sources, main, options, loader, &mut report);
    let modules = root::check_all(&program, options, &mut report);
    (modules, report.finish())
}

/// Parses everything and binds all names. What is in error is left out, or marked as such in the resolved nodes.
fn resolve(
    sources: &mut Sources,
    main: FileId,
    options: &Options,
    loader: &mut dyn Loader,
    report: &mut Report,
) -> Program {
    let bump = Bump::new();
    let mut names = lasso::Rodeo::new();
    let loaded = load::load(&bump, &mut names, sources, main, options, loader, report);
    lower::lower(&loaded, &names, report)
}
