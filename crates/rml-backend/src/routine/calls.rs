//! Runs routines as calls, for backends that compile functions but no loops.

use rml_base::{EntityId, IndexVec};
use rml_ir::Type;
use rml_ir::op::{AxisIndex, Op};

use super::{Body, Loop, Routine, Slot, Step};
use crate::contract::{Backend, Executable, Held, Outcome};
use crate::error::Failure;
use crate::function::Function;

/// A routine whose functions are called one after the other; the body of a loop is called once per pass.
#[derive(Debug)]
pub struct ByCalls {
    slots: usize,
    steps: Vec<Ready>,
    results: Vec<Slot>,
    /// For each step, the slots that are not read after it.
    dead: Vec<Vec<Slot>>,
}

#[derive(Debug)]
enum Ready {
    Call { call: Box<dyn Executable>, args: Vec<Slot>, out: Slot },
    Loop(Box<Turning>),
}

/// A loop that is ready to run.
#[derive(Debug)]
struct Turning {
    shape: Loop,
    body: Box<dyn Executable>,
    /// For each tensor whose rows the body reads, the function that splits it into rows.
    apart: Vec<Box<dyn Executable>>,
    /// For each kept result, the function that joins its rows.
    together: Vec<Box<dyn Executable>>,
}

impl ByCalls {
    /// Has a backend prepare all functions of a routine.
    ///
    /// # Errors
    /// The backend refuses a function.
    pub fn new(backend: &(impl Backend + ?Sized), routine: &Routine) -> Result<Self, Failure> {
        let step = |step: &Step| {
            Ok(match step {
                Step::Call { function, args, out } => {
                    Ready::Call { call: backend.prepare(function)?, args: args.clone(), out: *out }
                }
                Step::Loop(l) => Ready::Loop(Box::new(Turning::new(backend, routine, l)?)),
            })
        };
        Ok(Self {
            slots: routine.slots.len(),
            steps: routine.steps.iter().map(step).collect::<Result<_, Failure>>()?,
            results: routine.results.clone(),
            dead: routine.dead(),
        })
    }
}

impl Turning {
    fn new(backend: &(impl Backend + ?Sized), routine: &Routine, l: &Loop) -> Result<Self, Failure> {
        let apart = l
            .rows
            .iter()
            .map(|(slot, offset)| backend.prepare(&rows(routine, &routine.slots[*slot], *offset, l.count)));
        let results = l.body.result_types();
        let kept = results.iter().skip(l.carried.len());
        let together = kept.map(|ty| backend.prepare(&stack(routine, ty, l.count)));
        Ok(Self {
            body: match &l.body {
                Body::Function(function) => backend.prepare(function)?,
                Body::Routine(inner) => backend.prepare_routine(inner)?,
            },
            apart: apart.collect::<Result<_, _>>()?,
            together: together.collect::<Result<_, _>>()?,
            shape: l.clone(),
        })
    }

    /// The results; `None` if a call is suspect.
    fn run(&self, slots: &IndexVec<Slot, Option<Held>>) -> Result<Option<Vec<Held>>, Failure> {
        let l = &self.shape;
        let mut rows = Vec::with_capacity(self.apart.len());
        for (apart, (slot, _)) in self.apart.iter().zip(&l.rows) {
            let Some(all) = called(&**apart, vec![held(slots, *slot)?])? else { return Ok(None) };
            rows.push(all);
        }
        let whole = l.whole.iter().map(|s| held(slots, *s)).collect::<Result<Vec<Held>, _>>()?;
        let mut carried = l.carried.iter().map(|s| held(slots, *s)).collect::<Result<Vec<Held>, _>>()?;
        let mut kept: Vec<Vec<Held>> = self.together.iter().map(|_| Vec::with_capacity(l.count)).collect();
        for pass in 0..l.count {
            let i = if l.backward { l.count - 1 - pass } else { pass };
            let n = carried.len();
            let mut args = carried;
            args.extend(rows.iter().map(|rows| rows[i].clone()));
            args.extend(whole.iter().cloned());
            let Some(mut results) = called(&*self.body, args)? else { return Ok(None) };
            for (kept, row) in kept.iter_mut().zip(results.drain(n..)) {
                kept.push(row);
            }
            carried = results;
        }
        for (together, mut rows) in self.together.iter().zip(kept) {
            if l.backward {
                rows.reverse();
            }
            let Some(all) = called(&**together, rows)? else { return Ok(None) };
            carried.extend(all);
        }
        Ok(Some(carried))
    }
}

/// A function that returns rows `offset..offset + count` of a tensor, each as one result.
fn rows(routine: &Routine, ty: &Type, offset: usize, count: usize) -> Function {
    let mut function = Function::new("rows", routine.precision);
    let x = function.input(ty.clone(), Function::nowhere());
    for i in offset..offset + count {
        let rest = ty.shape.dims().iter().skip(1).map(|n| AxisIndex::whole(*n));
        let op = Op::Index { items: std::iter::once(AxisIndex::At(i)).chain(rest).collect() };
        if let Ok(row) = function.apply(op, vec![x], Function::nowhere()) {
            function.results.push(row);
        }
    }
    function
}

/// A function that stacks `count` values of a type.
fn stack(routine: &Routine, ty: &Type, count: usize) -> Function {
    let mut function = Function::new("stack", routine.precision);
    let rows = (0..count).map(|_| function.input(ty.clone(), Function::nowhere())).collect();
    if let Ok(all) = function.apply(Op::Stack { axis: 0 }, rows, Function::nowhere()) {
        function.results.push(all);
    }
    function
}

fn called(executable: &dyn Executable, args: Vec<Held>) -> Result<Option<Vec<Held>>, Failure> {
    Ok(match executable.run(args)? {
        Outcome::Done(results) => Some(results),
        Outcome::Suspect => None,
    })
}

fn held(slots: &IndexVec<Slot, Option<Held>>, slot: Slot) -> Result<Held, Failure> {
    slots[slot].clone().ok_or_else(|| Failure::call("a step reads what is not there"))
}

impl Executable for ByCalls {
    fn run(&self, args: Vec<Held>) -> Result<Outcome, Failure> {
        let inputs = args.into_iter().map(Some).chain(std::iter::repeat(None));
        let mut slots: IndexVec<Slot, Option<Held>> = inputs.take(self.slots).collect();
        for (step, dead) in self.steps.iter().zip(&self.dead) {
            let (out, results) = match step {
                Ready::Call { call, args, out } => {
                    let args = args.iter().map(|s| held(&slots, *s)).collect::<Result<_, _>>()?;
                    (*out, called(&**call, args)?)
                }
                Ready::Loop(l) => (l.shape.out, l.run(&slots)?),
            };
            let Some(results) = results else { return Ok(Outcome::Suspect) };
            for (i, result) in results.into_iter().enumerate() {
                slots[Slot::from_index(out.index() + i)] = Some(result);
            }
            dead.iter().for_each(|slot| slots[*slot] = None);
        }
        Ok(Outcome::Done(self.results.iter().map(|s| held(&slots, *s)).collect::<Result<_, _>>()?))
    }
}
