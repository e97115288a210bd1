//! Plans on the embedded backend.
//!
//! A plan is compiled to code once: tapes that alias others become views (`views`), operators become instructions
//! (`lower`), and every value gets a place (`place`). For a known length of the window the code is bound (`bind`): then
//! operands are places, and running a tick walks over a list. After that nothing is allocated, except by operators
//! without a kernel here.

use std::sync::Arc;

use rml_base::memory::{self, Shortage};
use rml_executor::Footprint;
use rml_ir::op::{EvalError, Number};
use rml_ir::{DType, Position, Positions, Precision, Value};
use rml_plan::{Lifetime, Plan};

mod arena;
mod bind;
mod budget;
mod cells;
mod check;
mod code;
mod executor;
mod footprint;
#[cfg(test)]
mod lanes_tests;
mod link;
mod list;
mod listed;
mod lower;
mod operand;
mod packs;
mod place;
mod point;
mod ports;
mod profile;
mod reached;
mod ready;
mod run;
mod scalar;
mod search;
mod segments;
mod single;
mod slides;
mod stages;
mod threads;
mod tick;
mod verify;
mod views;
mod waits;
mod walk;
mod wants;

use arena::Arena;
use bind::Bound;
use budget::Fit;
pub use budget::{Budget, budget};
use code::Guard;
use listed::Listed;
use packs::{Layout, Packs};
use place::Placement;
pub use ports::Element;
use profile::Probe;
use reached::Reached;
pub use ready::Ready;
use run::Run;
use search::Search;
use slides::Lifted;
use stages::compiled;
use threads::{Limits, Team};

/// A window has no reliable result, because an operator failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Suspect;

impl From<EvalError> for Suspect {
    fn from(_: EvalError) -> Self {
        Suspect
    }
}

/// A plan that runs, window after window, with numbers of one precision.
#[derive(Debug)]
pub struct Machine<N: Number> {
    plan: Arc<Plan>,
    code: Arc<Listed>,
    placement: Placement,
    bound: Bound,
    arena: Arena<N>,
    /// The code that does not run now, if there is one for windows of one tick alone; and whether that runs now.
    other: Option<Box<Ready>>,
    is_single: bool,
    /// Which registers are set.
    set: Vec<bool>,
    /// Which registers were set at the start of the window.
    before: Vec<bool>,
    /// For the registers that ticks ahead write (`Code::done`): whether each is set after the last finished tick.
    done: Vec<bool>,
    /// For each register that slides: whether it did so in the window that ran last.
    moved: Vec<bool>,
    /// If the plan waits: the progress of the block.
    reached: Reached,
    /// How many ticks of the window that ran last are done.
    finished: usize,
    /// Whether registers that slide are still where they were before that window, so that its outputs can be read.
    is_behind: bool,
    /// The progress of the search for the end of a window.
    search: Search,
    packs: Vec<Layout<N>>,
    /// How windows fit in memory.
    fit: Fit,
    /// The threads that share the work, if it has some to share.
    team: Option<Box<Team>>,
    /// The measurement of windows.
    probe: Option<Box<Probe>>,
}

impl<N: Number> Machine<N> {
    /// Starts a plan in its initial state.
    ///
    /// # Errors
    /// There is no memory for a window of one tick.
    pub fn new(plan: Arc<Plan>) -> Result<Self, Shortage> {
        Self::with_threads(plan, 1)
    }

    /// The same, with up to that many threads where they pay. The results do not depend on their number.
    ///
    /// # Errors
    /// There is no memory for a window of one tick.
    pub fn with_threads(plan: Arc<Plan>, threads: usize) -> Result<Self, Shortage> {
        Self::ready(&Ready::new(plan, threads))
    }

    /// The same, where threads share whatever they can, however little it is.
    ///
    /// # Errors
    /// There is no memory for a window of one tick.
    #[doc(hidden)]
    pub fn sharing_all(plan: Arc<Plan>, threads: usize) -> Result<Self, Shortage> {
        Self::ready(&Ready::packed(plan, (threads, Limits::NONE)))
    }

    /// Starts a plan that is ready, in its initial state.
    ///
    /// # Errors
    /// There is no memory for a window of one tick.
    pub fn ready(ready: &Ready) -> Result<Self, Shortage> {
        let Ready { plan, code, placement, team, single } = ready.clone();
        let set = vec![false; plan.registers.len()];
        let mut machine = Self {
            packs: code.packs.iter().map(|_| Layout::new()).collect(),
            code,
            placement,
            bound: Bound::default(),
            arena: Arena::new(),
            before: set.clone(),
            done: set.clone(),
            moved: set.clone(),
            other: single.map(|single| Box::new(Ready::clone(&single))),
            is_single: false,
            reached: Reached::default(),
            finished: 0,
            is_behind: false,
            search: Search::None,
            fit: Fit::default(),
            set,
            team,
            probe: None,
            plan,
        };
        let shortest = 1 + machine.code.ahead;
        memory::ask(machine.footprint().at(shortest))?;
        machine.load(shortest);
        Ok(machine)
    }

    /// Binds the code for windows of that many ticks, with constants, and registers as they start.
    fn load(&mut self, ticks: usize) {
        self.bind_here(ticks);
        for (k, value) in self.plan.consts.iter().enumerate() {
            self.arena.set(value.dtype(), self.bound.base(code::Slot(k)), value);
        }
        for (register, start) in self.code.starts.iter().enumerate() {
            if let Some(start) = start {
                let slot = self.code.register(register);
                let (to, from) = (self.bound.base(slot), self.bound.base(*start));
                let data = self.code.slot(slot);
                self.arena.copy(data.dtype, to, from, data.width);
            }
        }
    }

    /// Goes over to the code for windows of that many ticks, if it is not the one that runs.
    fn turn(&mut self, ticks: usize) {
        if self.is_single == (ticks == 1) || self.probe.is_some() {
            return;
        }
        let Some(mut other) = self.other.take() else { return };
        self.settle();
        let lifted = Lifted::all(&self.code, &self.bound, &self.arena);
        std::mem::swap(&mut self.code, &mut other.code);
        std::mem::swap(&mut self.placement, &mut other.placement);
        std::mem::swap(&mut self.team, &mut other.team);
        (self.other, self.is_single) = (Some(other), !self.is_single);
        (self.bound, self.arena, self.fit) = (Bound::default(), Arena::new(), Fit::default());
        self.packs = self.code.packs.iter().map(|_| Layout::new()).collect();
        self.load(ticks);
        lifted.put(&self.code, &self.bound, &mut self.arena);
    }

    /// How much memory windows take.
    pub fn footprint(&self) -> Footprint {
        footprint::footprint::<N>(&self.code, &self.placement)
    }

    /// Moves registers that slide on to where they are after the last window.
    fn settle(&mut self) {
        if !std::mem::take(&mut self.is_behind) {
            return;
        }
        let mut moves = Vec::new();
        let moved = (self.finished, &*self.moved);
        self.bound.slide(&self.code, moved, &mut moves);
        for (slot, from, to) in moves {
            let data = self.code.slot(slot);
            self.arena.copy(data.dtype, to, from, data.width);
        }
        if let Some(team) = &mut self.team {
            team.slide(moved);
        }
        let mut packs = Packs::Own(&mut self.packs);
        self.code.moving.iter().for_each(|moving| packs.change(&self.code, moving.slot));
    }

    /// Notes that some ticks of a window are done: registers that slide have new values.
    fn slid(&mut self, done: usize) {
        let moved = self.code.sliding.iter().filter(|register| done > 0 && self.moved[**register]);
        moved.for_each(|register| self.set[*register] = true);
        self.finished = done;
        self.is_behind = !self.code.sliding.is_empty();
    }

    /// Where a register is stored.
    fn place_of(&self, register: usize) -> usize {
        let slot = self.code.register(register);
        let is_behind = self.is_behind && self.moved[register];
        self.bound.at(&self.code, slot, if is_behind { self.finished } else { 0 })
    }

    fn bind(&mut self, ticks: usize) {
        self.turn(ticks);
        self.bind_here(ticks);
    }

    fn bind_here(&mut self, ticks: usize) {
        self.settle();
        if let Some((segments, size)) = self.fit.cut(ticks) {
            if self.bound.ticks != ticks || self.bound.cut != Some((size, segments.is_stored())) {
                self.bind_segments(&segments, ticks, size);
            }
            return;
        }
        if self.bound.ticks == ticks && self.bound.cut.is_none() {
            return;
        }
        let done = self.search.done();
        let lifted = Lifted::of(&self.code, &self.bound, &self.arena, done);
        self.arena.reserve(self.placement.sizes.map(|size| size.at(ticks)));
        if done > 0 {
            self.bound.relocate(&self.code, &self.placement, &mut self.arena, (ticks, done));
        }
        self.bound.bind(&self.code, &self.placement, ticks);
        lifted.put(&self.code, &self.bound, &mut self.arena);
        if let Some(team) = &mut self.team {
            team.bind(ticks);
        }
    }

    /// Sets an input at one of the `ticks` ticks of the next window.
    pub fn set_input(&mut self, input: usize, ticks: usize, t: usize, value: &Value) {
        self.bind(ticks);
        for given in self.code.inputs.iter().filter(|given| given.input == input) {
            let slot = self.code.slot(given.slot);
            if slot.per_tick || t == only(given.place, ticks) {
                self.arena.set(slot.dtype, self.bound.at(&self.code, given.slot, t), value);
            }
        }
    }

    /// Runs one window of `ticks` ticks whose inputs were set. Returns how many of them are done: all, but for those
    /// that are [ahead](Plan::ahead), and those that [wait](Plan::waits).
    ///
    /// # Errors
    /// If an operator has no result. Then no register has changed.
    pub fn window(&mut self, ticks: usize) -> Result<usize, Suspect> {
        if ticks == 1
            && let Some(ran) = self.single()
        {
            return ran;
        }
        let is_found = self.search == Search::Found(ticks);
        if !is_found {
            self.abandon();
        }
        self.bind(ticks);
        if !is_found {
            self.begin();
        }
        if let Some(team) = &self.team {
            team.wake();
        }
        if self.code.waits {
            self.reached.begin(self.plan.tapes.len(), self.plan.registers.len(), ticks);
        }
        let mut probe = self.probe.take();
        let timed = profile::timed(&mut probe);
        let result = match self.fit.cut(ticks) {
            Some((segments, size)) => self.in_segments(&segments, size, timed),
            None => self.run().regions(is_found, timed),
        };
        self.probe = probe;
        if let Err(suspect) = result {
            self.undo();
            return Err(suspect);
        }
        let done = if self.code.waits { self.rewrite(ticks) } else { ticks - self.code.ahead };
        // Most commits are at the first tick or the last one.
        let mut run = self.run();
        let code = run.code;
        run.go_back(code);
        let middle = code.commits.iter().any(|put| put.at.contains(Position::Middle));
        for t in (0..done).filter(|t| middle || *t == 0 || *t + 1 == done) {
            run.puts_at(&code.commits, t, Position::of(t, done));
        }
        self.search = Search::None;
        if let Some(probe) = &mut self.probe {
            probe.end();
        }
        self.slid(done);
        Ok(done)
    }

    /// Runs a window of one tick by its single list; none if it has to run region by region.
    fn single(&mut self) -> Option<Result<usize, Suspect>> {
        let is_plain = self.search == Search::None && self.probe.is_none() && self.team.is_none();
        if !is_plain || self.code.waits || self.code.ahead > 0 {
            return None;
        }
        self.bind(1);
        if self.bound.cut.is_some() {
            return None;
        }
        self.begin();
        if self.run().single().is_err() {
            self.undo();
            return Some(Err(Suspect));
        }
        self.slid(1);
        Some(Ok(1))
    }

    /// Counts the finished ticks of a block, and sets the registers that forward loops write to their values after
    /// these ticks.
    fn rewrite(&mut self, ticks: usize) -> usize {
        let done = reached::done(&self.code, &self.reached, ticks);
        self.undo();
        let mut run = self.run();
        let code = run.code;
        code.backups.iter().for_each(|(register, _)| run.changed(code.register(*register)));
        for pass in code.passes.iter().filter(|pass| !pass.over && !pass.backward && !pass.puts.is_empty()) {
            (0..done).for_each(|t| run.puts(&pass.puts, t));
        }
        done
    }

    fn run(&mut self) -> Run<'_, N> {
        Run {
            code: &self.code,
            bound: &self.bound,
            arena: &mut self.arena,
            set: &mut self.set,
            done: &mut self.done,
            moved: &mut self.moved,
            reached: &mut self.reached,
            precision: self.plan.precision,
            packs: Packs::Own(&mut self.packs),
            team: self.team.as_deref_mut(),
            part: self.bound.part,
            begins: true,
        }
    }

    fn begin(&mut self) {
        if let Some(probe) = &mut self.probe {
            probe.begin();
        }
        self.before.copy_from_slice(&self.set);
        for register in &self.code.sliding {
            self.moved[*register] = !self.code.is_put(*register);
        }
        for (i, register) in self.plan.registers.iter().enumerate() {
            if register.kind == Lifetime::Local {
                self.set[i] = false;
            }
        }
        for (pack, layout) in self.code.packs.iter().zip(&mut self.packs).filter(|(pack, _)| pack.fresh) {
            debug_assert!(!self.code.slot(pack.of.slot).kept);
            layout.change();
        }
        for (register, backup) in &self.code.backups {
            let slot = self.code.register(*register);
            let data = self.code.slot(slot);
            self.arena.copy(data.dtype, self.bound.base(*backup), self.bound.base(slot), data.width);
        }
    }

    /// Puts registers back as they were.
    fn undo(&mut self) {
        self.search = Search::None;
        self.set.copy_from_slice(&self.before);
        for (register, backup) in &self.code.backups {
            let slot = self.code.register(*register);
            let data = self.code.slot(slot);
            self.arena.copy(data.dtype, self.bound.base(slot), self.bound.base(*backup), data.width);
        }
    }

    /// An output at a tick of the window that was run; none if it is absent.
    pub fn output(&self, output: usize, t: usize) -> Option<Value> {
        let (dtype, at) = self.taken(output, t)?;
        Some(self.arena.value(dtype, &self.plan.outputs[output].ty.shape, at))
    }

    /// Where an output is stored.
    fn taken(&self, output: usize, t: usize) -> Option<(DType, usize)> {
        let p = Position::of(t, self.finished);
        let taken = self.code.outputs[output].iter().find(|taken| taken.at.contains(p))?;
        let holds = |g: &Guard| self.arena.bools[self.bound.spots[g.cond].get(t)] == g.value;
        let at = || (self.plan.outputs[output].ty.dtype, self.bound.spots[taken.value].get(t));
        taken.when.iter().all(holds).then(at)
    }

    /// The value of a register; none if it is not set. While the end of a window is searched for, the value from before
    /// that window.
    pub fn register(&self, register: usize) -> Option<Value> {
        let ty = &self.plan.registers.as_slice()[register].ty;
        let searching = self.search != Search::None;
        let backup = self.code.backups.iter().find(|(r, _)| searching && *r == register);
        let at = backup.map_or_else(|| self.place_of(register), |(_, slot)| self.bound.base(*slot));
        self.is_set(register).then(|| self.arena.value(ty.dtype, &ty.shape, at))
    }

    /// Whether a register is set. While the end of a window is searched for, whether it was set before that window.
    pub fn is_set(&self, register: usize) -> bool {
        let is_set = if self.search == Search::None { &self.set } else { &self.before };
        is_set[register]
    }

    /// Sets a register.
    pub fn set_register(&mut self, register: usize, value: &Value) {
        self.settle();
        let at = self.bound.base(self.code.register(register));
        self.arena.set(self.plan.registers.as_slice()[register].ty.dtype, at, value);
        self.set[register] = true;
        let slot = self.code.register(register);
        for (_, layout) in
            self.code.packs.iter().zip(&mut self.packs).filter(|(pack, _)| pack.of.slot == slot)
        {
            layout.change();
        }
    }
}

/// In debug builds, placements with fewer elements than this are checked.
const CHECKED: usize = 1 << 20;

/// The tick of a value that is read at one tick only.
fn only(place: Positions, ticks: usize) -> usize {
    if place.is_within(Positions::STARTS) { 0 } else { ticks - 1 }
}

/// How much memory windows of a plan take.
pub fn footprint(plan: &Arc<Plan>) -> Footprint {
    let plan = rml_plan::pack(Arc::clone(plan));
    let (code, placement) = compiled(&plan);
    match plan.precision {
        Precision::F32 => footprint::footprint::<f32>(&code, &placement),
        Precision::F64 => footprint::footprint::<f64>(&code, &placement),
    }
}
