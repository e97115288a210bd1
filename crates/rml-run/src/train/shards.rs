//! Training with shards: a step takes a batch in several parts, one after the other, and updates the parameters once
//! (SHARD-1 to SHARD-4).
//!
//! The program runs in two parts ([`rml_ir::pass::cut`]). In a step, each shard runs its windows through the program
//! of gradients, from states of its own; then the sum of their gradients goes through the program of updates. What a
//! shard gives is a [`Part`], and the sum of parts is a part, too. Ranks that compute different shards exchange parts.
//! So all of them update the parameters by the same sum.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use indexmap::IndexMap;
use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Error};
use rml_collective::Tree;
use rml_data::Windows;
use rml_driver::{Program, Sharded};
use rml_engine::{Block, BlockColumn, Feeding, KnownOutputs, Present, Snapshot, States, Use};
use rml_ir::{Data, Shape, Value};

use super::carried::Restart;
use super::options::TrainOptions;
use super::ranks::{Ranks, differ};
use crate::checkpoint::{Checkpoint, Policy, Setup, shard_key};
use crate::engines::Engine;
use crate::runner::{Averages, Family, Runner, waiting};
use crate::session::Session;

mod message;
mod part;

use message::{Form, Reader};
use part::{Given, Part};

/// How far apart the first ticks of two shards are (DRAW-5).
const TICKS: i64 = 1 << 40;

/// With at most this many elements in the gradients times ranks, all ranks add all gradients: the number of messages
/// then takes more time than their length.
const FEW: usize = 1 << 13;

/// A node that is trained with shards.
pub(super) struct Shards<'f> {
    /// The whole program, for the windows of one shard.
    program: Program,
    sharded: Sharded,
    /// Runs the windows of one shard after the other.
    runner: Runner<'f>,
    /// How many shards a step has.
    shards: usize,
    /// Those that are computed here.
    here: Range<usize>,
    /// What each of these remembers, but for the parameters that are updated.
    own: Vec<Snapshot>,
    update: Session,
    /// How many windows a shard has at most.
    size: usize,
    /// The whole program with the states of the first shard, for who looks at what was learned.
    seen: Session,
    ranks: Option<Ranks>,
    /// Set from outside to stop after the current step.
    interrupt: Option<Arc<AtomicBool>>,
}

impl<'f> Shards<'f> {
    /// In its initial state; all windows have that many cycles, if they have the same number of them.
    pub(super) fn new(
        family: &'f mut Family,
        setup: &Setup,
        cycles: Option<usize>,
        options: &TrainOptions,
    ) -> Result<Self, Error> {
        let size = setup.shard();
        let (program, sharded) = (family.program(size)?.clone(), family.sharded(size)?.clone());
        let wish = Use::new(Feeding::Windows { cycles: None });
        let update = Session::open(&sharded.update, family.engine(), &wish)?;
        let seen = Session::open(&program, &Engine::simulator(), &wish)?;
        let runner = Runner::gradients(family, size, cycles)?;
        let (ranks, interrupt) = (options.group().cloned(), options.interrupt.clone());
        let here = ranks.as_ref().map_or(0..setup.shards, |ranks| ranks.shards(setup.shards));
        let (shards, own) = (setup.shards, Vec::new());
        let mut shards =
            Self { program, sharded, runner, shards, here, own, update, size, seen, ranks, interrupt };
        let begin = shards.remembered()?;
        for shard in shards.here.clone() {
            let begin = shards.with_ticks(begin.clone(), shard)?;
            shards.own.push(begin);
        }
        Ok(shards)
    }

    /// Continues from a checkpoint. A shard that it has no states of begins as the first one continues.
    pub(super) fn restore(&mut self, checkpoint: &Checkpoint) -> Result<(), Error> {
        let states = checkpoint.select(&self.program, Policy::Exact).map_err(|d| self.program.error(d))?;
        let is_updated = |key: &str| self.sharded.update.flat().states.contains_key(key);
        let (updated, first): (Vec<_>, Vec<_>) = states.into_iter().partition(|(key, _)| is_updated(key));
        self.update.set_states(&updated.into_iter().collect())?;
        for (place, shard) in self.here.clone().enumerate() {
            let of_first = over(self.own[place].clone(), first.clone());
            self.own[place] = match checkpoint.shard(shard) {
                _ if shard == 0 => of_first,
                None => self.with_ticks(of_first, shard)?,
                Some(own) => over(of_first, self.fitting(shard, own)?),
            };
        }
        Ok(())
    }

    /// The states that a checkpoint has for a shard other than the first one.
    fn fitting(
        &self,
        shard: usize,
        own: &IndexMap<Arc<str>, Value>,
    ) -> Result<Vec<(Arc<str>, Value)>, Error> {
        let flat = self.sharded.gradients.flat();
        let mut states = Vec::new();
        for (key, value) in own {
            let ty =
                flat.states.get(key).map(|state| flat.vars[flat.equations[state.equation].lhs].ty.clone());
            if ty.as_ref() != Some(&value.ty()) {
                let what =
                    format!("the checkpoint has another state `{key}` of shard {shard} than the program");
                let ty = ty.map_or_else(|| "none".to_owned(), |ty| ty.to_string());
                let d = Diagnostic::error(codes::CHECKPOINT_MISMATCH, what);
                return Err(self.program.error(d.note(format!("expected {ty}, found {}", value.ty()))));
            }
            states.push((Arc::clone(key), value.clone()));
        }
        Ok(states)
    }

    /// What the first shard that is computed here remembers.
    pub(super) fn first(&self) -> &Snapshot {
        &self.own[0]
    }

    /// Restarts states in each shard.
    pub(super) fn restart(&mut self, restart: &Restart) {
        for own in &mut self.own {
            *own = restart.of(own);
        }
    }

    /// The session that shows what was learned, as [`show`](Self::show) left it.
    pub(super) fn session(&self) -> &Session {
        &self.seen
    }

    /// Brings that session up to date.
    pub(super) fn show(&mut self) -> Result<(), Error> {
        self.seen.set_states(&self.of_first()?.into_iter().collect())
    }

    /// Runs a batch: every shard its part of it, and then the updates.
    pub(super) fn step(
        &mut self,
        data: &Windows,
        batch: &[usize],
        is_last: bool,
        averages: &mut Averages,
    ) -> Result<(), Error> {
        self.step_in(self.here.clone(), (data, batch, is_last), averages)
    }

    /// The same, with the shards that are computed here in that order.
    fn step_in(
        &mut self,
        order: impl Iterator<Item = usize>,
        (data, batch, is_last): (&Windows, &[usize], bool),
        averages: &mut Averages,
    ) -> Result<(), Error> {
        let parameters = self.parameters()?;
        let (mut tree, mut total) = (Tree::new(self.shards), None);
        for shard in order {
            let [from, to] = [shard, shard + 1].map(|end| batch.len().min(end * self.size));
            let part = match &batch[from..to] {
                [] => None,
                own => {
                    let outputs = self.run(shard, (data, own, is_last), &parameters)?;
                    let share = (own.len(), batch.len());
                    let part = Part::new(&self.program, &self.sharded, &outputs, share);
                    Some(part.map_err(|d| self.program.error(d))?)
                }
            };
            total = tree.put(shard, part, &mut Part::add);
        }
        if let Some(ranks) = &self.ranks {
            total = self.exchange(ranks, tree).map_err(|d| self.program.error(d))?;
        }
        let Some(Some(total)) = total else { return Ok(()) };
        averages.join(&total.averages);
        let norms = self.update(total.given)?;
        averages.add_norms(&norms, self.sharded.update.gradients()).map_err(|d| self.update.fail(d))
    }

    /// The sum of the parts of all ranks. Each rank adds a piece of all gradients, and then sends its sums to all; so
    /// the number of bytes is that of a ring. Few elements are added by all ranks, which takes one message less.
    fn exchange(&self, ranks: &Ranks, own: Tree<Part>) -> Result<Option<Option<Part>>, Diagnostic> {
        let (size, shards) = (ranks.size(), self.shards);
        let elements: usize = self.sharded.exchanged.iter().map(|exchanged| exchanged.ty.shape.len()).sum();
        let is_small = elements * size <= FEW;
        let add = &mut Part::add;
        let own: Vec<Option<Part>> = own.waiting().map(|(_, part)| part).collect();
        let to = (0..size).map(|rank| {
            let mut bytes = Vec::new();
            let piece = if is_small { (0, 1) } else { (rank, size) };
            own.iter().for_each(|part| message::write(part.as_ref(), piece, &mut bytes));
            bytes
        });
        let asked = self.interrupt.as_ref().is_some_and(|flag| flag.load(Ordering::SeqCst));
        let form = self.form();
        let sent = |rank: usize| differ(format!("rank {rank} sent something else than its part of a step"));
        let (mut tree, mut total) = (Tree::new(shards), None);
        for (rank, bytes) in ranks.step(to.collect(), asked)?.iter().enumerate() {
            let piece = if is_small { (0, 1) } else { (ranks.rank(), size) };
            let mut reader = Reader { bytes, form: &form };
            for at in Tree::<()>::waiting_after(shards, ranks.shards_of(rank, shards)) {
                total = tree.put_at(at, reader.part(piece).ok_or_else(|| sent(rank))?, add);
            }
            if !reader.is_at_end() {
                return Err(sent(rank));
            }
        }
        let Some(Some(total)) = total else { return Ok(total) };
        let mut pieces = Vec::new();
        if is_small {
            pieces.push(total);
        } else {
            let mut bytes = Vec::new();
            message::write(Some(&total), (0, 1), &mut bytes);
            for (rank, bytes) in ranks.gather(&bytes)?.iter().enumerate() {
                let mut reader = Reader { bytes, form: &form };
                let piece = reader.part((rank, size)).filter(|_| reader.is_at_end());
                pieces.push(piece.flatten().ok_or_else(|| sent(rank))?);
            }
        }
        let whole = Part::whole(pieces, &form.shapes);
        whole
            .map(|whole| Some(Some(whole)))
            .ok_or_else(|| differ("ranks added different gradients".to_owned()))
    }

    /// What each part has.
    fn form(&self) -> Form {
        let places = self.sharded.exchanged.iter();
        Form {
            shapes: places.map(|exchanged| exchanged.ty.shape.clone()).collect(),
            precision: self.program.precision(),
            averages: Averages::new(&self.program),
        }
    }

    /// Runs the windows of a shard.
    fn run(
        &mut self,
        shard: usize,
        (data, windows, is_last): (&Windows, &[usize], bool),
        parameters: &States,
    ) -> Result<Vec<KnownOutputs>, Error> {
        let place = shard - self.here.start;
        let Snapshot { states, delays } = &self.own[place];
        let states = states.iter().chain(parameters.iter());
        let states = states.map(|(key, held)| (Arc::clone(key), held.clone())).collect();
        self.runner.continue_from(&Snapshot { states, delays: delays.clone() })?;
        let outputs = self.runner.run(data, windows, is_last)?;
        self.own[place] = self.remembered()?;
        Ok(outputs)
    }

    /// What the program of gradients remembers now, but for the parameters that are updated.
    fn remembered(&self) -> Result<Snapshot, Error> {
        let mut now = self.runner.session().snapshot()?;
        now.states.retain(|key| !self.is_exchanged(key));
        Ok(now)
    }

    /// The parameters that are updated.
    fn parameters(&self) -> Result<States, Error> {
        let mut states = self.update.held_states()?;
        states.retain(|key| self.is_exchanged(key));
        Ok(states)
    }

    /// Whether a state is a parameter that is updated; no other one is in both programs.
    fn is_exchanged(&self, key: &str) -> bool {
        let programs = [&self.sharded.gradients, &self.sharded.update];
        programs.iter().all(|program| program.flat().states.contains_key(key))
    }

    /// States that are those of the first shard, with the ticks of another one.
    fn with_ticks(&self, begin: Snapshot, shard: usize) -> Result<Snapshot, Error> {
        let mut ticks = Vec::new();
        for key in &self.sharded.ticks {
            let Some(held) = begin.states.get(key) else { continue };
            let tick = held.to_host().map_err(|e| self.program.error(e.diagnostic()))?;
            let apart = i64::try_from(shard).unwrap_or(0).wrapping_mul(TICKS);
            ticks.extend(tick.as_int().map(|n| (Arc::clone(key), Value::Int(n.wrapping_add(apart)))));
        }
        Ok(over(begin, ticks))
    }

    /// Updates the parameters. Returns the outputs of the updates.
    fn update(&mut self, given: Vec<Given>) -> Result<Vec<KnownOutputs>, Error> {
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

    /// The states of the whole program, those that shards have of their own as the first one has them.
    pub(super) fn of_first(&self) -> Result<IndexMap<Arc<str>, Value>, Error> {
        let updated = self.update.states()?;
        let own = self.remembered_by(0..1)?.remove(&0).unwrap_or_default();
        let value = |key: &Arc<str>| updated.get(key).or_else(|| own.get(key)).cloned();
        let keys = self.program.flat().states.keys();
        Ok(keys.filter_map(|key| Some((Arc::clone(key), value(key)?))).collect())
    }

    /// The states for a checkpoint.
    pub(super) fn states(&self) -> Result<IndexMap<Arc<str>, Value>, Error> {
        let mut states = self.of_first()?;
        let flat = self.program.flat();
        let is_own = |key: &str| flat.states.get(key).is_some_and(|state| !state.parameter);
        for (shard, own) in self.remembered_by(1..self.shards)? {
            let own = own.into_iter().filter(|(key, _)| is_own(key));
            states.extend(own.map(|(key, value)| (shard_key(shard, &key).into(), value)));
        }
        Ok(states)
    }

    /// What these shards remember, by shard. All ranks get it.
    fn remembered_by(
        &self,
        shards: Range<usize>,
    ) -> Result<BTreeMap<usize, IndexMap<Arc<str>, Value>>, Error> {
        let mut all = BTreeMap::new();
        for (shard, own) in self.here.clone().zip(&self.own).filter(|(shard, _)| shards.contains(shard)) {
            let own = own.states.to_host().map_err(|e| self.program.error(e.diagnostic()))?;
            all.insert(shard, own);
        }
        let Some(ranks) = &self.ranks else { return Ok(all) };
        let named = |(shard, own): (usize, IndexMap<Arc<str>, Value>)| {
            own.into_iter().map(move |(key, value)| (shard_key(shard, &key).into(), value))
        };
        let own = Checkpoint::of_states(all.into_iter().flat_map(named).collect());
        let bytes = own.bytes().map_err(|e| differ(format!("the states cannot be sent: {e}")))?;
        let mut all = BTreeMap::new();
        for (rank, bytes) in ranks.gather(&bytes)?.iter().enumerate() {
            all.extend(Checkpoint::parse(bytes, &format!("what rank {rank} sent"))?.into_shards());
        }
        Ok(all)
    }
}

/// What is remembered, with those states in the place of its own.
fn over(before: Snapshot, states: Vec<(Arc<str>, Value)>) -> Snapshot {
    let Snapshot { states: old, delays } = before;
    let old = old.iter().map(|(key, held)| (Arc::clone(key), held.clone()));
    let states = old.chain(states.into_iter().map(|(key, value)| (key, value.into()))).collect();
    Snapshot { states, delays }
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

#[cfg(test)]
mod tests;
