//! Places the values of a window in memory.

use rml_ir::{DType, Precision};

use crate::layout::Span;

/// The memory of a program, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Memory {
    /// The values that outlive windows.
    pub state: u64,
    /// The values of a window.
    pub work: u64,
    /// Constants that are tables: parameters that nothing changes, start values of states, and others.
    pub constants: u64,
}

/// A value that needs memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub(crate) dtype: DType,
    /// The first and the last function that need it.
    pub(crate) span: Span,
    /// The number of elements, for all ticks.
    pub(crate) len: usize,
}

/// The arrays of values: the length for each type.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Arrays {
    pub(crate) lens: [usize; 3],
}

pub(crate) const DTYPES: [DType; 3] = [DType::Num, DType::Int, DType::Bool];

pub(crate) fn array_name(dtype: DType) -> &'static str {
    match dtype {
        DType::Num => "nums",
        DType::Int => "ints",
        DType::Bool => "bools",
    }
}

/// Places the values in the array of their type; two values share elements only if they are never needed at the same
/// time. Tries two orders, by size and by first use, and keeps the smaller result.
pub(crate) fn place(wanted: &[Wanted]) -> (Vec<usize>, Arrays) {
    let (mut places, mut arrays) = (vec![0; wanted.len()], Arrays::default());
    for (dtype, len) in DTYPES.into_iter().zip(&mut arrays.lens) {
        let mut own: Vec<usize> = (0..wanted.len()).filter(|i| wanted[*i].dtype == dtype).collect();
        let large = |i: &usize| (std::cmp::Reverse(wanted[*i].len), *i);
        own.sort_by_key(large);
        let by_size = fitted(wanted, &own);
        own.sort_by_key(|i| (wanted[*i].span.0, large(i)));
        let by_time = fitted(wanted, &own);
        let (found, most) = if by_time.1 <= by_size.1 { by_time } else { by_size };
        found.into_iter().for_each(|(i, at)| places[i] = at);
        *len = most;
    }
    (places, arrays)
}

/// Gives each value, in this order, the first free place; also returns the resulting length.
fn fitted(wanted: &[Wanted], order: &[usize]) -> (Vec<(usize, usize)>, usize) {
    let (mut placed, mut most): (Vec<(usize, usize)>, usize) = (Vec::new(), 0);
    for i in order {
        let Wanted { span: (from, to), len, .. } = wanted[*i];
        let is_met = |other: &Wanted| from <= other.span.1 && other.span.0 <= to;
        let of = |(other, at): &(usize, usize)| {
            let other = wanted[*other];
            is_met(&other).then_some((*at, *at + other.len))
        };
        let mut taken: Vec<(usize, usize)> = placed.iter().filter_map(of).collect();
        taken.sort_unstable();
        let mut at = 0;
        for (start, end) in taken {
            if at + len <= start {
                break;
            }
            at = at.max(end);
        }
        placed.push((*i, at));
        most = most.max(at + len);
    }
    (placed, most)
}

impl Arrays {
    pub(crate) fn bytes(&self, precision: Precision) -> u64 {
        DTYPES.iter().zip(self.lens).map(|(dtype, len)| (dtype.size(precision) * len) as u64).sum()
    }
}
