//! The interface of synthesised adjoints. It depends on element types, because only nums have gradients.

use indexmap::IndexSet;
use rml_ir::DType;

use crate::hir::{Local, Node, Order};
use crate::instance::{InstanceId, Tree};

/// The canonical interface of an adjoint (see `rml_ir::typed::Callee::Diff`), and the results that a call uses.
#[derive(Clone, Debug)]
pub(crate) struct Adjoint {
    /// The inputs, in order.
    pub(crate) inputs: Vec<(String, Port)>,
    /// The outputs, in order.
    pub(crate) outputs: Vec<(String, Port)>,
    /// For each left side of the call, the position of its output.
    pub(crate) results: Vec<usize>,
}

/// The type of an input or output of an adjoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Port {
    /// The type of a variable of the differentiated node.
    Like(Local),
    /// `bool []`
    Condition,
}

/// An interface that is built up order by order.
struct Interface {
    inputs: Vec<(String, Port)>,
    /// The outputs of the node itself and the gradients, without the outputs `bp<x>`.
    outputs: Vec<(String, Port)>,
    /// All outputs, and the positions of those that are gradients or their `bp`.
    canonical: Vec<(String, Port)>,
    gradients: Vec<usize>,
}

impl Adjoint {
    /// The interface of the adjoint of order `order` of the node of instance `id`; `dtype` returns the element types of
    /// its variables. `None` if some of them are not known yet.
    pub(crate) fn new(
        tree: &Tree<'_>,
        id: InstanceId,
        order: Order,
        dtype: &mut dyn FnMut(Local) -> Option<DType>,
    ) -> Option<(Self, Results)> {
        let node = tree.node(id);
        let named = |l: Local| (node.name_of(l).to_string(), Port::Like(l));
        let inputs: Vec<_> =
            node.formals.iter().filter(|l| tree.is_stream(id, **l)).map(|l| named(*l)).collect();
        let outputs: Vec<_> = node.outputs.iter().map(|l| named(*l)).collect();
        let mut interface = Interface { inputs, canonical: outputs.clone(), outputs, gradients: Vec::new() };
        for _ in 0..order.times {
            interface = differentiate(interface, dtype)?;
        }
        let primal = interface.canonical.len() - 2 * interface.gradients.len();
        let held = order.held == order.times;
        let results = Results { primal, gradients: interface.gradients, held };
        Some((
            Adjoint { inputs: interface.inputs, outputs: interface.canonical, results: Vec::new() },
            results,
        ))
    }
}

/// The outputs that a call may name.
pub(crate) struct Results {
    /// The number of outputs of the node itself.
    pub(crate) primal: usize,
    /// The positions of the gradients; the `bp` of each gradient is the output before it.
    pub(crate) gradients: Vec<usize>,
    /// Whether the call updates no parameters, so that it is useless without its gradients.
    pub(crate) held: bool,
}

impl Results {
    /// The possible numbers of left sides of a call, as text: "1, 2 or 3".
    pub(crate) fn counts(&self) -> String {
        let (least, k) = (self.primal, self.gradients.len());
        match (k, self.held) {
            (0, _) => least.to_string(),
            (_, true) => format!("{} or {}", least + k, least + 2 * k),
            (_, false) => format!("{least}, {} or {}", least + k, least + 2 * k),
        }
    }

    /// The positions of the outputs that the `n` left sides of a call receive.
    pub(crate) fn choose(&self, n: usize) -> Option<Vec<usize>> {
        let primal = 0..self.primal;
        let k = self.gradients.len();
        if n == self.primal && !(self.held && k > 0) {
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

fn differentiate(of: Interface, dtype: &mut dyn FnMut(Local) -> Option<DType>) -> Option<Interface> {
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
    let mut inputs = of.inputs;
    let bp = fresh("bp", &inputs);
    inputs.push((bp, Port::Condition));
    for (name, port) in num_outputs {
        let name = fresh(&format!("d{name}"), &inputs);
        inputs.push((name, port));
    }
    let mut outputs = of.outputs;
    let mut canonical = outputs.clone();
    let mut gradients = Vec::new();
    for (name, port) in num_inputs {
        canonical.push((fresh(&format!("bp{name}"), &canonical), Port::Condition));
        gradients.push(canonical.len());
        let gradient = (fresh(&format!("d{name}"), &canonical), port);
        canonical.push(gradient.clone());
        outputs.push(gradient);
    }
    Some(Interface { inputs, outputs, canonical, gradients })
}

/// `name`, or the first of `name1`, `name2`, .. that is not the name of a port.
fn fresh(name: &str, taken: &[(String, Port)]) -> String {
    let numbered = (1_u64..).map(|k| format!("{name}{k}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    names.find(|name| taken.iter().all(|(other, _)| other != name)).unwrap_or_default()
}

/// The call with its interface: "diff_f(x, bp, do) -> (o, bpx, dx)".
pub(crate) fn describe(node: &Node, order: crate::hir::Order, adjoint: &Adjoint) -> String {
    let list = |ports: &[(String, Port)]| {
        let names: Vec<&str> = ports.iter().map(|(name, _)| record(name).0).collect();
        IndexSet::<&str>::from_iter(names).into_iter().collect::<Vec<_>>().join(", ")
    };
    let prefix = order.prefix();
    format!("{prefix}{}({}) -> ({})", node.name, list(&adjoint.inputs), list(&adjoint.outputs))
}

/// The record to which a variable belongs as a field, and the field: `s` and `.h` for `s.h`; `x` and an empty text for
/// `x`.
pub(crate) fn record(name: &str) -> (&str, &str) {
    name.split_at(name.find('.').unwrap_or(name.len()))
}

#[cfg(test)]
mod tests {
    use super::{Interface, Port, differentiate};
    use crate::hir::Local;
    use rml_ir::DType;

    #[test]
    fn ports_of_higher_orders_have_names_of_their_own() {
        let port = |name: &str, k: u32| (name.to_owned(), Port::Like(Local(k)));
        let outputs = vec![port("o", 1)];
        let mut interface = Interface {
            inputs: vec![port("x", 0)],
            canonical: outputs.clone(),
            outputs,
            gradients: Vec::new(),
        };
        for _ in 0..3 {
            interface = differentiate(interface, &mut |_| Some(DType::Num)).expect("all are nums");
            for ports in [&interface.inputs, &interface.canonical] {
                let names: std::collections::BTreeSet<&String> = ports.iter().map(|(name, _)| name).collect();
                assert_eq!(names.len(), ports.len(), "{ports:?}");
            }
        }
    }
}
