//! The interface that the adjoint of a node has towards its callers.

use crate::types::Type;

/// The types of the streams that go into and come out of a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Interface {
    /// Input streams, in order.
    pub inputs: Vec<Type>,
    /// Outputs, in order.
    pub outputs: Vec<Type>,
}

impl Interface {
    /// The canonical interface of the node's adjoint, `order` times: inputs, `bp: bool []` and one gradient
    /// for each num output; outputs, and `bool []` with a gradient for each num input. From order 2 on it
    /// starts from the interface of one order less without the `bool []` of its gradients.
    #[must_use]
    pub fn adjoint(&self, order: u8) -> Interface {
        let mut primal = self.clone();
        let mut adjoint = self.clone();
        for _ in 0..order {
            let nums = |types: &[Type]| types.iter().filter(|t| t.is_num()).cloned().collect::<Vec<_>>();
            let mut inputs = primal.inputs.clone();
            inputs.push(Type::condition());
            inputs.extend(nums(&primal.outputs));
            let gradients = nums(&primal.inputs);
            let mut outputs = primal.outputs.clone();
            outputs.extend(gradients.iter().flat_map(|ty| [Type::condition(), ty.clone()]));
            adjoint = Interface { inputs: inputs.clone(), outputs };
            primal.inputs = inputs;
            primal.outputs.extend(gradients);
        }
        adjoint
    }
}
