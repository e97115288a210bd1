//! Which axes the operands of a product share.

use rml_ir::op::{Class, Einsum, Op};

/// A product of two tensors: a label for each axis of both, and for each axis of the result. An axis that both operands
/// have and the result has not is contracted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Contraction {
    /// The labels of the left operand.
    pub left: Vec<char>,
    /// The labels of the right operand.
    pub right: Vec<char>,
    /// The labels of the result.
    pub out: Vec<char>,
}

impl Contraction {
    /// The contraction that an operator computes on operands of these shapes. None if the operator is no product, if an
    /// axis has to be broadcast, or if an axis that only one operand has is summed.
    pub fn of(op: &Op, dims: [&[usize]; 2]) -> Option<Contraction> {
        let product = match (op.class(), op) {
            (Class::Product, Op::MatMul) => matmul(dims)?,
            (Class::Product, Op::Einsum(labels)) => einsum(labels)?,
            // This class also contains factorisations, and operators that solve systems of equations.
            (Class::Product, _) => return None,
            (Class::Identity | Class::Pointwise | Class::Layout | Class::Fold | Class::Along, _)
            | (Class::Sliding | Class::Lookup | Class::Random, _) => return None,
        };
        let Contraction { left, right, .. } = &product;
        let size = |l: &char| left.iter().position(|own| own == l).map(|axis| dims[0][axis]);
        let fits = |(l, n): (&char, &usize)| size(l).is_none_or(|own| own == *n);
        right.iter().zip(dims[1]).all(fits).then_some(product)
    }

    /// The labels that both operands have, and the result if `kept`.
    pub fn shared(&self, kept: bool) -> Vec<char> {
        let is_shared = |l: &&char| self.right.contains(l) && self.out.contains(l) == kept;
        self.left.iter().filter(is_shared).copied().collect()
    }

    /// The labels that the left operand alone has.
    pub fn rows(&self) -> Vec<char> {
        self.left.iter().filter(|l| !self.right.contains(l)).copied().collect()
    }

    /// The labels that the right operand alone has.
    pub fn columns(&self) -> Vec<char> {
        self.right.iter().filter(|l| !self.left.contains(l)).copied().collect()
    }
}

/// A vector, a matrix, rows of a matrix, or a stack of matrices on each side.
fn matmul([a, b]: [&[usize]; 2]) -> Option<Contraction> {
    let stack = b.len().saturating_sub(2);
    let letters: Vec<char> = ('A'..='Z').collect();
    // The leading axes of stacks are aligned from the right.
    let (own, rows) = if stack == 0 { (0, a.len().checked_sub(1)?) } else { (a.len().saturating_sub(2), 1) };
    let deepest = own.max(stack);
    let (all, more) = (letters.get(..deepest)?, letters.get(deepest..deepest + rows.min(a.len() - 1))?);
    let left = [&all[deepest - own..], more, &['k']].concat();
    let column = if b.len() > 1 { &['n'][..] } else { &[] };
    let right = [&all[deepest - stack..], &['k'], column].concat();
    let out = [all, more, column].concat();
    Some(Contraction { left, right, out })
}

/// An einsum of two operands, if each axis occurs once per operand, and also in the other operand or in the result.
fn einsum(labels: &Einsum) -> Option<Contraction> {
    let [left, right] = labels.operands() else { return None };
    let out = labels.result();
    let is_once = |l: &char, own: &[char]| own.iter().filter(|o| *o == l).count() == 1;
    let is_used = |l: &char, other: &[char]| other.contains(l) || out.contains(l);
    let fits = left.iter().all(|l| is_once(l, left) && is_used(l, right))
        && right.iter().all(|l| is_once(l, right) && is_used(l, left));
    fits.then(|| Contraction { left: left.clone(), right: right.clone(), out: out.to_vec() })
}
