//! Contractions as sums, copies and matrix products, in the order of the reference evaluation.

use rml_ir::DType;
use rml_ir::op::{Around, Einsum, Reduction};

use super::super::code::Kernel;
use super::super::views::View;
use super::super::walk::dense;
use super::{Lower, whole};

/// An operand whose axes have labels.
#[derive(Clone)]
struct Labelled {
    labels: Vec<char>,
    view: View,
}

impl Labelled {
    fn size(&self, label: char) -> usize {
        self.labels.iter().position(|l| *l == label).map_or(1, |i| self.view.dims[i])
    }

    fn len(&self, labels: &[char]) -> usize {
        labels.iter().map(|l| self.size(*l)).product()
    }

    /// The same elements with the axes in another order.
    fn ordered(&self, labels: &[char]) -> View {
        let at = |l: &char| self.labels.iter().position(|own| own == l);
        let dims = labels.iter().filter_map(at).map(|i| self.view.dims[i]).collect();
        let strides = labels.iter().filter_map(at).map(|i| self.view.strides[i]).collect();
        View { dims, strides, ..self.view.clone() }
    }
}

impl Lower<'_> {
    pub(super) fn einsum(&mut self, e: &Einsum, args: &[View], out: &View) -> bool {
        let result = e.result();
        let labelled = |i: usize| Labelled { labels: e.operands()[i].clone(), view: args[i].clone() };
        match args {
            [_] => {
                let a = self.summed(labelled(0), &|l| result.contains(&l));
                self.copy(DType::Num, out, &a.ordered(result));
            }
            [_, _] => {
                let (a, b) = (labelled(0), labelled(1));
                let left = self.summed(a.clone(), &|l| result.contains(&l) || b.labels.contains(&l));
                let right = self.summed(b, &|l| result.contains(&l) || a.labels.contains(&l));
                self.pair(result, &left, &right, out);
            }
            _ => return false,
        }
        true
    }

    /// Sums over the axes that `keep` does not name, outermost first.
    fn summed(&mut self, mut x: Labelled, keep: &dyn Fn(char) -> bool) -> Labelled {
        while let Some(axis) = x.labels.iter().position(|l| !keep(*l)) {
            let from = self.packed(DType::Num, &x.view);
            let around = Around::axis(&from.dims, Some(axis));
            let mut dims = from.dims.clone();
            dims.remove(axis);
            let to = whole(self.scratch(DType::Num, dims.iter().product(), false), &dims);
            self.push(Kernel::Reduce(Reduction::Sum, DType::Num, around), &to, &[&from]);
            x.labels.remove(axis);
            x.view = to;
        }
        x
    }

    /// Both operands as stacks of matrices.
    fn pair(&mut self, result: &[char], a: &Labelled, b: &Labelled, out: &View) {
        let of_a = |both: bool, kept: bool| -> Vec<char> {
            let fits = |l: &&char| b.labels.contains(l) == both && result.contains(l) == kept;
            a.labels.iter().filter(fits).copied().collect()
        };
        let (stack, inner, rows) = (of_a(true, true), of_a(true, false), of_a(false, true));
        let columns: Vec<char> = b.labels.iter().filter(|l| !a.labels.contains(l)).copied().collect();
        let left = self.packed(DType::Num, &a.ordered(&[&stack[..], &rows, &inner].concat()));
        let right = self.packed(DType::Num, &b.ordered(&[&stack[..], &inner, &columns].concat()));
        let size = [a.len(&rows), a.len(&inner), b.len(&columns)];
        let labels = [&stack[..], &rows, &columns].concat();
        let dims: Vec<usize> =
            labels.iter().map(|l| if a.labels.contains(l) { a.size(*l) } else { b.size(*l) }).collect();
        let in_place = labels == result;
        let to = if in_place {
            View { strides: dense(&dims), dims, ..out.clone() }
        } else {
            whole(self.scratch(DType::Num, dims.iter().product(), false), &dims)
        };
        let kernel = match a.len(&stack) {
            1 => Kernel::Product(size, None),
            n => Kernel::Products(n, size),
        };
        self.push(kernel, &to, &[&left, &right]);
        if !in_place {
            let made = Labelled { labels, view: to };
            self.copy(DType::Num, out, &made.ordered(result));
        }
    }
}
