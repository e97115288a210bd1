//! A prepared function: one kernel per operator, run in order.

use std::fmt;
use std::sync::Arc;

use rml_backend::{DefKind, Executable, Failure, Function, Held, Outcome, Val};
use rml_base::{EntityId, IndexVec};
use rml_ir::op::{Op, eval};
use rml_ir::{Precision, Type, Value};
use tch::{Device, TchError, Tensor};

use crate::buffer::{Resident, download, upload};
use crate::device::use_threads;
use crate::failure::failure;
use crate::ffi::Shared;
use crate::kernel::{Context, Kernel};
use crate::lower::lower;
use crate::watch::Watch;

/// Interprets a function.
pub(crate) struct Interpreter {
    device: Device,
    threads: i32,
    precision: Precision,
    /// Constants, on the device and on the host.
    constants: IndexVec<Val, Option<(Shared, Value)>>,
    /// Inputs that no step needs.
    unused: Vec<Val>,
    steps: Vec<Step>,
    results: Vec<(Val, Output)>,
}

/// One operator.
struct Step {
    at: Val,
    work: Work,
    args: Vec<Val>,
    /// Its type.
    ty: Type,
    /// Values that are not needed after this step.
    dead: Vec<Val>,
}

/// The kind of computation of an operator.
enum Work {
    Device(Kernel),
    /// Random numbers, on the host.
    Draw(Op),
}

/// A result of the function.
pub(crate) struct Output {
    pub(crate) ty: Type,
    /// Whether it may be a view of a larger tensor, whose memory it would keep alive.
    pub(crate) part: bool,
}

impl Output {
    /// The result in its own memory, row-major.
    pub(crate) fn own(&self, tensor: &Tensor, device: Device) -> Result<Held, TchError> {
        let own = if self.part {
            let mut copy = Tensor::f_empty(tensor.size(), (tensor.f_kind()?, device))?;
            copy.f_copy_(tensor)?;
            copy
        } else {
            tensor.f_contiguous()?
        };
        Ok(Held::Device(Arc::new(Resident::new(own, self.ty.clone()))))
    }
}

/// A value during a call.
pub(crate) struct Slot {
    pub(crate) tensor: Tensor,
    /// The same on the host, if it came from the host.
    host: Option<Value>,
}

impl From<Tensor> for Slot {
    fn from(tensor: Tensor) -> Self {
        Self { tensor, host: None }
    }
}

/// An argument, on the device.
pub(crate) fn argument(arg: Held, device: Device) -> Result<Slot, Failure> {
    match arg {
        Held::Host(value) => {
            let tensor = upload(&value, device).map_err(|e| failure(&e))?;
            Ok(Slot { tensor, host: Some(value) })
        }
        Held::Device(buffer) => match buffer.as_any().downcast_ref::<Resident>() {
            Some(own) => Ok(own.tensor().shallow_clone().into()),
            None => Err(Failure::call("an argument is a buffer of another backend")),
        },
    }
}

/// The live values of a call, without constants.
type Slots = IndexVec<Val, Option<Slot>>;

impl Interpreter {
    /// Prepares a function for a device.
    pub(crate) fn new(function: &Function, device: Device, threads: i32) -> Result<Self, Failure> {
        Self::within(function, device, threads, &[])
    }

    /// Prepares a function, some of whose inputs may be views of larger tensors.
    pub(crate) fn within(
        function: &Function,
        device: Device,
        threads: i32,
        inputs: &[bool],
    ) -> Result<Self, Failure> {
        let _no_grad = tch::no_grad_guard();
        let mut constants: IndexVec<Val, Option<(Shared, Value)>> =
            function.values.iter().map(|_| None).collect();
        let mut steps = Vec::new();
        for (at, def) in function.values.iter_enumerated() {
            let failed = |e: TchError| Failure { at: Some(at), ..failure(&e) };
            match &def.kind {
                DefKind::Input => {}
                DefKind::Const(value) => {
                    let tensor = upload(value, device).map_err(failed)?;
                    constants[at] = Some((Shared::new(tensor), value.clone()));
                }
                DefKind::Apply { op, args } => {
                    let types: Vec<&Type> = args.iter().map(|&x| &function.values[x].ty).collect();
                    let context =
                        Context { device, precision: function.precision, args: &types, ty: &def.ty };
                    let work = match op {
                        Op::RandomUniform { .. } | Op::RandomNormal { .. } => Work::Draw(op.clone()),
                        _ => Work::Device(lower(op, &context).map_err(failed)?),
                    };
                    steps.push(Step { at, work, args: args.clone(), ty: def.ty.clone(), dead: Vec::new() });
                }
            }
        }
        let parts = parts(function, inputs);
        let output =
            |&value: &Val| (value, Output { ty: function.values[value].ty.clone(), part: parts[value] });
        let results = function.results.iter().map(output).collect();
        let mut new = Self {
            device,
            threads,
            precision: function.precision,
            constants,
            unused: Vec::new(),
            steps,
            results,
        };
        new.bury(function);
        if is_small(function) {
            new.threads = 1;
        }
        Ok(new)
    }

    /// Records after which step each value is dead; a value that no step needs is dead after its own step.
    fn bury(&mut self, function: &Function) {
        for (value, last) in function.last_uses().iter_enumerated() {
            let Some(last) = last else { continue };
            match self.steps.binary_search_by_key(last, |step| step.at) {
                Ok(i) => self.steps[i].dead.push(value),
                Err(_) => self.unused.push(value),
            }
        }
    }

    /// The number of threads that it may use.
    pub(crate) fn threads(&self) -> i32 {
        self.threads
    }

    /// For each result, whether it may be a view of a larger tensor.
    pub(crate) fn parts(&self) -> Vec<bool> {
        self.results.iter().map(|(_, output)| output.part).collect()
    }

    /// Runs the function; its results may be views.
    pub(crate) fn call(
        &self,
        args: impl Iterator<Item = Slot>,
        watch: &mut Watch,
    ) -> Result<Vec<Tensor>, Failure> {
        let args = args.map(Some).chain(std::iter::repeat_with(|| None));
        let mut slots: Slots = args.take(self.constants.len()).collect();
        self.unused.iter().for_each(|&x| slots[x] = None);
        for step in &self.steps {
            let failed = |e: TchError| Failure { at: Some(step.at), ..failure(&e) };
            let slot = self.step(step, &slots, watch).map_err(failed)?;
            slots[step.at] = Some(slot);
            step.dead.iter().for_each(|&x| slots[x] = None);
        }
        Ok(self.results.iter().map(|(value, _)| self.tensor(&slots, *value).shallow_clone()).collect())
    }

    /// A value of a call on the device.
    fn tensor<'a>(&'a self, slots: &'a Slots, x: Val) -> &'a Tensor {
        match (&slots[x], &self.constants[x]) {
            (Some(slot), _) => &slot.tensor,
            (None, Some((constant, _))) => constant.get(),
            (None, None) => unreachable!("B1: operands stand before, and are dropped after their last use"),
        }
    }

    /// A scalar int of a call on the host.
    fn host(&self, slots: &Slots, x: Val) -> Result<Value, TchError> {
        match (&slots[x], &self.constants[x]) {
            (Some(Slot { host: Some(value), .. }), _) | (None, Some((_, value))) => Ok(value.clone()),
            _ => download(self.tensor(slots, x), &Type::scalar(rml_ir::DType::Int)),
        }
    }

    fn step(&self, step: &Step, slots: &Slots, watch: &mut Watch) -> Result<Slot, TchError> {
        match &step.work {
            Work::Device(kernel) => {
                let args: Vec<&Tensor> = step.args.iter().map(|&x| self.tensor(slots, x)).collect();
                let tensor = kernel(&args, watch)?;
                debug_assert_eq!(tensor.size(), crate::kernel::size(&step.ty.shape), "{:?}", step.at);
                Ok(Slot { tensor, host: None })
            }
            Work::Draw(op) => {
                let args: Vec<Value> =
                    step.args.iter().map(|&x| self.host(slots, x)).collect::<Result<_, _>>()?;
                let drawn = eval(op, &args.iter().collect::<Vec<_>>(), self.precision)
                    .map_err(|e| TchError::Convert(e.to_string()))?;
                Ok(Slot { tensor: upload(&drawn, self.device)?, host: None })
            }
        }
    }
}

/// The most elements of a tensor, and the most additions of a product, for which a second thread costs more than it
/// saves: waking it takes some microseconds, and if other programs use the cores, milliseconds. libtorch also divides
/// element-wise operators from this size on.
const FOR_ONE_THREAD: usize = 1 << 15;

fn is_small(function: &Function) -> bool {
    let elements = |x: Val| function.values[x].ty.shape.len();
    function.values.iter_enumerated().all(|(at, def)| {
        let work = match &def.kind {
            DefKind::Input | DefKind::Const(_) => elements(at),
            // For (m, k), (k, n) and (m, n), the square root of the product is m k n; for other contractions it is at
            // least the work.
            DefKind::Apply { op: Op::MatMul | Op::Einsum(_), args } => {
                let all = args.iter().fold(elements(at) as f64, |all, x| all * elements(*x) as f64);
                all.sqrt() as usize
            }
            DefKind::Apply { op: Op::Conv(_) | Op::ConvTranspose { .. } | Op::ConvKernel { .. }, args } => {
                args.iter().map(|x| elements(*x)).fold(elements(at), usize::saturating_mul)
            }
            DefKind::Apply { .. } => elements(at),
        };
        work <= FOR_ONE_THREAD
    })
}

/// For each value, whether its tensor may be a view of a larger one: an index is, and so is an operator that may return
/// a view of such a value.
fn parts(function: &Function, inputs: &[bool]) -> IndexVec<Val, bool> {
    let mut parts = IndexVec::filled(false, function.values.len());
    for (i, part) in inputs.iter().enumerate() {
        parts[Val::from_index(i)] = *part;
    }
    for (at, def) in function.values.iter_enumerated() {
        let DefKind::Apply { op, args } = &def.kind else { continue };
        let same = matches!(op, Op::Copy | Op::StopGradient);
        let moved = matches!(op, Op::Transpose { .. } | Op::Reshape { .. } | Op::Broadcast { .. });
        let summed = matches!(op, Op::SumTo { .. } | Op::Einsum(_));
        let from_part = (same || moved || summed) && args.iter().any(|&x| parts[x]);
        parts[at] = matches!(op, Op::Index { .. }) || from_part;
    }
    parts
}

impl fmt::Debug for Interpreter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interpreter")
            .field("device", &self.device)
            .field("steps", &self.steps.len())
            .finish_non_exhaustive()
    }
}

impl Executable for Interpreter {
    fn run(&self, args: Vec<Held>) -> Result<Outcome, Failure> {
        let _no_grad = tch::no_grad_guard();
        use_threads(self.threads);
        let args = args.into_iter().map(|arg| argument(arg, self.device));
        let args = args.collect::<Result<Vec<Slot>, Failure>>()?;
        let mut watch = Watch::default();
        let results = self.call(args.into_iter(), &mut watch)?;
        if watch.suspects().map_err(|e| failure(&e))? {
            return Ok(Outcome::Suspect);
        }
        let held = |((value, output), tensor): (&(Val, Output), &Tensor)| {
            output.own(tensor, self.device).map_err(|e| Failure { at: Some(*value), ..failure(&e) })
        };
        Ok(Outcome::Done(self.results.iter().zip(&results).map(held).collect::<Result<_, _>>()?))
    }
}
