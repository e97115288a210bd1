//! Training with shards: a step runs several traces, one after the other, and updates the parameters once (SHARD-1 to
//! SHARD-4). Each trace runs its part of a batch, or a window that it makes itself.
//!
//! The program runs in two parts ([`rml_ir::pass::cut`]). In a step, each shard runs its windows through the program
//! of gradients, from states of its own; then the sum of their gradients goes through the program of updates. What a
//! shard gives is a [`Part`], and the sum of parts is a part, too. Ranks that compute different shards exchange parts.
//! So all of them update the parameters by the same sum.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use indexmap::IndexMap;
use rml_base::codes::run as codes;
use rml_base::profile::Phase;
use rml_base::{Diagnostic, Error};
use rml_collective::Tree;
use rml_driver::{Program, Sharded};
use rml_engine::{Feeding, Snapshot, States, Use};
use rml_ir::Value;

use super::carried::Restart;
use super::options::TrainOptions;
use super::ranks::{Ranks, differ};
use crate::checkpoint::{Checkpoint, Policy, Setup, shard_key};
use crate::engines::Engine;
use crate::runner::Averages;
use crate::session::Session;

mod message;
mod pace;
mod part;
mod traces;
mod updates;

use message::{Form, Reader};
use pace::Pace;
use part::Part;
use traces::Shared;
pub(super) use traces::{See, Trace};

/// How far apart the first ticks of two shards are (DRAW-5).
const TICKS: i64 = 1 << 40;

/// The first tick of a shard.
pub(super) fn first_tick(shard: usize) -> i64 {
    i64::try_from(shard).unwrap_or(0).wrapping_mul(TICKS)
}

/// With at most this many elements in the gradients times ranks, all ranks add all gradients: the number of messages
/// then takes more time than their length.
const FEW: usize = 1 << 13;

/// A node that is trained with shards.
pub(super) struct Shards<T> {
    /// The whole program, for the windows of one shard.
    program: Program,
    sharded: Sharded,
    /// Runs the windows of one shard after the other.
    trace: T,
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
    engine: Engine,
    pace: Pace,
    /// Set from outside to stop after the current step.
    interrupt: Option<Arc<AtomicBool>>,
}

impl<T: Trace> Shards<T> {
    /// In its initial state. `parts` are the whole program and its two parts; `trace` runs the gradients.
    fn new(
        (program, sharded): (Program, Sharded),
        trace: T,
        setup: &Setup,
        options: &TrainOptions,
    ) -> Result<Self, Error> {
        let size = setup.shard();
        let wish = Use::new(Feeding::Windows { cycles: None });
        let update = Session::open(&sharded.update, &options.engine, &wish)?;
        let seen = Session::open(&program, &Engine::simulator(), &wish)?;
        let (ranks, engine) = (options.group().cloned(), options.engine.clone());
        let (interrupt, pace) = (options.interrupt.clone(), Pace::default());
        let here = ranks.as_ref().map_or(0..setup.shards, |ranks| ranks.shards(setup.shards));
        let (shards, own) = (setup.shards, Vec::new());
        let mut shards = Self {
            program,
            sharded,
            trace,
            shards,
            here,
            own,
            update,
            size,
            seen,
            ranks,
            engine,
            pace,
            interrupt,
        };
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

    /// Runs what `run` says for each of these shards, in this order, and then the updates. Returns the number of cycles
    /// of the longest window of all shards.
    fn train(
        &mut self,
        order: impl Iterator<Item = usize>,
        run: &mut dyn FnMut(&mut T, usize) -> Result<Shared, Error>,
        averages: &mut Averages,
    ) -> Result<usize, Error> {
        let begin = Instant::now();
        let parameters = self.parameters()?;
        let (mut tree, mut total) = (Tree::new(self.shards), None);
        for shard in order {
            self.begin(shard, &parameters)?;
            let part = match run(&mut self.trace, shard)? {
                None => None,
                Some((outputs, share)) => {
                    self.own[shard - self.here.start] = self.remembered()?;
                    let part = Part::new(&self.program, &self.sharded, &outputs, share);
                    Some(part.map_err(|d| self.program.error(d))?)
                }
            };
            total = tree.put(shard, part, &mut Part::add);
        }
        if let Some(ranks) = &self.ranks {
            let computed = begin.elapsed();
            let exchange = || self.exchange(ranks, tree);
            total = self.engine.time(Phase::Exchange, exchange).map_err(|d| self.program.error(d))?;
            self.pace.add(computed, begin.elapsed());
        }
        let Some(Some(total)) = total else { return Ok(0) };
        averages.join(&total.averages);
        let norms = self.update(total.given)?;
        averages.add_norms(&norms, self.sharded.update.gradients()).map_err(|d| self.update.fail(d))?;
        Ok(total.cycles)
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

    /// A note, given after one of the steps, that a step waits too long for other processes.
    pub(super) fn note(&self) -> Option<String> {
        self.pace.note()
    }

    /// Continues the trace of a shard, with these parameters.
    fn begin(&mut self, shard: usize, parameters: &States) -> Result<(), Error> {
        let Snapshot { states, delays } = &self.own[shard - self.here.start];
        let states = states.iter().chain(parameters.iter());
        let states = states.map(|(key, held)| (Arc::clone(key), held.clone())).collect();
        self.trace.session_mut().set_snapshot(&Snapshot { states, delays: delays.clone() })
    }

    /// What the program of gradients remembers now, but for the parameters that are updated.
    fn remembered(&self) -> Result<Snapshot, Error> {
        let mut now = self.trace.session().snapshot()?;
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
            let apart = first_tick(shard);
            ticks.extend(tick.as_int().map(|n| (Arc::clone(key), Value::Int(n.wrapping_add(apart)))));
        }
        Ok(over(begin, ticks))
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

#[cfg(test)]
mod tests;
