//! The facts against simulated runs of random programs: every fact about a variable is true in every segment of every
//! run.

use std::collections::BTreeSet;
use std::sync::Arc;

use rml_analysis::{
    Clocks, Facts, Guard, Hold, MemberOrder, Position, Positions, Rec, Segments, SegmentsData, Verdict,
    causality, clocks, facts, verify_facts,
};
use rml_ir::flat::{ConstKind, Drawn, Flat, Init, Rhs, Var, Window};
use rml_ir::{DType, Value};
use rml_sim::{InputCell, Options, Simulator, Status};
use rml_testkit::flat::random;

const CYCLES: usize = 14;

/// Pseudo-random numbers.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as u32
    }

    fn take(&mut self, n: usize) -> Vec<u32> {
        (0..n).map(|_| self.next()).collect()
    }
}

/// A trace that respects the clocks: inputs on the base clock are present in every cycle, others where the program asks
/// for them.
fn trace(flat: &Flat, clocks: &Clocks, numbers: &mut Numbers) -> Vec<Vec<InputCell>> {
    let percent = 20 + numbers.next() % 60;
    let mut cycle = || {
        let mut row: Vec<InputCell> = Vec::new();
        for input in &flat.inputs {
            let value = match flat.vars[input.var].ty.dtype {
                DType::Bool => Value::Bool(numbers.next() % 100 < percent),
                _ => Value::Int(i64::from(numbers.next() % 9) - 2),
            };
            let gate = input.clock.map(
                |(_, positive)| matches!(row.first(), Some(InputCell::Given(Value::Bool(b))) if *b == positive),
            );
            row.push(match gate {
                Some(true) => InputCell::Given(value),
                Some(false) => InputCell::Absent,
                None if clocks.of[input.var] == Clocks::BASE => InputCell::Given(value),
                None => InputCell::OnDemand(Some(value)),
            });
        }
        row
    };
    (0..CYCLES).map(|_| cycle()).collect()
}

/// A run without errors.
struct Run {
    sim: Simulator,
}

fn run(flat: &Arc<Drawn>, inputs: &[Vec<InputCell>]) -> Option<Run> {
    let mut sim =
        Simulator::new(Arc::clone(flat), Options { record: true, keep_going: true, ..Options::default() });
    for cycle in inputs {
        sim.feed(cycle).ok()?;
    }
    sim.finish(true).ok()?;
    (sim.failure().is_none() && sim.overflows().is_empty()).then_some(Run { sim })
}

/// The value of a scalar; a condition is 0 or 1. Random programs have no tensor other than the one that assertions
/// read.
fn scalar(value: &Value) -> Option<i64> {
    match value {
        Value::Bool(b) => Some(i64::from(*b)),
        Value::Int(i) => Some(*i),
        Value::Tensor(_) => None,
        other => panic!("random programs compute with {other:?}"),
    }
}

/// The ticks of a clock in one segment, by cycle.
type Ticks = Vec<usize>;

impl Run {
    fn value(&self, n: usize, v: Var) -> Option<i64> {
        match self.sim.status(n as u64, v).unwrap() {
            Some(Status::Value(value)) => scalar(&value),
            _ => None,
        }
    }

    /// Whether a variable is present, with any value.
    fn is_present(&self, n: usize, v: Var) -> bool {
        matches!(self.sim.status(n as u64, v).unwrap(), Some(Status::Value(_) | Status::Unknown))
    }

    fn holds(&self, n: usize, l: &Guard) -> bool {
        self.value(n, l.cond) == Some(i64::from(l.value))
    }

    fn ends(&self, n: usize, data: &SegmentsData) -> bool {
        let mut each = data.cut.ends.iter().map(|l| self.holds(n, l));
        if data.cut.all { each.all(|h| h) } else { each.any(|h| h) }
    }

    /// The segments that end within the trace; for the first entry, the whole trace. `None` if an end is unknown in
    /// some cycle.
    fn segments(&self, clocks: &Clocks, facts: &Facts, id: Segments) -> Option<Vec<Ticks>> {
        let data = &facts.segments[id];
        let ticks = |n: usize| {
            clocks.samplings(data.clock).iter().all(|(c, v)| self.value(n, *c) == Some(i64::from(*v)))
        };
        if id == Segments::TRACE {
            return Some(vec![(0..CYCLES).collect()]);
        }
        let unknown = |n: usize, v: Var| {
            !matches!(self.sim.status(n as u64, v).unwrap(), Some(Status::Value(_) | Status::Absent))
        };
        let conditions = || {
            let ends = data.cut.ends.iter().map(|l| l.cond);
            ends.chain(clocks.samplings(data.clock).into_iter().map(|(c, _)| c))
        };
        if (0..CYCLES).any(|n| conditions().any(|c| unknown(n, c))) {
            return None;
        }
        let mut found = vec![Vec::new()];
        for n in (0..CYCLES).filter(|n| ticks(*n)) {
            found.last_mut().unwrap().push(n);
            if self.ends(n, data) {
                found.push(Vec::new());
            }
        }
        found.pop();
        Some(found)
    }
}

/// An element of the order of evaluation: a recurrence, or a variable at a position.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Node {
    Rec(Rec),
    Cell(Var, Position),
}

impl Node {
    fn of(rec: Option<Rec>, v: Var, p: Position) -> Node {
        rec.map_or(Node::Cell(v, p), Node::Rec)
    }
}

/// A node on a circle of edges, or on a path into one, if there is a circle.
fn circle(edges: &[(Node, Node)]) -> Option<Node> {
    let mut left: BTreeSet<Node> = edges.iter().flat_map(|(a, b)| [*a, *b]).collect();
    loop {
        let reached: BTreeSet<Node> =
            edges.iter().filter(|(a, b)| left.contains(a) && left.contains(b)).map(|(_, b)| *b).collect();
        if reached.len() == left.len() {
            return left.pop_first();
        }
        left = reached;
    }
}

impl Run {
    /// The cells from which the value of a cell was computed.
    fn read(&self, flat: &Flat, v: Var, n: usize) -> Vec<(Var, usize)> {
        let Some(equation) = flat.equations.iter().find(|e| e.lhs == v) else { return Vec::new() };
        let stream = |init: Option<&Init>| match init {
            Some(Init::Stream(i)) => vec![(*i, n)],
            _ => Vec::new(),
        };
        let mut read = Vec::new();
        match &equation.rhs {
            Rhs::If { cond, then: a, other: b } | Rhs::Merge { cond, on_true: a, on_false: b } => {
                let taken = if self.value(n, *cond) == Some(1) { *a } else { *b };
                read.extend([(*cond, n), (taken, n)]);
            }
            Rhs::Fby { init, next, window } => match self.before(flat, v, *window, n) {
                Some(m) => read.push((*next, m)),
                None => read.extend(stream(Some(init))),
            },
            Rhs::FbyBack { init, next, window } => match self.after(flat, v, *window, n) {
                Some(m) => read.push((*next, m)),
                None => read.extend(stream(Some(init))),
            },
            Rhs::Post { next, window } => read.extend(self.after(flat, v, *window, n).map(|m| (*next, m))),
            rhs => rhs.for_each_operand(|x| read.push((x, n))),
        }
        read
    }

    /// Whether a window, or one around it, ends in a cycle.
    fn ends_in(&self, flat: &Flat, window: Option<Window>, n: usize) -> bool {
        let mut at = window;
        while let Some(w) = at {
            if self.value(n, flat.windows[w].end) == Some(1) {
                return true;
            }
            at = flat.windows[w].parent;
        }
        false
    }

    /// The previous cycle in which a variable was present, in its window.
    fn before(&self, flat: &Flat, v: Var, window: Option<Window>, n: usize) -> Option<usize> {
        let here = (0..n).rev().take_while(|m| !self.ends_in(flat, window, *m));
        here.into_iter().find(|m| self.is_present(*m, v))
    }

    /// The next cycle in which a variable was present, in its window.
    fn after(&self, flat: &Flat, v: Var, window: Option<Window>, n: usize) -> Option<usize> {
        let here = (n..CYCLES - 1).take_while(|m| !self.ends_in(flat, window, *m));
        here.map(|m| m + 1).find(|m| self.is_present(*m, v))
    }
}

fn position(id: Segments, len: usize, i: usize) -> Position {
    match (i == 0, i + 1 == len) {
        _ if id == Segments::TRACE => Position::Middle,
        (true, true) => Position::Only,
        (true, false) => Position::First,
        (false, true) => Position::Last,
        (false, false) => Position::Middle,
    }
}

/// The number of statements of each kind that were compared with a run.
#[derive(Default, Debug)]
struct Counts {
    programs: usize,
    clocks: usize,
    same: usize,
    segments: usize,
    nested: usize,
    sampled: usize,
    place: usize,
    truths: usize,
    consts: usize,
    firsts: usize,
    lasts: usize,
    constant: usize,
    before: usize,
    within: usize,
    slow: usize,
    guards: usize,
    /// The numbers of steps between members of recurrences, by order: forward, backward, mixed, by segments, unknown.
    steps: [usize; 5],
}

/// Checks the table of clocks in a run: a variable is present exactly where the conditions of its clock hold (K2), and
/// variables that are declared to be the same have the same value (K5).
fn clocks_hold(flat: &Flat, clocks: &Clocks, run: &Run, counts: &mut Counts) -> Result<(), String> {
    let status = |n: usize, v: Var| run.sim.status(n as u64, v).unwrap();
    for (n, v) in (0..CYCLES).flat_map(|n| flat.vars.ids().map(move |v| (n, v))) {
        let clock = clocks.of[v];
        let samplings = clocks.samplings(clock);
        let known = |(c, _): &(Var, bool)| matches!(status(n, *c), Some(Status::Value(_) | Status::Absent));
        let is_absent = matches!(status(n, v), Some(Status::Absent));
        if clocks.root(clock) == Clocks::BASE
            && samplings.iter().all(known)
            && (is_absent || run.is_present(n, v))
        {
            let ticks =
                samplings.iter().all(|(cond, value)| run.holds(n, &Guard { cond: *cond, value: *value }));
            if ticks == is_absent {
                return Err(format!("K2: {v} is not on {clock} in cycle {n}"));
            }
            counts.clocks += usize::from(clock != Clocks::BASE);
        }
        let first = clocks.same[v];
        if let (true, Some(a), Some(b)) = (v != first, run.value(n, v), run.value(n, first)) {
            if a != b {
                return Err(format!("K5: {v} is {a} and {first} is {b} in cycle {n}"));
            }
            counts.same += 1;
        }
    }
    Ok(())
}

fn runs_one_way(order: MemberOrder) -> bool {
    matches!(order, MemberOrder::Forward | MemberOrder::Backward | MemberOrder::Mixed)
}

struct Check<'a> {
    flat: &'a Flat,
    facts: &'a Facts,
    id: Segments,
    counts: &'a mut Counts,
}

impl Check<'_> {
    /// Checks place, truths, holds and constants in one segment of a run.
    fn segment(&mut self, run: &Run, ticks: &Ticks) -> Result<(), String> {
        for v in self.flat.vars.ids() {
            let of = self.facts.tables[self.id][v];
            let mut same: Option<i64> = None;
            for (i, n) in ticks.iter().enumerate() {
                let p = position(self.id, ticks.len(), i);
                if run.is_present(*n, v) && !of.place.contains(p) {
                    return Err(format!("{v} is present at {p}, not at {}", of.place));
                }
                self.counts.place += usize::from(of.place != Positions::ALL);
                let Some(value) = run.value(*n, v) else { continue };
                if of.constant && *same.get_or_insert(value) != value {
                    return Err(format!("{v} is not constant: {value:?} at {p}"));
                }
                self.counts.constant += usize::from(of.constant);
                self.value(run, ticks, v, (p, value))?;
            }
        }
        Ok(())
    }

    fn value(&mut self, run: &Run, ticks: &Ticks, v: Var, (p, value): (Position, i64)) -> Result<(), String> {
        let of = self.facts.tables[self.id][v];
        if self.flat.vars[v].ty.dtype == DType::Bool {
            let b = value == 1;
            if !of.truths[p.index()].may(b) {
                return Err(format!("{v} is {b} at {p}"));
            }
            self.counts.truths += usize::from(of.truths[p.index()].known().is_some());
        }
        let (first, last) = (ticks[0], ticks[ticks.len() - 1]);
        for (hold, edge) in [(of.first[p.index()], first), (of.last[p.index()], last)] {
            let expected = match hold {
                Hold::Own => continue,
                Hold::Nothing => None,
                Hold::Const(k) => match &self.flat.consts[k].kind {
                    ConstKind::Value(value) => scalar(value),
                    ConstKind::Random(_) | ConstKind::Apply { .. } => None,
                },
                Hold::At(source) => run.value(edge, source),
            };
            if expected != Some(value) {
                return Err(format!("{v} is {value:?} at {p}, not {hold:?}, which is {expected:?}"));
            }
            match hold {
                Hold::At(source) if source != v && edge == first => self.counts.firsts += 1,
                Hold::At(source) if source != v => self.counts.lasts += 1,
                Hold::Const(_) => self.counts.consts += 1,
                _ => {}
            }
        }
        Ok(())
    }

    /// Checks slow states: at most one change per segment, where the guards hold.
    fn slow(&mut self, run: &Run, ticks: &Ticks) -> Result<(), String> {
        for slow in self.facts.slow.iter().filter(|s| s.segments == self.id) {
            let equation = &self.flat.equations[slow.equation];
            let Rhs::Fby { next, .. } = equation.rhs else { return Err("a slow state is no fby".to_owned()) };
            let changes: Vec<usize> = (0..ticks.len())
                .filter(|i| {
                    let (old, new) = (run.value(ticks[*i], equation.lhs), run.value(ticks[*i], next));
                    old.is_some() && new.is_some() && old != new
                })
                .collect();
            for i in &changes {
                let p = position(self.id, ticks.len(), *i);
                if !slow.place.contains(p) {
                    return Err(format!("{} changes at {p}", slow.equation));
                }
                if let Some(guard) = slow.guards.iter().find(|g| !run.holds(ticks[*i], g)) {
                    return Err(format!("{} changes without {guard:?}", slow.equation));
                }
                self.counts.guards += slow.guards.len();
            }
            if changes.len() > 1 {
                return Err(format!("{} changes {} times", slow.equation, changes.len()));
            }
            self.counts.slow += changes.len();
        }
        Ok(())
    }

    /// Checks the cells from which the cells of a segment were computed in the run: recurrences run in the stated
    /// order, and every circle across positions is part of a recurrence.
    fn order(&mut self, run: &Run, ticks: &Ticks) -> Result<(), String> {
        let mut outside: Vec<(Node, Node)> = Vec::new();
        let mut now: Vec<(Node, Node)> = Vec::new();
        for (i, n) in ticks.iter().enumerate() {
            let p = position(self.id, ticks.len(), i);
            for v in self.flat.vars.ids() {
                if run.value(*n, v).is_none() || self.is_given(v, p) {
                    continue;
                }
                for (source, m) in run.read(self.flat, v, *n) {
                    let Some(j) = ticks.iter().position(|t| *t == m) else { continue };
                    let q = position(self.id, ticks.len(), j);
                    if self.is_given(source, q) {
                        continue;
                    }
                    match (self.member(v, p), self.member(source, q)) {
                        (Some(a), Some(b)) if a == b => {
                            self.step(run, a, (v, m, j), (*n, i))?;
                            if i == j {
                                now.push((Node::Cell(v, p), Node::Cell(source, q)));
                            }
                        }
                        (a, b) => outside.push((Node::of(a, v, p), Node::of(b, source, q))),
                    }
                }
            }
        }
        let known = |node: &Node| match node {
            Node::Cell(v, p) => {
                self.member(*v, *p).is_none_or(|r| runs_one_way(self.facts.recurrences[r].order))
            }
            Node::Rec(_) => true,
        };
        now.retain(|(a, _)| known(a));
        match (circle(&outside), circle(&now)) {
            (Some(node), _) => Err(format!("{node:?} needs itself, and is in no recurrence")),
            (_, Some(node)) => Err(format!("{node:?} needs itself within a tick")),
            _ => Ok(()),
        }
    }

    /// Whether a value need not be computed, or is equal to one that is computed elsewhere.
    fn is_given(&self, v: Var, p: Position) -> bool {
        let of = self.facts.tables[self.id][v];
        let elsewhere = |hold: Hold, at: Position| match hold {
            Hold::Own => false,
            Hold::At(source) => source != v || at != p,
            Hold::Const(_) | Hold::Nothing => true,
        };
        let condition = self.flat.vars[v].ty.dtype == DType::Bool && of.truths[p.index()].known().is_some();
        condition || elsewhere(of.first[p.index()], p.start()) || elsewhere(of.last[p.index()], p.end())
    }

    fn member(&self, v: Var, p: Position) -> Option<Rec> {
        let eq = self.flat.equations.iter_enumerated().find(|(_, e)| e.lhs == v)?.0;
        self.facts.recurrences_of(self.id, eq).find(|(_, at)| at.contains(p)).map(|(id, _)| id)
    }

    /// Checks one step of a recurrence in time: in cycle `n`, which is tick number `i` of a segment, it reads cycle
    /// `m`, tick number `j`.
    fn step(
        &mut self,
        run: &Run,
        rec: Rec,
        (v, m, j): (Var, usize, usize),
        (n, i): (usize, usize),
    ) -> Result<(), String> {
        let order = self.facts.recurrences[rec].order;
        let (kind, fits) = match order {
            MemberOrder::Forward => (0, j <= i),
            MemberOrder::Backward => (1, j >= i),
            MemberOrder::Mixed => (2, true),
            MemberOrder::BySegments(smaller) => {
                let data = &self.facts.segments[smaller];
                (3, !(n..m).any(|between| run.ends(between, data)))
            }
            MemberOrder::Unknown => (4, true),
        };
        self.counts.steps[kind] += usize::from(i != j);
        if fits {
            Ok(())
        } else {
            Err(format!("{v} of {rec} reads tick {j} at tick {i}, which is not {order:?}"))
        }
    }

    /// Compares two runs that agree before a segment (or up to its end): values that are known by then are the same in
    /// both.
    fn known(&mut self, runs: [&Run; 2], ticks: [&Ticks; 2], before: bool) -> Result<(), String> {
        for v in self.flat.vars.ids() {
            let of = self.facts.tables[self.id][v];
            let known = if before { of.before } else { of.within };
            for i in 0..ticks[0].len().min(ticks[1].len()) {
                let p = position(self.id, ticks[0].len(), i);
                if p != position(self.id, ticks[1].len(), i) || !known.contains(p) {
                    continue;
                }
                let values = [0, 1].map(|k| runs[k].value(ticks[k][i], v));
                if let [Some(a), Some(b)] = &values {
                    *(if before { &mut self.counts.before } else { &mut self.counts.within }) += 1;
                    if a != b {
                        let word = if before { "before" } else { "within" };
                        return Err(format!(
                            "{v} at {p} is known {word}, but {a:?} and {b:?} in runs that agree"
                        ));
                    }
                }
            }
        }
        Ok(())
    }
}

/// Compares every statement with a run, and statements about known values with two runs that agree up to some cycle.
fn check(numbers: &mut Numbers, counts: &mut Counts) -> Result<(), String> {
    let (flat, _) = random::program(&numbers.take(200), 25, false);
    let report = clocks(&flat);
    if report.verdict != Verdict::Synchronous {
        return Ok(());
    }
    let facts = facts(&flat, &report.clocks, &causality(&flat, &report.clocks));
    let told = |e: String, id: Segments| {
        let dump = rml_analysis::print_facts(&flat, &report.clocks, &facts);
        format!("{id}: {e}\n{dump}")
    };
    let dump = rml_analysis::print_facts(&flat, &report.clocks, &facts);
    let read = rml_ir::flat::parse(&dump).map_err(|e| told(e, Segments::TRACE))?;
    if rml_ir::flat::print(&read) != rml_ir::flat::print(&flat) {
        return Err(format!("the dump reads back as another program:\n{dump}"));
    }
    verify_facts(&flat, &report.clocks, &facts).map_err(|e| told(e.join("\n"), Segments::TRACE))?;
    counts.programs += 1;
    for _ in 0..3 {
        let inputs = trace(&flat, &report.clocks, numbers);
        let Some(run_a) = run(&flat, &inputs) else { continue };
        clocks_hold(&flat, &report.clocks, &run_a, counts).map_err(|e| told(e, Segments::TRACE))?;
        for id in facts.segments.ids() {
            let Some(segments) = run_a.segments(&report.clocks, &facts, id) else { continue };
            let mut check = Check { flat: &flat, facts: &facts, id, counts };
            check.counts.segments += segments.len();
            check.counts.nested += usize::from(facts.segments[id].cut.ends.len() > 1) * segments.len();
            check.counts.sampled += usize::from(facts.segments[id].clock != Clocks::BASE) * segments.len();
            for ticks in &segments {
                check.segment(&run_a, ticks).map_err(|e| told(e, id))?;
                check.slow(&run_a, ticks).map_err(|e| told(e, id))?;
                check.order(&run_a, ticks).map_err(|e| told(e, id))?;
            }
            for before in [true, false] {
                let Some(chosen) = (!segments.is_empty()).then(|| numbers.next() as usize % segments.len())
                else {
                    continue;
                };
                let ticks = &segments[chosen];
                let start = if chosen == 0 { 0 } else { segments[chosen - 1].last().unwrap() + 1 };
                let agree = if before { start } else { ticks.last().unwrap() + 1 };
                let mut other = trace(&flat, &report.clocks, numbers);
                other[..agree].clone_from_slice(&inputs[..agree]);
                let Some(run_b) = run(&flat, &other) else { continue };
                let Some(others) = run_b.segments(&report.clocks, &facts, id) else { continue };
                let up_to = if before { chosen } else { chosen + 1 };
                if others.len() > chosen && others[..up_to] == segments[..up_to] {
                    check
                        .known([&run_a, &run_b], [ticks, &others[chosen]], before)
                        .map_err(|e| told(e, id))?;
                }
            }
        }
    }
    Ok(())
}

#[test]
fn facts_hold_in_random_runs() {
    let mut counts = Counts::default();
    for case in 0..1000 {
        if let Err(e) = check(&mut Numbers(1_000_003 + case), &mut counts) {
            panic!("case {case}: {e}");
        }
    }
    // Statements of every kind were compared.
    let Counts { segments, nested, sampled, place, truths, consts, .. } = counts;
    let Counts { firsts, lasts, constant, before, within, slow, guards, steps, clocks, same, .. } = counts;
    let all = [
        segments, nested, sampled, place, truths, consts, firsts, lasts, constant, before, within, slow,
        clocks, same,
    ];
    assert!(all.iter().all(|n| *n > 100) && guards > 0, "{counts:?}");
    assert!(counts.programs > 900 && steps.iter().all(|n| *n > 20), "{counts:?}");
}
