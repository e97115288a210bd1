//! Facts that a scheduler needs about a flat program, in tables keyed by the ids of the program. The flat form itself
//! does not change.
//!
//! Time is divided into *segments*: by the windows of `every`, and by the conditions that cut recurrences. Each
//! division has a clock, which is the smallest clock that contains all its ends, and a table. The table contains facts
//! about every variable at the ticks of that clock, separately for each [`Position`] of a tick in its segment. The
//! first division is the trace: it has no ends, and all its ticks are in the middle.
//!
//! Facts apply to runs without errors that begin with the initial states of the program, or with states saved by such a
//! run, and to all segments that end within the trace. (The end of the trace may cut the last segment short; then a
//! delay that looks ahead has its initial value although the segment has not ended.)
//!
//! Invariants, checked by [`verify`] only from the program and the clocks:
//! - **A1** the first entry is the trace. Every window belongs to exactly one other entry, which ends where that window
//!   or one around it does; no two entries have the same cut; all ends are on clocks within the clock of the entry. A
//!   parent comes before its children, and the children end wherever it ends.
//! - **A2** no member of a forward recurrence needs a later tick of a member, and no member of a backward one needs an
//!   earlier tick. In a mixed recurrence, every circle leads back more ticks than ahead. In a recurrence that runs by
//!   smaller segments, no member needs a member in a later one of these; needs within one of them are subject to A4
//!   there.
//! - **A3** within one tick, no member of a forward, backward or mixed recurrence needs itself.
//! - **A4** every circle of needs within a segment runs through members of one recurrence only.
//! - **A5** a variable is present only at the positions of its *place*.
//! - **A6** a *constant* variable has the same value at all ticks of a segment.
//! - **A7** the value of a *slow* state changes at most once per segment, and only in a tick in which all its guards
//!   hold. (Adding zero does not count as a change, although it turns -0 into 0.)
//! - **A8** a condition has only values among its *truths* at each position.
//! - **A9** a value with a *hold* is equal to the source of the hold: a constant of the program, or a variable at the
//!   first or last tick of the same segment.
//! - **A10** a value known *before* the segment does not depend on anything from the start of the segment on; a value
//!   known *within* it does not depend on anything after its end. In other words, two runs that agree up to that point,
//!   and whose segments end at the same ticks, have the same value.
//!
//! Each entry is proved from the entries of its operands in a single step. Together the steps prove A5 to A10 by
//! induction over the order in which a run finds its values. That order may lead forward and backward in time; the
//! steps are sound in both directions.

use rml_base::{IndexVec, entity_id};
use rml_ir::flat::{ConstId, Eq, Flat, Var, Window};

use crate::causality::{Causality, CutData};
use crate::clocks::{ClockId, Clocks};
use crate::conditions::{Conditions, Guard};

mod constant;
mod known;
mod needs;
mod print;
mod propagate;
mod recurrence;
mod scope;
mod segments;
mod slow;
mod truths;
mod values;
mod verify;

pub use print::print;
pub use rml_ir::{Position, Positions};
pub use truths::Truths;
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

impl Segments {
    /// The trace as one segment.
    pub const TRACE: Segments = Segments(0);
}

/// A way to divide time into segments: runs of ticks, each up to one where the cut holds.
#[derive(Clone, PartialEq, std::cmp::Eq, Debug)]
pub struct SegmentsData {
    /// The condition that ends a segment. The trace has no ends.
    pub cut: CutData,
    /// The clock on whose ticks positions are defined.
    pub clock: ClockId,
    /// The smallest segments around these, which end only where these end; none for the trace.
    pub parent: Option<Segments>,
    /// The windows of `every` with these ends; none if the cut is a condition.
    pub windows: Vec<Window>,
}

/// The value to which a variable at one position is equal.
#[derive(Clone, Copy, PartialEq, std::cmp::Eq, Hash, Debug)]
pub enum Hold {
    /// The variable has no value at this position.
    Nothing,
    /// A constant of the program.
    Const(ConstId),
    /// The value of a variable at the first (or last) tick of the same segment.
    At(Var),
    /// No equal value is known.
    Own,
}

/// Facts about one variable in the segments of one entry. Arrays are indexed by [`Position`].
#[derive(Clone, Copy, PartialEq, std::cmp::Eq, Debug)]
pub struct VarFacts {
    /// The positions at which the variable may be present.
    pub place: Positions,
    /// The values that the variable may have, if it is a condition.
    pub truths: [Truths; 4],
    /// The value to which the variable is equal, in terms of the first tick of the segment.
    pub first: [Hold; 4],
    /// The value to which the variable is equal, in terms of the last tick of the segment.
    pub last: [Hold; 4],
    /// Whether the variable has the same value at all ticks of a segment.
    pub constant: bool,
    /// The positions at which the value is known before the segment begins.
    pub before: Positions,
    /// The positions at which the value is known when the segment has ended.
    pub within: Positions,
}

/// A recurrence: equations that need each other within a segment.
#[derive(Clone, PartialEq, std::cmp::Eq, Debug)]
pub struct RecData {
    /// The segments within which the recurrence runs.
    pub segments: Segments,
    /// The equations of the recurrence in order, each with the positions at which it is computed.
    pub members: Vec<(Eq, Positions)>,
    /// The order in which the members of the recurrence can be computed.
    pub order: MemberOrder,
}

/// The orders in which the members of a recurrence can be computed.
#[derive(Clone, Copy, PartialEq, std::cmp::Eq, Hash, Debug)]
pub enum MemberOrder {
    /// From the first tick of a segment to the last.
    Forward,
    /// From the last tick to the first.
    Backward,
    /// Forward as a whole, with look-aheads.
    Mixed,
    /// One of these smaller segments after the other, such as a training loop by its windows. The recurrences of that
    /// entry define the order within each of them.
    BySegments(Segments),
    /// No known order. For example, equations may need each other within a tick, in branches that exclude each other.
    Unknown,
}

/// A state that changes at most once a segment.
#[derive(Clone, PartialEq, std::cmp::Eq, Debug)]
pub struct SlowState {
    /// The `fby` that stores the state.
    pub equation: Eq,
    /// The segments.
    pub segments: Segments,
    /// The positions at which the state may change.
    pub place: Positions,
    /// Guards that hold in every tick in which the state changes, unless the place already implies them. They come from
    /// its clock, and from each `merge` or `if` whose other branch returns the old value or adds zero to it.
    pub guards: Vec<Guard>,
}

/// All facts.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The trace, then all other divisions of time; parents come before children.
    pub segments: IndexVec<Segments, SegmentsData>,
    /// For each division: the facts about each variable.
    pub tables: IndexVec<Segments, IndexVec<Var, VarFacts>>,
    /// The recurrences of all divisions.
    pub recurrences: IndexVec<Rec, RecData>,
    /// The slow states, each with the outermost segments in which it is known to change at most once.
    pub slow: Vec<SlowState>,
}

impl Facts {
    /// The recurrences of an equation in the segments of one entry, each with the positions at which it takes part.
    pub fn recurrences_of(&self, segments: Segments, eq: Eq) -> impl Iterator<Item = (Rec, Positions)> {
        let of = move |(id, rec): (Rec, &RecData)| {
            let at = (rec.segments == segments).then(|| rec.members.binary_search_by_key(&eq, |m| m.0).ok());
            at.flatten().map(|i| (id, rec.members[i].1))
        };
        self.recurrences.iter_enumerated().filter_map(of)
    }
}

/// Collects the facts.
///
/// Requires: clocks and causality of that program. Ensures: A1 to A10.
pub fn facts(flat: &Flat, clocks: &Clocks, causality: &Causality) -> Facts {
    let _span = tracing::debug_span!("facts", equations = flat.equations.len()).entered();
    let conditions = Conditions::new(flat, clocks);
    let segments = segments::segments(&conditions, causality);
    let (mut tables, mut recurrences, mut slow) = (IndexVec::new(), IndexVec::new(), Vec::new());
    for (id, data) in segments.iter_enumerated() {
        let scope = scope::Scope::new(&conditions, data, id == Segments::TRACE);
        let values = propagate::values(&scope);
        let presence = scope.presence(&values);
        let constant = constant::constants(&scope, &values, &presence);
        let known = known::known(&scope, &values, &presence);
        recurrence::run_by(&scope, &values, &presence, (id, &segments), &mut recurrences);
        for rec in recurrence::recurrences(&scope, &values, &presence, id) {
            recurrences.push(rec);
        }
        slow::slow(&scope, &values, &presence, id, &mut slow);
        tables.push(
            flat.vars
                .ids()
                .map(|v| VarFacts {
                    place: presence.place[v],
                    truths: values.truths[v],
                    first: values.first[v],
                    last: values.last[v],
                    constant: constant[v],
                    before: known.before[v],
                    within: known.within[v],
                })
                .collect(),
        );
    }
    slow.sort_unstable_by_key(|s| s.equation);
    let facts = Facts { segments, tables, recurrences, slow };
    if rml_ir::check::is_verifying()
        && let Err(found) = verify(flat, clocks, &facts)
    {
        panic!("the facts are broken:\n{}\n{}", found.join("\n"), print(flat, clocks, &facts));
    }
    facts
}
