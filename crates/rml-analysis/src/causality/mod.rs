//! Causality: the values that each value needs, in which cycles, and when it is known at the latest.
//!
//! The dependence graph ([`graph`]) is divided into strongly connected parts. A part that never looks ahead can run if
//! no value needs itself within one cycle. A part that looks ahead can run if every circle leads to earlier cycles, or
//! if conditions cut it into segments ([`segment`]). From this follows a bound on the wait for each value
//! ([`latency`]). In `docs/semantics`, CAUSE-1 defines what a value needs, CAUSE-4 defines valid recurrences, and
//! CAUSE-2 and CAUSE-3 define the verdicts.

use std::collections::BTreeSet;

use rml_base::{Components, Diagnostics, EntityId, IndexVec, Span, components};
use rml_ir::flat::{Flat, Var, Window};

use crate::clocks::{ClockData, ClockId, Clocks};
use crate::conditions::{Conditions, Guard};
use frame::Ends;
use graph::{Dependences, Edge, Node};
use part::Part;
use recurrence::Finding;
use segment::Proof;

mod beside;
mod cut;
pub(crate) mod frame;
pub(crate) mod graph;
mod help;
mod latency;
mod loops;
mod missing;
mod part;
mod presence;
mod recurrence;
mod report;
pub(crate) mod segment;
mod update;

pub use graph::Distance;
pub use latency::{Cut, Latency, Wait};
pub use loops::{CausalLoop, LoopStep, LoopText};
pub(crate) use report::cut_name;
pub use segment::Direction;
pub use update::LateUpdate;

/// A condition for which values wait, or that divides time into windows.
#[derive(Clone, PartialEq, std::cmp::Eq, Debug)]
pub struct CutData {
    /// The guards that end a window: all of them hold, or one of them.
    pub ends: Vec<Guard>,
    /// Whether all guards must hold.
    pub all: bool,
    /// The window of the program with these ends, if they come from an `every`.
    pub window: Option<Window>,
    /// The name of the condition in messages.
    pub name: String,
}

/// A recurrence: equations that need each other's values.
#[derive(Clone, Debug)]
pub struct Recurrence {
    /// The variables of the recurrence, in order.
    pub members: Vec<Var>,
    /// The direction in which the recurrence runs.
    pub direction: Direction,
    /// The cut that divides the recurrence into windows, within which it runs; `None` if it runs from cycle to cycle
    /// without end.
    pub cut: Option<Cut>,
}

/// The times at which values are known, and the order in which they can be computed.
#[derive(Clone, Debug)]
pub struct Causality {
    /// The wait for each variable.
    pub latency: IndexVec<Var, Latency>,
    /// All conditions for which some value waits.
    pub cuts: IndexVec<Cut, CutData>,
    /// The recurrences that run in one direction.
    pub recurrences: Vec<Recurrence>,
    /// Errors for values that can never be computed, and warnings.
    pub findings: Diagnostics,
    /// The loops of values that need themselves, each with the index of its finding.
    pub loops: Vec<(usize, CausalLoop)>,
    /// The updates of parameters that come too late, each with the index of its finding.
    pub late: Vec<(usize, LateUpdate)>,
    /// For each value that needs itself within one cycle: the guards that must all hold for this; none if it always
    /// does.
    pub circles: Vec<Vec<Guard>>,
    /// The reasons why nothing is known about some values.
    pub reasons: Vec<UndecidedReason>,
}

/// The reason why something cannot be decided before the program runs.
#[derive(Clone, PartialEq, std::cmp::Eq, Debug)]
pub struct UndecidedReason {
    /// The reason in words.
    pub message: String,
    /// The equations concerned.
    pub spans: Vec<Span>,
    /// The help: how to change the program so that it is decided.
    pub help: &'static str,
}

/// Determines when values are known.
///
/// Requires: `flat::verify`, clocks of that program. Ensures: a bound for each variable (see [`Latency`]); an error for
/// each recurrence that can never run.
pub fn causality(flat: &Flat, clocks: &Clocks) -> Causality {
    let _span = tracing::debug_span!("causality", equations = flat.equations.len()).entered();
    let deps = Dependences::new(Conditions::new(flat, clocks));
    let all = components(deps.graph.len(), |v, i| deps.graph.of(v).get(i).map(|e| Some(e.to)));
    let mut solver = Solver {
        latency: vec![Latency::Bounded(0); deps.graph.len()],
        cuts: IndexVec::new(),
        recurrences: Vec::new(),
        findings: Diagnostics::new(),
        loops: Vec::new(),
        late: Vec::new(),
        circles: Vec::new(),
        reasons: Vec::new(),
        deps: &deps,
    };
    for members in &all.members {
        solver.component(&all, members);
    }
    solver.missing();
    let latency = flat.vars.ids().map(|v| solver.latency[v.index()].clone()).collect();
    let Solver { cuts, recurrences, findings, loops, late, circles, reasons, .. } = solver;
    Causality { latency, cuts, recurrences, findings, loops, late, circles, reasons }
}

struct Solver<'d, 'a> {
    deps: &'d Dependences<'a>,
    latency: Vec<Latency>,
    cuts: IndexVec<Cut, CutData>,
    recurrences: Vec<Recurrence>,
    findings: Diagnostics,
    loops: Vec<(usize, CausalLoop)>,
    late: Vec<(usize, LateUpdate)>,
    circles: Vec<Vec<Guard>>,
    reasons: Vec<UndecidedReason>,
}

impl Solver<'_, '_> {
    fn component(&mut self, all: &Components, members: &[usize]) {
        let first = members[0];
        let is_loop = self.deps.graph.of(first).iter().any(|e| e.to == first);
        if members.len() == 1 && !is_loop {
            self.latency[first] = self.of_operands(first);
            return;
        }
        let part = Part::new(self.deps, all, members);
        let latency = match recurrence::classify(self.deps, &part) {
            Finding::Runs(direction) => {
                self.recurrence(members, direction, None);
                return self.least_waits(members);
            }
            Finding::Cut(proof) => return self.cut(&part, &proof),
            Finding::Beside(parts) if self.starts_at_once(&part) => return self.beside(&part, &parts),
            Finding::Beside(_) => {
                let chain = part::some_circle(&part);
                let message =
                    "windows with independent ends cut a recurrence that also waits for other values";
                self.reasons.push(report::reason(self.deps, &part, &chain, message, help::BESIDE));
                Latency::Dynamic
            }
            Finding::Closed(chain) => {
                self.findings.push(report::closed_only(self.deps, &part, &chain));
                self.recurrence(members, Direction::Backward, None);
                Latency::Closed
            }
            Finding::Instantaneous(chain) => {
                self.circles.push(report::guards(&part, &chain));
                match update::too_late(self.deps, &part) {
                    Some(update) => self.late(update),
                    None => self.closed(report::instantaneous(self.deps, &part, &chain)),
                }
                Latency::Never
            }
            Finding::Uncut(chain) => {
                self.findings.push(report::uncut(self.deps, &part, &chain));
                Latency::Never
            }
            Finding::Exclusive(chain) => {
                let message = "values need each other within one cycle; that is fine only if the conditions \
                               on the way exclude each other";
                self.reasons.push(report::reason(self.deps, &part, &chain, message, help::EXCLUSIVE));
                Latency::Dynamic
            }
            Finding::Unknown(message, help) => {
                if let Some(update) = update::perhaps_too_late(self.deps, &part) {
                    self.late(update);
                }
                let chain = part::some_circle(&part);
                self.reasons.push(report::reason(self.deps, &part, &chain, message, help));
                Latency::Dynamic
            }
        };
        if latency != Latency::Closed {
            self.recurrence(members, Direction::Unknown, None);
        }
        let mut all = latency;
        for v in members {
            all = all.join(&self.of_operands(*v));
        }
        for v in members {
            self.latency[*v] = all.clone();
        }
    }

    /// Reports a loop, without facts from the text of the program.
    fn closed(&mut self, found: CausalLoop) {
        let flat = self.deps.conditions.flat;
        let text = LoopText { calls: Vec::new(), read: None, flat, shape: &|_| None };
        self.loops.push((self.findings.0.len(), found.clone()));
        self.findings.push(found.diagnostic(flat, &text));
    }

    /// Reports an update, without facts from the text of the program.
    fn late(&mut self, update: LateUpdate) {
        self.late.push((self.findings.0.len(), update.clone()));
        self.findings.push(update.diagnostic(&[]));
    }

    /// Reports values that are missing because a `post` has no value in the last cycle of its window.
    fn missing(&mut self) {
        let missing = missing::missing(self.deps);
        for v in missing.reached {
            self.latency[v] = self.latency[v].join(&Latency::Dynamic);
        }
        for (post, output) in missing.shown {
            self.latency[output.index()] = Latency::Never;
            self.findings.push(report::no_last_value(self.deps.conditions.flat, post, output));
        }
        let outputs = &self.deps.conditions.flat.outputs;
        for (post, v) in missing.doubtful.into_iter().filter(|(_, v)| outputs.contains(v)) {
            self.reasons.push(report::doubtful_last(self.deps.conditions.flat, post, v));
        }
    }

    fn recurrence(&mut self, members: &[usize], direction: Direction, cut: Option<Cut>) {
        let vars = members.iter().filter_map(|v| match self.deps.node(*v) {
            Node::Value(var) => Some(var),
            Node::Presence(_) => None,
        });
        self.recurrences.push(Recurrence { members: vars.collect(), direction, cut });
    }

    fn of_operands(&mut self, v: usize) -> Latency {
        let edges = self.deps.graph.of(v);
        edges.iter().fold(Latency::Bounded(0), |latency, e| {
            let through = self.through(e);
            latency.join(&through)
        })
    }

    /// The wait for the target of an edge, as seen from its start.
    fn through(&mut self, edge: &Edge) -> Latency {
        let inner = self.latency[edge.to].clone();
        match edge.distance {
            Distance::Now => inner,
            Distance::Past => inner.before(),
            Distance::Next => {
                let Some((clock, window)) = self.deps.delay(edge) else { return Latency::Dynamic };
                match self.deps.conditions.clocks.clocks[clock] {
                    ClockData::Base => inner.after(),
                    ClockData::Unknown => {
                        let reason = report::unknown_clock(self.deps, edge);
                        if !self.reasons.contains(&reason) {
                            self.reasons.push(reason);
                        }
                        Latency::Dynamic
                    }
                    // The next tick comes at the end of the window at the latest.
                    ClockData::On { .. } => {
                        let wait = match window {
                            Some(w) => Wait::once(self.cut_of(&Ends::Window(w)), 0, 1),
                            None => Wait::once(self.ticks(clock), 1, 1),
                        };
                        wait.then(&inner)
                    }
                }
            }
        }
    }

    fn ticks(&mut self, clock: ClockId) -> Cut {
        let ends = self.deps.conditions.chain(clock);
        self.cut_of(&Ends::All(ends))
    }

    fn cut_of(&mut self, ends: &Ends) -> Cut {
        let conditions = &self.deps.conditions;
        let (mut ends, all, window) = match ends {
            Ends::All(guards) => {
                let ends: Vec<Guard> = guards.iter().map(|l| conditions.guard(l.cond, l.value)).collect();
                (ends, true, None)
            }
            Ends::Window(w) => {
                let flat = conditions.flat;
                let chain = conditions.windows(Some(*w));
                let ends: Vec<Guard> =
                    chain.iter().map(|w| conditions.guard(flat.windows[*w].end, true)).collect();
                (ends, false, Some(*w))
            }
        };
        let mut seen = BTreeSet::new();
        ends.retain(|l| seen.insert(*l));
        let all = all || ends.len() == 1;
        if let Some(cut) = self.cuts.ids().find(|c| self.cuts[*c].ends == ends && self.cuts[*c].all == all) {
            self.cuts[cut].window = self.cuts[cut].window.or(window);
            return cut;
        }
        let name = report::cut_name(conditions, &ends, all);
        self.cuts.push(CutData { ends, all, window, name })
    }

    /// Computes the least waits in a part whose circles all lead to earlier cycles.
    fn least_waits(&mut self, members: &[usize]) {
        let limit = 200 + members.len();
        for _ in 0..limit {
            let mut changed = false;
            for v in members {
                let latency = self.of_operands(*v);
                if latency != self.latency[*v] {
                    changed = true;
                    self.latency[*v] = latency;
                }
            }
            if !changed {
                return;
            }
        }
        let spans = members.iter().take(1).filter_map(|v| report::span_of(self.deps, *v)).collect();
        let message = "the look-ahead of a recurrence is too long to be determined".to_owned();
        self.reasons.push(UndecidedReason { message, spans, help: help::CUT });
        for v in members {
            self.latency[*v] = Latency::Dynamic;
        }
    }

    /// Computes the waits in a part that conditions cut.
    fn cut(&mut self, part: &Part, proof: &Proof) {
        let inside: BTreeSet<usize> = part.nodes.iter().copied().collect();
        let mut outside = Latency::Bounded(0);
        for (i, v) in part.nodes.iter().enumerate() {
            for e in self.deps.graph.of(*v).iter().filter(|e| !inside.contains(&e.to)) {
                let window = self.deps.delay(e).and_then(|(_, w)| w);
                let crosses = proof.at_last[i] && !window.is_some_and(|w| proof.within.contains(&w));
                let latency = if e.distance == Distance::Next && !crosses {
                    self.latency[e.to].clone()
                } else {
                    self.through(e)
                };
                outside = outside.join(&latency);
            }
        }
        let cut = self.cut_of(&proof.ends);
        // The cut is named after its conditions from outside, because the others follow from the recurrence.
        let data = &self.cuts[cut];
        let outer: Vec<Guard> =
            data.ends.iter().filter(|l| !inside.contains(&l.cond.index())).copied().collect();
        if data.all && !outer.is_empty() {
            self.cuts[cut].name = report::cut_name(&self.deps.conditions, &outer, true);
        }
        // A delay that jumps over ends waits for its next tick, and then for the end of the segment that contains it.
        let cuts: BTreeSet<Cut> = proof.jumping.iter().map(|clock| self.ticks(*clock)).chain([cut]).collect();
        let times = if proof.jumping.is_empty() { 1 } else { 2 };
        for (v, (lead, rounds)) in part.nodes.iter().zip(&proof.waits) {
            let wait = Wait { cuts: cuts.clone(), lead: *lead, rounds: rounds.saturating_mul(times), lag: 0 };
            self.latency[*v] = wait.then(&outside);
        }
        self.sweeps(proof);
    }

    /// Whether all values that a part needs from outside are known in their own cycle.
    fn starts_at_once(&mut self, part: &Part) -> bool {
        let inside: BTreeSet<usize> = part.nodes.iter().copied().collect();
        let edges = part.nodes.iter().flat_map(|v| self.deps.graph.of(*v));
        edges.filter(|e| !inside.contains(&e.to)).all(|e| match e.distance {
            Distance::Now | Distance::Past => self.latency[e.to] == Latency::Bounded(0),
            Distance::Next => false,
        })
    }

    /// Sets the waits in a part that windows side by side cut: each member is known once all of these windows have
    /// ended.
    fn beside(&mut self, part: &Part, parts: &[(Part, Proof)]) {
        let cuts: BTreeSet<Cut> = parts.iter().map(|(_, proof)| self.cut_of(&proof.ends)).collect();
        for v in &part.nodes {
            self.latency[*v] = Latency::Windowed(Wait { cuts: cuts.clone(), lead: 0, rounds: 1, lag: 0 });
        }
        parts.iter().for_each(|(_, proof)| self.sweeps(proof));
    }

    fn sweeps(&mut self, proof: &Proof) {
        let cut = self.cut_of(&proof.ends);
        for sweep in &proof.sweeps {
            self.recurrence(&sweep.members, sweep.direction, Some(cut));
        }
        for nested in &proof.nested {
            self.sweeps(nested);
        }
    }
}
