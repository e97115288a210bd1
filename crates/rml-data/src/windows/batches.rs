//! Groups windows into batches, each of windows of the same length.

use indexmap::IndexMap;

use super::Windows;

/// The batches of some windows, in the order in which they run.
///
/// ```
/// use rml_data::{Columns, Format, Windows};
/// use rml_ir::{DType, InputInfo, Precision, Type};
///
/// let columns = Columns::parse(b"x\n1.5\n2.5\n3.5\n", Format::Csv, "x.csv").unwrap();
/// let x = InputInfo { name: "x".into(), ty: Type::new(DType::Num, &[]), clock: None, batched: false };
/// let windows = Windows::bind(&columns, &[x], Precision::F32, false).unwrap();
/// let batches = windows.batches(&[2, 0, 1], 2);
/// assert_eq!(batches.iter().collect::<Vec<_>>(), [&[2, 0][..], &[1]]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Batches {
    /// The windows of all batches, concatenated.
    windows: Vec<usize>,
    /// The ends of the batches in `windows`, unless all but the last have the same size.
    ends: Option<Vec<usize>>,
    size: usize,
}

impl Batches {
    /// The number of batches.
    pub fn len(&self) -> usize {
        self.ends.as_ref().map_or_else(|| self.windows.len().div_ceil(self.size.max(1)), Vec::len)
    }

    /// Whether there are no batches.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The windows of a batch.
    pub fn get(&self, i: usize) -> Option<&[usize]> {
        let end = |i: usize| match &self.ends {
            Some(ends) => ends.get(i).copied(),
            None => Some((i + 1).saturating_mul(self.size).min(self.windows.len())),
        };
        let start = if i == 0 { 0 } else { end(i - 1)? };
        self.windows.get(start..end(i)?).filter(|batch| !batch.is_empty())
    }

    /// All batches.
    pub fn iter(&self) -> impl Iterator<Item = &[usize]> {
        (0..self.len()).filter_map(|i| self.get(i))
    }
}

impl Windows {
    /// Groups windows in some order into batches of at most `size` windows, each of windows of the same length. Full
    /// batches come first, in the order in which they are filled, followed by the others, larger ones first.
    pub fn batches(&self, order: &[usize], size: usize) -> Batches {
        let size = size.max(1);
        if self.same_length().is_some() {
            return Batches { windows: order.to_vec(), ends: None, size };
        }
        let mut batches = Batches { windows: Vec::with_capacity(order.len()), ends: None, size };
        let (mut ends, mut open) = (Vec::new(), IndexMap::<usize, Vec<usize>>::new());
        for &window in order {
            let batch = open.entry(self.length(window)).or_default();
            batch.push(window);
            if batch.len() >= size {
                batches.windows.append(batch);
                ends.push(batches.windows.len());
            }
        }
        let mut rest: Vec<Vec<usize>> = open.into_values().filter(|batch| !batch.is_empty()).collect();
        rest.sort_by_key(|batch| (usize::MAX - batch.len(), self.length(batch[0])));
        for mut batch in rest {
            batches.windows.append(&mut batch);
            ends.push(batches.windows.len());
        }
        Batches { ends: Some(ends), ..batches }
    }
}
