//! Determines which integers of a program number the same things, such as the classes of a label.
//!
//! `label` and `argmax(logits, -1)` number the same classes if the program computes `pick(log_softmax(logits), label)`:
//! the label is a position along the last axis of the logits, and so is the result of `argmax`. Therefore the elements
//! of each variable have a *domain*, and each axis has a domain, that of the positions along it. Equations make some of
//! these domains equal:
//!
//! - **D1** copies, delays, slices and all other operators that only move elements keep their domain, and the domain of
//!   each axis that they keep whole;
//! - **D2** the operands and the result of a pointwise operator share the domains of axes of equal size, and so do the
//!   two axes that a product contracts;
//! - **D3** a position along an axis has the domain of the axis;
//! - **D4** integers that are compared by `==` or `!=` have one domain;
//! - **D5** the result of arithmetic and of a conversion has its own domain, and a constant has none, because `0` may
//!   be any class.

use rml_base::{IndexVec, Sets};
use rml_ir::flat::{Flat, Init, Rhs, Var};
use rml_ir::op::{AxisIndex, Compare, Einsum, Op, Reduction};
use rml_ir::{DType, Shape};

/// The id of a domain. Integers with the same domain number the same things.
pub type Domain = usize;

/// The domains of a program.
#[derive(Clone, Debug)]
pub struct Domains {
    /// For each variable: the index of its elements; the indices of its axes follow.
    places: IndexVec<Var, usize>,
    sets: Sets,
}

/// The domains of a program.
///
/// Requires: F1 to F6.
pub fn domains(flat: &Flat) -> Domains {
    let mut next = 0;
    let places = flat.vars.iter().map(|data| {
        let place = next;
        next += 1 + data.ty.shape.rank();
        place
    });
    let places = places.collect();
    let mut constant: IndexVec<Var, bool> = flat.vars.iter().map(|_| false).collect();
    for equation in flat.equations.iter().filter(|e| matches!(e.rhs, Rhs::Const(_))) {
        constant[equation.lhs] = true;
    }
    let mut found = Domains { places, sets: Sets::new(next) };
    let mut finder = Finder { flat, constant, found: &mut found };
    flat.equations.iter().for_each(|equation| finder.equation(equation.lhs, &equation.rhs));
    found.sets.flatten();
    found
}

impl Domains {
    /// The domain of the elements of a variable.
    pub fn elements(&self, v: Var) -> Domain {
        self.sets.root(self.places[v])
    }

    /// The domain of the positions along an axis of a variable.
    pub fn axis(&self, v: Var, axis: usize) -> Domain {
        self.sets.root(self.places[v] + 1 + axis)
    }
}

struct Finder<'f> {
    flat: &'f Flat,
    constant: IndexVec<Var, bool>,
    found: &'f mut Domains,
}

/// The elements of a variable, or one of its axes.
#[derive(Clone, Copy)]
enum Of {
    Elements(Var),
    Axis(Var, usize),
}

use Of::{Axis, Elements};

impl Finder<'_> {
    fn shape(&self, v: Var) -> &Shape {
        &self.flat.vars[v].ty.shape
    }

    fn rank(&self, v: Var) -> usize {
        self.shape(v).rank()
    }

    fn place(&self, of: Of) -> usize {
        match of {
            Elements(v) => self.found.places[v],
            Axis(v, axis) => self.found.places[v] + 1 + axis,
        }
    }

    /// Unifies two domains, unless one belongs to a constant.
    fn one(&mut self, a: Of, b: Of) {
        let (Elements(v) | Axis(v, _), Elements(w) | Axis(w, _)) = (a, b);
        if !self.constant[v] && !self.constant[w] {
            let (a, b) = (self.place(a), self.place(b));
            self.found.sets.join(a, b);
        }
    }

    /// Unifies the last axes of both variables, where they have the same size.
    fn axes(&mut self, a: Var, b: Var) {
        let (n, m) = (self.rank(a), self.rank(b));
        for back in 1..=n.min(m) {
            if self.shape(a).dims()[n - back] == self.shape(b).dims()[m - back] {
                self.one(Axis(a, n - back), Axis(b, m - back));
            }
        }
    }

    /// Unifies all axes but one of two variables with the same number of axes.
    fn other_axes(&mut self, a: Var, b: Var, axis: usize) {
        for k in (0..self.rank(a).min(self.rank(b))).filter(|k| *k != axis) {
            self.one(Axis(a, k), Axis(b, k));
        }
    }

    fn same(&mut self, a: Var, b: Var) {
        self.one(Elements(a), Elements(b));
        self.axes(a, b);
    }

    fn equation(&mut self, lhs: Var, rhs: &Rhs) {
        match rhs {
            Rhs::Const(_) | Rhs::Param { .. } => {}
            Rhs::Apply { op, args } => self.apply(lhs, op, args),
            Rhs::If { then: a, other: b, .. } | Rhs::Merge { on_true: a, on_false: b, .. } => {
                self.same(lhs, *a);
                self.same(lhs, *b);
            }
            Rhs::When { value, .. } => self.same(lhs, *value),
            Rhs::Fby { init, next, .. } | Rhs::FbyBack { init, next, .. } => {
                if let Init::Stream(init) = init {
                    self.same(lhs, *init);
                }
                self.same(lhs, *next);
            }
            Rhs::Post { next, .. } => self.same(lhs, *next),
        }
    }

    fn apply(&mut self, y: Var, op: &Op, args: &[Var]) {
        // An operator with one operand ignores the second one.
        let [x, i] = [0, 1].map(|place| args.get(place).copied().unwrap_or(y));
        match op {
            Op::Copy | Op::StopGradient | Op::Broadcast { .. } => self.same(y, x),
            Op::Compare(Compare::Eq | Compare::Ne) => {
                self.compared(x, i);
                self.pointwise(y, args);
            }
            Op::Where => {
                args.iter().skip(1).for_each(|x| self.one(Elements(y), Elements(*x)));
                self.pointwise(y, args);
            }
            Op::Compare(Compare::Lt | Compare::Le | Compare::Gt | Compare::Ge)
            | Op::Not
            | Op::Unary(_)
            | Op::Convert(_)
            | Op::Binary(_)
            | Op::And
            | Op::Or
            | Op::Clip
            | Op::Softmax
            | Op::LogSoftmax
            | Op::CumSum { .. }
            | Op::SumTo { .. } => self.pointwise(y, args),
            Op::MatMul => self.product(y, x, i),
            Op::Einsum(form) => self.contracted(y, args, form),
            Op::Conv(_) => self.last(y, i),
            Op::MaxPool(_) | Op::AvgPool(_) => self.last(y, x),
            Op::Transpose { perm } => self.moved(y, x, perm.iter().copied().enumerate()),
            Op::Reshape { .. } => self.moved(y, x, self.kept_by_reshape(y, x)),
            Op::Concat { axis } => args.iter().for_each(|x| self.but_for(*axis, y, *x)),
            Op::Stack { axis } => args.iter().for_each(|x| {
                let axes = 0..self.rank(*x);
                self.moved(y, *x, axes.map(|k| (k + usize::from(k >= *axis), k)));
            }),
            Op::Index { items } => self.moved(y, x, self.kept_by_index(x, items)),
            Op::Unindex { items, .. } => {
                self.kept_by_index(y, items)
                    .into_iter()
                    .for_each(|(k, at)| self.one(Axis(x, k), Axis(y, at)));
            }
            Op::Gather { axis } => {
                self.one(Elements(y), Elements(x));
                self.gathered((y, x, i), *axis);
            }
            Op::ScatterAdd { axis, .. } => self.gathered((i, y, x), *axis),
            Op::Pick => {
                self.one(Elements(y), Elements(x));
                self.picked(x, i);
                self.leading(y, i);
            }
            Op::OneHot { .. } => self.picked(y, x),
            Op::Reduce(how, axis) => self.reduced(y, x, (*how, *axis)),
            Op::Sort { axis, .. } => self.but_for(*axis, y, x),
            Op::ArgSort { axis, .. } => {
                self.one(Elements(y), Axis(x, *axis));
                self.other_axes(y, x, *axis);
            }
            Op::SortBy { axis, .. } => {
                self.but_for(*axis, y, i);
                self.other_axes(y, x, *axis);
            }
            Op::Cholesky
            | Op::Solve
            | Op::Rfft
            | Op::Irfft { .. }
            | Op::ConvTranspose { .. }
            | Op::ConvKernel { .. }
            | Op::Patches(_)
            | Op::Unpatches { .. }
            | Op::RandomUniform { .. }
            | Op::RandomNormal { .. } => {}
        }
    }

    /// Handles a comparison for equality.
    fn compared(&mut self, a: Var, b: Var) {
        if self.flat.vars[a].ty.dtype == DType::Int {
            self.one(Elements(a), Elements(b));
        }
    }

    fn pointwise(&mut self, y: Var, args: &[Var]) {
        args.iter().for_each(|x| self.axes(y, *x));
    }

    /// Unifies the last axes of both variables.
    fn last(&mut self, a: Var, b: Var) {
        if let (Some(n), Some(m)) = (self.rank(a).checked_sub(1), self.rank(b).checked_sub(1)) {
            self.one(Axis(a, n), Axis(b, m));
        }
    }

    /// Handles `y = matmul(a, b)`.
    fn product(&mut self, y: Var, a: Var, b: Var) {
        let (n, m) = (self.rank(a), self.rank(b));
        if n == 0 || m == 0 {
            return;
        }
        self.one(Axis(a, n - 1), Axis(b, m.saturating_sub(2)));
        let columns = usize::from(m > 1);
        if columns == 1 {
            self.last(y, b);
        }
        if n > 1 {
            self.one(Axis(y, self.rank(y) - 1 - columns), Axis(a, n - 2));
        }
        // The axes of stacks of matrices, from the last one on.
        let stacks = self.rank(y).saturating_sub(columns + usize::from(n > 1));
        for x in [a, b] {
            let own = self.rank(x).saturating_sub(2);
            for back in 1..=own.min(stacks) {
                if self.shape(x).dims()[own - back] == self.shape(y).dims()[stacks - back] {
                    self.one(Axis(x, own - back), Axis(y, stacks - back));
                }
            }
        }
    }

    /// Handles a result `y` that contains the elements of `x` in another order; `axes` are the pairs of equal axes of
    /// both.
    fn moved(&mut self, y: Var, x: Var, axes: impl IntoIterator<Item = (usize, usize)>) {
        self.one(Elements(y), Elements(x));
        axes.into_iter().for_each(|(own, from)| self.one(Axis(y, own), Axis(x, from)));
    }

    /// The same for a result in which all axes but one are equal.
    fn but_for(&mut self, axis: usize, y: Var, x: Var) {
        self.one(Elements(y), Elements(x));
        self.other_axes(y, x, axis);
    }

    /// The axes that a reshape keeps: those with the same size and the same number of positions in the axes before
    /// them.
    fn kept_by_reshape(&self, y: Var, x: Var) -> Vec<(usize, usize)> {
        let before = |dims: &[usize], k: usize| dims[..k].iter().product::<usize>();
        let (own, other) = (self.shape(y).dims(), self.shape(x).dims());
        let kept = (0..own.len()).filter(|i| own[*i] > 1).filter_map(|i| {
            let same = |k: &usize| other[*k] == own[i] && before(other, *k) == before(own, i);
            Some((i, (0..other.len()).find(same)?))
        });
        kept.collect()
    }

    /// The axes that an index list keeps whole: their places in the result, and in `x`.
    fn kept_by_index(&self, x: Var, items: &[AxisIndex]) -> Vec<(usize, usize)> {
        let is_slice = |item: &&AxisIndex| matches!(item, AxisIndex::Slice { .. });
        let whole = |k: usize| items[k] == AxisIndex::whole(self.shape(x).dims()[k]);
        let place = |k: usize| items[..k].iter().filter(is_slice).count();
        (0..items.len()).filter(|k| whole(*k)).map(|k| (place(k), k)).collect()
    }

    /// Handles a contraction of operands.
    fn contracted(&mut self, y: Var, args: &[Var], form: &Einsum) {
        let operands = args.iter().zip(form.operands()).map(|(v, labels)| (*v, &labels[..]));
        let labels = operands.chain([(y, form.result())]);
        let all: Vec<(Of, char)> = labels
            .flat_map(|(v, labels)| {
                labels.iter().enumerate().map(move |(axis, label)| (Axis(v, axis), *label))
            })
            .collect();
        for (at, (axis, label)) in all.iter().enumerate() {
            if let Some((other, _)) = all[..at].iter().find(|(_, other)| other == label) {
                self.one(*axis, *other);
            }
        }
    }

    /// Handles positions `i` along the last axis of `x [s.., n]`.
    fn picked(&mut self, x: Var, i: Var) {
        if let Some(last) = self.rank(x).checked_sub(1) {
            self.one(Elements(i), Axis(x, last));
            self.leading(x, i);
        }
    }

    /// Unifies the first axes of both variables.
    fn leading(&mut self, a: Var, b: Var) {
        (0..self.rank(a).min(self.rank(b))).for_each(|k| self.one(Axis(a, k), Axis(b, k)));
    }

    /// Handles `y [l.., s.., r..]`, taken from `x [l.., n, r..]` at the positions `i [s..]` along an axis.
    fn gathered(&mut self, (y, x, i): (Var, Var, Var), axis: usize) {
        self.one(Elements(i), Axis(x, axis));
        let inner = self.rank(i);
        for k in 0..inner {
            self.one(Axis(y, axis + k), Axis(i, k));
        }
        for k in (0..self.rank(x)).filter(|k| *k != axis) {
            let own = if k < axis { k } else { k + inner - 1 };
            self.one(Axis(y, own), Axis(x, k));
        }
    }

    fn reduced(&mut self, y: Var, x: Var, (how, axis): (Reduction, Option<usize>)) {
        let along = axis.or_else(|| (self.rank(x) == 1).then_some(0));
        match (how, along) {
            (Reduction::ArgMax | Reduction::ArgMin, Some(axis)) => self.one(Elements(y), Axis(x, axis)),
            (Reduction::Max | Reduction::Min, _) => self.one(Elements(y), Elements(x)),
            (Reduction::ArgMax | Reduction::ArgMin, None) => {}
            (Reduction::Sum | Reduction::Mean | Reduction::Prod | Reduction::LogSumExp, _) => {}
            (Reduction::Any | Reduction::All, _) => {}
        }
        let Some(axis) = axis else { return };
        for k in (0..self.rank(x)).filter(|k| *k != axis) {
            self.one(Axis(y, if k < axis { k } else { k - 1 }), Axis(x, k));
        }
    }
}
