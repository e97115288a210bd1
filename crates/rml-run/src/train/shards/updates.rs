//! The updates of a step, by the sum of what all shards give.

use rml_base::Error;
use rml_engine::{Block, BlockColumn, KnownOutputs, Present, States};
use rml_ir::{Data, Shape, Value};

use super::part::{self, Given};
use super::{Shards, Trace};
use crate::runner::waiting;

impl<T: Trace> Shards<T> {
    /// Updates the parameters. Returns the outputs of the updates.
    pub(super) fn update(&mut self, given: Vec<Given>) -> Result<Vec<KnownOutputs>, Error> {
        let mut ticks = vec![0; self.sharded.clocks];
        for (exchanged, given) in self.sharded.exchanged.iter().zip(&given) {
            ticks[exchanged.clock] = ticks[exchanged.clock].max(given.ticks);
        }
        let before = ticks.iter().copied().max().unwrap_or(0).saturating_sub(1);
        if before > 0 {
            self.without_gradients(before, &ticks)?;
        }
        let mut columns: Vec<BlockColumn> = ticks.iter().map(|ticks| bools(vec![*ticks > 0])).collect();
        for (exchanged, given) in self.sharded.exchanged.iter().zip(given) {
            let some = given.gradient.is_some();
            columns.push(if ticks[exchanged.clock] > 0 { bools(vec![some]) } else { BlockColumn::absent() });
            columns.push(given.gradient.map_or_else(BlockColumn::absent, one));
        }
        self.feed(Block::new(1, columns))
    }

    /// The cycles of the updates before the one that has gradients. They change no parameter: in these cycles, the
    /// shards have read it already.
    fn without_gradients(&mut self, cycles: usize, ticks: &[usize]) -> Result<(), Error> {
        let parameters = self.parameters()?;
        let marks = |ticks: usize| (1..=cycles).map(move |t| t + ticks > cycles + 1).collect::<Vec<bool>>();
        let mut columns: Vec<BlockColumn> = ticks.iter().map(|ticks| bools(marks(*ticks))).collect();
        for exchanged in &self.sharded.exchanged {
            let present: Present = marks(ticks[exchanged.clock]).into_iter().collect();
            let none = Value::new(
                Shape::new(&[present.count(cycles)]),
                Data::Bool(vec![false; present.count(cycles)]),
            );
            columns.extend([BlockColumn::new(present, none), BlockColumn::absent()]);
        }
        self.feed(Block::new(cycles, columns))?;
        let now = self.parameters()?;
        let host = |states: &States, key: &str| {
            let held = states.get(key).map(|held| held.to_host()).transpose();
            held.map_err(|e| self.program.error(e.diagnostic()))
        };
        for exchanged in self.sharded.exchanged.iter().filter(|e| ticks[e.clock] > 1) {
            let is_same = match (host(&parameters, &exchanged.key)?, host(&now, &exchanged.key)?) {
                (Some(before), Some(now)) => before.same(&now),
                // Before its first update it has no value of its own.
                (before, _) => before.is_none(),
            };
            if !is_same {
                return Err(self.program.error(part::changes(&self.program, &exchanged.key, cycles + 1)));
            }
        }
        Ok(())
    }

    fn feed(&mut self, block: Block) -> Result<Vec<KnownOutputs>, Error> {
        self.update.feed_block(&block)?;
        if self.update.open_cycles() > 0 {
            return Err(self.update.fail(waiting(&self.update)));
        }
        Ok(self.update.known())
    }
}

/// A condition that is present in all cycles.
fn bools(marks: Vec<bool>) -> BlockColumn {
    BlockColumn::new(Present::Always, Value::new(Shape::new(&[marks.len()]), Data::Bool(marks)))
}

/// A value that is present in the only cycle.
fn one(value: Value) -> BlockColumn {
    let dims: Vec<usize> = std::iter::once(1).chain(value.shape().dims().iter().copied()).collect();
    BlockColumn::new(Present::Always, Value::new(Shape::new(&dims), value.into_data()))
}
