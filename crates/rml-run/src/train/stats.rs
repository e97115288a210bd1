//! Statistics of parameters and of their changes.

use std::sync::Arc;

use indexmap::IndexMap;
use rml_base::Error;
use rml_ir::{Data, Value};

use super::keeper::{Keeper, Now, States};
use super::observer::{EpochSummary, ParameterStats};

/// The parameters at the previous observation.
pub(super) struct Watched {
    before: IndexMap<String, Vec<f64>>,
}

impl Watched {
    /// Watches these parameters, if there are any.
    pub(super) fn new(parameters: &[String]) -> Option<Self> {
        let before = parameters.iter().map(|key| (key.clone(), Vec::new())).collect();
        (!parameters.is_empty()).then_some(Self { before })
    }

    /// The current statistics of the parameters.
    fn see(&mut self, states: &IndexMap<Arc<str>, Value>) -> IndexMap<String, ParameterStats> {
        let mut all = IndexMap::new();
        for (key, before) in &mut self.before {
            let Some(now) = states.get(&**key).and_then(numbers) else { continue };
            all.insert(key.clone(), stats(before, &now));
            *before = now;
        }
        all
    }
}

impl Keeper for Watched {
    fn begin(&mut self, states: States<'_>) -> Result<(), Error> {
        self.see(&states()?);
        Ok(())
    }

    fn epoch(&mut self, summary: &mut EpochSummary, now: &mut Now<'_>) -> Result<(), Error> {
        summary.parameters = self.see(&(now.states)()?);
        Ok(())
    }

    fn rest(&mut self, summary: &mut EpochSummary, now: &mut Now<'_>) -> Result<(), Error> {
        self.epoch(summary, now)
    }
}

/// The elements of a tensor of numbers.
fn numbers(value: &Value) -> Option<Vec<f64>> {
    match value.to_data() {
        Data::F32(v) => Some(v.into_iter().map(f64::from).collect()),
        Data::F64(v) => Some(v),
        Data::Bool(_) | Data::Int(_) => None,
    }
}

fn stats(before: &[f64], now: &[f64]) -> ParameterStats {
    let n = now.len().max(1) as f64;
    let squares = |values: &mut dyn Iterator<Item = f64>| values.map(|x| x * x).sum::<f64>();
    let mean = now.iter().sum::<f64>() / n;
    ParameterStats {
        mean,
        deviation: (squares(&mut now.iter().map(|x| x - mean)) / n).sqrt(),
        norm: squares(&mut now.iter().copied()).sqrt(),
        update: squares(&mut now.iter().zip(before).map(|(now, before)| now - before)).sqrt(),
    }
}
