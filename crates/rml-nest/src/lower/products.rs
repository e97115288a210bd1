//! Products: loops or calls.

use rml_ir::op::Op;

use super::Lowering;
use super::stages::{Maker, Target};
use super::view::View;
use crate::{Call, Contraction, Def, Nest, Order, Work, dense};

impl Lowering<'_> {
    /// A product: loops if they are as fast as a kernel, else a call.
    pub(super) fn product(&mut self, op: &Op, start: Option<View>, operands: Vec<View>, target: &Target<'_>) {
        if let [a, b] = &operands[..]
            && let Some(product) = Contraction::of(op, [&a.dims, &b.dims])
            && let Some(nest) = self.chains(&product, start.as_ref(), [a, b], target)
        {
            return self.push(Work::Nest(nest), target);
        }
        let call = Call { op: op.clone(), start, operands, out: target.slot };
        self.push(Work::Call(call), target);
    }

    /// A product as chains; none if a kernel is better at it, or several axes are contracted.
    fn chains(
        &self,
        product: &Contraction,
        start: Option<&View>,
        [a, b]: [&View; 2],
        target: &Target<'_>,
    ) -> Option<Nest> {
        let size = |l: &char| match product.left.iter().position(|own| own == l) {
            Some(axis) => a.dims[axis],
            None => product.right.iter().position(|own| own == l).map_or(1, |axis| b.dims[axis]),
        };
        let count = |labels: &[char]| labels.iter().map(size).product::<usize>();
        let inner: Vec<char> = product.shared(false).into_iter().filter(|l| size(l) != 1).collect();
        let [stack, rows, columns] =
            [product.shared(true), product.rows(), product.columns()].map(|all| count(&all));
        let is_loop = self.node.order != Order::Over;
        if inner.len() > 1 || !is_small([stack, rows, count(&inner), columns], is_loop) {
            return None;
        }
        let mut dims: Vec<usize> = product.out.iter().map(size).collect();
        let (depth, own) = (dims.len(), dense(&dims));
        dims.push(count(&inner));
        let laid = |view: &View, labels: &[char]| {
            let axis = |i: usize| match product.out.get(i) {
                Some(label) => labels.iter().position(|own| own == label),
                None => labels.iter().position(|own| inner.contains(own)),
            };
            view.spread(&dims, axis)
        };
        let mut maker = Maker::new(&dims, &[depth]);
        let of = [maker.load(&laid(a, &product.left)), maker.load(&laid(b, &product.right))];
        let start = start.map(|view| maker.load(&view.spread(&dims, |i| (i < depth).then_some(i))));
        let val = maker.nest.body.push(Def::Chain { dim: maker.dim(depth), of, start });
        maker.store(target.slot, 0, &[&own[..], &[0]].concat(), val);
        Some(maker.nest)
    }
}

/// Whether loops multiply matrices of these sizes as fast as a kernel does: small products, and matrices by vectors or
/// columns by rows if there are several, or if a loop needs them at each tick.
fn is_small([stack, rows, inner, columns]: [usize; 4], is_loop: bool) -> bool {
    let size = rows * inner * columns;
    let is_thin = rows == 1 || inner == 1 || columns == 1;
    stack > 0 && size > 0 && (size <= FEW || is_thin && (stack > 1 || is_loop && size <= MANY))
}

/// A product with at most this many multiplications counts as small.
const FEW: usize = 64;

/// The most multiplications of a product that loops compute at each tick.
const MANY: usize = 1 << 14;
