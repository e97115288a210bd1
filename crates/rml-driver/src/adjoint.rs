//! Adjoint nodes in surface syntax.

use rml_base::codes::autodiff::INITIAL_VALUE;
use std::sync::Arc;

use rml_base::{Diagnostics, Error, Sources};
use rml_elab::Root;
use rml_ir::surface::Printed;
use rml_ir::{normal, pass};

use crate::check::OpenInputs;
use crate::front::Front;
use crate::library::PRELUDE;
use crate::options::{Options, with_placeholders};
use crate::source::Source;

/// The adjoint of a node, and all nodes that it needs, callees first.
///
/// ```
/// # use rml_driver as rml;
/// # fn main() -> Result<(), rml_base::Error> {
/// use rml::{Options, Source};
///
/// let source = Source::text("f.rml", "node f(x: num []) -> (o)  o = x * x;");
/// let adjoint = rml::adjoint(&source, &Options::default(), "f")?;
/// assert_eq!(adjoint.nodes.len(), 1);
/// assert!(adjoint.text().contains("-- transposes o = x * x"));
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Adjoint {
    /// The nodes, each equation with the places that it comes from.
    pub nodes: Vec<Printed>,
    /// The texts that these places refer to.
    pub sources: Arc<Sources>,
}

impl Adjoint {
    /// The text, in the layout of `rml fmt`: it is a program again, and long equations are broken into lines.
    pub fn text(&self) -> String {
        let text = self.nodes.iter().map(Printed::text).collect::<Vec<_>>().join("\n");
        rml_syntax::format(&text).unwrap_or(text)
    }
}

/// The adjoint of node `node`, and all nodes that it needs, as a program in surface syntax, callees first. Nodes of the
/// prelude (the default `diff_param`) are in scope in every program and are left out.
///
/// `grad_f` names the adjoint of `f` that reads parameters and does not update them.
///
/// If the interface of a node does not determine its shapes, those of a call by another node of the program are used.
/// The text keeps static parameters by name.
///
/// # Errors
/// As [`compile`](crate::compile()); a node that cannot be differentiated.
pub fn differentiate(source: &Source, options: &Options, node: &str) -> Result<String, Error> {
    Ok(adjoint(source, options, node)?.text())
}

/// As [`differentiate`], equation by equation.
///
/// # Errors
/// As [`differentiate`].
pub fn adjoint(source: &Source, options: &Options, node: &str) -> Result<Adjoint, Error> {
    let front = source.front()?;
    let nodes = front.signatures();
    let is_own = |name: &str| nodes.iter().any(|n| n.name == name);
    let held = node.strip_prefix("grad_").filter(|inner| !is_own(node) && is_own(inner));
    let (node, held) = (held.unwrap_or(node), held.is_some());
    let adjoint_of = |options: &Options, root: Root| adjoint_of(front, options, root, held);
    let alone = adjoint_of(options, Root::Diff(node.to_owned()));
    if alone.is_ok() || !options.set.is_empty() {
        return alone;
    }
    let Some(signature) = nodes.iter().find(|n| n.name == node) else { return alone };
    let within = nodes.iter().filter(|n| n.name != node).find_map(|caller| {
        let root = Root::DiffWithin { root: caller.name.clone(), node: node.to_owned() };
        adjoint_of(options, root).ok()
    });
    let placed = || {
        let options = with_placeholders(signature, options);
        adjoint_of(&options, Root::Diff(node.to_owned())).ok()
    };
    within.or_else(placed).map_or(alone, Ok)
}

/// The adjoint of the root, or of the first instance of the differentiated node within it. With `held`, it reads
/// parameters but does not update them.
fn adjoint_of(front: &Front, options: &Options, root: Root, held: bool) -> Result<Adjoint, Error> {
    let nodes = front.elaborate(options, root.clone()).and_then(|(module, _)| {
        let mut module = pass::normalize(&module);
        module.nodes.iter_mut().for_each(|node| node.held += u8::from(held));
        let primal = match &root {
            Root::DiffWithin { node, .. } => {
                module.nodes.iter_enumerated().find(|(_, n)| *n.name == **node).map(|(id, _)| id)
            }
            _ => Some(module.root),
        };
        check_initial_values(front, &module)?;
        let made = rml_autodiff::differentiate_node(module, primal.ok_or_else(Diagnostics::new)?)?;
        let own = |id: &normal::NodeId| front.sources.text(made.module.nodes[*id].span.file) != PRELUDE;
        let nodes: Vec<normal::NodeId> = made.needed.iter().copied().filter(own).collect();
        Ok(rml_ir::surface::printed_nodes(&made.module, &nodes, Some(made.adjoint), &made.origins))
    });
    Ok(Adjoint { nodes: front.fail(nodes)?, sources: Arc::clone(&front.sources) })
}

/// Refuses a program in which the initial value of a parameter is a stream: an adjoint would ignore it.
fn check_initial_values(front: &Front, module: &normal::Module) -> Result<(), Diagnostics> {
    let (inputs, root) = (OpenInputs::new(front), &module.nodes[module.root].name);
    let Ok(differentiated) = rml_autodiff::differentiate(module.clone()) else { return Ok(()) };
    match pass::inline_open(&differentiated, &|input| inputs.contains(root, input)) {
        Err(found) if found.iter().all(|d| d.code == INITIAL_VALUE) => Err(found),
        _ => Ok(()),
    }
}
