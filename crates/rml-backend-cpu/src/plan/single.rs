//! Windows of one tick, such as the steps of a stream, run as a single list of all regions and commits: when kernels
//! are short, the overhead per region matters.

use std::ops::Range;

use rml_ir::{DType, Position};

use super::code::Put;
use super::listed::{Entry, Listed};
use super::operand::Arg;

/// The instructions of a window of one tick.
#[derive(Debug)]
pub(super) enum Now {
    Scalars(Range<usize>),
    Chain(Range<usize>),
    Unit(usize),
    /// The registers that a loop writes.
    Puts(usize),
    /// An unconditional write of a register.
    Put {
        register: usize,
        dtype: DType,
        to: usize,
        from: Arg,
        width: usize,
        /// Whether products may use the register as a laid-out matrix.
        is_packed: bool,
    },
    /// The commits, by number, under conditions.
    Commit(usize),
}

/// Code for windows of one tick.
#[derive(Debug, Default)]
pub(super) struct Single(pub(super) Vec<Now>);

impl Single {
    /// Binds code to places, which are the same in all windows of one tick: once.
    pub(super) fn bind(&mut self, code: &Listed, bases: &[usize]) {
        if !self.0.is_empty() {
            return;
        }
        for (k, pass) in code.passes.iter().enumerate() {
            code.lists[k].at[Position::Only.index()].iter().for_each(|entry| self.add(entry));
            if is_written(&pass.puts) {
                self.0.push(Now::Puts(k));
            }
        }
        for (i, put) in code.commits.iter().enumerate().filter(|(_, put)| put.at.contains(Position::Only)) {
            let slot = code.register(put.register);
            let data = code.slot(slot);
            self.0.push(if put.when.is_empty() && put.unless.is_empty() {
                Now::Put {
                    register: put.register,
                    dtype: data.dtype,
                    to: bases[slot.0],
                    from: put.value,
                    width: data.width,
                    is_packed: code.packs.iter().any(|pack| pack.of.slot == slot),
                }
            } else {
                Now::Commit(i)
            });
        }
    }

    fn add(&mut self, entry: &Entry) {
        match (self.0.last_mut(), entry) {
            (Some(Now::Scalars(last)), Entry::Scalars(next))
            | (Some(Now::Chain(last)), Entry::Chain(next))
                if last.end == next.start =>
            {
                last.end = next.end;
            }
            (_, Entry::Scalars(range)) => self.0.push(Now::Scalars(range.clone())),
            (_, Entry::Chain(range)) => self.0.push(Now::Chain(range.clone())),
            (_, Entry::Unit(id)) => self.0.push(Now::Unit(*id)),
        }
    }
}

/// Whether a loop writes registers in windows of one tick.
fn is_written(puts: &[Put]) -> bool {
    puts.iter().any(|put| put.at.contains(Position::Only))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rml_base::Sources;
    use rml_base::profile::Profile;
    use rml_ir::{Data, Shape, Value};

    use super::*;
    use crate::plan::Machine;

    /// Products, chains, scalars, a register that a loop writes, and commits, under a condition and without one.
    const STATES: &str = include_str!("single/states.plan");

    fn kinds(single: &Single) -> Vec<&'static str> {
        let kind = |now: &Now| match now {
            Now::Scalars(_) => "scalars",
            Now::Chain(_) => "chain",
            Now::Unit(_) => "unit",
            Now::Puts(_) => "puts",
            Now::Put { .. } => "put",
            Now::Commit(_) => "commit",
        };
        single.0.iter().map(kind).collect()
    }

    /// A machine that is measured runs region by region.
    #[test]
    fn windows_of_one_tick_have_the_bits_of_their_regions() {
        let plan = rml_plan::parse(STATES).expect("a plan");
        rml_plan::verify(&plan).expect("it is right");
        let plan = Arc::new(plan);
        let profile = Profile::new(false);
        let mut machines = [false, true].map(|is_measured| {
            let mut machine = Machine::<f32>::new(Arc::clone(&plan)).expect("there is memory");
            if is_measured {
                machine.measure(&profile.scope(&Arc::new(Sources::new())));
            }
            machine
        });
        let found = kinds(&machines[0].bound.single);
        let all = ["scalars", "chain", "unit", "puts", "put", "commit"];
        assert!(all.iter().all(|kind| found.contains(kind)), "{found:?}");
        for (window, ticks) in [1, 1, 1, 3, 1, 1, 2, 1, 1].into_iter().enumerate() {
            let x: Vec<f32> =
                (0..6 * ticks).map(|i| ((i + 5 * window) * 37 % 101) as f32 / 50.0 - 1.0).collect();
            let c: Vec<bool> = (0..ticks).map(|t| (t + window) % 3 != 1).collect();
            let [one, other] = machines.each_mut().map(|machine| {
                machine.begin_window(ticks);
                machine.write(0, 0, &x);
                machine.write(1, 0, &c);
                assert_eq!(machine.window(ticks), Ok(ticks));
                let outputs = (0..3).flat_map(|output| (0..ticks).map(move |t| (output, t)));
                let outputs: Vec<_> = outputs.map(|(output, t)| machine.output(output, t)).collect();
                let registers: Vec<_> = (0..5).map(|register| machine.register(register)).collect();
                format!("{outputs:?} {registers:?}")
            });
            assert_eq!(one, other, "window {window} of {ticks} ticks");
            // A register from outside is the next window's, laid out or not.
            if window == 5 {
                let w = Data::F32((0..36).map(|i| i as f32 / 90.0 - 0.2).collect());
                machines
                    .iter_mut()
                    .for_each(|m| m.set_register(0, &Value::new(Shape::new(&[6, 6]), w.clone())));
            }
        }
    }
}
