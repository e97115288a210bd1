//! Runs programs by plan and by simulator: both must give the same cells and errors, in windows and blocks of any
//! length.

use std::ops::Range;
use std::sync::Arc;

use rml_backend::Backend;
use rml_backend_cpu::plan::Machine as Cpu;
use rml_ir::flat::{Drawn, Flat, Rhs, Var};
use rml_ir::op::{Number, Op};
use rml_ir::{Data, Precision, Value};
use rml_lower::{Fault, Machine as Lowered, Running as _};
use rml_plan::reference::{Cells, Fault as Suspect, Machine};
use rml_plan::{Ends, Lifetime, Plan, Region, print};
use rml_schedule::{Fed, schedule};
use rml_sim::{InputCell, Options, Simulator, Status};

use crate::Lcg;
use crate::flat::text;

mod stopped;

/// The outcome of a comparison.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Planned {
    /// The plan gives all cells that the simulator knows.
    Equal,
    /// The plan waits, and gives all cells that the simulator knows: the number of cycles for which the plan gives all
    /// outputs, and the number for which the simulator does.
    Waited(usize, usize),
    /// An operator has no result. The plan finds this in the window that contains the cycle in which the simulator
    /// finds it.
    Failed,
    /// There is no plan, for the given reason.
    Declined(String),
    /// The simulator stops with an error, at the latest at the end of the trace, or some cycle is not a tick of the
    /// base clock.
    Stopped,
}

/// Compares the plan of a program with the simulator. The plan is run by the reference, by the embedded backend, and by
/// calls of its functions, over the given cycles, in whole windows or in blocks of random length.
///
/// # Errors
/// There is a difference; the text contains the first one and the plan.
pub fn compare(flat: &Arc<Drawn>, inputs: &[Vec<InputCell>], r: &mut Lcg) -> Result<Planned, String> {
    compare_on(&(Arc::new(rml_backend_cpu::Cpu) as Arc<dyn Backend>), flat, inputs, r)
}

/// The same as [`compare`], with the functions called on the given backend.
///
/// # Errors
/// The same as for [`compare`].
pub fn compare_on(
    backend: &Arc<dyn Backend>,
    flat: &Arc<Drawn>,
    inputs: &[Vec<InputCell>],
    r: &mut Lcg,
) -> Result<Planned, String> {
    let fed = if r.chance(0.5) { Fed::Windows } else { Fed::Blocks };
    let plan = match schedule(flat, fed) {
        Ok(plan) => Arc::new(read_back(&plan)?),
        Err(declined) => return Ok(Planned::Declined(declined.why)),
    };
    let mut sim = Simulator::new(Arc::clone(flat), Options { record: true, ..Options::default() });
    let ran = inputs.iter().try_for_each(|row| sim.feed(row)).and_then(|()| sim.finish(false));
    if ran.is_err() {
        return stopped::compare(flat, &plan, &sim, inputs, (backend, r))
            .map_err(|why| format!("{why}\n{}\n{}", rml_ir::flat::print(flat), print(&plan)));
    }
    if base_is_absent(flat, &sim, inputs.len()) {
        return Ok(Planned::Stopped);
    }
    // The outputs of a block must also be right if the trace ends after the block.
    let mut closed = Simulator::new(Arc::clone(flat), Options { record: true, ..Options::default() });
    let is_closed = plan.ends == Ends::Nothing;
    if is_closed
        && inputs.iter().try_for_each(|row| closed.feed(row)).and_then(|()| closed.finish(true)).is_err()
    {
        // The plan may use facts to compute values for which the simulator still waits, so there is no comparison.
        return Ok(Planned::Stopped);
    }
    let run = Run { flat, plan: &plan, sim: &sim, closed: is_closed.then_some(&closed), backend };
    let found = match flat.precision {
        Precision::F32 => run.windows::<f32>(inputs.len(), r),
        Precision::F64 => run.windows::<f64>(inputs.len(), r),
    };
    let done = found.map_err(|why| format!("{why}\n{}\n{}", rml_ir::flat::print(flat), print(&plan)))?;
    Ok(if plan.waits { Planned::Waited(done, run.known(inputs.len())) } else { Planned::Equal })
}

/// The plan after printing and parsing; all further steps test the text form too.
fn read_back(plan: &Plan) -> Result<Plan, String> {
    let text = print(plan);
    let fail = |why: String| format!("the text of the plan: {why}\n{text}");
    let read = rml_plan::parse(&text).map_err(fail)?;
    rml_plan::verify(&read).map_err(|found| fail(found.join("; ")))?;
    if print(&read) == text { Ok(read) } else { Err(fail(format!("it is read as\n{}", print(&read)))) }
}

/// Whether an input of the base clock is absent in some cycle, which is then not a tick of any window.
fn base_is_absent(flat: &Flat, sim: &Simulator, cycles: usize) -> bool {
    let clocks = rml_analysis::clocks(flat).clocks;
    let base = flat.inputs.iter().filter(|i| clocks.of[i.var] == rml_analysis::Clocks::BASE);
    let absent =
        |n: usize, v: Var| sim.status(n as u64, v).ok().flatten().is_none_or(|s| s.value().is_none());
    base.into_iter().any(|i| (0..cycles).any(|n| absent(n, i.var)))
}

/// Whether an operator that may fail has no value in some of these cycles, because its operands have no value, for
/// example after the end of a window. A plan may then compute an unused result, and suspect more than necessary.
fn is_unknown(flat: &Flat, sim: &Simulator, mut cycles: Range<usize>) -> bool {
    let may_fail = |e: &&rml_ir::flat::Equation| match &e.rhs {
        Rhs::Apply { op, args } => op.may_fail(args.iter().map(|v| flat.vars[*v].ty.dtype)),
        _ => false,
    };
    let is_known = |n: usize, v: Var| {
        sim.status(n as u64, v).ok().flatten().is_some_and(|status| status.is_determined())
    };
    let failing: Vec<Var> = flat.equations.iter().filter(may_fail).map(|e| e.lhs).collect();
    cycles.any(|n| failing.iter().any(|v| !is_known(n, *v)))
}

struct Run<'a> {
    flat: &'a Drawn,
    plan: &'a Arc<Plan>,
    sim: &'a Simulator,
    /// The same cycles in a closed trace.
    closed: Option<&'a Simulator>,
    backend: &'a Arc<dyn Backend>,
}

/// The runs that are compared with the reference.
struct Fast<N: Number> {
    cpu: Cpu<N>,
    /// The same plan with loops over sequences that run tick by tick; `None` if it has no such loops.
    serial: Option<Cpu<N>>,
    /// The same plan on three threads, which share as much work as possible.
    shared: Cpu<N>,
    /// The run by calls; `None` after a suspicion without a reason, which devices may have.
    lowered: Option<Lowered>,
}

impl Run<'_> {
    fn status(&self, cycle: usize, v: Var) -> Status {
        self.sim.status(cycle as u64, v).ok().flatten().unwrap_or_default()
    }

    /// The inputs over the given cycles.
    fn inputs(&self, cycles: Range<usize>) -> Vec<Cells> {
        let cell = |n: usize, v: Var| self.status(n, v).value().cloned();
        self.flat.inputs.iter().map(|i| cycles.clone().map(|n| cell(n, i.var)).collect()).collect()
    }

    /// The number of cycles for which the simulator knows all outputs.
    fn known(&self, cycles: usize) -> usize {
        let is_known = |n: &usize| self.flat.outputs.iter().all(|v| self.status(*n, *v).is_determined());
        (0..cycles).take_while(is_known).count()
    }

    /// Runs window after window; returns the number of cycles that were run.
    fn windows<N: Number>(&self, cycles: usize, r: &mut Lcg) -> Result<usize, String> {
        let mut reference = Machine::new(Arc::clone(self.plan));
        let mut fast = Fast {
            cpu: Cpu::<N>::new(Arc::clone(self.plan)).map_err(|short| short.to_string())?,
            // Blocks that wait run only on the embedded backend.
            lowered: (!self.plan.waits)
                .then(|| Lowered::new(Arc::clone(self.plan), Arc::clone(self.backend))),
            shared: Cpu::<N>::sharing_all(Arc::clone(self.plan), 3).map_err(|short| short.to_string())?,
            serial: serial(self.plan)
                .map(|plan| Cpu::<N>::new(Arc::new(plan)).map_err(|short| short.to_string()))
                .transpose()?,
        };
        let (mut from, mut waits) = (0, false);
        while from < cycles {
            let rest = rest(self.plan, cycles - from, waits, r);
            if from + rest > cycles {
                break;
            }
            let columns = self.inputs(from..from + rest);
            let length = reference.length(rest, &columns);
            let length = length.map_err(|f| format!("from cycle {from} on: {f:?}"))?;
            if let Ends::Found { .. } = self.plan.ends {
                found(&mut fast, &columns, rest, length, r)
                    .map_err(|what| format!("from cycle {from} on: {what}"))?;
            }
            let Some(ticks) = length else { break };
            let done = self
                .window(&mut reference, &mut fast, from..from + ticks)
                .map_err(|what| format!("in cycles {from}..{}: {what}", from + ticks))?;
            let Some(done) = done else { break };
            if done == 0 && from + ticks == cycles {
                break;
            }
            (from, waits) = (from + done, done == 0);
        }
        Ok(from)
    }

    fn window<N: Number>(
        &self,
        reference: &mut Machine,
        fast: &mut Fast<N>,
        cycles: Range<usize>,
    ) -> Result<Option<usize>, String> {
        let Fast { cpu, serial, shared, lowered } = fast;
        let (columns, ticks) = (self.inputs(cycles.clone()), cycles.len());
        let (got, done) = match reference.window(ticks, &columns) {
            Ok(result) => result,
            Err(Suspect::Operator { .. })
                if is_unknown(self.flat, self.closed.unwrap_or(self.sim), cycles.clone()) =>
            {
                return Ok(None);
            }
            Err(f) => return Err(format!("{f:?}")),
        };
        set(cpu, &columns, ticks);
        let fast = cpu.window(ticks).map_err(|f| format!("embedded backend: {f:?}"))?;
        if fast != done {
            return Err(format!("embedded backend: {fast} ticks are done, not {done}"));
        }
        set(shared, &columns, ticks);
        shared.window(ticks).map_err(|f| format!("with threads: {f:?}"))?;
        self.same_bits(cpu, shared, done).map_err(|what| format!("with threads: {what}"))?;
        if let Some(serial) = serial {
            set(serial, &columns, ticks);
            serial.window(ticks).map_err(|f| format!("tick by tick: {f:?}"))?;
            self.same_bits(cpu, serial, ticks).map_err(|what| format!("tick by tick: {what}"))?;
        }
        let called = lowered.as_mut().map(|lowered| {
            offer(lowered, &columns, ticks);
            lowered.window(ticks)
        });
        match called {
            Some(Err(Fault::Suspect)) if !self.backend.is_host() => *lowered = None,
            Some(Err(f)) => return Err(format!("by calls: {f:?}")),
            _ => {}
        }
        for (i, column) in got.iter().enumerate() {
            self.column(self.flat.outputs[i], cycles.start, column)?;
            let fast: Cells = (0..column.len()).map(|t| cpu.output(i, t)).collect();
            if !column.iter().zip(&fast).all(|(a, b)| close(a.as_ref(), b.as_ref())) {
                return Err(format!(
                    "embedded backend: {} is {fast:?}, not {column:?}",
                    self.flat.outputs[i]
                ));
            }
            for (t, cell) in column.iter().enumerate() {
                let Some(lowered) = lowered else { break };
                let called = lowered.output(i, t).map_err(|f| format!("by calls: {f:?}"))?;
                if !close(cell.as_ref(), called.as_ref()) {
                    let v = self.flat.outputs[i];
                    return Err(format!("by calls: {v} is {called:?} at {t}, not {cell:?}"));
                }
            }
        }
        for (register, data) in self.plan.registers.iter_enumerated() {
            let called = lowered.as_ref().map(|lowered| lowered.register(register.0 as usize));
            let called = called.flatten().map(|held| held.to_host()).transpose();
            let called = called.map_err(|f| format!("by calls: {f:?}"))?;
            let (slow, fast) = (reference.register(register), cpu.register(register.0 as usize));
            // An optimiser may enlarge rounding errors of sums, so numbers are compared only as outputs.
            let same = slow.is_some() == fast.is_some() && (data.ty.is_num() || close(slow, fast.as_ref()));
            // A register that is not set may contain its start value.
            let alike = lowered.is_none()
                || slow.is_none()
                || called.is_some() && (data.ty.is_num() || close(slow, called.as_ref()));
            if data.kind != Lifetime::Local && !alike {
                return Err(format!("by calls: {register} is {called:?}, not {slow:?}"));
            }
            if data.kind != Lifetime::Local && !same {
                return Err(format!("embedded backend: {register} is {fast:?}, not {slow:?}"));
            }
        }
        Ok(Some(done))
    }

    /// Whether the plan sums products in another order than the simulator.
    fn contracts(&self) -> bool {
        let mut terms =
            self.plan.tapes.iter().flat_map(|tape| &tape.cases).flat_map(|case| case.rule.terms());
        terms.any(|term| matches!(term.op, Op::Einsum(_)))
    }

    /// Checks that two machines give the same bits.
    fn same_bits<N: Number>(&self, cpu: &Cpu<N>, other: &Cpu<N>, ticks: usize) -> Result<(), String> {
        let same = |a: Option<Value>, b: Option<Value>| match (a, b) {
            (Some(a), Some(b)) => bits(&a) == bits(&b),
            (a, b) => a.is_none() && b.is_none(),
        };
        for i in 0..self.plan.outputs.len() {
            if !(0..ticks).all(|t| same(cpu.output(i, t), other.output(i, t))) {
                return Err(format!("output {i} is not the same"));
            }
        }
        for register in 0..self.plan.registers.len() {
            if !same(cpu.register(register), other.register(register)) {
                return Err(format!("register {register} is not the same"));
            }
        }
        Ok(())
    }

    /// Compares a column with the cells of the simulator.
    fn column(&self, v: Var, from: usize, column: &Cells) -> Result<(), String> {
        let cells = column.iter().map(|c| c.clone().map_or(Status::Absent, Status::Value));
        for (n, cell) in (from..).zip(cells.clone()) {
            let known = self.closed.and_then(|sim| sim.status(n as u64, v).ok().flatten());
            let Some(wanted) = known.filter(Status::is_determined) else { continue };
            if text(std::slice::from_ref(&wanted)) != text(std::slice::from_ref(&cell)) {
                return Err(format!(
                    "where the trace is closed, {v} is {wanted:?} in cycle {n}, not {cell:?}"
                ));
            }
        }
        // The simulator waits in some cases in which a plan need not wait: for operands of values that are constant by
        // the facts, and for an end that depends on a later cycle.
        let cells = cells.zip((from..).map(|n| self.status(n, v)));
        let (got, wanted): (Vec<Status>, Vec<Status>) =
            cells.filter(|(_, wanted)| wanted.is_determined()).unzip();
        if text(&got) == text(&wanted) || self.contracts() && same_cells(&got, &wanted) {
            return Ok(());
        }
        Err(format!("{v} is {}, not {}", text(&got), text(&wanted)))
    }
}

/// The number of remaining cycles that are offered for the next window.
fn rest(plan: &Plan, left: usize, waits: bool, r: &mut Lcg) -> usize {
    let ahead = plan.ahead() as usize;
    match plan.ends {
        // A block that waits for more cycles is run again with all remaining cycles.
        Ends::Nothing if waits => left,
        Ends::Nothing => ahead + 1 + r.below(left.saturating_sub(ahead).clamp(1, 5)),
        Ends::Given(_) | Ends::Found { .. } => left,
    }
}

/// Whether cells are equal, with numbers equal up to the order of sums.
fn same_cells(got: &[Status], wanted: &[Status]) -> bool {
    let same = |(a, b): (&Status, &Status)| match (a, b) {
        (Status::Value(a), Status::Value(b)) => close(Some(a), Some(b)),
        (a, b) => text(std::slice::from_ref(a)) == text(std::slice::from_ref(b)),
    };
    got.len() == wanted.len() && got.iter().zip(wanted).all(same)
}

/// The plan without sequences; `None` if it has none.
fn serial(plan: &Plan) -> Option<Plan> {
    let mut plan = plan.clone();
    let mut found = false;
    for region in &mut plan.regions {
        if let Region::Loop { by, .. } = region {
            found |= !by.is_empty();
            by.clear();
        }
    }
    found.then_some(plan)
}

fn bits(value: &Value) -> Vec<u64> {
    match value.to_data() {
        Data::F32(x) => x.iter().map(|x| u64::from(x.to_bits())).collect(),
        Data::F64(x) => x.iter().map(|x| x.to_bits()).collect(),
        Data::Int(x) => x.iter().map(|x| x.cast_unsigned()).collect(),
        Data::Bool(x) => x.iter().map(|x| u64::from(*x)).collect(),
    }
}

fn set<N: Number>(cpu: &mut Cpu<N>, columns: &[Cells], ticks: usize) {
    for (i, column) in columns.iter().enumerate() {
        for (t, value) in column.iter().take(ticks).enumerate().filter_map(|(t, c)| Some((t, c.as_ref()?))) {
            cpu.set_input(i, ticks, t, value);
        }
    }
}

fn offer(lowered: &mut Lowered, columns: &[Cells], ticks: usize) {
    for (i, column) in columns.iter().enumerate() {
        for (t, value) in column.iter().take(ticks).enumerate().filter_map(|(t, c)| Some((t, c.as_ref()?))) {
            lowered.set_input(i, ticks, t, value);
        }
    }
}

/// Makes the embedded backend find the end of a window in some of the cycles first, and then in all of them.
fn found<N: Number>(
    Fast { cpu, serial, shared, lowered }: &mut Fast<N>,
    columns: &[Cells],
    cycles: usize,
    length: Option<usize>,
    r: &mut Lcg,
) -> Result<(), String> {
    let mut find = |ticks: usize| {
        set(cpu, columns, ticks);
        cpu.find(ticks).map_err(|f| format!("embedded backend: {f:?}"))
    };
    let (some, all) = (1 + r.below(cycles), cycles);
    if let Some(lowered) = lowered {
        offer(lowered, columns, all);
        let called = lowered.find(all).map_err(|f| format!("by calls: {f:?}"))?;
        if called != length {
            return Err(format!("by calls: an end is found at {called:?}, not at {length:?}"));
        }
    }
    let (early, late) = (find(some)?, find(all)?);
    set(shared, columns, all);
    shared.find(all).map_err(|f| format!("with threads: {f:?}"))?;
    if let Some(serial) = serial {
        set(serial, columns, all);
        serial.find(all).map_err(|f| format!("tick by tick: {f:?}"))?;
    }
    if early == length.filter(|ticks| *ticks <= some) && late == length {
        return Ok(());
    }
    Err(format!(
        "embedded backend: an end is found at {early:?} of {some} and at {late:?}, not at {length:?}"
    ))
}

/// Whether two cells are equal, with numbers equal up to the order of sums.
fn close(a: Option<&Value>, b: Option<&Value>) -> bool {
    let (Some(a), Some(b)) = (a, b) else { return a.is_none() && b.is_none() };
    let near = |a: f64, b: f64, part: f64| {
        (a - b).abs() <= part * (1.0 + a.abs()) || a.is_nan() && b.is_nan() || a == b
    };
    match (a.to_data(), b.to_data()) {
        (Data::F32(a), Data::F32(b)) => {
            a.iter().zip(&b).all(|(a, b)| near(f64::from(*a), f64::from(*b), 1e-3))
        }
        (Data::F64(a), Data::F64(b)) => a.iter().zip(&b).all(|(a, b)| near(*a, *b, 1e-9)),
        _ => a.same(b),
    }
}
