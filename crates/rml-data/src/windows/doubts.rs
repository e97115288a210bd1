//! Suspicious properties of the windows for training and testing, and of the columns of inputs.

use std::collections::BTreeMap;

use rml_ir::{DType, Data};

use super::{Bound, Windows, cell_type};

/// How many windows are compared to see whether two inputs have the same numbers.
const COMPARED: usize = 256;
/// How many windows are examined for their classes.
const COUNTED: usize = 20_000;
/// How many of these windows are read at once.
const STACKED: usize = 1024;
/// The most different values that count as classes.
const CLASSES: usize = 64;

/// A class of an input whose share in the windows for testing is suspicious.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uneven<'w> {
    /// The input.
    pub input: &'w str,
    /// The class of most windows for testing.
    pub class: i64,
    /// How many windows for testing have this class, and the number of all of them.
    pub test: (usize, usize),
    /// The same for the windows to train on.
    pub train: (usize, usize),
}

impl Windows {
    /// The least and the greatest number of an input in the first of these windows; `None` if it has no numbers.
    pub fn range(&self, name: &str, windows: &[usize]) -> Option<(f64, f64)> {
        let i = self.inputs.iter().position(|bound| &*bound.info.name == name)?;
        let all = windows.iter().take(COMPARED).flat_map(|window| self.numbers(i, *window));
        all.filter(|x| x.is_finite()).fold(None, |range, x| {
            Some(range.map_or((x, x), |(least, most): (f64, f64)| (least.min(x), most.max(x))))
        })
    }

    /// If windows are single cycles: an input that equals one element of another input in all windows, and the number
    /// of this element. Probably the label is among the features.
    pub fn copied(&self) -> Option<(&str, &str, usize)> {
        // A few rows may have equal numbers by chance.
        const ENOUGH: usize = 10;
        if self.same_length() != Some(1) || self.count < ENOUGH {
            return None;
        }
        let windows = 0..self.count.min(COMPARED);
        let named = |i: usize| &*self.inputs[i].info.name;
        let elements = |i: usize| cell_type(&self.inputs[i].info).shape.len();
        let all = 0..self.inputs.len();
        let mut pairs = all.clone().flat_map(|label| all.clone().map(move |of| (label, of)));
        pairs.find_map(|(label, of)| {
            if label == of || elements(label) != 1 || elements(of) < 2 {
                return None;
            }
            let labels: Vec<f64> =
                windows.clone().map(|w| self.numbers(label, w).first().copied()).collect::<Option<_>>()?;
            if labels.iter().all(|x| *x == labels[0]) {
                return None;
            }
            let mut same: Vec<usize> = (0..elements(of)).collect();
            for (window, label) in windows.clone().zip(&labels) {
                let row = self.numbers(of, window);
                same.retain(|element| row.get(*element) == Some(label));
                if same.is_empty() {
                    return None;
                }
            }
            Some((named(label), named(of), same[0]))
        })
    }

    /// A class that all windows for testing have, or that no window to train on has.
    pub fn uneven(&self, train: &[usize], test: &[usize]) -> Option<Uneven<'_>> {
        const ENOUGH: usize = 10;
        if test.len() < ENOUGH || train.len() < ENOUGH {
            return None;
        }
        let is_label = |(_, bound): &(usize, &Bound)| {
            bound.info.ty.dtype == DType::Int && cell_type(&bound.info).shape.is_scalar()
        };
        self.inputs.iter().enumerate().filter(is_label).find_map(|(i, bound)| {
            let (seen, tested) = (self.counts(i, train)?, self.counts(i, test)?);
            let (class, most) = tested.iter().max_by_key(|(_, count)| **count)?;
            let (all_seen, all_tested): (usize, usize) = (seen.values().sum(), tested.values().sum());
            let of_class = seen.get(class).copied().unwrap_or(0);
            let is_alone = tested.len() == 1 && seen.len() > 1 && of_class * 2 < all_seen;
            let is_new = of_class == 0;
            (is_alone || is_new).then_some(Uneven {
                input: &bound.info.name,
                class: *class,
                test: (*most, all_tested),
                train: (of_class, all_seen),
            })
        })
    }

    /// The classes of an input of one integer that windows to train on have and no window for testing has.
    pub fn untested(&self, input: &str, train: &[usize], test: &[usize]) -> Vec<i64> {
        let is_label = |bound: &Bound| {
            *bound.info.name == *input
                && bound.info.ty.dtype == DType::Int
                && cell_type(&bound.info).shape.is_scalar()
        };
        let i = self.inputs.iter().position(is_label).filter(|_| test.len() <= COUNTED);
        let counts = i.and_then(|i| Some((self.counts(i, train)?, self.counts(i, test)?)));
        let (seen, tested) = counts.unwrap_or_default();
        seen.into_keys().filter(|class| !tested.contains_key(class)).collect()
    }

    /// For an input of one integer: how many of these windows have each value in their last cycle; `None` if the values
    /// are not classes.
    fn counts(&self, i: usize, windows: &[usize]) -> Option<BTreeMap<i64, usize>> {
        let mut counts = BTreeMap::new();
        let stacked = self.inputs[i].info.batched && self.same_length().is_some();
        let windows = &windows[..windows.len().min(COUNTED)];
        for windows in windows.chunks(if stacked { STACKED } else { 1 }) {
            let last = self.length(*windows.first()?).checked_sub(1)?;
            let value = self.values(i, windows, &[last]).ok()??;
            let Data::Int(v) = value.to_data() else { return None };
            for class in v.iter() {
                *counts.entry(*class).or_insert(0) += 1;
            }
            if counts.len() > CLASSES {
                return None;
            }
        }
        Some(counts)
    }

    /// The numbers of an input in a window, in its first cycles.
    fn numbers(&self, i: usize, window: usize) -> Vec<f64> {
        let cycles: Vec<usize> = (0..self.length(window).min(COMPARED)).collect();
        match self.values(i, &[window], &cycles).ok().flatten().map(|value| value.to_data()) {
            Some(Data::F32(v)) => v.iter().copied().map(f64::from).collect(),
            Some(Data::F64(v)) => v.to_vec(),
            #[allow(clippy::cast_precision_loss, reason = "classes are small")]
            Some(Data::Int(v)) => v.iter().map(|x| *x as f64).collect(),
            Some(Data::Bool(v)) => v.iter().map(|x| f64::from(u8::from(*x))).collect(),
            None => Vec::new(),
        }
    }
}
