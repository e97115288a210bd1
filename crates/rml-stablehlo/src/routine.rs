//! Writes routines as one module: calls follow one another, and a loop is a `while` over slices of its tensors.

use rml_backend::routine::{Body, Loop, Routine, Slot, Step};
use rml_backend::{DefKind, Function, Val};
use rml_base::{EntityId, IndexVec};
use rml_ir::op::Op;

use super::text::{Elem, Ssa, Text, Ty, array, list};
use super::{CHECKED, body};
use rml_ir::op::Compare;

/// The origin of a result of a routine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RoutineResult {
    /// This result of the module.
    Computed(usize),
    /// This argument.
    Input(usize),
    /// A value without elements.
    Empty,
}

/// A routine as a module.
#[derive(Clone, Debug)]
pub struct RoutineModule {
    /// The text.
    pub text: String,
    /// The arguments of the routine that the module takes.
    pub args: Vec<usize>,
    /// The results of the routine.
    pub outputs: Vec<RoutineResult>,
    /// Whether the module has a truth value as its last result, which tells whether an error is suspected.
    pub tested: bool,
}

/// Writes a routine that satisfies R1 to R4. None if the host has to draw numbers between its steps.
pub fn lower_routine(routine: &Routine) -> Option<RoutineModule> {
    if routine.functions().into_iter().any(draws) {
        return None;
    }
    let mut w = Writer::new(routine);
    let (mut head, mut args) = (Vec::new(), Vec::new());
    for (i, ty) in routine.input_types().iter().enumerate() {
        let ty = Ty::of(ty, routine.precision);
        if ty.shape.is_empty() {
            let empty = w.t.splat(0.0, &ty);
            w.slots.push(empty);
            continue;
        }
        let parameter = w.t.fresh(ty);
        head.push(format!("{parameter}: {}", parameter.ty));
        args.push(i);
        w.slots.push(parameter);
    }
    w.steps();
    let (outputs, mut results) = w.outputs();
    let test = w.suspect();
    let tested = test.is_some();
    let Writer { mut t, .. } = w;
    results.extend(test);
    t.ret(&results.iter().collect::<Vec<_>>());
    let types = list(results.iter().map(|r| &r.ty));
    let text = format!(
        "module @rml {{\nfunc.func public @main({}) -> ({types}) {{\n{}}}\n}}\n",
        list(head),
        t.finish()
    );
    Some(RoutineModule { text, args, outputs, tested })
}

/// Whether a function has normal draws, which the host computes.
fn draws(function: &Function) -> bool {
    function.values.iter().any(|def| {
        matches!(&def.kind, DefKind::Apply { op: Op::RandomNormal { .. }, .. }) && !def.ty.shape.is_empty()
    })
}

/// Inlines the calls of a loop.
fn called(t: &mut Text, body: &Body, args: Vec<Ssa>) -> (Vec<Ssa>, Option<Ssa>) {
    let routine = match body {
        Body::Function(function) => return call(t, function, &args),
        Body::Routine(routine) => routine,
    };
    let mut w = Writer::new(routine);
    w.t = std::mem::take(t);
    w.slots = args.into_iter().collect();
    w.steps();
    let test = w.suspect();
    *t = w.t;
    (routine.results.iter().map(|slot| w.slots[*slot].clone()).collect(), test)
}

/// Inlines a function: its results, and the test of its operators.
fn call(t: &mut Text, function: &Function, args: &[Ssa]) -> (Vec<Ssa>, Option<Ssa>) {
    let mut values: IndexVec<Val, Option<Ssa>> = IndexVec::filled(None, function.values.len());
    for ((x, _), arg) in function.inputs().zip(args) {
        values[x] = Some(arg.clone());
    }
    let test = body(t, function, &mut values);
    (function.results.iter().map(|r| values[*r].clone().expect(CHECKED)).collect(), test)
}

/// The text of a routine that is being written.
pub(crate) struct Writer<'a> {
    pub(crate) t: Text,
    routine: &'a Routine,
    pub(crate) slots: IndexVec<Slot, Ssa>,
    tests: Vec<Ssa>,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(routine: &'a Routine) -> Self {
        Self { t: Text::default(), routine, slots: IndexVec::new(), tests: Vec::new() }
    }

    /// Writes all steps; the inputs have their slots already.
    pub(crate) fn steps(&mut self) {
        for step in &self.routine.steps {
            match step {
                Step::Call { function, args, .. } => {
                    let args: Vec<Ssa> = args.iter().map(|s| self.slots[*s].clone()).collect();
                    let (results, test) = call(&mut self.t, function, &args);
                    self.tests.extend(test);
                    results.into_iter().for_each(|r| {
                        self.slots.push(r);
                    });
                }
                Step::Loop(l) => self.turn(l),
            }
        }
    }

    /// The truth value for a suspected error, if an operator may fail.
    pub(crate) fn suspect(&mut self) -> Option<Ssa> {
        std::mem::take(&mut self.tests).into_iter().reduce(|a, b| self.t.zip("or", &a, &b))
    }

    /// The origins of the results, and the values that the module returns.
    fn outputs(&self) -> (Vec<RoutineResult>, Vec<Ssa>) {
        let mut computed: Vec<Slot> = Vec::new();
        let given = |slot: &Slot| {
            if self.slots[*slot].is_empty() {
                return RoutineResult::Empty;
            }
            if slot.index() < self.routine.inputs {
                return RoutineResult::Input(slot.index());
            }
            let at = computed.iter().position(|c| c == slot).unwrap_or_else(|| {
                computed.push(*slot);
                computed.len() - 1
            });
            RoutineResult::Computed(at)
        };
        let outputs = self.routine.results.iter().map(given).collect();
        (outputs, computed.into_iter().map(|slot| self.slots[slot].clone()).collect())
    }

    /// A loop. Its state consists of the iteration number, the carried values, the kept values, and whether an error is
    /// suspected.
    fn turn(&mut self, l: &Loop) {
        let scalar = Ty::scalar(Elem::I64);
        let kept = (l.carried.len()..l.body.result_types().len()).map(|i| {
            Ty::of(&self.routine.slots[Slot::from_index(l.out.index() + i)], self.routine.precision)
        });
        let kept: Vec<Ty> = kept.collect();
        let tested = l.body.may_stop();
        let mut state = vec![self.t.int(0, &scalar)];
        state.extend(l.carried.iter().map(|s| self.slots[*s].clone()));
        for ty in &kept {
            state.push(self.t.splat(0.0, ty));
        }
        if tested {
            state.push(self.t.splat(0.0, &Ty::scalar(Elem::I1)));
        }
        let types: Vec<Ty> = state.iter().map(|s| s.ty.clone()).collect();
        let count = i64::try_from(l.count).unwrap_or(i64::MAX);
        let goes_on = self.t.region(&types, |t, p| {
            let count = t.int(count, &scalar);
            vec![t.compare(Compare::Lt, &p[0], &count)]
        });
        let slots = &self.slots;
        let pass = self.t.region(&types, |t, p| pass(t, l, slots, p, tested));
        let args: Vec<&Ssa> = state.iter().collect();
        let made = self.t.ops("while", &args, &format!("{goes_on}, {pass}"), "", &types);
        let ends = 1 + l.carried.len() + kept.len();
        made[1..ends].iter().for_each(|r| {
            self.slots.push(r.clone());
        });
        self.tests.extend(made.get(ends).cloned());
    }
}

/// One iteration of a loop: returns the next state.
fn pass(t: &mut Text, l: &Loop, slots: &IndexVec<Slot, Ssa>, state: &[Ssa], tested: bool) -> Vec<Ssa> {
    let scalar = Ty::scalar(Elem::I64);
    let (number, carried) = (&state[0], l.carried.len());
    let row = if l.backward {
        let last = t.int(i64::try_from(l.count - 1).unwrap_or(i64::MAX), &scalar);
        t.zip("subtract", &last, number)
    } else {
        number.clone()
    };
    let mut args = state[1..=carried].to_vec();
    for (slot, offset) in &l.rows {
        let at = match offset {
            0 => row.clone(),
            _ => {
                let offset = t.int(i64::try_from(*offset).unwrap_or(i64::MAX), &scalar);
                t.zip("add", &row, &offset)
            }
        };
        args.push(element(t, &slots[*slot], &at));
    }
    args.extend(l.whole.iter().map(|s| slots[*s].clone()));
    let (results, test) = called(t, &l.body, args);
    let one = t.int(1, &scalar);
    let mut next = vec![t.zip("add", number, &one)];
    next.extend(results[..carried].iter().cloned());
    for (stack, result) in state[1 + carried..].iter().zip(&results[carried..]) {
        next.push(with_element(t, stack, result, &row));
    }
    if tested && let Some(before) = state.last() {
        next.push(match test {
            Some(test) => t.zip("or", before, &test),
            None => before.clone(),
        });
    }
    next
}

/// Element `at` of the first axis.
fn element(t: &mut Text, x: &Ssa, at: &Ssa) -> Ssa {
    let dims = &x.dims()[1..];
    if x.is_empty() {
        return t.splat(0.0, &Ty::new(x.ty.elem, dims));
    }
    let sizes: Vec<usize> = std::iter::once(1).chain(dims.iter().copied()).collect();
    let args = places(t, x, at);
    let args: Vec<&Ssa> = std::iter::once(x).chain(&args).collect();
    let attributes = format!("slice_sizes = {}", array(&sizes));
    let slice = t.op_attr("dynamic_slice", &args, &attributes, Ty::new(x.ty.elem, &sizes));
    t.reshape(&slice, dims)
}

/// A stack with element `at` of its first axis replaced.
fn with_element(t: &mut Text, stack: &Ssa, x: &Ssa, at: &Ssa) -> Ssa {
    if stack.is_empty() {
        return stack.clone();
    }
    let sizes: Vec<usize> = std::iter::once(1).chain(x.dims().iter().copied()).collect();
    let row = t.reshape(x, &sizes);
    let args = places(t, stack, at);
    let args: Vec<&Ssa> = [stack, &row].into_iter().chain(&args).collect();
    t.op("dynamic_update_slice", &args, stack.ty.clone())
}

/// The start of a slice on each axis: `at` on the first one.
fn places(t: &mut Text, x: &Ssa, at: &Ssa) -> Vec<Ssa> {
    let zero = t.int(0, &Ty::scalar(Elem::I64));
    std::iter::once(at.clone()).chain(x.dims()[1..].iter().map(|_| zero.clone())).collect()
}
