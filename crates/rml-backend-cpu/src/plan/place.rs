//! Placement of values: values with disjoint lifetimes share memory.

use std::collections::{BTreeMap, BTreeSet};

use rml_ir::DType;

use super::code::{Added, Addend, At, Code, Kernel, Put, Unit};
use super::operand::Arg;

/// The place of a value: at element `fixed + per_tick * ticks` in a window of `ticks` ticks.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Room {
    pub(super) fixed: usize,
    pub(super) per_tick: usize,
}

impl Room {
    /// Where it is in a window of that many ticks.
    pub(super) fn at(self, ticks: usize) -> usize {
        self.fixed + self.per_tick * ticks
    }
}

/// The places of all values, and the memory needed for each type.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Placement {
    pub(super) rooms: Vec<Room>,
    pub(super) sizes: [Room; 3],
    /// For each type: where the values end that have the same place in windows of every length. All others are after
    /// that.
    pub(super) fixed: [usize; 3],
    /// The live range of each value, in steps, and the last step.
    pub(super) lives: Vec<Option<Life>>,
    pub(super) end: usize,
    /// Inputs and per-tick values of the first pass, in the order of their places.
    pub(super) early: Vec<usize>,
    /// For each value: the loop that alone uses it, and only within single ticks.
    pub(super) within: Vec<Alone>,
}

/// The types of elements, in the order of [`Placement::sizes`].
pub(super) const TYPES: [DType; 3] = [DType::Num, DType::Int, DType::Bool];

/// A live range: the first and the last step that use a value.
pub(super) type Life = (usize, usize);

/// For a value used only within single ticks of one loop: that loop, and its live range within a tick.
pub(super) type Alone = Option<(usize, Life)>;

/// Places all values. A value that is used only within single ticks of a loop gets space for one tick.
pub(super) fn place(code: &mut Code) -> Placement {
    let (lives, within, end) = lives(code);
    let mut placement =
        Placement { rooms: vec![Room::default(); code.slots.len()], within, end, ..Placement::default() };
    for (i, dtype) in TYPES.into_iter().enumerate() {
        let of = |per_tick: bool| {
            let slots = code.slots.iter().enumerate().filter(|(_, s)| s.dtype == dtype && s.slides == 0);
            let mine = slots.filter(|(_, s)| s.per_tick == per_tick && s.width > 0);
            mine.filter_map(|(i, s)| Some((i, s.width, lives[i]?))).collect::<Vec<_>>()
        };
        let (fixed, size) = first_fit(of(false));
        let size = size.next_multiple_of(ALIGNED);
        fixed.into_iter().for_each(|(slot, at)| placement.rooms[slot] = Room { fixed: at, per_tick: 0 });
        let (ticks, per_tick) = first_fit(of(true));
        ticks.into_iter().for_each(|(slot, at)| placement.rooms[slot] = Room { fixed: size, per_tick: at });
        placement.fixed[i] = size;
        let mut end = Room { fixed: size, per_tick };
        // Registers that slide come last, since what they need has a part for each tick.
        for (slot, data) in code.slots.iter().enumerate().filter(|(_, s)| s.dtype == dtype && s.slides != 0) {
            let room = sliding_room(data.width, data.slide());
            placement.rooms[slot] = end;
            end = Room { fixed: end.fixed + room.fixed, per_tick: end.per_tick + room.per_tick };
        }
        placement.sizes[i] = end;
    }
    // The first step is 1; inputs are available before.
    let early = |i: &usize| code.slots[*i].per_tick && lives[*i].is_some_and(|(from, _)| from <= 1);
    placement.early = (0..code.slots.len()).filter(early).collect();
    placement.early.sort_by_key(|i| placement.rooms[*i].per_tick);
    placement.lives = lives;
    placement
}

impl Placement {
    /// Adds `n` elements of a type ([`TYPES`]) that have the same place in windows of every length. Returns that place.
    pub(super) fn insert(&mut self, code: &Code, dtype: usize, n: usize) -> usize {
        let at = self.fixed[dtype];
        self.fixed[dtype] += n;
        self.sizes[dtype].fixed += n;
        for (slot, room) in code.slots.iter().zip(&mut self.rooms) {
            if slot.dtype == TYPES[dtype] && slot.moves() {
                room.fixed += n;
            }
        }
        at
    }
}

/// The room of a register of `width` elements that slides by `step` elements a tick: two values, and what is new in a
/// window.
pub(super) fn sliding_room(width: usize, step: isize) -> Room {
    Room { fixed: 2 * width, per_tick: step.unsigned_abs() }
}

/// When values are needed.
struct Lives {
    lives: Vec<Option<Life>>,
    /// The loop that uses it, if it is used only within single ticks of one loop.
    within: Vec<Within>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Within {
    Nothing,
    Loop { pass: usize, life: Life },
    More,
}

/// A step, the pass that it is in, and the steps of the loop around it, if there is one.
#[derive(Clone, Copy)]
struct Step {
    step: usize,
    pass: usize,
    around: Option<Life>,
}

impl Lives {
    fn touch(&mut self, code: &Code, arg: Arg, now: Step) {
        let r = &code.refs[arg];
        let slot = r.slot.0;
        let (from, to) = now.around.unwrap_or((now.step, now.step));
        let life = self.lives[slot].get_or_insert((from, to));
        *life = (life.0.min(from), life.1.max(to));
        // A part that lags reads values of earlier ticks.
        let staggered = code.passes.get(now.pass).is_some_and(|pass| pass.lag > 0);
        let own = r.at == At::Here(0) && now.around.is_some() && !staggered;
        self.within[slot] = match self.within[slot] {
            Within::Nothing if own => Within::Loop { pass: now.pass, life: (now.step, now.step) },
            Within::Loop { pass, life } if own && pass == now.pass => {
                Within::Loop { pass, life: (life.0, life.1.max(now.step)) }
            }
            _ => Within::More,
        };
    }

    fn unit(&mut self, code: &Code, unit: &Unit, now: Step) {
        unit.when.iter().for_each(|g| self.touch(code, g.cond, now));
        unit.instrs.clone().for_each(|i| self.instr(code, i, now));
    }

    fn instr(&mut self, code: &Code, instr: usize, now: Step) {
        let instr = &code.instrs[instr];
        instr.args.iter().chain([&instr.out]).for_each(|a| self.touch(code, *a, now));
        if let Kernel::Sum { terms, .. } = &instr.kernel {
            for Addend { when, added, .. } in terms {
                when.iter().for_each(|g| self.touch(code, g.cond, now));
                match added {
                    Added::Rows(a, _) => self.touch(code, *a, now),
                    Added::Outer(_, args) => args.iter().for_each(|a| self.touch(code, *a, now)),
                    Added::Made(instrs, a) => {
                        instrs.clone().for_each(|i| self.instr(code, i, now));
                        self.touch(code, *a, now);
                    }
                }
            }
        }
    }

    fn put(&mut self, code: &Code, put: &Put, now: Step) {
        let conds = put.when.iter().map(|g| g.cond).chain(put.unless.iter().copied());
        conds.chain([put.value]).for_each(|a| self.touch(code, a, now));
    }
}

fn lives(code: &mut Code) -> (Vec<Option<Life>>, Vec<Alone>, usize) {
    let n = code.slots.len();
    let mut lives = Lives { lives: vec![None; n], within: vec![Within::Nothing; n] };
    let mut step = 1;
    for (i, pass) in code.passes.iter().enumerate() {
        let around = (!pass.over).then(|| (step, step + pass.units.len()));
        for unit in pass.units.clone() {
            lives.unit(code, &code.units[unit], Step { step, pass: i, around });
            step += 1;
        }
        pass.puts.iter().for_each(|put| lives.put(code, put, Step { step, pass: i, around }));
        step += 1;
    }
    // Outputs and commits are read last.
    let end = Step { step, pass: code.passes.len(), around: None };
    code.commits.iter().for_each(|put| lives.put(code, put, end));
    // If the plan waits, the registers that forward loops write are written again at the end, for the finished ticks
    // only.
    for pass in code.passes.iter().filter(|pass| code.waits && !pass.backward) {
        pass.puts.iter().for_each(|put| lives.put(code, put, end));
    }
    for taken in code.outputs.iter().flatten() {
        taken.when.iter().map(|g| g.cond).chain([taken.value]).for_each(|a| lives.touch(code, a, end));
    }
    if let (Some(ending), Some(pass)) = (&code.ending, code.passes.first()) {
        let now = Step { step: 1 + ending.head, pass: 0, around: Some((1, 1 + pass.units.len())) };
        ending.conds.iter().for_each(|g| lives.touch(code, g.cond, now));
    }
    // Inputs are written between windows.
    for given in &code.inputs {
        lives.lives[given.slot.0] = Some((0, step));
        lives.within[given.slot.0] = Within::More;
    }
    let mut within = vec![None; n];
    for (i, slot) in code.slots.iter_mut().enumerate() {
        if slot.kept {
            lives.lives[i] = Some((0, step));
        } else if let Within::Loop { pass, life } = lives.within[i] {
            slot.per_tick = false;
            lives.lives[i] = Some(life);
            within[i] = Some((pass, life));
        }
    }
    (lives.lives, within, step)
}

/// Rows of at least this many elements begin at a multiple of it.
pub(super) const ALIGNED: usize = 16;

/// First-fit placement of values with a width and a live range; also returns the number of elements that they need
/// together.
pub(super) fn first_fit(mut values: Vec<(usize, usize, Life)>) -> (Vec<(usize, usize)>, usize) {
    values.sort_by_key(|(slot, width, (from, _))| (*from, std::cmp::Reverse(*width), *slot));
    let mut free: BTreeMap<usize, usize> = BTreeMap::new();
    let mut taken: BTreeSet<(usize, usize, usize)> = BTreeSet::new();
    let (mut top, mut places) = (0, Vec::with_capacity(values.len()));
    for (slot, width, (from, to)) in values {
        while let Some(&(end, at, len)) = taken.first().filter(|(end, ..)| *end < from) {
            taken.remove(&(end, at, len));
            release(&mut free, at, len);
        }
        let aligned = |at: usize| if width < ALIGNED { at } else { at.next_multiple_of(ALIGNED) };
        let found =
            free.iter().map(|(at, len)| (*at, *len)).find(|(at, len)| aligned(*at) + width <= at + len);
        let at = match found {
            Some((start, len)) => {
                let at = aligned(start);
                free.remove(&start);
                for (from, to) in [(start, at), (at + width, start + len)] {
                    if from < to {
                        free.insert(from, to - from);
                    }
                }
                at
            }
            None => {
                let at = aligned(top);
                if at > top {
                    release(&mut free, top, at - top);
                }
                top = at + width;
                at
            }
        };
        taken.insert((to, at, width));
        places.push((slot, at));
    }
    (places, top)
}

/// Gives a range back, and joins it with its neighbours.
fn release(free: &mut BTreeMap<usize, usize>, mut at: usize, mut len: usize) {
    if let Some((&before, &its)) = free.range(..at).next_back().filter(|(before, its)| *before + *its == at) {
        free.remove(&before);
        (at, len) = (before, its + len);
    }
    if let Some(its) = free.remove(&(at + len)) {
        len += its;
    }
    free.insert(at, len);
}
