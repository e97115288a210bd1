//! Averages of the metrics of a node, and of the norms of its gradients.

use std::sync::Arc;

use indexmap::IndexMap;
use rml_base::Diagnostic;
use rml_driver::Program;
use rml_engine::{CycleRow, KnownOutputs, Status};
use rml_ir::Value;

use super::metrics;

/// Averages of scalar outputs.
#[derive(Clone, Debug)]
pub(crate) struct Averages {
    names: Vec<Option<Arc<str>>>,
    /// The outputs that are squared norms of gradients, by checkpoint key.
    gradients: IndexMap<Arc<str>, usize>,
    sums: Vec<f64>,
    weights: Vec<u64>,
}

impl Averages {
    /// Averages of a program's scalar outputs that are numbers or integers.
    pub(crate) fn new(program: &Program) -> Self {
        let names = metrics(program);
        let gradients = program.gradients().clone();
        Self { gradients, sums: vec![0.0; names.len()], weights: vec![0; names.len()], names }
    }

    /// Adds outputs, each of which is a mean over this many windows.
    ///
    /// # Errors
    /// The outputs cannot be copied from their device.
    pub(crate) fn add(&mut self, all: &[KnownOutputs], windows: usize) -> Result<(), Diagnostic> {
        self.add_metrics(all, windows)?;
        let places = self.gradients.clone();
        self.add_norms(all, &places)
    }

    /// Adds the metrics among outputs, each of which counts for `windows` windows.
    ///
    /// # Errors
    /// The same as for [`add`](Self::add).
    pub(crate) fn add_metrics(&mut self, all: &[KnownOutputs], windows: usize) -> Result<(), Diagnostic> {
        for i in (0..self.names.len()).filter(|&i| self.names[i].is_some()).collect::<Vec<_>>() {
            self.add_values(i, (all, i), windows)?;
        }
        Ok(())
    }

    /// Adds the squared norms of gradients, which are the outputs with the numbers `places`.
    ///
    /// # Errors
    /// The same as for [`add`](Self::add).
    pub(crate) fn add_norms(
        &mut self,
        all: &[KnownOutputs],
        places: &IndexMap<Arc<str>, usize>,
    ) -> Result<(), Diagnostic> {
        for (key, i) in self.gradients.clone() {
            // An update counts once, for any number of windows.
            if let Some(place) = places.get(&key) {
                self.add_values(i, (all, *place), 1)?;
            }
        }
        Ok(())
    }

    /// Adds the values of output `place` to the sum with number `i`.
    fn add_values(
        &mut self,
        i: usize,
        (all, place): (&[KnownOutputs], usize),
        weight: usize,
    ) -> Result<(), Diagnostic> {
        for outputs in all {
            outputs.for_each_value(place, |_, v| {
                self.sums[i] += number(v) * weight as f64;
                self.weights[i] += weight as u64;
            })?;
        }
        Ok(())
    }

    /// Adds the sums of another part of the same outputs.
    pub(crate) fn join(&mut self, other: &Self) {
        self.sums.iter_mut().zip(&other.sums).for_each(|(sum, other)| *sum += other);
        self.weights.iter_mut().zip(&other.weights).for_each(|(weight, other)| *weight += other);
    }

    /// The norms of the gradients so far, by checkpoint key: the root of the mean of their squares over the updates.
    pub(crate) fn gradients(&self) -> IndexMap<String, f64> {
        let came = self.gradients.iter().filter(|(_, i)| self.weights[**i] > 0);
        came.map(|(key, i)| (key.to_string(), (self.sums[*i] / self.weights[*i] as f64).sqrt())).collect()
    }

    /// Adds a row of outputs.
    pub(crate) fn add_row(&mut self, row: &CycleRow) {
        let entries = self.names.iter().zip(self.sums.iter_mut().zip(&mut self.weights));
        for ((name, (sum, weight)), status) in entries.zip(&row.values) {
            if let (Some(_), Status::Value(v)) = (name, status) {
                *sum += number(v);
                *weight += 1;
            }
        }
    }

    /// The averages by name; outputs that were never present have none.
    pub(crate) fn metrics(&self) -> IndexMap<String, f64> {
        let all = self.names.iter().zip(self.sums.iter().zip(&self.weights));
        all.filter(|(_, (_, w))| **w > 0)
            .filter_map(|(name, (sum, weight))| Some((name.as_ref()?.to_string(), sum / *weight as f64)))
            .collect()
    }

    /// The sums for a checkpoint: name, bits of the sum, weight.
    pub(crate) fn sums(&self) -> Vec<(String, u64, u64)> {
        let all = self.names.iter().zip(self.sums.iter().zip(&self.weights));
        all.filter_map(|(name, (sum, weight))| Some((name.as_ref()?.to_string(), sum.to_bits(), *weight)))
            .collect()
    }

    /// The bits of all sums, and their weights.
    pub(crate) fn bits(&self) -> impl Iterator<Item = (u64, u64)> {
        self.sums.iter().zip(&self.weights).map(|(sum, weight)| (sum.to_bits(), *weight))
    }

    /// Sets all sums and weights, as [`bits`](Self::bits) of averages over the same outputs gave them.
    pub(crate) fn set_bits(&mut self, bits: &[(u64, u64)]) {
        for (i, (sum, weight)) in bits.iter().enumerate().take(self.sums.len()) {
            (self.sums[i], self.weights[i]) = (f64::from_bits(*sum), *weight);
        }
    }

    /// Restores the sums of a checkpoint.
    pub(crate) fn restore(&mut self, sums: &[(String, u64, u64)]) {
        for (name, sum, weight) in sums {
            if let Some(i) = self.names.iter().position(|n| n.as_deref() == Some(name)) {
                self.sums[i] = f64::from_bits(*sum);
                self.weights[i] = *weight;
            }
        }
    }
}

#[allow(clippy::cast_precision_loss, reason = "an average is a number")]
fn number(v: &Value) -> f64 {
    v.as_num().or(v.as_int().map(|i| i as f64)).unwrap_or(f64::NAN)
}
