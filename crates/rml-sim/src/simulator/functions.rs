//! Runs operators on a backend. Operators wait until no other step is pending. Then all operators of one clock class in
//! one cycle that can be computed form one tensor function, which the backend computes in one call.
//!
//! A function contains only operators that are ready, so it adds no waits. Laziness and causality are the same as when
//! each operator is evaluated by itself, and the same programs run. The sets of operators repeat from cycle to cycle,
//! and each set is prepared once. A value that is read only inside its function does not leave it.
//!
//! Operators that are not worth a call ([`Backend::takes`]), such as those on conditions, are evaluated on the host.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use indexmap::IndexMap;
use rml_backend::{Backend, Failure, Held, RunError};
use rml_base::{Diagnostic, EntityId};
use rml_ir::Value;
use rml_ir::flat::Rhs;
use rml_ir::op::eval;

use super::Simulator;
use super::cell::{Cell, Presence};
use super::engine::{Go, Halt, set, wanted};
use super::program::{InputClock, Operand, Program, Step, index};
use super::rows::Rows;
use group::{Group, Work};
use uploads::Uploads;

mod group;
mod uploads;

/// The functions of a simulation, and the operators that wait for a call.
pub(super) struct Functions {
    backend: Arc<dyn Backend>,
    /// For each step: whether it waits for a call.
    deferred: Vec<bool>,
    /// For each class: the steps that can be part of a function, in order.
    members: Vec<Vec<u32>>,
    /// For each cell: the index of its step among the members of its class.
    place: Vec<Option<u32>>,
    /// For each cell: whether its value is needed on the host.
    on_host: Vec<bool>,
    /// For each cell: whether its value always leaves the function that computes it. That is true for outputs, and for
    /// all cells of a recorded run.
    leaves: Vec<bool>,
    /// For each cell: whether it is an input of the program.
    is_input: Vec<bool>,
    /// The cycles and classes in which an operator waits.
    waiting: BTreeSet<(u64, u32)>,
    groups: IndexMap<(u32, Vec<u64>), Arc<Group>>,
    uploads: Uploads,
    calls: u64,
}

impl fmt::Debug for Functions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Functions").field("groups", &self.groups.len()).finish_non_exhaustive()
    }
}

impl Functions {
    /// The functions of a program that runs on a backend. With `record`, the value of every variable is kept.
    pub(super) fn new(program: &Program, backend: &Arc<dyn Backend>, record: bool) -> Self {
        let mut members = vec![Vec::new(); program.classes.len()];
        let mut place = vec![None; program.flat.vars.len()];
        let mut deferred = vec![false; program.steps.len()];
        for (id, step) in program.steps.iter().enumerate() {
            let Some((out, class)) = step.result() else { continue };
            let taken = is_taken(program, id, &**backend);
            deferred[id] = taken && !matches!(step, Step::Copy { .. });
            if taken {
                let list: &mut Vec<u32> = &mut members[class as usize];
                place[out as usize] = Some(index(list.len()));
                list.push(index(id));
            }
        }
        let mut leaves = vec![record; program.flat.vars.len()];
        program.flat.outputs.iter().for_each(|v| leaves[v.index()] = true);
        let mut is_input = vec![false; program.flat.vars.len()];
        program.flat.inputs.iter().for_each(|i| is_input[i.var.index()] = true);
        Functions {
            backend: Arc::clone(backend),
            on_host: needed_on_host(program, &deferred),
            deferred,
            members,
            place,
            leaves,
            is_input,
            waiting: BTreeSet::new(),
            groups: IndexMap::new(),
            uploads: Uploads::default(),
            calls: 0,
        }
    }

    /// The number of functions that were prepared.
    pub(super) fn prepared(&self) -> usize {
        self.groups.len()
    }

    /// The number of calls of the backend.
    pub(super) fn calls(&self) -> u64 {
        self.calls
    }

    /// Discards the operators that wait for a call.
    pub(super) fn forget_waiting(&mut self) {
        self.waiting.clear();
    }

    /// Whether the value of a cell is read only on the device.
    pub(super) fn may_stay(&self, cell: usize) -> bool {
        !self.on_host[cell]
    }

    /// An argument of a call.
    fn argument(&mut self, cell: usize, content: &Cell) -> Result<Held, Failure> {
        match content {
            Cell::Value(Value::Tensor(tensor)) if !self.backend.is_host() && !self.is_input[cell] => {
                self.uploads.get(tensor, &*self.backend).map(Held::Device)
            }
            content => content.held().ok_or_else(|| Failure::call("an argument is not known")),
        }
    }
}

/// Whether a step is an operator, or a copy, that is worth a call.
fn is_taken(program: &Program, step: usize, backend: &dyn Backend) -> bool {
    let eq = program.equation(index(step));
    let Rhs::Apply { args, .. } = &eq.rhs else { return false };
    args.iter().chain([&eq.lhs]).any(|&v| backend.takes(&program.flat.vars[v].ty))
}

/// The cells whose values are read on the host, directly or after other steps pass them on.
fn needed_on_host(program: &Program, deferred: &[bool]) -> Vec<bool> {
    let mut needed = vec![false; program.flat.vars.len()];
    let mut work: Vec<usize> = program.flat.outputs.iter().map(|v| v.index()).collect();
    let ends = program.forward.iter().chain(&program.backward).flat_map(|r| r.ends.iter().map(|e| e.0));
    let mut seed = |x: Operand| work.extend(x.cell());
    ends.for_each(&mut seed);
    for (id, step) in program.steps.iter().enumerate() {
        match step {
            Step::If { cond, .. }
            | Step::When { cond, .. }
            | Step::Merge { cond, .. }
            | Step::InputClock(InputClock { cond, .. }) => seed(*cond),
            Step::Unary { .. } | Step::Binary { .. } | Step::Apply { .. } if !deferred[id] => {
                step.for_each_operand(&mut seed);
            }
            _ => {}
        }
    }
    while let Some(cell) = work.pop() {
        if !needed[cell] {
            needed[cell] = true;
            let step = program.definition[rml_ir::flat::Var(index(cell))];
            for_each_source(program, step, |x| work.extend(x.cell()));
        }
    }
    needed
}

/// Calls `f` for the operands whose values a step passes on unchanged.
fn for_each_source(program: &Program, step: Option<u32>, mut f: impl FnMut(Operand)) {
    let Some(step) = step else { return };
    match &program.steps[step as usize] {
        Step::Copy { x, .. } => f(*x),
        Step::If { then, other, .. } => [*then, *other].into_iter().for_each(f),
        Step::When { value, .. } => f(*value),
        Step::Merge { branches, .. } => branches.iter().for_each(|b| f(b.0)),
        Step::Param { init, .. } => f(*init),
        Step::Forward(_) | Step::Backward(_) => {
            if let Some(r) = program.delay(step as usize) {
                r.start.into_iter().chain([r.next]).for_each(f);
            }
        }
        Step::Constant | Step::InputClock(_) => {}
        Step::Unary { .. } | Step::Binary { .. } | Step::Apply { .. } => {}
    }
}

/// The content of an operand.
fn cell<'a>(program: &'a Program, rows: &'a Rows, cycle: u64, x: Operand) -> &'a Cell {
    x.get(rows.cells(cycle), &program.constants)
}

impl Functions {
    /// Records the class and cycle of an operator that is ready and waits for a call.
    fn note(&mut self, program: &Program, rows: &mut Rows, cycle: u64, id: u32) {
        let step = &program.steps[id as usize];
        let Some((out, class)) = step.result().filter(|(out, class)| wanted(rows, cycle, *class, *out))
        else {
            return;
        };
        let (mut ready, mut never) = (true, false);
        step.for_each_operand(|x| {
            let cell = cell(program, rows, cycle, x);
            ready &= cell.is_known();
            never |= matches!(cell, Cell::Never);
        });
        if never {
            set(program, rows, cycle, out, Cell::Never);
        } else if ready {
            self.waiting.insert((cycle, class));
        }
    }

    /// Computes in one call everything that can be computed for a class in a cycle, or returns that the operators must
    /// be evaluated one by one.
    fn call(&mut self, program: &Program, rows: &mut Rows, cycle: u64, class: u32) -> Result<Called, Halt> {
        let failed = |report: Diagnostic| Halt::Backend { cycle, report: Box::new(report) };
        let group = self.group(program, rows, cycle, class).map_err(failed)?;
        match &group.work {
            Work::Watch => return Ok(Called::OneByOne(group)),
            Work::Nothing => {}
            Work::Call(prepared) => {
                let report = |f: Failure| failed(f.within(prepared.function()));
                let cells = rows.cells(cycle);
                let args = group.inputs.iter().map(|&at| self.argument(at, &cells[at]));
                let args = args.collect::<Result<Vec<Held>, Failure>>().map_err(report)?;
                self.calls += 1;
                match prepared.run(args) {
                    Ok(results) => {
                        self.take_results(program, rows, &group, cycle, results).map_err(report)?
                    }
                    Err(RunError::Stop(_)) => return Ok(Called::OneByOne(group)),
                    Err(RunError::Failed(why)) => return Err(failed(*why)),
                }
            }
        }
        group.inner.iter().for_each(|&cell| rows.set(cycle, cell, Cell::Inside));
        group.steps.iter().for_each(|&step| rows.unmark(cycle, step));
        Ok(Called::Done(group))
    }

    /// The group of steps that can be computed for a class in a cycle; it is prepared when it first occurs.
    fn group(
        &mut self,
        program: &Program,
        rows: &Rows,
        cycle: u64,
        class: u32,
    ) -> Result<Arc<Group>, Diagnostic> {
        let key = (class, self.ready(program, rows, cycle, class));
        if let Some(group) = self.groups.get(&key) {
            return Ok(Arc::clone(group));
        }
        let group = Arc::new(Group::new(self, program, class, &key.1)?);
        self.groups.insert(key, Arc::clone(&group));
        Ok(group)
    }

    /// The members of a class that can be computed in a cycle, as bits: each of their operands is known, or is computed
    /// by another of these members.
    fn ready(&self, program: &Program, rows: &Rows, cycle: u64, class: u32) -> Vec<u64> {
        let members = &self.members[class as usize];
        let mut set = vec![0_u64; members.len().div_ceil(64)];
        if rows.presence(cycle, class) != Presence::Present {
            return set;
        }
        let cells = rows.cells(cycle);
        for (i, &id) in members.iter().enumerate() {
            let step = &program.steps[id as usize];
            let Some((out, _)) = step.result() else { continue };
            let computed = |x: Operand| {
                let place = x.cell().and_then(|cell| self.place[cell]);
                place.is_some_and(|p| set[p as usize / 64] >> (p % 64) & 1 == 1)
            };
            // A copy on its own is not worth a call.
            let known = |x: Operand| self.deferred[id as usize] && cell(program, rows, cycle, x).is_known();
            let mut ready = cells[out as usize].is_empty();
            step.for_each_operand(|x| ready = ready && (known(x) || computed(x)));
            if ready {
                set[i / 64] |= 1 << (i % 64);
            }
        }
        set
    }

    fn take_results(
        &self,
        program: &Program,
        rows: &mut Rows,
        group: &Group,
        cycle: u64,
        results: Vec<Held>,
    ) -> Result<(), Failure> {
        debug_assert_eq!(results.len(), group.results.len());
        for (&cell, result) in group.results.iter().zip(results) {
            let content = match result {
                Held::Device(buffer) if self.on_host[cell as usize] => Cell::Value(buffer.download()?),
                Held::Device(buffer) => Cell::Device(buffer),
                Held::Host(value) => Cell::Value(value),
            };
            set(program, rows, cycle, cell, content);
        }
        Ok(())
    }
}

/// The outcome of a call.
enum Called {
    /// The results are in their cells.
    Done(Arc<Group>),
    /// The operators must be evaluated one after the other, because one of them may have no result.
    OneByOne(Arc<Group>),
}

impl Simulator {
    /// Whether a step waits for a call; if so, its class and cycle are recorded.
    #[inline]
    pub(super) fn defer(&mut self, program: &Program, cycle: u64, id: u32) -> bool {
        match &mut self.functions {
            Some(functions) if functions.deferred[id as usize] => {
                functions.note(program, &mut self.rows, cycle, id);
                true
            }
            _ => false,
        }
    }

    /// Makes the next call, lowest cycle first; returns `false` if no operator waits for one.
    pub(super) fn call_next(&mut self, program: &Program) -> Result<bool, Halt> {
        let Some(functions) = &mut self.functions else { return Ok(false) };
        let Some((cycle, class)) = functions.waiting.pop_first() else { return Ok(false) };
        let start = self.probe.as_ref().map(|probe| probe.now());
        match functions.call(program, &mut self.rows, cycle, class)? {
            Called::Done(group) => {
                if let (Some(probe), Some(start)) = (&mut self.probe, start) {
                    probe.called(&group.steps, start);
                }
            }
            Called::OneByOne(group) => self.one_by_one(program, cycle, &group)?,
        }
        Ok(true)
    }

    /// Evaluates the operators of a function one after the other, as without a backend, to find the operator without a
    /// result.
    fn one_by_one(&mut self, program: &Program, cycle: u64, group: &Group) -> Go {
        for &id in &group.steps {
            let failed = |f: Failure| Halt::Backend { cycle, report: Box::new(f.diagnostic()) };
            let step = &program.steps[id as usize];
            let Rhs::Apply { op, .. } = &program.equation(id).rhs else { continue };
            let Some((out, _)) = step.result() else { continue };
            let mut operands = Vec::new();
            step.for_each_operand(|x| operands.push(self.cell(cycle, x).held()));
            let Some(held) = operands.into_iter().collect::<Option<Vec<Held>>>() else { continue };
            let values = held.iter().map(Held::to_host).collect::<Result<Vec<Value>, _>>().map_err(failed)?;
            let result = eval(op, &values.iter().collect::<Vec<_>>(), program.flat.precision);
            self.give(cycle, id, out, result)?;
        }
        Ok(())
    }
}
