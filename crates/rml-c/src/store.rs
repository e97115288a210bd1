//! Where the values of a window lie.

use rml_base::IndexVec;
use rml_ir::{DType, Precision};
use rml_plan::{Plan, Tape};

use crate::views::View;

/// How much memory a program takes, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Memory {
    /// What outlives windows.
    pub state: u64,
    /// The values of a window.
    pub work: u64,
    /// Constants that stand as tables: parameters that nothing changes, values that states start with, and others.
    pub constants: u64,
}

/// Where a tape lies.
#[derive(Clone, Debug)]
pub(crate) enum Home {
    /// Nowhere: nothing needs it, or it is a variable of a loop over elements.
    Local,
    /// It is an input.
    Input(u32),
    /// It is a register that does not change within a window.
    Register(rml_plan::Reg),
    /// It is a part of another tape.
    Part(View),
    /// In the array of its type, from an element on; and how far the next tick is.
    Slot { offset: usize, stride: usize },
}

impl Home {
    /// Whether the program computes it.
    pub(crate) fn is_made(&self) -> bool {
        matches!(self, Home::Local | Home::Slot { .. })
    }
}

/// From which group to which one a tape is needed, if at all.
pub(crate) type Span = (usize, usize);

/// What has to be placed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub(crate) tape: Tape,
    pub(crate) span: Span,
    /// Elements for all ticks, and for one.
    pub(crate) len: usize,
    pub(crate) stride: usize,
}

/// The arrays of values, by type: how long each has to be.
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

/// Gives tapes places, of which two share elements only if they are never needed at once.
pub(crate) fn place(plan: &Plan, mut wanted: Vec<Wanted>, homes: &mut IndexVec<Tape, Home>) -> Arrays {
    wanted.sort_by_key(|w| (w.span.0, std::cmp::Reverse(w.len), w.tape));
    let mut arrays = Arrays::default();
    for (i, dtype) in DTYPES.into_iter().enumerate() {
        // What is needed now: from where to where it lies, and until when.
        let mut live: Vec<(usize, usize, usize)> = Vec::new();
        for w in wanted.iter().filter(|w| plan.tapes[w.tape].ty.dtype == dtype) {
            live.retain(|(.., until)| *until >= w.span.0);
            let mut offset = 0;
            for (from, to, _) in &live {
                if offset + w.len <= *from {
                    break;
                }
                offset = offset.max(*to);
            }
            let at = live.partition_point(|(from, ..)| *from < offset);
            live.insert(at, (offset, offset + w.len, w.span.1));
            arrays.lens[i] = arrays.lens[i].max(offset + w.len);
            homes[w.tape] = Home::Slot { offset, stride: w.stride };
        }
    }
    arrays
}

impl Arrays {
    pub(crate) fn bytes(&self, precision: Precision) -> u64 {
        DTYPES.iter().zip(self.lens).map(|(dtype, len)| (dtype.size(precision) * len) as u64).sum()
    }
}
