//! What a scheduler wants to know of a flat program, in tables keyed by its ids (the flat form itself does not change).
//!
//! Invariants, checked by [`verify`] from the program and the clocks alone:
//! - **A1** every window of the program has its segments; a segment's parent stands before it and ends with it.
//! - **A2** in a forward recurrence no member reads a later value of a member, in a backward one no earlier value.
//! - **A3** within one cycle, no member of a recurrence needs itself.
//! - **A4** an equation outside every recurrence is on no circle of equations outside recurrences.
//! - **A5** an equation that is said to be evaluated at the first (last) cycle of a segment only is sampled by a condition that is true
//!   only there.
//! - **A6** a stream that is said to be constant over a segment is a constant, a parameter, computed from such streams at each
//!   instant, or held from the first cycle on.
//! - **A7** a slow state ticks on a clock that is sampled at the first or last cycle of a segment.

use rml_base::{IndexVec, entity_id};
use rml_ir::flat::{Eq, Flat, Var, Window};

use crate::causality::frame::{Frame, POSITIONS};
use crate::causality::{Causality, CutData, Direction};
use crate::clocks::Clocks;
use crate::conditions::{Conditions, Literal};

mod constant;
mod print;
mod verify;

pub use print::print;
pub use verify::verify;

entity_id!(
    /// A way to divide time into segments.
    Segments,
    "seg"
);
entity_id!(
    /// A recurrence.
    Rec,
    "rec"
);

/// Segments of time: runs of cycles, each up to one where the ends hold.
#[derive(Clone, PartialEq, std::cmp::Eq, Debug)]
pub struct SegmentsData {
    /// What ends a segment.
    pub cut: CutData,
    /// The segments around these, which end where these do.
    pub parent: Option<Segments>,
    /// The windows of `every` with these ends; none if a recurrence is cut by a condition.
    pub windows: Vec<Window>,
}

/// A recurrence.
#[derive(Clone, PartialEq, std::cmp::Eq, Debug)]
pub struct RecData {
    /// Its equations, in order.
    pub equations: Vec<Eq>,
    /// Which way it runs.
    pub direction: Direction,
    /// The segments within which it runs that way; none for all of time.
    pub segments: Option<Segments>,
}

/// The cycles of a segment in which an equation can be evaluated.
#[derive(Clone, Copy, PartialEq, std::cmp::Eq, Hash, Debug)]
pub enum Place {
    /// All.
    All,
    /// The first tick only.
    First,
    /// The last cycle only.
    Last,
    /// All but the first tick.
    NotFirst,
    /// All but the last cycle.
    NotLast,
    /// Neither at the first tick nor in the last cycle.
    Middle,
    /// At the first tick and in the last cycle.
    Ends,
    /// None.
    Never,
}

/// What is known of one equation.
#[derive(Clone, PartialEq, std::cmp::Eq, Debug)]
pub struct EquationFacts {
    /// The recurrence that it belongs to; without one it can be computed for all cycles of a segment at once.
    pub recurrence: Option<Rec>,
    /// In which cycles of the outermost segments it is evaluated.
    pub place: Place,
    /// Whether its value is the same at every tick of a segment.
    pub constant: bool,
    /// If it is a condition: its value at a tick that is neither first nor last, first, last, and both, where the form tells.
    pub control: Option<[Option<bool>; 4]>,
}

/// All facts.
#[derive(Clone, Debug)]
pub struct Facts {
    /// All segments, a parent before its children.
    pub segments: IndexVec<Segments, SegmentsData>,
    /// The segments that places and constants refer to: the outermost ones, if there is one way only.
    pub main: Option<Segments>,
    /// All recurrences.
    pub recurrences: IndexVec<Rec, RecData>,
    /// By equation.
    pub equations: IndexVec<Eq, EquationFacts>,
    /// The states that tick once a segment: parameters and what optimisers keep.
    pub slow: Vec<(Eq, Segments)>,
}

/// Collects the facts.
///
/// Requires: clocks and causality of that program. Ensures: A1 to A7.
pub fn facts(flat: &Flat, clocks: &Clocks, causality: &Causality) -> Facts {
    let _span = tracing::debug_span!("facts", equations = flat.equations.len()).entered();
    let conditions = Conditions::new(flat, clocks);
    let segments = segments(&conditions, causality);
    let outermost: Vec<Segments> = segments.ids().filter(|id| segments[*id].parent.is_none()).collect();
    let main = if let [id] = outermost[..] { Some(id) } else { None };
    let mut recurrences: IndexVec<Rec, RecData> = IndexVec::new();
    let mut of = IndexVec::filled(None, flat.equations.len());
    for r in &causality.recurrences {
        let equations: Vec<Eq> = r.members.iter().filter_map(|v| conditions.defs[*v]).collect();
        let cut = r.cut.map(|c| &causality.cuts[c]);
        let within = cut.and_then(|c| segments.iter_enumerated().find(|(_, s)| s.cut.ends == c.ends));
        let rec = RecData {
            equations: equations.clone(),
            direction: r.direction,
            segments: within.map(|(id, _)| id),
        };
        let id = recurrences.push(rec);
        for eq in equations {
            of[eq] = Some(id);
        }
    }
    let frame = main.and_then(|id| Frame::of_cut(&conditions, &segments[id].cut));
    let constants = constant::constants(&conditions, frame.as_ref());
    let mut equations = IndexVec::new();
    for (eq, equation) in flat.equations.iter_enumerated() {
        equations.push(EquationFacts {
            recurrence: of[eq],
            place: frame.as_ref().map_or(Place::All, |f| place(f, equation.lhs)),
            constant: constants[equation.lhs],
            control: frame.as_ref().and_then(|f| control(f, equation.lhs)),
        });
    }
    let slow = slow(&conditions, &segments);
    let facts = Facts { segments, main, recurrences, equations, slow };
    if cfg!(debug_assertions)
        && let Err(found) = verify(flat, clocks, &facts)
    {
        panic!("the facts are broken:\n{}", found.join("\n"));
    }
    facts
}

/// The segments of all windows, and of all conditions that cut recurrences; one for each set of ends, parents first.
fn segments(conditions: &Conditions<'_>, causality: &Causality) -> IndexVec<Segments, SegmentsData> {
    let flat = conditions.flat;
    let mut found: Vec<SegmentsData> = Vec::new();
    for w in flat.windows.ids() {
        let mut ends: Vec<Literal> = Vec::new();
        for w in conditions.windows(Some(w)) {
            let end = conditions.literal(flat.windows[w].end, true);
            if !ends.contains(&end) {
                ends.push(end);
            }
        }
        if let Some(known) = found.iter_mut().find(|s| s.cut.ends == ends) {
            known.windows.push(w);
            continue;
        }
        let all = ends.len() == 1;
        let named = causality.cuts.iter().find(|c| c.ends == ends);
        let name =
            named.map_or_else(|| crate::causality::cut_name(conditions, &ends, all), |c| c.name.clone());
        let cut = CutData { ends, all, window: Some(w), name };
        found.push(SegmentsData { cut, parent: None, windows: vec![w] });
    }
    let used = causality.recurrences.iter().filter_map(|r| r.cut).map(|c| &causality.cuts[c]);
    for cut in used {
        if found.iter().all(|s| s.cut.ends != cut.ends) {
            found.push(SegmentsData { cut: cut.clone(), parent: None, windows: Vec::new() });
        }
    }
    // Inner windows have more ends than those around them.
    found.sort_by_key(|s| if s.cut.all { 1 } else { s.cut.ends.len() });
    let mut all: IndexVec<Segments, SegmentsData> = IndexVec::new();
    for mut data in found {
        let is_parent = |s: &SegmentsData| {
            !data.cut.all
                && s.cut.ends.len() < data.cut.ends.len()
                && s.cut.ends.iter().all(|l| data.cut.ends.contains(l))
        };
        data.parent = all.iter_enumerated().filter(|(_, s)| is_parent(s)).map(|(id, _)| id).next_back();
        all.push(data);
    }
    all
}

/// Where a variable can be present.
fn place(frame: &Frame<'_, '_>, var: Var) -> Place {
    let clock = frame.conditions.clocks.of[var];
    let may: Vec<bool> = POSITIONS.map(|p| frame.may_tick(clock, p)).collect();
    match may[..] {
        [false, false, false, false] => Place::Never,
        [false, _, false, _] => Place::First,
        [false, false, _, _] => Place::Last,
        [false, _, _, _] => Place::Ends,
        [true, false, false, _] => Place::Middle,
        [true, false, true, _] => Place::NotFirst,
        [true, true, false, _] => Place::NotLast,
        _ => Place::All,
    }
}

/// The values of a condition by kind of instant; nothing if none is known.
fn control(frame: &Frame<'_, '_>, var: Var) -> Option<[Option<bool>; 4]> {
    let conditions = frame.conditions;
    if conditions.flat.vars[var].ty != rml_ir::Type::condition() {
        return None;
    }
    let clock = conditions.clocks.of[var];
    let mut values = [None; 4];
    for p in POSITIONS.filter(|p| frame.may_tick(clock, *p)) {
        values[p] = conditions.truth(var, frame.at(clock, p));
    }
    values.iter().any(Option::is_some).then_some(values)
}

/// The states on clocks that tick once in some segments.
fn slow(conditions: &Conditions<'_>, segments: &IndexVec<Segments, SegmentsData>) -> Vec<(Eq, Segments)> {
    let frames: Vec<(Segments, Frame<'_, '_>)> = segments
        .iter_enumerated()
        .filter_map(|(id, s)| Some((id, Frame::of_cut(conditions, &s.cut)?)))
        .collect();
    let mut slow: Vec<(Eq, Segments)> = Vec::new();
    for state in conditions.flat.states.values() {
        let clock = conditions.clocks.of[conditions.flat.equations[state.equation].lhs];
        if let Some((id, _)) = frames.iter().find(|(_, f)| f.is_once(clock)) {
            slow.push((state.equation, *id));
        }
    }
    slow.sort_unstable_by_key(|(eq, _)| *eq);
    slow
}
