//! Delays: the walk from a cycle to the neighbouring active cycle (DELAY-2). Forward delays walk down, to earlier
//! cycles (FBY-1, FBY-2); backward delays walk up, to later ones (BACK-1, BACK-2, POST-1).
//!
//! A walk waits in the first cycle where something unknown stops it. Its distance is recorded there, and it continues
//! when a step of the same delay is run in that cycle. All cycles that a walk has passed are absent, so at most one
//! walk waits in a cycle, and the work is linear in the number of cycles passed.

use std::sync::Arc;

use rml_backend::Held;
use rml_engine::End;
use rml_ir::Value;

use super::Simulator;
use super::cell::{Cell, Presence};
use super::program::{Delay, Operand, Program};

/// The knowledge in a cycle about the ends of a window and of the windows around it. Of several ends, the greatest
/// counts (WINDOW-1, WINDOW-4).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Boundary {
    /// The window continues.
    No,
    /// The end will never be known.
    Never,
    /// The end is not known yet.
    Unknown,
    /// The window ends.
    Yes,
    /// An end is an error.
    Error,
}

/// The result of a walk.
enum Found {
    /// The neighbouring active cycle, which has a value or will never have one.
    Cell(Cell),
    /// The boundary, with no active cycle before it.
    Boundary,
    /// The walk must wait in this cycle.
    Wait(u64),
    /// The walk must wait for the next cycle to be opened.
    Future,
    /// An error on the way.
    Error,
}

impl Simulator {
    #[inline]
    pub(super) fn forward(&mut self, program: &Program, n: u64, r: u32) {
        let rec = &program.forward[r as usize];
        if self.wanted(n, rec.class, rec.out) || self.may_break(n, rec) {
            let found = self.walk_down(rec, n, r);
            if let Found::Wait(at) = found {
                self.rows.forward(at, r).waiter = distance(at, n);
            }
            self.arrive(rec, n, found);
        }
        let waiter = self.rows.forward(n, r).waiter;
        if waiter != 0 && self.lets_down(rec, n) {
            self.rows.forward(n, r).waiter = 0;
            self.rows.mark(n + u64::from(waiter), rec.step);
        }
    }

    #[inline]
    pub(super) fn backward(&mut self, program: &Program, n: u64, r: u32) {
        let rec = &program.backward[r as usize];
        if self.wanted(n, rec.class, rec.out) || self.may_break(n, rec) {
            let found = self.walk_up(rec, n, r);
            match found {
                Found::Wait(at) if at != n => self.rows.backward(at, r).waiter = distance(n, at),
                Found::Future => self.tails[r as usize] = Some(n),
                _ => {}
            }
            self.arrive(rec, n, found);
        }
        let waiter = self.rows.backward(n, r).waiter;
        if waiter != 0 && self.lets_up(rec, n) {
            self.rows.backward(n, r).waiter = 0;
            self.rows.mark(n - u64::from(waiter), rec.step);
        }
    }

    /// Whether a walk down that waits in this cycle can continue.
    fn lets_down(&self, rec: &Delay, n: u64) -> bool {
        match self.boundary_after(rec, n) {
            Boundary::Unknown => false,
            Boundary::No => match self.rows.presence(n, rec.class) {
                Presence::Bottom => false,
                Presence::Absent | Presence::Error => true,
                Presence::Present => !self.cell(n, rec.next).is_empty(),
            },
            Boundary::Never | Boundary::Yes | Boundary::Error => true,
        }
    }

    /// Whether a walk up that waits in this cycle can continue.
    fn lets_up(&self, rec: &Delay, n: u64) -> bool {
        match self.rows.presence(n, rec.class) {
            Presence::Bottom => false,
            Presence::Absent => self.boundary_after(rec, n) != Boundary::Unknown,
            Presence::Error => true,
            Presence::Present => !self.cell(n, rec.next).is_empty(),
        }
    }

    /// Whether an error may still reach a delay that already has its value.
    #[inline]
    fn may_break(&self, n: u64, rec: &Delay) -> bool {
        !self.halts.is_empty() && self.rows.presence(n, rec.class) == Presence::Present
    }

    /// Makes walks that waited for the next cycle wait in the opened one.
    pub(super) fn hand_over_tails(&mut self, opened: u64) {
        for (r, tail) in (0_u32..).zip(&mut self.tails) {
            if let Some(n) = tail.take() {
                self.rows.backward(opened, r).waiter = distance(n, opened);
            }
        }
    }

    /// Ends the trace, which is the boundary for walks that wait for the next cycle.
    pub(super) fn wake_tails(&mut self) {
        for r in 0..self.tails.len() {
            if let Some(n) = self.tails[r].take() {
                self.rows.mark(n, self.program.backward[r].step);
            }
        }
    }

    fn arrive(&mut self, rec: &Delay, n: u64, found: Found) {
        match found {
            Found::Cell(cell) => self.set(n, rec.out, cell),
            Found::Boundary => {
                // A `post` at the end of its window will never have a value, so nothing waits for it. At the end of the
                // trace it stays open and is reported.
                let start = match rec.start {
                    Some(x) => self.cell(n, x).clone(),
                    None if self.ended.is_some() => return,
                    None => Cell::Never,
                };
                if !start.is_empty() {
                    self.set(n, rec.out, start);
                }
            }
            Found::Wait(_) | Found::Future => {}
            Found::Error => self.spread(n, rec.class),
        }
    }

    fn boundary_after(&self, rec: &Delay, n: u64) -> Boundary {
        let known = |&(end, class): &(Operand, u32)| match self.rows.presence(n, class) {
            Presence::Error => Boundary::Error,
            Presence::Absent => Boundary::No,
            Presence::Bottom => Boundary::Unknown,
            Presence::Present => match self.cell(n, end) {
                Cell::Value(Value::Bool(true)) => Boundary::Yes,
                Cell::Value(_) => Boundary::No,
                // The end of a window is always stored on the host.
                Cell::Empty | Cell::Device(_) | Cell::Inside => Boundary::Unknown,
                Cell::Never => Boundary::Never,
            },
        };
        rec.ends.iter().map(known).max().unwrap_or(Boundary::No)
    }

    /// The number of neighbours that the walk need not visit again. After an error this is 0, because an absent
    /// variable may have become an error.
    fn passed(&self, walk: super::rows::Walk) -> u64 {
        if self.halts.is_empty() { u64::from(walk.passed) } else { 0 }
    }

    fn walk_down(&mut self, rec: &Delay, n: u64, r: u32) -> Found {
        let walk = *self.rows.forward(n, r);
        let at = n - self.passed(walk).min(n - self.rows.base);
        let (at, found) = self.search_down(rec, r, at);
        self.rows.forward(n, r).passed = distance(at, n);
        found
    }

    /// Walks down from the cycle before `at` to the latest active cycle. Also returns the cycle below which the search
    /// would continue.
    fn search_down(&self, rec: &Delay, r: u32, mut at: u64) -> (u64, Found) {
        let found = loop {
            if at == self.rows.base {
                let last = self.last[r as usize].clone();
                break if last.is_empty() { Found::Boundary } else { Found::Cell(last) };
            }
            let m = at - 1;
            match self.boundary_after(rec, m) {
                Boundary::No => {}
                Boundary::Yes => break Found::Boundary,
                Boundary::Never => break Found::Cell(Cell::Never),
                Boundary::Unknown => break Found::Wait(m),
                Boundary::Error => break Found::Error,
            }
            match self.rows.presence(m, rec.class) {
                Presence::Absent => at = m,
                Presence::Bottom => break Found::Wait(m),
                Presence::Error => break Found::Error,
                Presence::Present => {
                    let cell = self.cell(m, rec.next).clone();
                    break if cell.is_empty() { Found::Wait(m) } else { Found::Cell(cell) };
                }
            }
        };
        (at, found)
    }

    /// The value of a forward delay in its next active cycle; `Ok(None)` means its initial value, and `Err` contains
    /// the cycle in which the value is not known yet.
    pub(super) fn next_value(&self, r: usize) -> Result<Option<Held>, u64> {
        let rec = &self.program.forward[r];
        match self.search_down(rec, super::program::index(r), self.rows.end).1 {
            Found::Cell(cell) if cell.is_known() => Ok(cell.held()),
            Found::Boundary => Ok(None),
            Found::Wait(at) => Err(at),
            Found::Cell(_) | Found::Future | Found::Error => Err(self.rows.base),
        }
    }

    fn walk_up(&mut self, rec: &Delay, n: u64, r: u32) -> Found {
        let walk = *self.rows.backward(n, r);
        let mut at = n + self.passed(walk);
        let found = loop {
            match self.boundary_after(rec, at) {
                Boundary::No => {}
                Boundary::Yes => break Found::Boundary,
                Boundary::Never => break Found::Cell(Cell::Never),
                Boundary::Unknown => break Found::Wait(at),
                Boundary::Error => break Found::Error,
            }
            let m = at + 1;
            if m == self.rows.end {
                break if self.ended == Some(End::Closed) { Found::Boundary } else { Found::Future };
            }
            match self.rows.presence(m, rec.class) {
                Presence::Absent => at = m,
                Presence::Bottom => break Found::Wait(m),
                Presence::Error => break Found::Error,
                Presence::Present => {
                    let cell = self.cell(m, rec.next).clone();
                    break if cell.is_empty() { Found::Wait(m) } else { Found::Cell(cell) };
                }
            }
        };
        self.rows.backward(n, r).passed = distance(n, at);
        found
    }

    /// Keeps the values that forward delays need from a complete cycle before it is dropped.
    pub(super) fn remember(&mut self, n: u64) {
        let program = Arc::clone(&self.program);
        for (r, rec) in program.forward.iter().enumerate() {
            if self.rows.presence(n, rec.class) == Presence::Present {
                self.last[r] = self.cell(n, rec.next).clone();
            }
            match self.boundary_after(rec, n) {
                Boundary::Yes => self.last[r] = Cell::Empty,
                Boundary::No => {}
                Boundary::Never | Boundary::Unknown | Boundary::Error => self.last[r] = Cell::Never,
            }
        }
        for (p, param) in program.params.iter().enumerate() {
            let cell = &self.rows.cells(n)[param.out as usize];
            if cell.is_known() {
                self.last_params[p] = cell.clone();
            }
        }
    }
}

/// A distance between open cycles; fewer than 2^32 cycles fit into memory.
fn distance(low: u64, high: u64) -> u32 {
    u32::try_from(high - low).unwrap_or(u32::MAX)
}
