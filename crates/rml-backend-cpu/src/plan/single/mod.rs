//! Windows of one tick, such as the steps of a stream: one list of all regions and commits, with places instead of
//! operands, since overhead counts where kernels are short.

use std::ops::Range;

use rml_ir::{DType, Position};

mod blocks;

use super::code::{Kernel, Put, Summand};
use super::link::Linked;
use super::listed::{Entry, Listed};
use super::row::Row;
use super::scalar::Spot;
pub(super) use blocks::Blocks;
use blocks::{Operand, Piece};

/// The instructions of a window of one tick.
#[derive(Debug)]
pub(super) enum Now {
    Scalars(Range<usize>),
    Chain(Range<usize>),
    /// Links by blocks.
    Blocks(Range<usize>),
    Rows(usize),
    Unit(usize),
    /// The registers that a loop writes.
    Puts(usize),
    /// A register gets a value whatever the data.
    Put {
        register: usize,
        dtype: DType,
        to: usize,
        from: usize,
        width: usize,
        /// Whether a matrix there may be laid out.
        is_packed: bool,
    },
    /// The commits, by number, under conditions.
    Commit(usize),
}

/// Code for windows of one tick.
#[derive(Debug, Default)]
pub(super) struct Single {
    pub(super) steps: Vec<Now>,
    pub(super) rows: Vec<Row>,
    pub(super) pieces: Vec<Piece>,
}

impl Single {
    /// Binds code to places, which are the same in all windows of one tick: once.
    pub(super) fn bind(&mut self, code: &Listed, bases: &[usize], spots: &[Spot], links: &[Linked]) {
        if !self.steps.is_empty() {
            return;
        }
        for (k, pass) in code.passes.iter().enumerate() {
            code.lists[k].at[Position::Only.index()].iter().for_each(|entry| self.add(code, spots, entry));
            if is_written(&pass.puts) {
                self.steps.push(Now::Puts(k));
            }
        }
        self.cut(links);
        for (i, put) in code.commits.iter().enumerate().filter(|(_, put)| put.at.contains(Position::Only)) {
            let slot = code.register(put.register);
            let data = code.slot(slot);
            self.steps.push(if put.when.is_empty() && put.unless.is_empty() {
                Now::Put {
                    register: put.register,
                    dtype: data.dtype,
                    to: bases[slot.0],
                    from: spots[put.value].get(0),
                    width: data.width,
                    is_packed: code.packs.iter().any(|pack| pack.of.slot == slot),
                }
            } else {
                Now::Commit(i)
            });
        }
    }

    /// Has chains run by blocks, as far as they can.
    fn cut(&mut self, links: &[Linked]) {
        let steps = std::mem::take(&mut self.steps);
        for step in steps {
            let Now::Chain(Range { mut start, end }) = step else {
                self.steps.push(step);
                continue;
            };
            let mut others = start;
            while start < end {
                let found = blocks::blocked(links[start..end].iter().map(piece));
                if found.len() < 2 {
                    start += 1;
                    continue;
                }
                if others < start {
                    self.steps.push(Now::Chain(others..start));
                }
                start += found.len();
                others = start;
                let first = self.pieces.len();
                self.pieces.extend(found);
                self.steps.push(Now::Blocks(first..self.pieces.len()));
            }
            if others < end {
                self.steps.push(Now::Chain(others..end));
            }
        }
    }

    fn add(&mut self, code: &Listed, spots: &[Spot], entry: &Entry) {
        let step = match (self.steps.last_mut(), entry) {
            (Some(Now::Scalars(last)), Entry::Scalars(next)) if last.end == next.start => {
                last.end = next.end;
                return;
            }
            (Some(Now::Chain(last)), Entry::Chain(next)) if last.end == next.start => {
                last.end = next.end;
                return;
            }
            (_, Entry::Scalars(range)) => Now::Scalars(range.clone()),
            (_, Entry::Chain(range)) => Now::Chain(range.clone()),
            (_, Entry::Unit(id)) => match row(code, spots, *id) {
                Some(row) => {
                    self.rows.push(row);
                    Now::Rows(self.rows.len() - 1)
                }
                None => Now::Unit(*id),
            },
        };
        self.steps.push(step);
    }
}

/// A link over one row of numbers, if it is one.
fn piece(link: &Linked) -> Option<Piece> {
    let [out, a, b, c] = link.at.map(|spot| spot.get(0));
    let [step, steps @ ..] = link.row.step;
    let operand = |at, step| Operand { at, is_row: step == 1 };
    let args = [operand(a, steps[0]), operand(b, steps[1]), operand(c, steps[2])];
    let is_plain = link.rows.n == 1 && step == 1 && steps.iter().all(|step| *step <= 1);
    is_plain.then_some(Piece { does: link.does, out, args, width: link.row.n })
}

/// The row that a unit computes, if that is all it does.
fn row(code: &Listed, spots: &[Spot], unit: usize) -> Option<Row> {
    let unit = &code.units[unit];
    let ([instr], true) = (&code.instrs[unit.instrs.clone()], unit.when.is_empty()) else { return None };
    match &instr.kernel {
        Kernel::Rows(summands) => Some(Row::new(summands, instr, spots, 0)),
        Kernel::Product([1, k, _], pack) => Some(Row::new(&[Summand::Product(*k, *pack)], instr, spots, 0)),
        _ => None,
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

    use crate::plan::Machine;

    use super::*;

    /// Products, chains, scalars, a register that a loop writes, and commits, under a condition and without one.
    const STATES: &str = include_str!("states.plan");

    fn kinds(single: &Single) -> Vec<&'static str> {
        let kind = |now: &Now| match now {
            Now::Scalars(_) => "scalars",
            Now::Chain(_) => "chain",
            Now::Blocks(_) => "blocks",
            Now::Rows(_) => "rows",
            Now::Unit(_) => "unit",
            Now::Puts(_) => "puts",
            Now::Put { .. } => "put",
            Now::Commit(_) => "commit",
        };
        single.steps.iter().map(kind).collect()
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
        let all = ["scalars", "chain", "rows", "unit", "puts", "put", "commit"];
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
