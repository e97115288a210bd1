//! Inputs of programs that look ahead: inputs of unfinished cycles are kept, and fed again with the next ones.

use rml_ir::{Data, Value};
use rml_plan::Plan;

use super::sealed::{Any, Sealed};

/// The inputs of the waiting cycles, and of the next ones.
#[derive(Debug)]
pub(super) struct Late {
    /// For each input: the number of elements per cycle, and its elements.
    inputs: Vec<(usize, Data)>,
    /// For how many cycles outputs wait.
    pub(super) ahead: usize,
    /// How many cycles wait.
    waiting: usize,
    /// How many of the latest cycles came before the first output.
    early: usize,
}

impl Late {
    /// The initial state, without waiting cycles; none if outputs do not wait.
    pub(super) fn of(plan: &Plan) -> Option<Self> {
        let ahead = plan.ahead() as usize;
        let none = |ty| Value::zeros(ty, plan.precision).to_data();
        let inputs = plan.inputs.iter().map(|(_, ty)| (ty.shape.len(), none(ty))).collect();
        (ahead > 0).then_some(Self { inputs, ahead, waiting: 0, early: usize::MAX })
    }

    /// Makes room for this many cycles after the waiting ones.
    pub(super) fn resize(&mut self, cycles: usize) {
        let ticks = self.ahead + cycles;
        for (width, data) in &mut self.inputs {
            let len = ticks * *width;
            match data {
                Data::Bool(v) => v.resize(len, false),
                Data::Int(v) => v.resize(len, 0),
                Data::F32(v) => v.resize(len, 0.0),
                Data::F64(v) => v.resize(len, 0.0),
            }
        }
    }

    /// Sets an input from a cycle on, counted from the first of the next cycles.
    pub(super) fn write<T: Sealed + Copy>(&mut self, input: usize, cycle: usize, elements: &[T]) {
        let (width, data) = &mut self.inputs[input];
        let (from, ahead) = ((self.waiting + cycle) * *width, (self.ahead - self.waiting) * *width);
        if let Some(all) = T::elements(data) {
            let room = all.len().saturating_sub(ahead);
            assert!(from + elements.len() <= room, "elements of more cycles than the window has");
            all[from..][..elements.len()].copy_from_slice(elements);
        }
    }

    /// How many cycles run at once, if `cycles` more come.
    pub(super) fn ticks(&self, cycles: usize) -> usize {
        self.waiting + cycles
    }

    /// Sets the inputs of these cycles in the machine.
    pub(super) fn give(&self, machine: &mut Any, ticks: usize) {
        for (i, (width, data)) in self.inputs.iter().enumerate() {
            let len = ticks * width;
            match data {
                Data::Bool(v) => bool::write(machine, i, 0, &v[..len]),
                Data::Int(v) => i64::write(machine, i, 0, &v[..len]),
                Data::F32(v) => f32::write(machine, i, 0, &v[..len]),
                Data::F64(v) => f64::write(machine, i, 0, &v[..len]),
            }
        }
    }

    /// Drops the finished cycles of `ticks`, the last `cycles` of which were new.
    pub(super) fn done(&mut self, ticks: usize, cycles: usize) {
        let done = ticks.saturating_sub(self.ahead);
        for (width, data) in &mut self.inputs {
            let waiting = done * *width..ticks * *width;
            match data {
                Data::Bool(v) => v.copy_within(waiting, 0),
                Data::Int(v) => v.copy_within(waiting, 0),
                Data::F32(v) => v.copy_within(waiting, 0),
                Data::F64(v) => v.copy_within(waiting, 0),
            }
        }
        self.early = self.ahead - (ticks - cycles);
        self.waiting = ticks - done;
    }

    /// The tick of the last run whose output is returned in `cycle`, counted among the latest cycles; none before the
    /// first output.
    pub(super) fn tick(&self, cycle: usize) -> Option<usize> {
        cycle.checked_sub(self.early)
    }
}
