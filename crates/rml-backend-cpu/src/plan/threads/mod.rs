//! Several threads in one window.
//!
//! Work is divided in four ways. None of them changes the sequence of operations for an element, so the bits do not
//! depend on the number of threads.
//!
//! - A loop whose instructions all compute row by row: each thread runs it for some of the rows, from the first tick to
//!   the last one, without waiting.
//! - A computation over all ticks: each thread runs it at some of the ticks, or, if there is only one tick, for some of
//!   the rows.
//! - A sum over ticks: each thread computes some of its elements.
//! - A loop that does not compute row by row, such as one that trains at each tick: large products and convolutions are
//!   divided at each tick.
//!
//! All of this is decided when a plan is prepared, and only for work that takes long enough. Threads never write
//! elements that others touch: each thread writes its own rows, ticks or elements, and their places share no memory
//! with others at that time. A value that a loop needs only within one tick has a place for each thread ([`Shard`]).
//! Where stages are verified, `disjoint` checks every element; work that it does not accept is left to one thread.

use std::ops::Range;

use rml_ir::check::is_verifying;
use rml_ir::{Position, Positions};

use super::bind::{Bound, Mine};
use super::code::{Added, At, Code, Instr, Kernel, Pass};
use super::list::{self, Lister};
use super::listed::{Entry, Listed};
use super::operand::Arg;
use super::place::{ALIGNED, Placement, Room, TYPES, first_fit};
use super::{CHECKED, Suspect};

mod cost;
mod disjoint;
mod ffi;
mod rows;
mod spread;
#[cfg(test)]
mod tests;

use crate::pool::{MOST, ThreadPool};

/// Thresholds above which sharing work pays off.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Rows for each thread: fewer make products slow.
    rows: usize,
    /// Nanoseconds of work per tick below which a loop or a unit is not considered for sharing.
    tick: f64,
    /// Nanoseconds of work that pay for telling other threads of it.
    job: f64,
    /// Nanoseconds of work in a window that pay for waking other threads.
    window: f64,
    /// Whether a faulty division is a panic. Otherwise one thread does all, with the same results.
    is_strict: bool,
}

impl Limits {
    /// As measured ([`cost`]).
    pub(super) const USUAL: Self =
        Self { rows: 4, tick: 100.0, job: 6_000.0, window: 100_000.0, is_strict: false };
    /// Whatever can be shared is shared, and a faulty division is a panic, for tests.
    pub(super) const NONE: Self = Self { rows: 2, tick: 0.0, job: 0.0, window: 0.0, is_strict: true };

    /// Into how many parts rows are divided.
    fn parts(self, rows: usize, threads: usize) -> usize {
        threads.min(rows / self.rows)
    }

    /// Whether threads may divide work with this result of the check.
    fn accepts(self, checked: Result<(), String>) -> bool {
        assert!(checked.is_ok() || !self.is_strict, "{checked:?}");
        checked.is_ok()
    }
}

/// Threads, and what they share.
#[derive(Debug)]
pub(super) struct Team {
    /// Started when there is a window that is long enough.
    pool: Option<ThreadPool>,
    shards: Vec<Shard>,
    work: Work,
    /// How many elements of each type threads have for themselves, all of them together.
    own: [usize; 3],
    /// Whether this window is long enough.
    is_awake: bool,
}

/// The same threads for another machine: none of them is started.
impl Clone for Team {
    fn clone(&self) -> Self {
        let Self { shards, work, own, .. } = self;
        let shards = shards.iter().map(Shard::again).collect();
        Self { pool: None, shards, work: work.clone(), own: *own, is_awake: false }
    }
}

/// The memory that belongs to a thread.
#[derive(Debug)]
struct Shard {
    /// The code for the rows of this thread.
    code: Listed,
    placement: Placement,
    mine: Mine,
    bound: Bound,
    /// Which registers are set.
    set: Vec<bool>,
    ran: Result<(), Suspect>,
}

/// Work that can be shared: the ways to divide it, and its cost per tick in nanoseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Job {
    cost: f64,
    by_ticks: bool,
    /// How many rows it has, if it computes row by row.
    rows: Option<usize>,
    /// Sums are divided into groups of that many elements.
    group: Option<usize>,
    /// Whether it is a sum over all ticks at once.
    over: bool,
    /// The positions at which it runs; none if it runs once per window.
    at: Positions,
}

/// A step of a region in windows of one tick: lists of entries that are not shared, or a shared unit.
#[derive(Clone, Debug)]
enum Step {
    Entries(Vec<Entry>),
    Unit(usize),
}

/// The shared work.
#[derive(Clone, Debug)]
struct Work {
    limits: Limits,
    loops: Vec<Option<Job>>,
    units: Vec<Option<Job>>,
    /// For each region over all ticks, its steps in windows of one tick.
    steps: Vec<Vec<Step>>,
}

/// Of `n` things in `parts` parts, those of one part.
fn part(n: usize, parts: usize, i: usize) -> Range<usize> {
    n * i / parts..n * (i + 1) / parts
}

impl Team {
    /// Creates the threads for code; none if there is nothing to share, or only one thread, or if the check finds an
    /// error. Adds space to the placement for the values that each thread has for itself.
    pub(super) fn new(
        code: &mut Listed,
        placement: &mut Placement,
        (threads, limits): (usize, Limits),
    ) -> Option<Self> {
        let threads = threads.min(MOST);
        if threads < 2 || code.waits || code.ahead > 0 {
            return None;
        }
        let work = Work::of(code, limits);
        if work.loops.iter().chain(&work.units).all(Option::is_none) {
            return None;
        }
        let own = Own::new(code, placement, &work, threads);
        let shards = (0..threads).map(|i| Shard::new(code, placement, (&work, &own), (threads, i))).collect();
        let of_all = own.rooms.map(|(_, size)| threads * size);
        let team = Self { pool: None, shards, work, own: of_all, is_awake: false };
        let is_checked = is_verifying() && placement.sizes.iter().all(|size| size.at(3) < CHECKED);
        let is_right =
            !is_checked || limits.accepts(disjoint::check(code, placement, &team.shards, &team.work));
        is_right.then_some(team)
    }

    /// Binds the code of all threads to windows of that many ticks.
    pub(super) fn bind(&mut self, ticks: usize) {
        for Shard { code, placement, bound, .. } in &mut self.shards {
            bound.bind(code, placement, ticks);
        }
        self.decide(ticks);
    }

    /// Moves registers that have moved on by the ticks of a window that are done.
    pub(super) fn slide(&mut self, moved: (usize, &[bool])) {
        for Shard { code, bound, .. } in &mut self.shards {
            bound.slide(code, moved, &mut Vec::new());
        }
    }

    /// Binds the code of all threads that run.
    pub(super) fn bind_each(&mut self, bind: impl Fn((&Listed, &Mine), &mut Bound)) {
        for Shard { code, mine, bound, .. } in self.shards.iter_mut().filter(|_| self.is_awake) {
            bind((code, mine), bound);
        }
    }

    /// Whether threads do not write what others touch in the segment to which code is bound.
    pub(super) fn divides_segment(&self, code: &Code, bound: &Bound, lens: [usize; 3]) -> bool {
        let bounds: Vec<&Bound> = self.shards.iter().map(|shard| &shard.bound).collect();
        let checked = disjoint::bound_code(code, (&self.shards, &self.work), (bound, &bounds), lens);
        self.work.limits.accepts(checked)
    }

    /// How many elements of each type threads have for themselves.
    pub(super) fn own(team: Option<&Self>) -> [usize; 3] {
        team.map_or([0; 3], |team| team.own)
    }

    /// Decides whether windows of `ticks` ticks have enough work for several threads.
    pub(super) fn decide(&mut self, ticks: usize) {
        let limits = self.work.limits;
        let jobs = self.work.loops.iter().chain(&self.work.units).flatten();
        let worth = jobs.map(|job| job.cost * job.count(ticks) as f64).filter(|cost| *cost >= limits.job);
        self.is_awake = worth.sum::<f64>() >= limits.window;
        if self.is_awake && self.pool.is_none() {
            // Where the system gives no more threads, one does all.
            self.pool = ThreadPool::new(self.shards.len()).ok();
            self.is_awake = self.pool.is_some();
        }
    }

    /// Whether threads share the current window.
    pub(super) fn is_awake(&self) -> bool {
        self.is_awake
    }

    /// Has threads search for work, if a window has enough of it.
    pub(super) fn wake(&self) {
        if let Some(pool) = self.pool.as_ref().filter(|_| self.is_awake) {
            pool.wake();
        }
    }
}

impl Work {
    fn of(code: &mut Listed, limits: Limits) -> Self {
        let units = vec![None; code.units.len()];
        let mut work = Self { limits, loops: Vec::new(), units, steps: Vec::new() };
        for k in 0..code.passes.len() {
            let Pass { over, units, .. } = &code.passes[k];
            let (over, units) = (*over, units.clone());
            if over {
                units.clone().for_each(|id| work.units[id] = unit_job(code, id, limits));
            }
            let job = if over { None } else { loop_job(code, k, limits) };
            // The first loop may search for the end of the window.
            if !over && job.is_none() && (k > 0 || code.ending.is_none()) {
                units.clone().for_each(|id| work.units[id] = tick_job(code, id, limits));
            }
            work.loops.push(job);
            let steps = if over { work.steps(code, units) } else { Vec::new() };
            work.steps.push(steps);
        }
        work
    }

    /// The steps of a region over all ticks in windows of one tick.
    fn steps(&self, code: &mut Listed, units: Range<usize>) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut from = units.start;
        let list = |code: &mut Listed, steps: &mut Vec<Step>, units: Range<usize>| {
            let entries = Lister::new(code).list(units, Position::Only);
            if !entries.is_empty() {
                steps.push(Step::Entries(entries));
            }
        };
        for id in units.clone() {
            let is_shared = self.units[id].is_some_and(|job| job.cost >= self.limits.job);
            if is_shared && code.units[id].at.contains(Position::Only) {
                list(code, &mut steps, from..id);
                steps.push(Step::Unit(id));
                from = id + 1;
            }
        }
        // If no unit is shared, the region runs by its own list.
        if !steps.is_empty() {
            list(code, &mut steps, from..units.end);
        }
        steps
    }
}

/// How a loop is shared.
fn loop_job(code: &Code, k: usize, limits: Limits) -> Option<Job> {
    let pass = &code.passes[k];
    // The first loop may search for the end of the window.
    if !pass.puts.is_empty() || k == 0 && code.ending.is_some() {
        return None;
    }
    let rows = rows::rows(code, pass.units.clone(), 2 * limits.rows)?;
    let cost = code.units[pass.units.clone()].iter().map(|unit| cost::unit(code, unit)).sum();
    (cost >= limits.tick).then_some(Job {
        cost,
        by_ticks: false,
        rows: Some(rows),
        group: None,
        over: false,
        at: Positions::ALL,
    })
}

/// How a unit over all ticks is shared.
fn unit_job(code: &Listed, id: usize, limits: Limits) -> Option<Job> {
    let unit = &code.units[id];
    let cost = cost::unit(code, unit);
    if cost < limits.tick {
        return None;
    }
    let instrs = &code.instrs[unit.instrs.clone()];
    let group = match instrs {
        [instr] => group(instr),
        _ => None,
    };
    let group = group.filter(|_| unit.when.is_empty() || !matches!(instrs[0].kernel, Kernel::Convolve(_)));
    let is_sum = instrs.iter().any(|instr| matches!(instr.kernel, Kernel::Sum { .. }));
    let by_ticks = !is_sum && group.is_none() && !unit.once && !unit.in_turn && code.steps[id].is_none() && {
        let mut outs = instrs.iter().map(|instr| code.data(instr.out));
        outs.all(|(r, data)| data.per_tick && r.at == At::Here(0))
    };
    let rows = if is_sum { None } else { rows::rows(code, id..id + 1, 2 * limits.rows) };
    let at = if unit.once { Positions::NONE } else { unit.at };
    let job = Job { cost, by_ticks, rows, group, over: is_sum, at };
    (by_ticks || rows.is_some() || group.is_some()).then_some(job)
}

/// How a unit of a loop is shared at each tick; none unless it is a single instruction that does not read its own
/// result and takes long enough.
fn tick_job(code: &Listed, id: usize, limits: Limits) -> Option<Job> {
    let [instr] = &code.instrs[code.units[id].instrs.clone()] else { return None };
    if !matches!(instr.kernel, Kernel::Product(..) | Kernel::Convolve(_)) {
        return None;
    }
    let job = unit_job(code, id, limits).filter(|job| job.cost >= limits.job)?;
    let job = Job { by_ticks: false, ..job };
    (job.rows.is_some() || job.group.is_some()).then_some(job)
}

/// The size of the groups of elements into which a sum is divided: rows for outer products and for the gradient of a
/// convolution's kernel, else single elements.
fn group(instr: &Instr) -> Option<usize> {
    let terms = match &instr.kernel {
        Kernel::Sum { terms, .. } => terms,
        Kernel::Convolve(by) => return by.rows().filter(|(rows, _)| *rows > 1).map(|(_, row)| row),
        _ => return None,
    };
    let mut group = 1;
    for term in terms {
        match &term.added {
            Added::Rows(..) => {}
            Added::Outer([_, _, n], _) if group == 1 || group == *n => group = *n,
            Added::Outer(..) | Added::Made(..) => return None,
        }
    }
    (instr.width >= 2 * group).then_some(group)
}

/// The places of which each thread has its own copy: values that a shared loop writes and uses only within single
/// ticks.
struct Own {
    is_own: Vec<bool>,
    /// The offset of each place from the start of its thread's space.
    offsets: Vec<usize>,
    /// For each type, the start of the threads' spaces, and the size of one.
    rooms: [(usize, usize); 3],
}

impl Own {
    fn new(code: &Code, placement: &mut Placement, work: &Work, threads: usize) -> Self {
        let n = code.slots.len();
        let mut own = Self { is_own: vec![false; n], offsets: vec![0; n], rooms: [(0, 0); 3] };
        for (k, job) in work.loops.iter().enumerate() {
            if let Some(rows) = job.and_then(|job| job.rows) {
                own.add(code, placement, k, (rows, rows.div_ceil(work.limits.parts(rows, threads))));
            }
        }
        for (i, (at, size)) in own.rooms.iter_mut().enumerate() {
            *size = size.next_multiple_of(ALIGNED);
            *at = placement.insert(code, i, threads * *size);
        }
        own
    }

    /// Adds the places of loop `k`, which has `rows` rows, of which a thread computes `most` at most.
    fn add(&mut self, code: &Code, placement: &Placement, k: usize, (rows, most): (usize, usize)) {
        let written = code.units[code.passes[k].units.clone()].iter().flat_map(|unit| unit.instrs.clone());
        for slot in written.map(|i| code.refs[code.instrs[i].out].slot.0) {
            self.is_own[slot] |= placement.within[slot].is_some_and(|(pass, _)| pass == k);
        }
        for (i, dtype) in TYPES.into_iter().enumerate() {
            let mine =
                (0..code.slots.len()).filter(|slot| self.is_own[*slot] && code.slots[*slot].dtype == dtype);
            let lives = mine.filter_map(|slot| {
                let (_, life) = placement.within[slot].filter(|(pass, _)| *pass == k)?;
                Some((slot, code.slots[slot].width / rows * most, life))
            });
            let (places, size) = first_fit(lives.collect());
            places.into_iter().for_each(|(slot, at)| self.offsets[slot] = at);
            self.rooms[i].1 = self.rooms[i].1.max(size);
        }
    }
}

impl Shard {
    /// The same for another machine.
    fn again(&self) -> Self {
        let Self { code, placement, mine, set, .. } = self;
        Self {
            code: code.clone(),
            placement: placement.clone(),
            mine: mine.clone(),
            bound: Bound::default(),
            set: set.clone(),
            ran: Ok(()),
        }
    }

    /// That of thread `i` of that many.
    fn new(
        code: &Listed,
        placement: &Placement,
        (work, own): (&Work, &Own),
        (threads, i): (usize, usize),
    ) -> Self {
        let mut origins: Vec<Arg> = (0..code.refs.len()).collect();
        let (mut code, packs) = (bare(code), code.packs.clone());
        let jobs = work
            .loops
            .iter()
            .enumerate()
            .filter_map(|(k, job)| Some((Some(k), code.passes[k].units.clone(), (*job)?)));
        let units = work.units.iter().enumerate().filter_map(|(id, job)| Some((None, id..id + 1, (*job)?)));
        let mut listed = vec![0..0; code.passes.len()];
        for (pass, units, job) in jobs.chain(units).collect::<Vec<_>>() {
            let Some(rows) = job.rows.filter(|rows| i < work.limits.parts(*rows, threads)) else { continue };
            let some = part(rows, work.limits.parts(rows, threads), i);
            for id in units.clone() {
                rows::cut((&mut code, &mut origins), id, rows, &some, &own.is_own);
            }
            if let Some(k) = pass {
                listed[k] = units;
            }
        }
        code.passes.iter_mut().zip(listed).for_each(|(pass, units)| pass.units = units);
        let code = list::list(code, packs);
        let mut placement = placement.clone();
        let mut places = vec![None; code.slots.len()];
        for (slot, room) in placement.rooms.iter_mut().enumerate().filter(|(slot, _)| own.is_own[*slot]) {
            let of = code.slots[slot].dtype;
            let (at, size) = own.rooms[TYPES.iter().position(|dtype| *dtype == of).unwrap_or(0)];
            let place = i * size + own.offsets[slot];
            places[slot] = Some(place);
            *room = Room { fixed: at + place, per_tick: 0 };
        }
        let set = vec![false; code.registers()];
        let mine = Mine { origins, places };
        Self { code, placement, mine, bound: Bound::default(), set, ran: Ok(()) }
    }
}

/// Code with its instructions, but without commits, inputs, outputs and search.
fn bare(code: &Code) -> Code {
    Code { commits: Vec::new(), inputs: Vec::new(), outputs: Vec::new(), ending: None, ..code.clone() }
}
