//! A frame divides time into segments and distinguishes four kinds of cycles in each: whether a cycle is the first tick
//! of a clock in its segment, and whether it is the last cycle of the segment.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use rml_ir::flat::{Init, Rhs, Var, Window};

use super::CutData;
use crate::clocks::{ClockData, ClockId};
use crate::conditions::{Conditions, Guard, Instant};

/// The condition that ends segments.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Ends {
    /// A segment ends where all of these guards hold.
    All(Vec<Guard>),
    /// A segment ends where this window or one around it ends.
    Window(Window),
}

/// One of the four kinds of cycles: bit 0 is set for the first tick, bit 1 for the last cycle.
pub(crate) type Position = usize;
pub(crate) const POSITIONS: std::ops::Range<Position> = 0..4;

pub(crate) fn is_first(p: Position) -> bool {
    p & 1 != 0
}

pub(crate) fn is_last(p: Position) -> bool {
    p & 2 != 0
}

/// Segments, seen from the ticks of a clock.
#[derive(Clone)]
pub(crate) struct Frame<'c, 'a> {
    pub(crate) conditions: &'c Conditions<'a>,
    pub(crate) data: Rc<FrameData>,
}

/// Facts about segments.
pub(crate) struct FrameData {
    /// The guards at the ends of segments. If `all` is set, a segment ends where all of them hold, otherwise where any
    /// of them holds.
    pub(crate) ends: Vec<Guard>,
    all: bool,
    /// The clock whose ticks are counted.
    pub(crate) clock: ClockId,
    /// Whether segments end only in ticks of that clock.
    pub(crate) ticks: bool,
    /// The boundaries of windows that end exactly where the segments do.
    boundaries: Vec<usize>,
    /// The boundaries of windows that end only where segments do, but perhaps not at every end of a segment.
    around: BTreeSet<usize>,
    /// The boundaries of windows that end at every end of a segment, and perhaps elsewhere.
    within: BTreeSet<usize>,
    /// The facts by position: `inner` for variables that are present only where all ends are present, `outer` for all
    /// others.
    inner: Vec<Instant>,
    outer: Vec<Instant>,
    /// Cached values of conditions, by position and by whether the variable belongs to `inner`.
    truths: RefCell<BTreeMap<(Var, Position, bool), Option<bool>>>,
}

/// The frames of a program. A frame that several recurrences share is made once.
#[derive(Default)]
pub(crate) struct Frames(RefCell<BTreeMap<FrameKey, Option<Rc<FrameData>>>>);

type FrameKey = (Ends, ClockId);

impl Frames {
    /// The same as [`Frame::new`], with caching.
    pub(crate) fn get<'c, 'a>(
        &self,
        conditions: &'c Conditions<'a>,
        ends: &Ends,
        clock: ClockId,
    ) -> Option<Frame<'c, 'a>> {
        let make = || Frame::new(conditions, ends, clock).map(|frame| frame.data);
        let data = self.0.borrow_mut().entry((ends.clone(), clock)).or_insert_with(make).clone();
        data.map(|data| Frame { conditions, data })
    }
}

impl FrameData {
    fn instant(&self, conditions: &Conditions<'_>, p: Position, with_ends: bool) -> Instant {
        let mut instant = Instant {
            ends: if self.all { self.ends.clone() } else { Vec::new() },
            clock: Some(self.clock),
            boundaries: self.boundaries.clone(),
            first: Some(is_first(p)),
            last: (is_last(p) || with_ends).then_some(is_last(p)),
            ..Instant::default()
        };
        if is_last(p) && self.all {
            self.ends.iter().for_each(|l| conditions.assume(&mut instant, *l));
        }
        if !is_last(p) && with_ends && (!self.all || self.ends.len() == 1) {
            self.ends.iter().for_each(|l| conditions.assume(&mut instant, l.negated()));
        }
        instant
    }
}

impl<'c, 'a> Frame<'c, 'a> {
    /// The segments with these ends; `None` if the clock of an end is unknown.
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
        // Each `every` is a separate window; windows with the same ends have the same boundaries.
        let own: BTreeSet<Guard> = guards.iter().map(|l| conditions.guard(l.cond, l.value)).collect();
        let comparable = !all || own.len() == 1;
        let which = |f: &dyn Fn(&BTreeSet<Guard>) -> bool| {
            let all = conditions.at_boundary.iter().enumerate().filter(|(_, guards)| comparable && f(guards));
            all.map(|(boundary, _)| boundary).collect::<Vec<usize>>()
        };
        let of = |l: &Guard| conditions.clocks.of[l.cond];
        if guards.iter().any(|l| matches!(conditions.clocks.clocks[of(l)], ClockData::Unknown)) {
            return None;
        }
        let mut data = FrameData {
            ticks: guards.iter().all(|l| conditions.is_within(of(l), clock)),
            boundaries: which(&|b| *b == own),
            around: which(&|b| b.is_subset(&own)).into_iter().collect(),
            within: which(&|b| b.is_superset(&own)).into_iter().collect(),
            ends: guards,
            all,
            clock,
            inner: Vec::new(),
            outer: Vec::new(),
            truths: RefCell::default(),
        };
        data.inner = POSITIONS.map(|p| data.instant(conditions, p, true)).collect();
        data.outer = POSITIONS.map(|p| data.instant(conditions, p, false)).collect();
        Some(Frame { conditions, data: Rc::new(data) })
    }

    /// The segments that a cut makes, seen from the clock of its first condition.
    pub(crate) fn of_cut(conditions: &'c Conditions<'a>, cut: &CutData) -> Option<Self> {
        let ends = match cut.window {
            Some(w) => Ends::Window(w),
            None => Ends::All(cut.ends.clone()),
        };
        Frame::new(conditions, &ends, conditions.clocks.of[cut.ends.first()?.cond])
    }

    /// Whether a condition may have a value in a cycle of kind `p` in which `clock` ticks.
    pub(crate) fn may_hold(&self, clock: ClockId, p: Position, guard: Guard) -> bool {
        let of = |l: &Guard| self.conditions.clocks.of[l.cond];
        let inner = self.data.ends.iter().all(|l| self.conditions.is_within(clock, of(l)));
        self.truth(guard.cond, p, inner).is_none_or(|t| t == guard.value)
    }

    /// The value of a condition at a position, if it is known.
    fn truth(&self, cond: Var, p: Position, inner: bool) -> Option<bool> {
        let instant = if inner { &self.data.inner[p] } else { &self.data.outer[p] };
        let find = || self.conditions.truth(cond, instant);
        *self.data.truths.borrow_mut().entry((cond, p, inner)).or_insert_with(find)
    }

    /// Whether a clock may tick in cycles of kind `p`: whether each of its samplings may hold. A clock ticks only where
    /// its samplings hold. The verifier of clocks proves this (K2), whichever variable represents the condition of a
    /// sampling.
    pub(crate) fn may_tick(&self, clock: ClockId, p: Position) -> bool {
        self.conditions.chain(clock).iter().all(|l| self.may_hold(clock, p, *l))
    }

    /// Whether a clock never ticks.
    pub(crate) fn is_never(&self, clock: ClockId) -> bool {
        !POSITIONS.into_iter().any(|p| self.may_tick(clock, p))
    }

    /// Whether a clock ticks at most once per segment, because of its samplings or because it ticks only at one edge of
    /// a segment.
    pub(crate) fn is_once(&self, clock: ClockId) -> bool {
        let may: Vec<bool> = POSITIONS.map(|p| self.may_tick(clock, p)).collect();
        self.ticks_once(clock) || matches!(may[..], [false, _, false, _] | [false, false, _, _])
    }

    /// Whether a clock ticks at most once per segment because of its samplings, such as `true fby false` in a window.
    pub(crate) fn ticks_once(&self, clock: ClockId) -> bool {
        let conditions = self.conditions;
        conditions.chain(clock).iter().any(|l| {
            let l = conditions.guard(l.cond, l.value);
            if self.data.all && self.data.ends.iter().any(|e| conditions.guard(e.cond, e.value) == l) {
                return self.data.ends.len() == 1;
            }
            match conditions.rhs(l.cond) {
                Some(Rhs::Fby { init: Init::Const(_), next, window: Some(w) }) => {
                    conditions.constant(*next) == Some(!l.value)
                        && self.data.around.contains(&conditions.boundary(*w))
                }
                // `true fby end`, on any clock.
                Some(Rhs::Fby { init: Init::Const(_), next, window: None }) => match self.data.ends[..] {
                    [end] => conditions.guard(*next, l.value) == conditions.guard(end.cond, end.value),
                    _ => false,
                },
                _ => false,
            }
        })
    }

    /// Whether a window ends only where segments end.
    pub(crate) fn bounds(&self, window: Window) -> bool {
        let boundary = self.conditions.boundary(window);
        self.data.boundaries.contains(&boundary) || self.data.around.contains(&boundary)
    }

    /// Whether a delay in that window never reaches across the end of a segment.
    pub(crate) fn cuts(&self, window: Option<Window>) -> bool {
        let conditions = self.conditions;
        let of = |var: Var| conditions.clocks.of[var];
        conditions.windows(window).iter().any(|w| {
            let end = conditions.flat.windows[*w].end;
            // An end that is absent does not end the window.
            let present =
                self.data.all && self.data.ends.iter().any(|l| conditions.is_within(of(l.cond), of(end)));
            self.data.within.contains(&conditions.boundary(*w))
                || (present && self.truth(end, 2, false) == Some(true))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rml_ir::flat::Flat;
    use rml_ir::{DType, Type, Value};
    use rml_sim::{InputCell, Options, Simulator, Status};
    use rml_testkit::Lcg;
    use rml_testkit::flat::random;

    use super::*;
    use crate::clocks::{Clocks, Verdict, clocks};

    const CYCLES: usize = 12;

    fn trace(flat: &Flat, clocks: &Clocks, r: &mut Lcg) -> Vec<Vec<InputCell>> {
        let mut cycle = || {
            let mut row: Vec<InputCell> = Vec::new();
            for input in &flat.inputs {
                let value = match flat.vars[input.var].ty.dtype {
                    DType::Bool => Value::Bool(r.below(3) == 0),
                    _ => Value::Int(2),
                };
                row.push(match input.clock {
                    Some((_, at)) if !matches!(&row[0], InputCell::Given(Value::Bool(b)) if *b == at) => {
                        InputCell::Absent
                    }
                    None if clocks.of[input.var] != Clocks::BASE => InputCell::OnDemand(Some(value)),
                    _ => InputCell::Given(value),
                });
            }
            row
        };
        (0..CYCLES).map(|_| cycle()).collect()
    }

    struct Run<'a> {
        sim: Simulator,
        conditions: &'a Conditions<'a>,
    }

    impl Run<'_> {
        fn status(&self, n: usize, v: Var) -> Option<Status> {
            self.sim.status(n as u64, v).unwrap()
        }

        fn holds(&self, n: usize, guard: &Guard) -> bool {
            matches!(self.status(n, guard.cond), Some(Status::Value(Value::Bool(b))) if b == guard.value)
        }

        fn ticks(&self, n: usize, clock: ClockId) -> bool {
            self.conditions.chain(clock).iter().all(|guard| self.holds(n, guard))
        }

        /// The cycles of each segment that ends within the trace.
        fn segments(&self, frame: &Frame<'_, '_>) -> Vec<Vec<usize>> {
            let mut found = vec![Vec::new()];
            for n in 0..CYCLES {
                found.last_mut().unwrap().push(n);
                let mut each = frame.data.ends.iter().map(|guard| self.holds(n, guard));
                if if frame.data.all { each.all(|h| h) } else { each.any(|h| h) } {
                    found.push(Vec::new());
                }
            }
            found.pop();
            found
        }

        /// Checks that every value which is present in a segment may tick there. Returns the number of comparisons in
        /// which some value is excluded.
        fn check(&self, frame: &Frame<'_, '_>) -> Result<usize, String> {
            let clocks = self.conditions.clocks;
            let mut compared = 0;
            for segment in self.segments(frame) {
                let first = segment.iter().find(|n| self.ticks(**n, frame.data.clock));
                for clock in clocks.clocks.ids().filter(|ck| self.conditions.is_within(*ck, frame.data.clock))
                {
                    let of_clock = |v: &Var| clocks.of[*v] == clock;
                    let vars: Vec<Var> = self.conditions.flat.vars.ids().filter(of_clock).collect();
                    let is_present = |n: &&usize| {
                        let known = |v: &Var| {
                            matches!(self.status(**n, *v), Some(Status::Value(_) | Status::Unknown))
                        };
                        vars.iter().any(known)
                    };
                    let present: Vec<&usize> = segment.iter().filter(is_present).collect();
                    if frame.is_once(clock) && present.len() > 1 {
                        return Err(format!("{clock} ticks in {present:?} of {segment:?}"));
                    }
                    let excludes =
                        frame.is_once(clock) || POSITIONS.into_iter().any(|p| !frame.may_tick(clock, p));
                    compared += usize::from(excludes);
                    for n in present {
                        let p = usize::from(Some(n) == first) | usize::from(Some(n) == segment.last()) << 1;
                        if !frame.may_tick(clock, p) {
                            return Err(format!("{clock} ticks in {n} of {segment:?}"));
                        }
                    }
                }
            }
            Ok(compared)
        }
    }

    /// The segments of each window and of each condition, seen from each clock.
    fn all_ends(conditions: &Conditions<'_>) -> Vec<Ends> {
        let flat = conditions.flat;
        let is_condition = |v: &Var| flat.vars[*v].ty == Type::condition();
        let guard = |v: Var| Ends::All(vec![conditions.guard(v, true)]);
        flat.windows.ids().map(Ends::Window).chain(flat.vars.ids().filter(is_condition).map(guard)).collect()
    }

    #[test]
    fn a_clock_ticks_where_it_may() {
        let mut compared = 0;
        for seed in 0..400 {
            let mut r = Lcg(2 * seed + 1);
            let (flat, _) = random::program(&r.take(200), 20, false);
            let report = clocks(&flat);
            if report.verdict != Verdict::Synchronous {
                continue;
            }
            let conditions = Conditions::new(&flat, &report.clocks);
            let options = Options { record: true, keep_going: true, ..Options::default() };
            let mut sim = Simulator::new(Arc::clone(&flat), options);
            let fed = trace(&flat, &report.clocks, &mut r).iter().try_for_each(|row| sim.feed(row).map(drop));
            if fed.is_err() || sim.finish(true).is_err() || sim.failure().is_some() {
                continue;
            }
            let run = Run { sim, conditions: &conditions };
            for (ends, clock) in all_ends(&conditions)
                .iter()
                .flat_map(|ends| report.clocks.clocks.ids().map(move |clock| (ends, clock)))
            {
                if let Some(frame) = Frame::new(&conditions, ends, clock) {
                    compared += run.check(&frame).unwrap_or_else(|e| {
                        panic!("seed {seed}, {ends:?} from {clock}: {e}\n{}", rml_ir::flat::print(&flat))
                    });
                }
            }
        }
        assert!(compared > 1000, "{compared}");
    }
}
