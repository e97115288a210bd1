//! Contractions, as one matrix product for each element of the axes that both operands and the result have.

use super::CHECKED;
use super::linear::product;
use super::reduce::Around;
use super::strided::{self, Strides};
use super::view::{Elements, Float, View};
use crate::op::Einsum;
use crate::types::Shape;
use crate::value::{Data, Value};

/// An operand whose axes have labels.
struct Labelled<T> {
    labels: Vec<char>,
    dims: Vec<usize>,
    xs: Vec<T>,
}

impl<T: Float> Labelled<T> {
    fn new(labels: &[char], dims: &[usize], xs: &[T]) -> Self {
        Self { labels: labels.to_vec(), dims: dims.to_vec(), xs: xs.to_vec() }
    }

    fn has(&self, label: char) -> bool {
        self.labels.contains(&label)
    }

    /// How many elements the axes with those labels have together.
    fn len(&self, labels: &[char]) -> usize {
        let size = |label| self.labels.iter().position(|l| l == label).map_or(1, |i| self.dims[i]);
        labels.iter().map(size).product()
    }

    /// Sums over the axes that `keep` does not name, outermost first.
    fn summed(mut self, keep: impl Fn(char) -> bool) -> Self {
        while let Some(axis) = self.labels.iter().position(|&label| !keep(label)) {
            self.xs = Around::axis(&self.dims, Some(axis)).sum_floats(&self.xs);
            self.labels.remove(axis);
            self.dims.remove(axis);
        }
        self
    }

    /// The elements with the axes in another order.
    fn ordered(&self, labels: &[char]) -> Vec<T> {
        let own = strided::dense(&self.dims);
        let at = |label| self.labels.iter().position(|l| l == label).expect(CHECKED);
        let dims: Vec<usize> = labels.iter().map(|l| self.dims[at(l)]).collect();
        let strides: Strides = labels.iter().map(|l| own[at(l)]).collect();
        strided::gather(&self.xs, 0, &dims, &strides)
    }
}

/// The contraction of one or two operands.
pub(super) fn einsum(labels: &Einsum, args: &[&View<'_>]) -> Value {
    fn of<T: Float>(labels: &Einsum, args: &[Labelled<T>]) -> Labelled<T> {
        match args {
            [a] => Labelled::new(&a.labels, &a.dims, &a.xs).summed(|l| labels.result().contains(&l)),
            [a, b] => pair(labels.result(), a, b),
            _ => unreachable!("{CHECKED}"),
        }
    }
    fn finish<T: Float>(labels: &Einsum, found: &Labelled<T>) -> (Shape, Data) {
        let shape = labels.result().iter().map(|l| found.len(&[*l])).collect();
        (shape, T::data(found.ordered(labels.result())))
    }
    let operands = || args.iter().zip(labels.operands());
    let (shape, data) = match args[0].elements {
        Elements::F32(_) => {
            finish(labels, &of(labels, &operands().map(|(v, l)| single(v, l)).collect::<Vec<_>>()))
        }
        Elements::F64(_) => {
            finish(labels, &of(labels, &operands().map(|(v, l)| double(v, l)).collect::<Vec<_>>()))
        }
        _ => unreachable!("{CHECKED}"),
    };
    Value::new(shape, data)
}

fn single(view: &View<'_>, labels: &[char]) -> Labelled<f32> {
    let Elements::F32(xs) = view.elements else { unreachable!("{CHECKED}") };
    Labelled::new(labels, view.dims, xs)
}

fn double(view: &View<'_>, labels: &[char]) -> Labelled<f64> {
    let Elements::F64(xs) = view.elements else { unreachable!("{CHECKED}") };
    Labelled::new(labels, view.dims, xs)
}

/// Two operands: the axes of only one that the result lacks are summed first; then both are stacks of matrices.
fn pair<T: Float>(result: &[char], a: &Labelled<T>, b: &Labelled<T>) -> Labelled<T> {
    let copy = |x: &Labelled<T>| Labelled::new(&x.labels, &x.dims, &x.xs);
    let a = copy(a).summed(|l| result.contains(&l) || b.has(l));
    let b = copy(b).summed(|l| result.contains(&l) || a.has(l));
    let of_a = |both: bool, kept: bool| -> Vec<char> {
        let fits = |l: &&char| b.has(**l) == both && result.contains(l) == kept;
        a.labels.iter().filter(fits).copied().collect()
    };
    let (stack, inner, rows) = (of_a(true, true), of_a(true, false), of_a(false, true));
    let columns: Vec<char> = b.labels.iter().filter(|l| !a.has(**l)).copied().collect();
    let left = a.ordered(&[&stack[..], &rows, &inner].concat());
    let right = b.ordered(&[&stack[..], &inner, &columns].concat());
    let size @ (m, k, n) = (a.len(&rows), a.len(&inner), b.len(&columns));
    let mut xs = Vec::with_capacity(a.len(&stack) * m * n);
    for i in 0..a.len(&stack) {
        xs.extend(product(size, &left[i * m * k..][..m * k], &right[i * k * n..][..k * n]));
    }
    let labels = [&stack[..], &rows, &columns].concat();
    let dims = labels.iter().map(|&l| if a.has(l) { a.len(&[l]) } else { b.len(&[l]) }).collect();
    Labelled { labels, dims, xs }
}
