//! What a scheduler needs to know about a flat program, in tables keyed by the ids of the program. The flat form itself
//! does not change.
//!
//! Time is divided into *segments*: by the windows of `every`, and by the conditions that cut recurrences. Each
//! division has a clock, which is the smallest one that all its ends are on, and a table. The table says what is true
//! of every variable at the ticks of that clock, separately for each [`Position`] of a tick in its segment. The first
//! division is the trace: it has no ends, and all its ticks are in the middle.
//!
//! Facts hold for runs without errors that begin with the initial states of the program or with states that such a run
//! has left, for all segments that end within the trace. (The last segment may be cut short by the end of the trace,
//! where a delay that looks ahead takes its initial value although the segment has not ended.)
//!
//! Invariants, checked by [`verify`] from the program and the clocks alone:
//! - **A1** the first entry is the trace. Every window belongs to exactly one other entry, which ends where that window
//!   or one around it does; no two entries have the same cut; all ends are on clocks within the clock of the entry. A
//!   parent comes before its children, and where it ends they end.
//! - **A2** no member of a forward recurrence needs a later tick of a member, and none of a backward one an earlier
//!   tick; in a mixed one every circle leads back more ticks than ahead. In one that runs by smaller segments, no
//!   member needs a member in a later one of these; what it needs in the same one is subject to A4 there.
//! - **A3** within one tick, no member of a forward, backward or mixed recurrence needs itself.
//! - **A4** every circle of needs within a segment runs through members of one recurrence only.
//! - **A5** a variable is present only at the positions of its *place*.
//! - **A6** a *constant* variable has the same value at all ticks of a segment.
//! - **A7** the value of a *slow* state changes at most once a segment, and only in a tick where all its guards hold.
//!   (An added zero is no change, although it makes 0 of -0.)
//! - **A8** a condition has one of its *truths* at each position.
//! - **A9** a *hold* equals its source: a constant of the program, or a variable at the first or last tick of the same
//!   segment.
//! - **A10** a value known *before* the segment depends on nothing from its start on; one known *within* it depends on
//!   nothing after its end. In other words, two runs that agree up to there, and whose segments end at the same ticks,
//!   give the same value.
//!
//! Each entry is proved from the entries of its operands in a single step. Together the steps prove A5 to A10 by
//! induction over the order in which a run finds its values. That order may lead forward and backward in time; the
//! steps are sound for both.

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
    /// What ends a segment. The trace has no ends.
    pub cut: CutData,
    /// The clock whose ticks have positions.
    pub clock: ClockId,
    /// The smallest segments around these, which end where these do; none for the trace.
    pub parent: Option<Segments>,
    /// The windows of `every` that end where these do; none if the cut is a condition.
    pub windows: Vec<Window>,
}

/// What the value of a variable at one position is equal to.
#[derive(Clone, Copy, PartialEq, std::cmp::Eq, Hash, Debug)]
pub enum Hold {
    /// Nothing: there it never has a value.
    Nothing,
    /// A constant of the program.
    Const(ConstId),
    /// The value of a variable at the first (last) tick of the same segment.
    At(Var),
    /// Nothing known to be the same.
    Own,
}

/// What is known about one variable in the segments of one entry. Arrays are indexed by [`Position`].
#[derive(Clone, Copy, PartialEq, std::cmp::Eq, Debug)]
pub struct VarFacts {
    /// Where it may be present.
    pub place: Positions,
    /// If it is a condition: the values that it may have.
    pub truths: [Truths; 4],
    /// What it equals at the first tick of the segment.
    pub first: [Hold; 4],
    /// What it equals at the last tick of the segment.
    pub last: [Hold; 4],
    /// Whether its value is the same at all ticks of a segment.
    pub constant: bool,
    /// Where its value is known before the segment begins.
    pub before: Positions,
    /// Where its value is known when the segment has ended.
    pub within: Positions,
}

/// A recurrence: equations that need each other within a segment.
#[derive(Clone, PartialEq, std::cmp::Eq, Debug)]
pub struct RecData {
    /// The segments within which it runs.
    pub segments: Segments,
    /// Its equations in order, each with the positions at which it takes part.
    pub members: Vec<(Eq, Positions)>,
    /// In which order its members can be computed.
    pub order: Order,
}

/// In which order the members of a recurrence can be computed.
#[derive(Clone, Copy, PartialEq, std::cmp::Eq, Hash, Debug)]
pub enum Order {
    /// From the first tick of a segment to the last.
    Forward,
    /// From the last tick to the first.
    Backward,
    /// Forward as a whole, with looks ahead.
    Mixed,
    /// These smaller segments one after the other, such as a training loop by its windows. The recurrences of that
    /// entry say in which order each of them runs.
    BySegments(Segments),
    /// None that is known, as for equations that need each other within a tick through branches that exclude each
    /// other.
    Unknown,
}

/// A state that changes at most once a segment.
#[derive(Clone, PartialEq, std::cmp::Eq, Debug)]
pub struct SlowState {
    /// The `fby` that holds it.
    pub equation: Eq,
    /// The segments.
    pub segments: Segments,
    /// Where it may change.
    pub place: Positions,
    /// Guards that hold in every tick in which it changes, unless the place already implies them. They come from its
    /// clock, and from each `merge` or `if` whose other branch gives the old value back or adds zero to it.
    pub guards: Vec<Guard>,
}

/// All facts.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The trace, then all other divisions of time, a parent before its children.
    pub segments: IndexVec<Segments, SegmentsData>,
    /// For each of them, what is known about each variable.
    pub tables: IndexVec<Segments, IndexVec<Var, VarFacts>>,
    /// The recurrences of all of them.
    pub recurrences: IndexVec<Rec, RecData>,
    /// The slow states, each with the outermost segments in which it is known to change at most once.
    pub slow: Vec<SlowState>,
}

impl Facts {
    /// The recurrences that an equation takes part in, in the segments of one entry.
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
