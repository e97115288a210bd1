//! The open cycles: a ring of rows. Each row contains the presence of every clock class, the value of every cell and
//! the pending steps. This is plain storage that does not depend on the meaning of steps.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rml_base::memory::bytes_of;
use rml_ir::flat::Var;
use rml_ir::{Precision, Type, Value};

use super::cell::{Cell, Presence};
use super::program::index;

/// The hint of a row without pending steps: no word has a bit set.
const CLEAN: u32 = u32::MAX;

/// The bytes of a row that do not depend on the program.
const ROW: usize = 3 * size_of::<u32>() + size_of::<bool>() + size_of::<Vec<(Var, Option<Value>)>>();

/// The cause that first decided the presence of a class in a cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Cause {
    /// No cause yet.
    None,
    /// A step.
    Step(u32),
    /// An input.
    Input(Var),
    /// The environment asked for a variable.
    Demand(Var),
}

/// The sizes of the parts of a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub(super) cells: usize,
    pub(super) classes: usize,
    pub(super) steps: usize,
    pub(super) forward: usize,
    pub(super) backward: usize,
}

impl Sizes {
    fn words(&self) -> usize {
        self.steps.div_ceil(64)
    }

    /// The bytes of a row.
    fn bytes(&self) -> usize {
        let classes = self.classes * (size_of::<Presence>() + size_of::<Cause>());
        let work = self.words() * size_of::<u64>() + self.delays() * size_of::<Walk>();
        self.cells * size_of::<Cell>() + classes + work + ROW
    }

    fn delays(&self) -> usize {
        self.forward + self.backward
    }
}

/// The walks of a delay at one cycle: the progress of the walk that starts there, and the walk that waits there.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Walk {
    /// The number of absent neighbours that the walk starting in this cycle has passed.
    pub(super) passed: u32,
    /// The distance to the cycle whose walk waits in this one; 0 for none.
    pub(super) waiter: u32,
}

/// The rows of the cycles `base..end`.
#[derive(Debug)]
pub(super) struct Rows {
    sizes: Sizes,
    mask: u64,
    /// The first cycle that has not been dropped.
    pub(super) base: u64,
    /// The first cycle that has not been opened.
    pub(super) end: u64,
    cells: Vec<Cell>,
    presence: Vec<Presence>,
    causes: Vec<Cause>,
    walks: Vec<Walk>,
    dirty: Vec<u64>,
    /// The first word of `dirty` that may have a bit set; [`CLEAN`] if the cycle is not on the agenda.
    hint: Vec<u32>,
    /// The number of classes whose presence is unknown.
    bottoms: Vec<u32>,
    /// The number of empty cells of present classes.
    missing: Vec<u32>,
    /// Whether the row contains an error.
    broken: Vec<bool>,
    /// The values offered by inputs on demand.
    offers: Vec<Vec<(Var, Option<Value>)>>,
    /// The cycles with pending steps; each occurs once, and the lowest is on top.
    agenda: BinaryHeap<Reverse<u64>>,
}

impl Rows {
    /// Rows without an open cycle; the first one to open is `first`.
    pub(super) fn new(sizes: Sizes, first: u64) -> Rows {
        let mut rows = Rows {
            sizes,
            mask: 0,
            base: first,
            end: first,
            cells: Vec::new(),
            presence: Vec::new(),
            causes: Vec::new(),
            walks: Vec::new(),
            dirty: Vec::new(),
            hint: Vec::new(),
            bottoms: Vec::new(),
            missing: Vec::new(),
            broken: Vec::new(),
            offers: Vec::new(),
            agenda: BinaryHeap::new(),
        };
        rows.allocate(2);
        rows
    }

    fn allocate(&mut self, capacity: usize) {
        let s = self.sizes;
        self.mask = capacity as u64 - 1;
        self.cells.resize_with(capacity * s.cells, Cell::default);
        self.presence.resize(capacity * s.classes, Presence::Bottom);
        self.causes.resize(capacity * s.classes, Cause::None);
        self.walks.resize(capacity * s.delays(), Walk::default());
        self.dirty.resize(capacity * s.words(), 0);
        self.hint.resize(capacity, 0);
        self.bottoms.resize(capacity, 0);
        self.missing.resize(capacity, 0);
        self.broken.resize(capacity, false);
        self.offers.resize_with(capacity, Vec::new);
    }

    /// Doubles the ring. Rows that wrapped around to its start move after the old end, if their new place is within the
    /// ring.
    fn grow(&mut self) {
        let old = self.mask + 1;
        self.allocate(usize::try_from(old * 2).unwrap_or(usize::MAX));
        let s = self.sizes;
        for cycle in self.base..self.end {
            let (from, to) = ((cycle & (old - 1)) as usize, self.slot(cycle));
            if from == to {
                continue;
            }
            swap_rows(&mut self.cells, s.cells, from, to);
            swap_rows(&mut self.presence, s.classes, from, to);
            swap_rows(&mut self.causes, s.classes, from, to);
            swap_rows(&mut self.walks, s.delays(), from, to);
            swap_rows(&mut self.dirty, s.words(), from, to);
            self.hint.swap(from, to);
            self.bottoms.swap(from, to);
            self.missing.swap(from, to);
            self.broken.swap(from, to);
            self.offers.swap(from, to);
        }
    }

    #[inline]
    fn slot(&self, cycle: u64) -> usize {
        (cycle & self.mask) as usize
    }

    /// The bytes of the ring, without its values.
    pub(super) fn bytes(&self) -> u64 {
        bytes_of(usize::try_from(self.mask + 1).unwrap_or(usize::MAX), self.sizes.bytes())
    }

    /// The bytes that are needed to open another cycle: none, or the present size of the ring if it must be doubled.
    pub(super) fn bytes_to_grow(&self) -> u64 {
        if self.open() > self.mask { self.bytes() } else { 0 }
    }

    /// The number of open cycles.
    pub(super) fn open(&self) -> u64 {
        self.end - self.base
    }

    /// Opens the next cycle.
    pub(super) fn push(&mut self) -> u64 {
        if self.open() > self.mask {
            self.grow();
        }
        let (cycle, slot, s) = (self.end, self.slot(self.end), self.sizes);
        self.presence[slot * s.classes..][..s.classes].fill(Presence::Bottom);
        self.walks[slot * s.delays()..][..s.delays()].fill(Walk::default());
        self.dirty[slot * s.words()..][..s.words()].fill(0);
        self.hint[slot] = CLEAN;
        self.bottoms[slot] = index(s.classes);
        self.missing[slot] = 0;
        self.broken[slot] = false;
        self.end += 1;
        cycle
    }

    /// Drops the first open cycle and its values.
    pub(super) fn pop(&mut self) {
        let (slot, s) = (self.slot(self.base), self.sizes);
        self.cells[slot * s.cells..][..s.cells].fill(Cell::Empty);
        self.offers[slot].clear();
        self.base += 1;
    }

    /// Takes back all open cycles, with their values and pending steps.
    pub(super) fn clear(&mut self) {
        for cycle in self.base..self.end {
            let (slot, s) = (self.slot(cycle), self.sizes);
            self.cells[slot * s.cells..][..s.cells].fill(Cell::Empty);
            self.offers[slot].clear();
        }
        self.agenda.clear();
        self.end = self.base;
    }

    /// All cells of an open cycle.
    #[inline]
    pub(super) fn cells(&self, cycle: u64) -> &[Cell] {
        let n = self.sizes.cells;
        &self.cells[self.slot(cycle) * n..][..n]
    }

    /// Sets an empty cell.
    #[inline]
    pub(super) fn set(&mut self, cycle: u64, cell: u32, content: Cell) {
        let slot = self.slot(cycle);
        self.cells[slot * self.sizes.cells + cell as usize] = content;
        // A row with an error is never complete, so it does not matter that cells are set which were not counted.
        self.missing[slot] = self.missing[slot].wrapping_sub(1);
    }

    #[inline]
    pub(super) fn presence(&self, cycle: u64, class: u32) -> Presence {
        self.presence[self.slot(cycle) * self.sizes.classes + class as usize]
    }

    pub(super) fn cause(&self, cycle: u64, class: u32) -> Cause {
        self.causes[self.slot(cycle) * self.sizes.classes + class as usize]
    }

    /// Sets the presence of a class about which nothing was known; from then on, `cells` cells must be set.
    #[inline]
    pub(super) fn decide(&mut self, cycle: u64, class: u32, presence: Presence, cause: Cause, cells: u32) {
        let slot = self.slot(cycle);
        let at = slot * self.sizes.classes + class as usize;
        self.presence[at] = presence;
        self.causes[at] = cause;
        self.bottoms[slot] -= 1;
        self.missing[slot] = self.missing[slot].wrapping_add(cells);
    }

    /// Makes a class an error, so the row is never complete.
    pub(super) fn set_error(&mut self, cycle: u64, class: u32) {
        let slot = self.slot(cycle);
        self.presence[slot * self.sizes.classes + class as usize] = Presence::Error;
        self.broken[slot] = true;
    }

    /// Marks a row as one that is never complete.
    pub(super) fn set_broken(&mut self, cycle: u64) {
        let slot = self.slot(cycle);
        self.broken[slot] = true;
    }

    pub(super) fn is_broken(&self, cycle: u64) -> bool {
        self.broken[self.slot(cycle)]
    }

    /// Whether every variable is absent, has a value, or will never have one.
    pub(super) fn is_complete(&self, cycle: u64) -> bool {
        let slot = self.slot(cycle);
        self.bottoms[slot] == 0 && self.missing[slot] == 0 && !self.broken[slot]
    }

    /// The walk of a forward delay.
    #[inline]
    pub(super) fn forward(&mut self, cycle: u64, delay: u32) -> &mut Walk {
        let slot = self.slot(cycle);
        &mut self.walks[slot * self.sizes.delays() + delay as usize]
    }

    /// The walk of a backward delay.
    #[inline]
    pub(super) fn backward(&mut self, cycle: u64, delay: u32) -> &mut Walk {
        let slot = self.slot(cycle);
        &mut self.walks[slot * self.sizes.delays() + self.sizes.forward + delay as usize]
    }

    pub(super) fn offers(&mut self, cycle: u64) -> &mut Vec<(Var, Option<Value>)> {
        let slot = self.slot(cycle);
        &mut self.offers[slot]
    }

    /// Whether an input on demand has no value.
    pub(super) fn has_nothing_to_offer(&self, cycle: u64, input: Var) -> bool {
        let offers = &self.offers[self.slot(cycle)];
        offers.iter().any(|(var, offer)| *var == input && offer.is_none())
    }

    /// Marks a step as pending in an open cycle.
    #[inline]
    pub(super) fn mark(&mut self, cycle: u64, step: u32) {
        let slot = self.slot(cycle);
        let word = step >> 6;
        self.dirty[slot * self.sizes.words() + word as usize] |= 1 << (step & 63);
        if self.hint[slot] == CLEAN {
            self.agenda.push(Reverse(cycle));
        }
        self.hint[slot] = self.hint[slot].min(word);
    }

    /// Removes a pending step.
    #[inline]
    pub(super) fn unmark(&mut self, cycle: u64, step: u32) {
        let slot = self.slot(cycle);
        self.dirty[slot * self.sizes.words() + (step >> 6) as usize] &= !(1 << (step & 63));
    }

    /// Removes and returns the first pending step in the lowest cycle.
    #[inline]
    pub(super) fn next(&mut self) -> Option<(u64, u32)> {
        let words = self.sizes.words();
        while let Some(&Reverse(cycle)) = self.agenda.peek() {
            let slot = self.slot(cycle);
            let row = &mut self.dirty[slot * words..][..words];
            let mut at = self.hint[slot] as usize;
            while at < words {
                if row[at] != 0 {
                    let bit = row[at].trailing_zeros();
                    row[at] &= row[at] - 1;
                    #[allow(
                        clippy::cast_possible_truncation,
                        reason = "a position below the number of steps"
                    )]
                    let word = at as u32;
                    self.hint[slot] = word;
                    return Some((cycle, (word << 6) | bit));
                }
                at += 1;
            }
            self.hint[slot] = CLEAN;
            self.agenda.pop();
        }
        None
    }

    /// The number of stored values.
    pub(super) fn live_values(&self) -> usize {
        (self.base..self.end).map(|n| self.cells(n).iter().filter_map(Cell::kind).count()).sum()
    }

    /// The number of bytes of the elements of the stored values.
    pub(super) fn live_bytes(&self) -> u64 {
        let bytes = |(ty, precision): (Type, Precision)| bytes_of(ty.shape.len(), ty.dtype.size(precision));
        let cells = (self.base..self.end).flat_map(|n| self.cells(n));
        cells.filter_map(Cell::kind).map(bytes).sum()
    }
}

fn swap_rows<T>(table: &mut [T], width: usize, from: usize, to: usize) {
    for i in 0..width {
        table.swap(from * width + i, to * width + i);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Rows {
        Rows::new(Sizes { cells: 1, classes: 1, steps: 130, forward: 1, backward: 0 }, 0)
    }

    #[test]
    fn growth_keeps_every_row_in_place() {
        let mut rows = rows();
        for _ in 0..3 {
            rows.push();
            rows.pop();
        }
        for n in 3..40_u64 {
            assert_eq!(rows.push(), n);
            rows.decide(n, 0, Presence::Present, Cause::Demand(Var(0)), 1);
            rows.set(n, 0, Cell::Value(Value::Int(i64::try_from(n).unwrap())));
            rows.mark(n, u32::try_from(n).unwrap());
        }
        for n in 3..40_u64 {
            assert_eq!(rows.cells(n)[0].value().and_then(Value::as_int), i64::try_from(n).ok());
            assert!(rows.is_complete(n));
            assert_eq!(rows.next(), Some((n, u32::try_from(n).unwrap())));
        }
        assert_eq!(rows.next(), None);
    }

    #[test]
    fn the_lowest_cycle_and_then_the_lowest_step_comes_first() {
        let mut rows = rows();
        rows.push();
        rows.push();
        rows.mark(1, 129);
        rows.mark(1, 3);
        assert_eq!(rows.next(), Some((1, 3)));
        rows.mark(0, 128);
        rows.mark(1, 2);
        rows.mark(0, 64);
        let order: Vec<_> = std::iter::from_fn(|| rows.next()).collect();
        assert_eq!(order, [(0, 64), (0, 128), (1, 2), (1, 129)]);
    }
}
