//! Tensors as accesses: a reader of a transpose, a slice or a broadcast reads the operand with other strides.

use rml_ir::op::{AxisIndex, Op};

use crate::{Operand, Positions, Variant, Variants, dense};

/// A tensor: its shape, and where its elements are.
pub(super) type View = Operand;

impl View {
    /// The same at some positions alone.
    pub(super) fn at(mut self, at: Positions) -> View {
        self.source.iter_mut().for_each(|variant| variant.at = variant.at.and(at));
        self.source.retain(|variant| !variant.at.is_empty());
        self
    }

    /// Whether all ticks read the same place: there is at most one variant, without tests.
    pub(super) fn is_plain(&self) -> bool {
        self.source.len() <= 1 && self.has_no_tests()
    }

    /// Whether the position alone decides which variant applies.
    pub(super) fn has_no_tests(&self) -> bool {
        self.source.iter().all(|variant| variant.any.is_empty())
    }

    /// The view of an operator's result, if the operator only rearranges elements.
    pub(super) fn through(&self, op: &Op) -> Option<View> {
        match op {
            Op::Copy | Op::StopGradient => Some(self.clone()),
            Op::Transpose { perm } => Some(self.permuted(perm)),
            Op::Reshape { shape } => self.reshaped(shape.dims()),
            Op::Broadcast { shape } => Some(self.broadcast(shape.dims())),
            Op::Index { items } => Some(self.picked(items)),
            Op::Not | Op::Unary(_) | Op::Convert(_) | Op::Binary(_) | Op::Compare(_) | Op::And | Op::Or => {
                None
            }
            Op::Clip | Op::Where | Op::MatMul | Op::Cholesky | Op::Solve | Op::Rfft | Op::Irfft { .. } => {
                None
            }
            Op::Einsum(_) | Op::Conv(_) | Op::ConvTranspose { .. } | Op::ConvKernel { .. } => None,
            Op::MaxPool(_) | Op::AvgPool(_) | Op::Patches(_) | Op::Unpatches { .. } | Op::SumTo { .. } => {
                None
            }
            Op::Concat { .. } | Op::Stack { .. } | Op::Unindex { .. } | Op::Gather { .. } => None,
            Op::ScatterAdd { .. } | Op::Pick | Op::Reduce(..) | Op::CumSum { .. } | Op::Sort { .. } => None,
            Op::ArgSort { .. } | Op::SortBy { .. } | Op::RandomUniform { .. } | Op::RandomNormal { .. } => {
                None
            }
            Op::Softmax | Op::LogSoftmax | Op::OneHot { .. } => None,
        }
    }

    /// The same elements under other dimensions; `f` computes the new strides of each access.
    fn with(&self, dims: Vec<usize>, f: impl Fn(&[isize]) -> Vec<isize>) -> View {
        let mut source = self.source.clone();
        source.iter_mut().for_each(|variant| variant.access.strides = f(&variant.access.strides));
        View { dims, source }
    }

    /// The axes in another order.
    pub(super) fn permuted(&self, perm: &[usize]) -> View {
        let dims = perm.iter().map(|axis| self.dims[*axis]).collect();
        self.with(dims, |strides| perm.iter().map(|axis| strides[*axis]).collect())
    }

    /// With one more axis of one element.
    pub(super) fn with_unit(&self, axis: usize) -> View {
        let mut view = self.clone();
        view.dims.insert(axis, 1);
        view.source.iter_mut().for_each(|variant| variant.access.strides.insert(axis, 0));
        view
    }

    /// Repeated to a larger shape.
    pub(super) fn broadcast(&self, dims: &[usize]) -> View {
        let missing = dims.len() - self.dims.len();
        self.with(dims.to_vec(), |strides| {
            let of = |axis: usize| match axis.checked_sub(missing) {
                Some(own) if self.dims[own] == dims[axis] => strides[own],
                _ => 0,
            };
            (0..dims.len()).map(of).collect()
        })
    }

    /// The same elements under other dimensions; `axis` gives for each the old axis that it is, if any.
    pub(super) fn spread(&self, dims: &[usize], axis: impl Fn(usize) -> Option<usize>) -> View {
        self.with(dims.to_vec(), |strides| {
            (0..dims.len()).map(|i| axis(i).map_or(0, |own| strides[own])).collect()
        })
    }

    fn picked(&self, items: &[AxisIndex]) -> View {
        let kept = |item: &AxisIndex| if let AxisIndex::Slice { len, .. } = item { Some(*len) } else { None };
        let dims: Vec<usize> = items.iter().filter_map(kept).collect();
        let mut view = View { dims, source: self.source.clone() };
        let is_empty = view.dims.contains(&0);
        for variant in &mut view.source {
            let own = std::mem::take(&mut variant.access.strides);
            for (item, stride) in items.iter().zip(own) {
                let (start, step) = match *item {
                    AxisIndex::At(start) => (start, None),
                    AxisIndex::Slice { start, step, .. } => (start, Some(step)),
                };
                // Without elements, the offset does not matter.
                let start = if is_empty { 0 } else { start };
                variant.access.offset = moved(variant.access.offset, start, stride);
                variant.access.strides.extend(step.map(|step| stride * step));
            }
        }
        view
    }

    /// The same elements, row-major, under another shape; none if strides cannot express it.
    pub(super) fn reshaped(&self, dims: &[usize]) -> Option<View> {
        let mut source = self.source.clone();
        for variant in &mut source {
            variant.access.strides = reshape(&self.dims, &variant.access.strides, dims)?;
        }
        Some(View { dims: dims.to_vec(), source })
    }
}

/// The same variants, with equal ones merged. A variant may move past variants at other positions.
pub(super) fn joined(source: impl IntoIterator<Item = Variant>) -> Variants {
    let mut all: Variants = Vec::new();
    for variant in source {
        let is_equal = |known: &Variant| known.any == variant.any && known.access == variant.access;
        let place = all.iter().position(is_equal);
        match place {
            Some(i) if all[i + 1..].iter().all(|between| between.at.and(variant.at).is_empty()) => {
                all[i].at = all[i].at.or(variant.at);
            }
            _ => all.push(variant),
        }
    }
    all
}

/// An offset that many steps along a stride.
#[allow(clippy::cast_possible_wrap, reason = "elements in memory are counted in isize")]
pub(super) fn moved(offset: usize, steps: usize, stride: isize) -> usize {
    offset.wrapping_add_signed(stride * steps as isize)
}

/// The strides of the same elements under other dimensions; none if a new dimension would need more than one stride.
#[allow(clippy::cast_possible_wrap, reason = "elements in memory are counted in isize")]
fn reshape(from: &[usize], strides: &[isize], to: &[usize]) -> Option<Vec<isize>> {
    if from.contains(&0) {
        return Some(dense(to));
    }
    // Axes of length one are ignored.
    let units = |dims: &[usize]| (0..dims.len()).filter(|i| dims[*i] != 1).collect::<Vec<_>>();
    let (old, new) = (units(from), units(to));
    let mut found = vec![0; to.len()];
    let (mut i, mut j) = (0, 0);
    while i < old.len() && j < new.len() {
        // Axes from i to k and from j to l have as many elements.
        let (mut k, mut l) = (i + 1, j + 1);
        let (mut a, mut b) = (from[old[i]], to[new[j]]);
        while a != b {
            if a < b {
                a *= from[*old.get(k)?];
                k += 1;
            } else {
                b *= to[*new.get(l)?];
                l += 1;
            }
        }
        let joins = |w: &[usize]| strides[w[0]] == strides[w[1]] * from[w[1]] as isize;
        if !old[i..k].windows(2).all(joins) {
            return None;
        }
        let mut stride = strides[old[k - 1]];
        for axis in new[j..l].iter().rev() {
            found[*axis] = stride;
            stride *= to[*axis] as isize;
        }
        (i, j) = (k, l);
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::reshape;

    #[test]
    fn strides_of_reshapes() {
        assert_eq!(reshape(&[4, 6], &[6, 1], &[2, 2, 6]), Some(vec![12, 6, 1]));
        assert_eq!(reshape(&[4, 6], &[6, 1], &[24]), Some(vec![1]));
        assert_eq!(reshape(&[6, 4], &[1, 6], &[24]), None, "a transpose is not affine in one index");
        assert_eq!(reshape(&[6, 4], &[1, 6], &[2, 3, 4]), Some(vec![3, 1, 6]), "but its axes can be split");
        assert_eq!(
            reshape(&[3, 1, 4], &[4, 9, 1], &[12]),
            Some(vec![1]),
            "an axis of one element has any stride"
        );
        assert_eq!(reshape(&[1], &[7], &[]), Some(Vec::new()));
        assert_eq!(reshape(&[5, 4], &[0, 1], &[20]), None, "nor are rows that repeat");
    }
}
