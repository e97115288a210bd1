//! Segments of time and the four kinds of instants in them: at the first tick of a clock in its segment or later, in the last cycle
//! of the segment or before.

use std::collections::BTreeSet;

use rml_ir::flat::{Init, Rhs, Var, Window};

use super::CutData;
use crate::clocks::{ClockData, ClockId};
use crate::conditions::{Conditions, Guard, Instant};

/// What divides time into segments.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Ends {
    /// A segment ends where all of these hold.
    All(Vec<Guard>),
    /// A segment ends where this window does, or one around it.
    Window(Window),
}

/// One of the four kinds of instants: bit 0 = first tick, bit 1 = last cycle.
pub(crate) type Position = usize;
pub(crate) const POSITIONS: std::ops::Range<Position> = 0..4;

pub(crate) fn is_first(p: Position) -> bool {
    p & 1 != 0
}

pub(crate) fn is_last(p: Position) -> bool {
    p & 2 != 0
}

/// Segments, seen from the ticks of a clock.
pub(crate) struct Frame<'c, 'a> {
    pub(crate) conditions: &'c Conditions<'a>,
    /// The ends, each a condition, and whether all have to hold (or one).
    pub(crate) ends: Vec<Guard>,
    all: bool,
    /// The clock whose ticks are counted.
    pub(crate) clock: ClockId,
    /// Whether segments end only in ticks of that clock.
    pub(crate) ticks: bool,
    /// Windows with the boundaries of the segments.
    windows: Vec<Window>,
    /// Windows with those boundaries, or fewer.
    around: Vec<Window>,
    /// Windows with those boundaries, or more.
    within: Vec<Window>,
    /// By position: for what the ends are present with, and for all else.
    inner: Vec<Instant>,
    outer: Vec<Instant>,
}

impl<'c, 'a> Frame<'c, 'a> {
    /// Segments with these ends; none if the clock of an end is not known.
    pub(crate) fn new(conditions: &'c Conditions<'a>, ends: &Ends, clock: ClockId) -> Option<Self> {
        let flat = conditions.flat;
        let of_window = |w: Window| -> Vec<Guard> {
            let chain = conditions.windows(Some(w)).into_iter();
            chain.map(|w| conditions.guard(flat.windows[w].end, true)).collect()
        };
        let (mut guards, all) = match ends {
            Ends::All(guards) => (guards.clone(), true),
            Ends::Window(w) => (of_window(*w), false),
        };
        let mut seen = BTreeSet::new();
        guards.retain(|l| seen.insert(*l));
        let all = all || guards.len() == 1;
        // Every `every` has a window of its own; those with the same ends have the same boundaries.
        let own: BTreeSet<Guard> = guards.iter().map(|l| conditions.guard(l.cond, l.value)).collect();
        let comparable = !all || own.len() == 1;
        let which = |f: &dyn Fn(&BTreeSet<Guard>) -> bool| -> Vec<Window> {
            let is = |w: &Window| comparable && f(&of_window(*w).into_iter().collect());
            flat.windows.ids().filter(is).collect()
        };
        let of = |l: &Guard| conditions.clocks.of[l.cond];
        if guards.iter().any(|l| matches!(conditions.clocks.clocks[of(l)], ClockData::Unknown)) {
            return None;
        }
        let mut frame = Frame {
            ticks: guards.iter().all(|l| conditions.is_within(of(l), clock)),
            windows: which(&|b| *b == own),
            around: which(&|b| b.is_subset(&own)),
            within: which(&|b| b.is_superset(&own)),
            ends: guards,
            all,
            clock,
            conditions,
            inner: Vec::new(),
            outer: Vec::new(),
        };
        frame.inner = POSITIONS.map(|p| frame.instant(p, true)).collect();
        frame.outer = POSITIONS.map(|p| frame.instant(p, false)).collect();
        Some(frame)
    }

    /// The segments of a cut, seen from the clock of its first condition.
    pub(crate) fn of_cut(conditions: &'c Conditions<'a>, cut: &CutData) -> Option<Self> {
        let ends = match cut.window {
            Some(w) => Ends::Window(w),
            None => Ends::All(cut.ends.clone()),
        };
        Frame::new(conditions, &ends, conditions.clocks.of[cut.ends.first()?.cond])
    }

    fn instant(&self, p: Position, with_ends: bool) -> Instant {
        let mut instant = Instant {
            ends: if self.all { self.ends.clone() } else { Vec::new() },
            clock: Some(self.clock),
            windows: self.windows.clone(),
            first: Some(is_first(p)),
            last: (is_last(p) || with_ends).then_some(is_last(p)),
            ..Instant::default()
        };
        if is_last(p) && self.all {
            self.ends.iter().for_each(|l| self.conditions.assume(&mut instant, *l));
        }
        if !is_last(p) && with_ends && (!self.all || self.ends.len() == 1) {
            self.ends.iter().for_each(|l| self.conditions.assume(&mut instant, l.negated()));
        }
        instant
    }

    /// What is known, in a kind of instant, of what is present on a clock.
    pub(crate) fn at(&self, clock: ClockId, p: Position) -> &Instant {
        let of = |l: &Guard| self.conditions.clocks.of[l.cond];
        let inner = self.ends.iter().all(|l| self.conditions.is_within(clock, of(l)));
        if inner { &self.inner[p] } else { &self.outer[p] }
    }

    /// Whether a condition may have a value there.
    pub(crate) fn may_hold(&self, clock: ClockId, p: Position, guard: Guard) -> bool {
        self.conditions.truth(guard.cond, self.at(clock, p)).is_none_or(|t| t == guard.value)
    }

    /// Whether a clock may tick there.
    pub(crate) fn may_tick(&self, clock: ClockId, p: Position) -> bool {
        self.conditions.chain(clock).iter().all(|l| self.may_hold(clock, p, *l))
    }

    /// Whether a clock ticks nowhere.
    pub(crate) fn is_never(&self, clock: ClockId) -> bool {
        !POSITIONS.into_iter().any(|p| self.may_tick(clock, p))
    }

    /// Whether a clock ticks at most once a segment, by the way it is sampled or because it ticks at one end only.
    pub(crate) fn is_once(&self, clock: ClockId) -> bool {
        let may: Vec<bool> = POSITIONS.map(|p| self.may_tick(clock, p)).collect();
        self.ticks_once(clock) || matches!(may[..], [false, _, false, _] | [false, false, _, _])
    }

    /// Whether a clock ticks at most once a segment by the way it is sampled.
    pub(crate) fn ticks_once(&self, clock: ClockId) -> bool {
        let conditions = self.conditions;
        conditions.chain(clock).iter().any(|l| {
            let l = conditions.guard(l.cond, l.value);
            if self.all && self.ends.iter().any(|e| conditions.guard(e.cond, e.value) == l) {
                return self.ends.len() == 1;
            }
            match conditions.rhs(l.cond) {
                Some(Rhs::Fby { init: Init::Const(_), next, window: Some(w) }) => {
                    conditions.constant(*next) == Some(!l.value) && self.around.contains(w)
                }
                // `true fby end`, on whatever clock.
                Some(Rhs::Fby { init: Init::Const(_), next, window: None }) => match self.ends[..] {
                    [end] => conditions.guard(*next, l.value) == conditions.guard(end.cond, end.value),
                    _ => false,
                },
                _ => false,
            }
        })
    }

    /// Whether a window has the boundaries of the segments, or fewer.
    pub(crate) fn bounds(&self, window: Window) -> bool {
        self.windows.contains(&window) || self.around.contains(&window)
    }

    /// Whether a delay in that window never leads across the end of a segment.
    pub(crate) fn cuts(&self, window: Option<Window>) -> bool {
        let conditions = self.conditions;
        let of = |var: Var| conditions.clocks.of[var];
        conditions.windows(window).iter().any(|w| {
            let end = conditions.flat.windows[*w].end;
            // An end that is absent there bounds nothing.
            let present = self.all && self.ends.iter().any(|l| conditions.is_within(of(l.cond), of(end)));
            self.within.contains(w) || (present && conditions.truth(end, &self.outer[2]) == Some(true))
        })
    }
}
