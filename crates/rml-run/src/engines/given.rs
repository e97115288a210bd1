//! The inputs of the cycles that a plan still has to run.

use rml_backend::Held;
use rml_base::Diagnostic;
use rml_engine::{BlockColumn, InputCell, Inputs, Present};
use rml_executor::append;
use rml_ir::{Data, Precision, Value};

/// An input over some cycles.
#[derive(Debug)]
pub(super) struct Given {
    pub(super) present: Present,
    /// Whether the program determines in which of the cycles it is present.
    pub(super) on_demand: bool,
    /// The values of the input in the cycles where it is present.
    pub(super) data: Data,
}

impl Given {
    fn new(present: Present, value: Option<Value>, precision: Precision) -> Self {
        let data = value.map_or(Data::Bool(Vec::new()), |v| v.to_precision(precision).to_data());
        Self { present, on_demand: false, data }
    }

    /// All inputs, on the host.
    pub(super) fn all(inputs: Inputs<'_>, precision: Precision) -> Result<Vec<Given>, Diagnostic> {
        match inputs {
            Inputs::Cycle(row) => Ok(row
                .iter()
                .map(|input| match input {
                    InputCell::Given(value) => Given::new(Present::Always, Some(value.clone()), precision),
                    InputCell::OnDemand(Some(value)) => {
                        let given = Given::new(Present::Always, Some(value.clone()), precision);
                        Given { on_demand: true, ..given }
                    }
                    InputCell::Absent | InputCell::OnDemand(None) => {
                        Given::new(Present::Never, None, precision)
                    }
                })
                .collect()),
            Inputs::Block(block) => {
                let column = |c: &BlockColumn| {
                    let value = c.values().map(Held::to_host).transpose()?;
                    let given = Given::new(c.present().clone(), value, precision);
                    Ok(Given { on_demand: c.is_on_demand(), ..given })
                };
                block.columns().iter().map(column).collect()
            }
        }
    }

    /// The truth value of the input in a cycle, if the input is a condition that is present in every cycle.
    pub(super) fn truth(&self, t: usize) -> Option<bool> {
        match (&self.present, &self.data) {
            (Present::Always, Data::Bool(v)) => v.get(t).copied(),
            _ => None,
        }
    }

    /// The truth values of the input in the cycles `from..to`, if it is a condition, where it is present; the first
    /// value is at `row` or after it.
    pub(super) fn truths(
        &self,
        (from, to): (usize, usize),
        mut row: usize,
    ) -> impl Iterator<Item = Option<bool>> {
        (from..to).map(move |t| {
            let Data::Bool(values) = &self.data else { return None };
            if !self.present.at(t) {
                return None;
            }
            row += 1;
            values.get(row - 1).copied()
        })
    }

    /// The truth values of the input in all cycles, if it is a condition that is present in all of them.
    pub(super) fn all_truths(&self, cycles: usize) -> Option<Vec<bool>> {
        match &self.data {
            Data::Bool(values) if (0..cycles).all(|t| self.present.at(t)) => Some(values.clone()),
            _ => None,
        }
    }

    /// An input with the values of this one in the next cycle. Where `ends` is true, it has the value `init`, if `init`
    /// is given; in the last cycle its value is arbitrary. If this input is absent anywhere, the result is absent
    /// everywhere.
    pub(super) fn next(&self, cycles: usize, ends: &[bool], init: Option<bool>) -> Self {
        if cycles == 0 || !(0..cycles).all(|t| self.present.at(t)) {
            return Self { present: Present::Never, on_demand: false, data: Data::Bool(Vec::new()) };
        }
        let mut data = self.data.clone();
        let row = data.len() / cycles;
        match &mut data {
            Data::Bool(values) => values.rotate_left(row),
            Data::Int(values) => values.rotate_left(row),
            Data::F32(values) => values.rotate_left(row),
            Data::F64(values) => values.rotate_left(row),
        }
        if let (Data::Bool(values), Some(init)) = (&mut data, init) {
            values.iter_mut().zip(ends).filter(|(_, end)| **end).for_each(|(value, _)| *value = init);
        }
        Self { present: Present::Always, on_demand: false, data }
    }

    /// Whether it is present in a cycle exactly if it is expected there. An input on demand may also be present
    /// elsewhere.
    pub(super) fn agrees(&self, t: usize, expected: bool) -> bool {
        let there = self.present.at(t);
        there == expected || there && self.on_demand
    }

    /// Appends the first `count` cycles of another one after its own `cycles` cycles.
    pub(super) fn append(&mut self, cycles: usize, more: Given, count: usize) {
        self.present = match (&self.present, &more.present) {
            (Present::Always, Present::Always) => Present::Always,
            (old, new) => (0..cycles).map(|t| old.at(t)).chain((0..count).map(|t| new.at(t))).collect(),
        };
        append(&mut self.data, more.data);
    }

    /// Removes its first `done` cycles, of `cycles`, and its first `elements` elements.
    pub(super) fn drop_front(&mut self, done: usize, cycles: usize, elements: usize) {
        if let Present::In(marks) = &self.present {
            self.present = marks[done..cycles].iter().copied().collect();
        }
        match &mut self.data {
            Data::Bool(v) => drop(v.drain(..elements)),
            Data::Int(v) => drop(v.drain(..elements)),
            Data::F32(v) => drop(v.drain(..elements)),
            Data::F64(v) => drop(v.drain(..elements)),
        }
    }
}
