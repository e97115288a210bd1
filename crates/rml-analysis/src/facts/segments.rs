//! Collects the ways in which a program divides time into segments.

use std::collections::BTreeSet;

use rml_base::IndexVec;

use super::{Segments, SegmentsData};
use crate::causality::{Causality, CutData, cut_name};
use crate::clocks::{ClockData, ClockId, Clocks};
use crate::conditions::{Conditions, Guard};

/// The trace, the segments of all windows, and those of the conditions that cut recurrences: one entry for each cut;
/// parents come first.
pub(super) fn segments(
    conditions: &Conditions<'_>,
    causality: &Causality,
) -> IndexVec<Segments, SegmentsData> {
    let mut found: Vec<SegmentsData> = Vec::new();
    let mut add = |cut: CutData| {
        if let Some(known) = found.iter_mut().find(|s| s.cut.ends == cut.ends && s.cut.all == cut.all) {
            known.windows.extend(cut.window);
        } else if let Some(clock) = common_clock(conditions, &cut.ends) {
            let windows = cut.window.into_iter().collect();
            found.push(SegmentsData { cut, clock, parent: None, windows });
        }
    };
    for w in conditions.flat.windows.ids() {
        let chain = conditions.windows(Some(w)).into_iter();
        let inner_first: Vec<Guard> =
            chain.map(|w| conditions.guard(conditions.flat.windows[w].end, true)).collect();
        let ends = in_order(&inner_first);
        let name = cut_name(conditions, &inner_first, false);
        add(CutData { all: ends.len() == 1, ends, window: Some(w), name });
    }
    for cut in causality.recurrences.iter().filter_map(|r| r.cut).map(|c| &causality.cuts[c]) {
        let ends = in_order(&cut.ends);
        add(CutData { all: cut.all || ends.len() == 1, ends, window: None, name: cut.name.clone() });
    }
    // Inner windows have more ends than the windows around them.
    found.sort_by_key(|s| if s.cut.all { 1 } else { s.cut.ends.len() });
    let trace = CutData { ends: Vec::new(), all: false, window: None, name: "the trace".to_owned() };
    let trace = SegmentsData { cut: trace, clock: Clocks::BASE, parent: None, windows: Vec::new() };
    let mut all: IndexVec<Segments, SegmentsData> = [trace].into_iter().collect();
    for mut data in found {
        let around = |s: &SegmentsData| {
            s.cut.ends.iter().all(|l| data.cut.ends.contains(l))
                && (s.cut.ends.is_empty() || (!data.cut.all && (!s.cut.all || s.cut.ends.len() == 1)))
        };
        data.parent = all.iter_enumerated().filter(|(_, s)| around(s)).map(|(id, _)| id).next_back();
        all.push(data);
    }
    all
}

fn in_order(ends: &[Guard]) -> Vec<Guard> {
    ends.iter().copied().collect::<BTreeSet<_>>().into_iter().collect()
}

/// The smallest clock that contains all ends; `None` if one of their clocks is unknown.
fn common_clock(conditions: &Conditions<'_>, ends: &[Guard]) -> Option<ClockId> {
    let clocks = conditions.clocks;
    let mut of = ends.iter().map(|l| clocks.of[l.cond]);
    let is_known = |ck: ClockId| matches!(clocks.clocks[clocks.root(ck)], ClockData::Base);
    let mut common = of.next().filter(|ck| is_known(*ck))?;
    for clock in of {
        if !is_known(clock) {
            return None;
        }
        while !conditions.is_within(clock, common) {
            let ClockData::On { parent, .. } = clocks.clocks[common] else { return None };
            common = parent;
        }
    }
    Some(common)
}
