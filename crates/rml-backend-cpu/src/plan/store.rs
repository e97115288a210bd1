//! Where values lie.

use rml_ir::op::Number;
use rml_ir::{Position, Positions, Precision, Shape, Value};
use rml_plan::Tick;

use super::buffer::Buffer;
use super::code::{Arg, Put};

/// The values of a window, and what survives it.
#[derive(Debug)]
pub(super) struct Store<N> {
    pub(super) ticks: usize,
    pub(super) tapes: Vec<Buffer<N>>,
    pub(super) consts: Vec<Buffer<N>>,
    pub(super) registers: Vec<Buffer<N>>,
    pub(super) set: Vec<bool>,
    pub(super) precision: Precision,
}

/// The ticks at some positions of a window, as ranges.
pub(super) fn ranges(at: Positions, ticks: usize) -> impl Iterator<Item = (usize, usize)> {
    let (first, middle, last) = if ticks == 1 {
        (at.contains(Position::Only), false, false)
    } else {
        (at.contains(Position::First), at.contains(Position::Middle), at.contains(Position::Last))
    };
    let end = ticks - 1;
    let (a, b) = match (first, middle, last) {
        _ if ticks == 1 => (first.then_some((0, 1)), None),
        (true, true, true) => (Some((0, ticks)), None),
        (true, true, false) => (Some((0, end)), None),
        (false, true, true) => (Some((1, ticks)), None),
        (false, true, false) => (Some((1, end)), None),
        (true, false, true) if ticks == 2 => (Some((0, 2)), None),
        (true, false, true) => (Some((0, 1)), Some((end, ticks))),
        (true, false, false) => (Some((0, 1)), None),
        (false, false, true) => (Some((end, ticks)), None),
        (false, false, false) => (None, None),
    };
    a.into_iter().chain(b).filter(|(from, to)| from < to)
}

impl<N: Number> Store<N> {
    pub(super) fn position(&self, t: usize) -> Position {
        match (t == 0, t + 1 == self.ticks) {
            (true, true) => Position::Only,
            (true, false) => Position::First,
            (false, true) => Position::Last,
            (false, false) => Position::Middle,
        }
    }

    /// Where an operand lies at a tick.
    pub(super) fn at(&self, arg: Arg, t: usize) -> (&Buffer<N>, usize) {
        match arg {
            Arg::Const(k) => (&self.consts[k], 0),
            Arg::Tape { id, once: true, .. } => (&self.tapes[id], 0),
            Arg::Tape { id, tick, width, once: false } => {
                let t = match tick {
                    Tick::Now => t,
                    Tick::Before => t - 1,
                    Tick::After => t + 1,
                    Tick::First => 0,
                    Tick::Last => self.ticks - 1,
                };
                (&self.tapes[id], t * width)
            }
        }
    }

    /// The numbers of an operand at the ticks `from..to`; at any of them, if it does not move.
    pub(super) fn nums(&self, arg: Arg, from: usize, to: usize) -> &[N] {
        let (buffer, at) = self.at(arg, from);
        let nums = buffer.nums();
        match arg {
            Arg::Const(_) => nums,
            Arg::Tape { width, .. } if arg.moves() => &nums[at..at + width * (to - from)],
            Arg::Tape { width, .. } => &nums[at..at + width],
        }
    }

    pub(super) fn value(&self, arg: Arg, shape: &Shape, t: usize) -> Value {
        let (buffer, at) = self.at(arg, t);
        buffer.value(at, shape)
    }

    pub(super) fn truth(&self, arg: Arg, t: usize) -> bool {
        let (buffer, at) = self.at(arg, t);
        buffer.truth(at)
    }

    pub(super) fn holds(&self, when: &[(Arg, bool)], t: usize) -> bool {
        when.iter().all(|(cond, value)| self.truth(*cond, t) == *value)
    }

    pub(super) fn put(&mut self, puts: &[Put], t: usize) {
        let p = self.position(t);
        for put in puts.iter().filter(|put| put.at.contains(p)) {
            if !self.holds(&put.when, t) {
                continue;
            }
            let unset = put.unless.iter().any(|e| self.truth(*e, t));
            self.set[put.register] = !unset;
            if !unset {
                let mut register = std::mem::take(&mut self.registers[put.register]);
                let (buffer, at) = self.at(put.value, t);
                let len = match &register {
                    Buffer::Num(v) => v.len(),
                    Buffer::Int(v) => v.len(),
                    Buffer::Bool(v) => v.len(),
                };
                register.copy(0, buffer, at, len);
                self.registers[put.register] = register;
            }
        }
    }
}
