//! Walks over row-major data whose axes are permuted, repeated or stepped over: offsets and strides, one row
//! of the result at a time.

use smallvec::SmallVec;

/// Distances in elements, one for each axis of a walk; 0 repeats. They wrap, so that a walk may go backwards.
pub(super) type Strides = SmallVec<[usize; 4]>;

/// The strides of dense row-major data.
pub(super) fn dense(dims: &[usize]) -> Strides {
    let mut strides: Strides = SmallVec::from_elem(1, dims.len());
    for axis in (1..dims.len()).rev() {
        strides[axis - 1] = strides[axis] * dims[axis];
    }
    strides
}

/// The strides that repeat dense data of shape `dims` to the shape `wide`, to which it broadcasts.
pub(super) fn repeated(dims: &[usize], wide: &[usize]) -> Strides {
    let missing = wide.len() - dims.len();
    let own = dims.iter().zip(dense(dims)).map(|(&d, stride)| if d == 1 { 0 } else { stride });
    std::iter::repeat_n(0, missing).chain(own).collect()
}

/// Calls `row` with the offsets at which each row (last axis) starts, in row-major order, for `N` operands
/// walked together. There is no row if any dimension is 0.
///
/// `dims` and all strides are of the same rank, at least 1.
pub(super) fn rows<const N: usize>(
    dims: &[usize],
    strides: [&[usize]; N],
    offsets: [usize; N],
    row: &mut impl FnMut([usize; N]),
) {
    match dims {
        [] => {}
        [n] => {
            if *n > 0 {
                row(offsets);
            }
        }
        [n, inner @ ..] => {
            let inner_strides = strides.map(|s| &s[1..]);
            let mut offsets = offsets;
            for _ in 0..*n {
                rows(inner, inner_strides, offsets, row);
                for (offset, stride) in offsets.iter_mut().zip(strides) {
                    *offset = offset.wrapping_add(stride[0]);
                }
            }
        }
    }
}

/// The elements met by a walk over `xs`, as dense data of shape `dims`.
pub(super) fn gather<T: Copy>(xs: &[T], offset: usize, dims: &[usize], strides: &[usize]) -> Vec<T> {
    let (Some(&n), Some(&stride)) = (dims.last(), strides.last()) else { return vec![xs[offset]] };
    let mut out = Vec::with_capacity(dims.iter().product());
    rows(dims, [strides], [offset], &mut |[offset]| match stride {
        0 => out.extend(std::iter::repeat_n(xs[offset], n)),
        1 => out.extend_from_slice(&xs[offset..][..n]),
        _ if is_backwards(stride) => {
            out.extend(xs[..=offset].iter().rev().step_by(stride.wrapping_neg()).take(n));
        }
        _ => out.extend(xs[offset..].iter().step_by(stride).take(n)),
    });
    out
}

/// Writes dense data of shape `dims` to the places met by a walk over `out`.
pub(super) fn scatter<T: Copy>(xs: &[T], out: &mut [T], offset: usize, dims: &[usize], strides: &[usize]) {
    let (Some(&n), Some(&stride)) = (dims.last(), strides.last()) else {
        out[offset] = xs[0];
        return;
    };
    let mut xs = xs.chunks_exact(n.max(1));
    rows(dims, [strides], [offset], &mut |[offset]| {
        let row = xs.next().unwrap_or_default();
        if is_backwards(stride) {
            let places = out[..=offset].iter_mut().rev().step_by(stride.wrapping_neg());
            places.zip(row).for_each(|(place, x)| *place = *x);
        } else {
            let places = out[offset..].iter_mut().step_by(stride);
            places.zip(row).for_each(|(place, x)| *place = *x);
        }
    });
}

/// Whether a stride stands for a negative distance.
const fn is_backwards(stride: usize) -> bool {
    stride.cast_signed() < 0
}
