//! Routines: sequences of calls of tensor functions, with loops, and with known shapes.
//!
//! A window of a plan becomes a routine: a computation over all ticks is a call, and a recurrence is a loop. A backend
//! that compiles loops compiles a routine to one program; for all other backends, [`ByCalls`] calls the body of a loop
//! once per pass.
//!
//! Invariants, checked by [`verify`]:
//! - **R1** Steps read only earlier slots: the inputs, and the results of earlier steps.
//! - **R2** Operands have the types of the function's inputs, and a carried value of a loop keeps its type.
//! - **R3** A loop runs at least once, and its rows are within their slots.
//! - **R4** Functions satisfy B1 to B3, routines in loops satisfy R1 to R4, and all have the routine's precision.
//!   Results are slots.

use std::sync::Arc;

use rml_base::{EntityId, IndexVec, entity_id};
use rml_ir::{Precision, Shape, Type};

use crate::function::Function;

mod calls;
mod model;
mod text;
mod verify;

pub use calls::ByCalls;
pub use model::{Port, PortRole, RoutineInput, SUSPECT, SUSPICION, WindowModel};
pub use text::{parse, print};
pub use verify::verify;

entity_id!(
    /// A value of a routine.
    Slot,
    "s"
);

/// Steps over slots.
#[derive(Clone, Debug)]
pub struct Routine {
    /// The name in messages and profiles.
    pub name: Arc<str>,
    /// The precision in which `num` is stored and computed.
    pub precision: Precision,
    /// The types of all values: inputs first, then the results of each step.
    pub slots: IndexVec<Slot, Type>,
    /// The number of slots that are inputs.
    pub inputs: usize,
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// The results of a run, in order.
    pub results: Vec<Slot>,
}

/// A step of a routine.
#[derive(Clone, Debug)]
pub enum Step {
    /// One call of a function.
    Call {
        /// The function.
        function: Function,
        /// The arguments.
        args: Vec<Slot>,
        /// The slot of the first result; the other results follow.
        out: Slot,
    },
    /// Repeated calls of a function or a routine.
    Loop(Loop),
}

/// The body of a loop.
#[derive(Clone, Debug)]
pub enum Body {
    /// A function.
    Function(Function),
    /// A routine, such as that of a window that runs many times.
    Routine(Box<Routine>),
}

/// A function or a routine that is called once for each row, in order from the first row or from the last row.
///
/// The inputs of the body are the carried values, the rows, and the values that are the same in each pass, in this
/// order. Its results are the next carried values, and then one row of each kept result.
#[derive(Clone, Debug)]
pub struct Loop {
    /// The function or routine that is called.
    pub body: Body,
    /// The number of passes, at least one.
    pub count: usize,
    /// Whether the loop runs from the last row to the first.
    pub backward: bool,
    /// The initial values of the carried values.
    pub carried: Vec<Slot>,
    /// Tensors and offsets: the pass for row `i` reads the element at `offset + i` of the first axis.
    pub rows: Vec<(Slot, usize)>,
    /// The values that are the same in each pass.
    pub whole: Vec<Slot>,
    /// The slot of the first result: the carried values after the last pass, then the kept results with one row per
    /// pass.
    pub out: Slot,
}

impl Routine {
    /// A routine without steps.
    pub fn new(name: impl Into<Arc<str>>, precision: Precision) -> Self {
        let (slots, steps, results) = (IndexVec::new(), Vec::new(), Vec::new());
        Self { name: name.into(), precision, slots, inputs: 0, steps, results }
    }

    /// Appends an input; all inputs come before steps.
    pub fn input(&mut self, ty: Type) -> Slot {
        self.inputs += 1;
        self.slots.push(ty)
    }

    /// Appends a call and returns its results.
    pub fn call(&mut self, function: Function, args: Vec<Slot>) -> Vec<Slot> {
        let out = Slot::from_index(self.slots.len());
        let results = function.results.iter().map(|&r| self.slots.push(function.values[r].ty.clone()));
        let results = results.collect();
        self.steps.push(Step::Call { function, args, out });
        results
    }

    /// Appends a loop, sets its first result, and returns its results.
    pub fn repeat(&mut self, mut l: Loop) -> Vec<Slot> {
        l.out = Slot::from_index(self.slots.len());
        let carried = l.carried.len();
        let ty = |(i, ty): (usize, Type)| if i < carried { ty } else { stacked(&ty, l.count) };
        let types: Vec<Type> = l.body.result_types().into_iter().enumerate().map(ty).collect();
        self.steps.push(Step::Loop(l));
        types.into_iter().map(|ty| self.slots.push(ty)).collect()
    }

    /// The types of the inputs.
    pub fn input_types(&self) -> &[Type] {
        &self.slots.as_slice()[..self.inputs]
    }

    /// The types of the results.
    pub fn result_types(&self) -> Vec<Type> {
        self.results.iter().filter_map(|slot| self.slots.as_slice().get(slot.index()).cloned()).collect()
    }

    /// The functions that the routine calls.
    pub fn functions(&self) -> Vec<&Function> {
        let mut all = Vec::new();
        for step in &self.steps {
            match step {
                Step::Call { function, .. } | Step::Loop(Loop { body: Body::Function(function), .. }) => {
                    all.push(function);
                }
                Step::Loop(Loop { body: Body::Routine(inner), .. }) => all.extend(inner.functions()),
            }
        }
        all
    }

    /// For each step, the slots that are not used after it. Results of the routine are not included.
    pub fn dead(&self) -> Vec<Vec<Slot>> {
        let mut last: IndexVec<Slot, Option<usize>> = IndexVec::filled(None, self.slots.len());
        let mut dead = vec![Vec::new(); self.steps.len()];
        for (i, step) in self.steps.iter().enumerate() {
            let end = self.steps.get(i + 1).map_or(self.slots.len(), |next| next.out().index());
            (step.out().index()..end).for_each(|slot| last[Slot::from_index(slot)] = Some(i));
            step.reads().for_each(|slot| last[slot] = Some(i));
        }
        self.results.iter().for_each(|slot| last[*slot] = None);
        for (slot, step) in last.iter_enumerated() {
            if let Some(step) = step {
                dead[*step].push(slot);
            }
        }
        dead
    }

    /// Whether some operator of the routine may have no result; see [`Function::may_stop`].
    pub fn may_stop(&self) -> bool {
        self.functions().into_iter().any(Function::may_stop)
    }
}

impl Body {
    /// The types of the inputs.
    pub fn input_types(&self) -> Vec<Type> {
        match self {
            Body::Function(function) => function.inputs().map(|(_, def)| def.ty.clone()).collect(),
            Body::Routine(routine) => routine.input_types().to_vec(),
        }
    }

    /// The types of the results.
    pub fn result_types(&self) -> Vec<Type> {
        match self {
            Body::Function(function) => {
                let of = |r: &crate::Val| function.values.get(*r).map(|def| def.ty.clone());
                function.results.iter().filter_map(of).collect()
            }
            Body::Routine(routine) => routine.result_types(),
        }
    }

    /// Whether some operator of the body may have no result.
    pub fn may_stop(&self) -> bool {
        match self {
            Body::Function(function) => function.may_stop(),
            Body::Routine(routine) => routine.may_stop(),
        }
    }
}

impl Step {
    /// The slots that the step reads.
    pub fn reads(&self) -> impl Iterator<Item = Slot> {
        let (call, l): (&[Slot], Option<&Loop>) = match self {
            Step::Call { args, .. } => (args, None),
            Step::Loop(l) => (&[], Some(l)),
        };
        let around = l.into_iter().flat_map(|l| {
            l.carried
                .iter()
                .copied()
                .chain(l.rows.iter().map(|(slot, _)| *slot))
                .chain(l.whole.iter().copied())
        });
        call.iter().copied().chain(around)
    }

    /// The slot of the first result.
    pub fn out(&self) -> Slot {
        match self {
            Step::Call { out, .. } | Step::Loop(Loop { out, .. }) => *out,
        }
    }
}

/// The type of `n` values of type `ty`, stacked along a new first axis.
pub fn stacked(ty: &Type, n: usize) -> Type {
    let dims: Vec<usize> = std::iter::once(n).chain(ty.shape.dims().iter().copied()).collect();
    Type { dtype: ty.dtype, shape: Shape::new(&dims) }
}
