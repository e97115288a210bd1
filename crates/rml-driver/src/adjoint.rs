//! Adjoint nodes in surface syntax.

use rml_base::codes::autodiff::INITIAL_VALUE;
use rml_base::{Diagnostics, Error};
use rml_elab::Root;
use rml_ir::{normal, pass};

use crate::check::OpenInputs;
use crate::front::Front;
use crate::library::PRELUDE;
use crate::options::{Options, with_placeholders};
use crate::source::Source;

/// The adjoint of node `node`, and all nodes that it needs, in surface syntax, callees first: a program again. Nodes of the
/// prelude (the default `diff_param`) are in scope anyway and left out.
///
/// A node whose shapes its own interface leaves open is taken as another node of the program calls it. The text keeps static
/// parameters by name.
///
/// # Errors
/// As [`compile`](crate::compile()); a node that cannot be differentiated.
pub fn differentiate(source: &Source, options: &Options, node: &str) -> Result<String, Error> {
    let front = Front::new(source)?;
    let alone = adjoint_text(&front, options, Root::Diff(node.to_owned()));
    if alone.is_ok() || !options.set.is_empty() {
        return alone;
    }
    let nodes = front.signatures();
    let Some(signature) = nodes.iter().find(|n| n.name == node) else { return alone };
    let within = nodes.iter().filter(|n| n.name != node).find_map(|caller| {
        let root = Root::DiffWithin { root: caller.name.clone(), node: node.to_owned() };
        adjoint_text(&front, options, root).ok()
    });
    let placed = || {
        let options = with_placeholders(signature, options);
        adjoint_text(&front, &options, Root::Diff(node.to_owned())).ok()
    };
    within.or_else(placed).map_or(alone, Ok)
}

/// The text of the adjoint of the root, or of the first instance of the node that is differentiated within it.
fn adjoint_text(front: &Front, options: &Options, root: Root) -> Result<String, Error> {
    let text = front.elaborate(options, root.clone()).and_then(|(module, _)| {
        let module = pass::normalize(&module);
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
        let text = rml_ir::surface::print_nodes(&made.module, &nodes, Some(made.adjoint), &made.origins);
        // The layout of `rml fmt`: long equations are broken.
        Ok(rml_syntax::format(&text).unwrap_or(text))
    });
    front.fail(text)
}

/// Refuses a program with a parameter that begins with a stream: an adjoint would pass over it.
fn check_initial_values(front: &Front, module: &normal::Module) -> Result<(), Diagnostics> {
    let (inputs, root) = (OpenInputs::new(front), &module.nodes[module.root].name);
    let Ok(differentiated) = rml_autodiff::differentiate(module.clone()) else { return Ok(()) };
    match pass::inline_open(&differentiated, &|input| inputs.contains(root, input)) {
        Err(found) if found.iter().all(|d| d.code == INITIAL_VALUE) => Err(found),
        _ => Ok(()),
    }
}
