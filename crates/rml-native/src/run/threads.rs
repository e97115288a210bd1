//! The threads that run a window.

use std::ops::Range;

use rml_backend_cpu::pool::ThreadPool;
use rml_ir::op::Number;

use super::calls::{Runner, State, Versions};
use super::view::Slots;
use super::{Kept, Module};
use crate::ffi::{Entry, Lent, Part};
use crate::parts::{Share, part};

/// The state of a thread, and whether all operators that it ran succeeded.
#[derive(Debug)]
struct Seat<N: Number> {
    state: State<N>,
    is_done: bool,
}

/// Threads, which are started when there is a window with enough work for them.
#[derive(Debug)]
pub(super) struct Threads<N: Number> {
    seats: Vec<Seat<N>>,
    pool: Option<ThreadPool>,
    /// How many ticks the last window had, and whether threads share it.
    is_awake: (usize, bool),
}

impl Module {
    pub(super) fn slots(&self) -> Slots<'_> {
        Slots { layout: &self.layout, registers: &self.registers }
    }
}

/// A running window.
#[derive(Clone, Copy)]
struct Window<'a, N> {
    module: &'a Module,
    memory: Lent<'a, N>,
    versions: &'a Versions,
}

impl<N: Number> Window<'_, N> {
    /// Runs a part on one thread. Returns the registers that it saved; none if an operator may have failed.
    fn run(&self, seat: &mut Seat<N>, (function, part): (Entry, Part)) -> Option<Kept> {
        let mut runner = self.runner(seat, (part.part, part.parts));
        let is_done = self.module.code.run(self.memory, &mut runner, (function, part));
        is_done.then_some(runner.kept)
    }

    fn runner<'s>(&'s self, seat: &'s mut Seat<N>, part: (usize, usize)) -> Runner<'s, N> {
        let (module, slots, versions) = (self.module, self.module.slots(), self.versions);
        Runner { module, slots, state: &mut seat.state, versions, kept: Vec::new(), part }
    }
}

impl<N: Number> Threads<N> {
    pub(super) fn new(module: &Module) -> Self {
        let seat = |_| Seat { state: State::new(module.calls.len()), is_done: true };
        Threads { seats: (0..module.shared.threads).map(seat).collect(), pool: None, is_awake: (0, false) }
    }

    /// Runs all nodes; if the end was found (`is_found`), only the rest of the last tick of the first node. Returns the
    /// values of registers after the last finished tick, if ticks ahead write them; none if an operator fails.
    pub(super) fn window(
        &mut self,
        module: &Module,
        memory: Lent<'_, N>,
        versions: &Versions,
        is_found: bool,
    ) -> Option<Kept> {
        let window = Window { module, memory, versions };
        let ticks = memory.ticks;
        let is_awake = self.is_awake(module, ticks);
        let mut kept = Kept::new();
        for k in 0..module.program.nodes.len() {
            let share = if is_awake { module.shared.share(k, ticks) } else { Share::Alone };
            let all = Part::all(ticks);
            match share {
                _ if k == 0 && is_found => kept.extend(window.run(&mut self.seats[0], (Entry::Rest, all))?),
                Share::Alone => kept.extend(window.run(&mut self.seats[0], (Entry::Node(k), all))?),
                Share::Ticks => {
                    let threads = self.seats.len();
                    let own = |i: usize| Part { ticks: part(ticks, threads, i), part: 0, parts: 1, shard: i };
                    self.share(&window, Entry::Node(k), threads, own)?;
                }
                Share::Rows(parts) => {
                    self.share(&window, Entry::Node(k), parts, |part| Part { part, parts, ..all.clone() })?;
                }
                Share::Phases => self.phases(&window, k)?,
            }
        }
        Some(kept)
    }

    /// Runs the phases of a node one after the other.
    fn phases(&mut self, window: &Window<'_, N>, k: usize) -> Option<()> {
        let (shared, ticks) = (&window.module.shared, window.memory.ticks);
        let first = shared.phases().position(|(own, _)| own == k)?;
        for (i, phase) in shared.nodes[k].phases.iter().enumerate() {
            let (function, parts) = (Entry::Phase(first + i), shared.parts(phase, ticks));
            self.share(window, function, parts, |part| Part { part, parts, ..Part::all(ticks) })?;
        }
        Some(())
    }

    /// Lets each of several threads run a part of a function.
    fn share(
        &mut self,
        window: &Window<'_, N>,
        function: Entry,
        parts: usize,
        part: impl Fn(usize) -> Part + Sync,
    ) -> Option<()> {
        let seats = &mut self.seats[..parts];
        let run = |i: usize, seat: &mut Seat<N>| {
            seat.is_done = window.run(seat, (function, part(i))).is_some();
        };
        match self.pool.as_mut().filter(|_| parts > 1) {
            Some(pool) => pool.run(seats, &run),
            None if window.versions.windows.is_multiple_of(2) => {
                seats.iter_mut().enumerate().rev().for_each(|(i, seat)| run(i, seat));
            }
            None => seats.iter_mut().enumerate().for_each(|(i, seat)| run(i, seat)),
        }
        seats.iter().all(|seat| seat.is_done).then_some(())
    }

    /// Whether threads share windows of `ticks` ticks. If the system gives no more threads, they do not.
    fn is_awake(&mut self, module: &Module, ticks: usize) -> bool {
        if self.is_awake.0 != ticks {
            let is_worth = self.seats.len() > 1 && module.shared.is_worth(ticks);
            let in_turn = module.shared.in_turn();
            if is_worth && !in_turn && self.pool.is_none() {
                self.pool = ThreadPool::new(self.seats.len()).ok();
            }
            self.is_awake = (ticks, is_worth && (in_turn || self.pool.is_some()));
        }
        if let Some(pool) = self.pool.as_ref().filter(|_| self.is_awake.1) {
            pool.wake();
        }
        self.is_awake.1
    }

    /// Searches for the end of a window in some ticks.
    pub(super) fn find(
        &mut self,
        module: &Module,
        memory: Lent<'_, N>,
        versions: &Versions,
        ticks: Range<usize>,
    ) -> Option<usize> {
        let window = Window { module, memory, versions };
        let mut runner = window.runner(&mut self.seats[0], (0, 1));
        module.code.find(memory, &mut runner, ticks.start, ticks.end)
    }
}
