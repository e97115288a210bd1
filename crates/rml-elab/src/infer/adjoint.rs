//! The interface of synthesised adjoints. It depends on element types: only nums have gradients.

use rml_ir::DType;

use crate::hir::{Local, Node};
use crate::instance::{InstanceId, Tree};

/// The canonical interface of an adjoint (see `rml_ir::typed::Callee::Diff`), and how a call uses it.
#[derive(Clone, Debug)]
pub(crate) struct Adjoint {
    /// Inputs, in order.
    pub(crate) inputs: Vec<(String, Port)>,
    /// Outputs, in order.
    pub(crate) outputs: Vec<(String, Port)>,
    /// For each left side of the call, the position of the output that it takes.
    pub(crate) results: Vec<usize>,
}

/// The type of an input or output of an adjoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Port {
    /// That of a variable of the node which is differentiated.
    Like(Local),
    /// `bool []`
    Condition,
}

/// An interface on its way through the orders.
struct Interface {
    inputs: Vec<(String, Port)>,
    /// Those of the node itself and gradients; without `bp<x>`.
    outputs: Vec<(String, Port)>,
    /// All outputs, and the numbers of those that are gradients or their `bp`.
    canonical: Vec<(String, Port)>,
    gradients: Vec<usize>,
}

impl Adjoint {
    /// The interface of the adjoint of that order of the node of instance `id`, where `dtype` says the element type of its variables.
    /// `None` if some of them are not known yet.
    pub(crate) fn new(
        tree: &Tree<'_>,
        id: InstanceId,
        order: u8,
        dtype: &mut dyn FnMut(Local) -> Option<DType>,
    ) -> Option<(Self, Results)> {
        let node = tree.node(id);
        let named = |l: Local| (node.name_of(l).to_string(), Port::Like(l));
        let inputs: Vec<_> =
            node.formals.iter().filter(|l| tree.is_stream(id, **l)).map(|l| named(*l)).collect();
        let outputs: Vec<_> = node.outputs.iter().map(|l| named(*l)).collect();
        let mut interface = Interface { inputs, canonical: outputs.clone(), outputs, gradients: Vec::new() };
        for level in 1..=order {
            interface = differentiate(interface, level, dtype)?;
        }
        let primal = interface.canonical.len() - 2 * interface.gradients.len();
        let results = Results { primal, gradients: interface.gradients };
        Some((
            Adjoint { inputs: interface.inputs, outputs: interface.canonical, results: Vec::new() },
            results,
        ))
    }
}

/// Which outputs a call may name.
pub(crate) struct Results {
    /// How many outputs the node itself has.
    pub(crate) primal: usize,
    /// The positions of the gradients; the `bp` of each stands before it.
    pub(crate) gradients: Vec<usize>,
}

impl Results {
    /// The positions of the outputs that a call with `n` left sides takes.
    pub(crate) fn choose(&self, n: usize) -> Option<Vec<usize>> {
        let primal = 0..self.primal;
        let k = self.gradients.len();
        if n == self.primal {
            Some(primal.collect())
        } else if n == self.primal + k {
            Some(primal.chain(self.gradients.iter().copied()).collect())
        } else if n == self.primal + 2 * k {
            Some((0..n).collect())
        } else {
            None
        }
    }
}

fn differentiate(
    of: Interface,
    level: u8,
    dtype: &mut dyn FnMut(Local) -> Option<DType>,
) -> Option<Interface> {
    let mut nums = |ports: &[(String, Port)]| {
        let mut nums = Vec::new();
        for (name, port) in ports {
            if let Port::Like(local) = port
                && dtype(*local)? == DType::Num
            {
                nums.push((name.clone(), *port));
            }
        }
        Some(nums)
    };
    let (num_inputs, num_outputs) = (nums(&of.inputs)?, nums(&of.outputs)?);
    let bp = if level == 1 { "bp".to_owned() } else { format!("bp{level}") };
    let mut inputs = of.inputs;
    inputs.push((bp, Port::Condition));
    inputs.extend(num_outputs.into_iter().map(|(name, port)| (format!("d{name}"), port)));
    let mut outputs = of.outputs;
    let mut canonical = outputs.clone();
    let mut gradients = Vec::new();
    for (name, port) in num_inputs {
        canonical.push((format!("bp{name}"), Port::Condition));
        gradients.push(canonical.len());
        canonical.push((format!("d{name}"), port));
        outputs.push((format!("d{name}"), port));
    }
    Some(Interface { inputs, outputs, canonical, gradients })
}

/// "diff_f(x, bp, do) -> (o, bpx, dx)".
pub(crate) fn describe(node: &Node, order: u8, adjoint: &Adjoint) -> String {
    let list =
        |ports: &[(String, Port)]| ports.iter().map(|(n, _)| n.as_str()).collect::<Vec<_>>().join(", ");
    let prefix = "diff_".repeat(usize::from(order));
    format!("{prefix}{}({}) -> ({})", node.name, list(&adjoint.inputs), list(&adjoint.outputs))
}
