//! Routines: sequences of functions and loops, whose values remain tensors of libtorch until the end. Rows of a tensor
//! are views of it while the routine runs. Operators that may fail are checked once, after the last step.

use std::fmt;

use rml_backend::routine::{Body, Loop, Routine, Slot, Step};
use rml_backend::{Executable, Failure, Held, Outcome};
use rml_base::{EntityId, IndexVec};
use tch::{Device, Tensor};

use crate::executable::{Interpreter, Output, argument};
use crate::failure::failure;
use crate::watch::Watch;

/// A routine that is ready to run.
pub(crate) struct Prepared {
    device: Device,
    threads: i32,
    steps: Vec<Ready>,
    /// For each step, the slots that no later step reads.
    dead: Vec<Vec<Slot>>,
    slots: usize,
    results: Vec<(Slot, Output)>,
}

/// A step.
enum Ready {
    Call { function: Interpreter, args: Vec<Slot>, out: Slot },
    Loop { shape: Box<Loop>, body: Inner },
}

impl Ready {
    /// The number of threads that it may use.
    fn threads(&self) -> i32 {
        match self {
            Ready::Call { function, .. } => function.threads(),
            Ready::Loop { body: Inner::Function(function), .. } => function.threads(),
            Ready::Loop { body: Inner::Routine(routine), .. } => routine.threads,
        }
    }
}

/// The body of a loop.
enum Inner {
    Function(Interpreter),
    Routine(Box<Prepared>),
}

impl Inner {
    fn call(&self, args: Vec<Tensor>, watch: &mut Watch) -> Result<Vec<Tensor>, Failure> {
        match self {
            Inner::Function(function) => function.call(args.into_iter().map(Into::into), watch),
            Inner::Routine(routine) => routine.call(args, watch),
        }
    }

    fn parts(&self) -> Vec<bool> {
        match self {
            Inner::Function(function) => function.parts(),
            Inner::Routine(routine) => routine.parts(),
        }
    }
}

impl Prepared {
    /// Prepares a routine for a device.
    pub(crate) fn new(routine: &Routine, device: Device, threads: i32) -> Result<Self, Failure> {
        Self::within(routine, device, threads, &[])
    }

    /// Prepares a routine, some of whose inputs may be views of larger tensors.
    fn within(routine: &Routine, device: Device, threads: i32, parts: &[bool]) -> Result<Self, Failure> {
        let mut is_part = IndexVec::filled(false, routine.slots.len());
        for (i, part) in parts.iter().enumerate() {
            is_part[Slot::from_index(i)] = *part;
        }
        let mut steps = Vec::with_capacity(routine.steps.len());
        for step in &routine.steps {
            let (ready, out, results) = match step {
                Step::Call { function, args, out } => {
                    let given: Vec<bool> = args.iter().map(|slot| is_part[*slot]).collect();
                    let function = Interpreter::within(function, device, threads, &given)?;
                    let results = function.parts();
                    (Ready::Call { function, args: args.clone(), out: *out }, *out, results)
                }
                Step::Loop(l) => {
                    // Carried values also come from the body, and rows are views.
                    let whole = l.whole.iter().map(|slot| is_part[*slot]);
                    let given = std::iter::repeat_n(true, l.carried.len() + l.rows.len()).chain(whole);
                    let given: Vec<bool> = given.collect();
                    let body = match &l.body {
                        Body::Function(function) => {
                            Inner::Function(Interpreter::within(function, device, threads, &given)?)
                        }
                        Body::Routine(inner) => {
                            Inner::Routine(Box::new(Self::within(inner, device, threads, &given)?))
                        }
                    };
                    let mut results = body.parts();
                    // Kept values are stacked in their own memory.
                    results.iter_mut().skip(l.carried.len()).for_each(|part| *part = false);
                    (Ready::Loop { shape: Box::new(l.clone()), body }, l.out, results)
                }
            };
            for (i, part) in results.into_iter().enumerate() {
                is_part[Slot::from_index(out.index() + i)] = part;
            }
            steps.push(ready);
        }
        // A routine that consists only of small functions is small.
        let threads = steps.iter().map(Ready::threads).max().unwrap_or(1);
        let output = |slot: &Slot| (*slot, Output { ty: routine.slots[*slot].clone(), part: is_part[*slot] });
        Ok(Self {
            device,
            threads,
            steps,
            dead: routine.dead(),
            slots: routine.slots.len(),
            results: routine.results.iter().map(output).collect(),
        })
    }

    /// For each result, whether it may be a view of a larger tensor.
    fn parts(&self) -> Vec<bool> {
        self.results.iter().map(|(_, output)| output.part).collect()
    }

    /// Runs the routine; its results may be views.
    fn call(&self, args: Vec<Tensor>, watch: &mut Watch) -> Result<Vec<Tensor>, Failure> {
        let inputs = args.into_iter().map(Some).chain(std::iter::repeat_with(|| None));
        let mut slots: IndexVec<Slot, Option<Tensor>> = inputs.take(self.slots).collect();
        for (step, dead) in self.steps.iter().zip(&self.dead) {
            let (out, results) = match step {
                Ready::Call { function, args, out } => {
                    let args = taken(&slots, args)?;
                    (*out, function.call(args.into_iter().map(Into::into), watch)?)
                }
                Ready::Loop { shape, body } => (shape.out, turn(shape, body, &slots, watch)?),
            };
            for (i, result) in results.into_iter().enumerate() {
                slots[Slot::from_index(out.index() + i)] = Some(result);
            }
            dead.iter().for_each(|slot| slots[*slot] = None);
        }
        self.results.iter().map(|(slot, _)| one(&slots, *slot)).collect()
    }
}

/// Runs a loop. Returns the carried values after its last iteration, followed by the kept values of all iterations,
/// stacked.
fn turn(
    l: &Loop,
    body: &Inner,
    slots: &IndexVec<Slot, Option<Tensor>>,
    watch: &mut Watch,
) -> Result<Vec<Tensor>, Failure> {
    let rows = |(slot, offset): &(Slot, usize)| {
        let mut rows = one(slots, *slot)?.f_unbind(0).map_err(|e| failure(&e))?;
        rows.truncate(offset + l.count);
        Ok(rows.split_off(*offset))
    };
    let rows: Vec<Vec<Tensor>> = l.rows.iter().map(rows).collect::<Result<_, Failure>>()?;
    let whole = taken(slots, &l.whole)?;
    let mut carried = taken(slots, &l.carried)?;
    let mut kept: Vec<Vec<Tensor>> = Vec::new();
    for pass in 0..l.count {
        let i = if l.backward { l.count - 1 - pass } else { pass };
        let n = carried.len();
        let mut args = carried;
        args.extend(rows.iter().map(|rows| rows[i].shallow_clone()));
        args.extend(whole.iter().map(Tensor::shallow_clone));
        let mut results = body.call(args, watch)?;
        kept.resize_with(results.len() - n, || Vec::with_capacity(l.count));
        for (kept, row) in kept.iter_mut().zip(results.drain(n..)) {
            kept.push(row);
        }
        carried = results;
    }
    for mut rows in kept {
        if l.backward {
            rows.reverse();
        }
        carried.push(Tensor::f_stack(&rows, 0).map_err(|e| failure(&e))?);
    }
    Ok(carried)
}

fn one(slots: &IndexVec<Slot, Option<Tensor>>, slot: Slot) -> Result<Tensor, Failure> {
    let found = slots[slot].as_ref().map(Tensor::shallow_clone);
    found.ok_or_else(|| Failure::call("a step reads what is not there"))
}

fn taken(slots: &IndexVec<Slot, Option<Tensor>>, which: &[Slot]) -> Result<Vec<Tensor>, Failure> {
    which.iter().map(|slot| one(slots, *slot)).collect()
}

impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prepared").field("steps", &self.steps.len()).finish_non_exhaustive()
    }
}

impl Executable for Prepared {
    fn run(&self, args: Vec<Held>) -> Result<Outcome, Failure> {
        let _no_grad = tch::no_grad_guard();
        crate::device::use_threads(self.threads);
        let args = args.into_iter().map(|arg| Ok(argument(arg, self.device)?.tensor));
        let mut watch = Watch::default();
        let results = self.call(args.collect::<Result<_, Failure>>()?, &mut watch)?;
        if watch.suspects().map_err(|e| failure(&e))? {
            return Ok(Outcome::Suspect);
        }
        let outputs = self.results.iter().zip(&results);
        let held = |((_, output), tensor): (&(Slot, Output), &Tensor)| output.own(tensor, self.device);
        let held = outputs.map(held).collect::<Result<Vec<Held>, _>>().map_err(|e| failure(&e))?;
        Ok(Outcome::Done(held))
    }
}
