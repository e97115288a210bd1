//! Compares the stated waits and bytes with a run.

use std::sync::Arc;

use rml_analysis::{
    Bounds, Causality, CutData, Guard, Latency, Verdict, Wait, WaitKind, bounds, causality, clocks, size,
};
use rml_ir::Value;
use rml_ir::flat::{Drawn, Flat, Rhs, Var, Window};
use rml_sim::{InputCell, Options, Simulator, Status};

/// The outcome for a program that ran as stated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Waits {
    /// The kind of the cell with the longest wait: 0 bounded, 1 windowed, 2 closed only, 3 dynamic, 4 rejected.
    pub kind: usize,
    /// Whether all cells became known.
    pub all_known: bool,
    /// Whether the program is windowed and its memory was compared.
    pub compared: bool,
}

/// The cycle in which each cell became known, by variable and cycle; the number of cycles if the cell became known at
/// the end of the closed trace.
struct Run {
    known: Vec<Vec<Option<usize>>>,
    sim: Simulator,
}

fn is_known(status: Option<Status>) -> bool {
    matches!(status, Some(Status::Absent | Status::Value(_)))
}

fn run(flat: &Arc<Drawn>, inputs: &[Vec<InputCell>]) -> Option<Run> {
    let mut sim = Simulator::new(Arc::clone(flat), Options { keep_going: true, ..Options::default() });
    let mut known = vec![vec![None; inputs.len()]; flat.vars.len()];
    let mut look = |sim: &Simulator, m: usize| {
        for v in flat.vars.ids() {
            for (n, cell) in known[v.0 as usize].iter_mut().enumerate() {
                if cell.is_none() && is_known(sim.status(n as u64, v).unwrap()) {
                    *cell = Some(m);
                }
            }
        }
    };
    for (m, cycle) in inputs.iter().enumerate() {
        sim.feed(cycle).ok()?;
        look(&sim, m);
    }
    sim.finish(true).ok()?;
    look(&sim, inputs.len());
    (sim.failure().is_none() && sim.overflows().is_empty()).then_some(Run { known, sim })
}

impl Run {
    fn cycles(&self) -> usize {
        self.known.first().map_or(0, Vec::len)
    }

    fn value(&self, n: usize, v: Var) -> Option<bool> {
        match self.sim.status(n as u64, v).unwrap() {
            Some(Status::Value(Value::Bool(b))) => Some(b),
            _ => None,
        }
    }

    /// Whether some window ends in every cycle but the last. No value in this window then waits for another cycle.
    fn has_short_windows(&self, flat: &Flat) -> bool {
        let ends = |w: Window, n: usize| {
            let mut around = std::iter::successors(Some(w), |w| flat.windows[*w].parent);
            around.any(|w| self.value(n, flat.windows[w].end) == Some(true))
        };
        flat.windows.ids().any(|w| (0..self.cycles() - 1).all(|n| ends(w, n)))
    }

    /// Whether a variable that is stated to be never known is present in some cycle.
    fn is_reached(&self, flat: &Flat, c: &Causality) -> bool {
        // A circle deadlocks only in the cycles in which all its guards are true.
        let closes = |guards: &Vec<Guard>, n: usize| {
            guards.iter().all(|guard| self.value(n, guard.cond) == Some(guard.value))
        };
        let is_open = |guards: &&Vec<Guard>| (0..self.cycles() - 1).all(|n| !closes(guards, n));
        if c.circles.iter().any(|guards| is_open(&guards)) {
            return false;
        }
        let present = |v, n: usize| matches!(self.sim.status(n as u64, v).unwrap(), Some(Status::Value(_)));
        let mut never = flat.vars.ids().filter(|v| c.latency[*v] == Latency::Never);
        never.any(|v| (0..self.cycles() - 1).any(|n| present(v, n)))
    }

    fn holds(&self, cut: &CutData, n: usize) -> bool {
        let mut each = cut.ends.iter().map(|l| self.value(n, l.cond) == Some(l.value));
        if cut.all { each.all(|h| h) } else { each.any(|h| h) }
    }

    /// The cycle in which a wait ends.
    fn end(&self, c: &Causality, wait: &Wait, n: usize) -> Option<usize> {
        let mut m = n + usize::try_from(wait.lead).unwrap();
        for round in 0..usize::try_from(wait.rounds).unwrap() * wait.cuts.len() {
            m += usize::from(round > 0 && (wait.rounds > 1));
            let next = |cut| (m..self.cycles()).find(|t| self.holds(&c.cuts[cut], *t));
            m = wait.cuts.iter().map(|cut| next(*cut)).collect::<Option<Vec<usize>>>()?.into_iter().max()?;
        }
        Some(m + usize::try_from(wait.lag).unwrap())
    }
}

fn rank(latency: &Latency) -> usize {
    match latency {
        Latency::Bounded(_) => 0,
        Latency::Windowed(_) => 1,
        Latency::Closed => 2,
        Latency::Dynamic => 3,
        Latency::Never => 4,
    }
}

/// Checks that open cycles and bytes of a bounded program are as stated, or less if conditions make a wait unnecessary.
fn check_memory(
    flat: &Arc<Drawn>,
    inputs: &[Vec<InputCell>],
    bounds: &Bounds,
    c: &Causality,
) -> Result<(), String> {
    let mut sim = Simulator::new(Arc::clone(flat), Options::default());
    let mut bytes = 0;
    for cycle in inputs {
        sim.feed(cycle).map_err(|e| e.to_string())?;
        bytes = bytes.max(sim.stats().live_bytes);
    }
    let (open, stated) = (sim.stats().max_open_cycles, bounds.open.unwrap() + 1);
    // If the program has no conditions, windows or delays of late values, every wait is necessary and the numbers are
    // exact.
    let sampled = flat.inputs.iter().any(|i| i.clock.is_some());
    let spares = sampled
        || flat.equations.iter().any(|e| match &e.rhs {
            Rhs::If { .. } | Rhs::Merge { .. } | Rhs::When { .. } => true,
            Rhs::Fby { .. } => c.latency[e.lhs] != Latency::Bounded(0),
            rhs => rhs.window().is_some(),
        });
    let most = bounds.bytes.look_ahead.unwrap_or(u64::MAX);
    let exact = spares || (open == stated && bytes == most);
    if open > stated || bytes > most || !exact {
        return Err(format!(
            "stated {stated} open cycles and {most} bytes, found {open} and {bytes}\n{}",
            rml_ir::flat::print(flat)
        ));
    }
    Ok(())
}

/// Checks that the waiting cycles of a windowed program never need more memory than stated, after each cycle.
fn check_windows(
    run: &Run,
    flat: &Arc<Drawn>,
    inputs: &[Vec<InputCell>],
    bounds: &Bounds,
    c: &Causality,
) -> Result<(), String> {
    let (each, once) = (bounds.bytes.per_cycle.unwrap_or(0), bounds.bytes.once.unwrap_or(0));
    let [cut] = bounds.program.cuts[..] else { return Ok(()) };
    let mut sim = Simulator::new(Arc::clone(flat), Options { record: true, ..Options::default() });
    let is_constant = |v: Var| flat.equations.iter().any(|e| e.lhs == v && matches!(e.rhs, Rhs::Const(_)));
    let held: Vec<Var> = flat.vars.ids().filter(|v| !is_constant(*v)).collect();
    for (n, cycle) in inputs.iter().enumerate() {
        let first = n - usize::try_from(sim.open_cycles()).unwrap();
        sim.feed(cycle).map_err(|e| e.to_string())?;
        let values = |m: usize| {
            let sim = &sim;
            let is_held =
                move |v: &&Var| matches!(sim.status(m as u64, **v).unwrap(), Some(Status::Value(_)));
            held.iter().filter(is_held).map(|v| size(&flat.vars[*v].ty, flat.precision)).sum::<u64>()
        };
        let found: u64 = (first..=n).map(values).sum();
        let windows = 1 + (first..n).filter(|m| run.holds(&c.cuts[cut], *m)).count();
        let stated = (n + 1 - first) as u64 * (each - once) + windows as u64 * once;
        if found > stated {
            return Err(format!(
                "cycles {first} to {n} hold {found} bytes, not {stated}\n{}",
                rml_ir::flat::print(flat)
            ));
        }
    }
    Ok(())
}

/// Compares the stated waits of a synchronous program with a closed run: every cell is known when stated, a program is
/// rejected only if it deadlocks, and no more memory is used than stated. Returns `None` if the program is not
/// synchronous or the run fails.
///
/// # Errors
/// The run is not as stated; the text contains the difference.
pub fn check_waits(flat: &Arc<Drawn>, inputs: &[Vec<InputCell>]) -> Result<Option<Waits>, String> {
    let report = clocks(flat);
    if report.verdict != Verdict::Synchronous {
        return Ok(None);
    }
    let c = causality(flat, &report.clocks);
    let bounds = bounds(flat, &report.clocks, &c);
    let Some(run) = run(flat, inputs) else { return Ok(None) };
    let kind = c.latency.iter().max_by_key(|l| rank(l)).map_or(0, rank);
    let all_known = run.known.iter().flatten().all(Option::is_some);
    if kind == 4 && all_known && !run.has_short_windows(flat) && run.is_reached(flat, &c) {
        return Err(format!("rejected, but all is known: {}\n{}", c.findings, rml_ir::flat::print(flat)));
    }
    if c.latency.iter().all(|l| matches!(l, Latency::Bounded(_))) {
        check_memory(flat, inputs, &bounds, &c)?;
    }
    let compared = bounds.program.kind == WaitKind::Windowed && bounds.bytes.once.is_some();
    if compared {
        check_windows(&run, flat, inputs, &bounds, &c)?;
    }
    check_latencies(flat, &c, &run)?;
    Ok(Some(Waits { kind, all_known, compared }))
}

fn check_latencies(flat: &Flat, c: &Causality, run: &Run) -> Result<(), String> {
    let cycles = run.cycles();
    let has_post = flat.equations.iter().any(|e| matches!(e.rhs, Rhs::Post { .. }));
    for v in flat.vars.ids() {
        for n in 0..cycles {
            let by = match &c.latency[v] {
                Latency::Bounded(z) => Some(n + usize::try_from(*z).unwrap()),
                Latency::Windowed(w) => run.end(c, w, n),
                // A `post` has no value in the last cycle of the trace.
                Latency::Closed => (!has_post).then_some(cycles),
                Latency::Dynamic | Latency::Never => None,
            };
            let limit = if matches!(c.latency[v], Latency::Closed) { cycles } else { cycles - 1 };
            let known = run.known[v.0 as usize][n];
            if let Some(by) = by.filter(|by| *by <= limit)
                && known.is_none_or(|m| m > by)
            {
                return Err(format!(
                    "{v} in cycle {n}: {:?} says {by}, known {known:?}\n{}",
                    c.latency[v],
                    rml_ir::flat::print(flat)
                ));
            }
        }
    }
    Ok(())
}
