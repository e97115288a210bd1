//! The reference: runs plans one tick and one operator at a time.

use std::sync::Arc;

use rml_backend::Held;
use rml_base::memory::{self, Shortage};
use rml_base::profile::Scope;
use rml_base::{Diagnostic, EntityId};
use rml_ir::{Data, Type, Value};
use rml_plan::reference::{Cells, Machine};
use rml_plan::{Outline, Plan, Reg};

use crate::contract::{About, Accuracy, Executor, Fault, PrepareOptions, Prepared, Refused, Running};
use crate::elements::append;
use crate::memory::{Footprint, TooLong};

/// Runs plans by [`rml_plan::reference`], which is slow and easy to understand. It runs every plan; the results of
/// other executors are compared with its results.
///
/// ```
/// use std::sync::Arc;
/// use rml_executor::{Executor, Reference, PrepareOptions};
/// use rml_ir::Data;
/// let text = "plan \"sum\" f32\nin x: num []\nover x: num [] = in x\nover y: num [] = add(x, 1.0)\nout y: num [] = y";
/// let plan = Arc::new(rml_plan::parse(text)?);
/// let prepared = Reference.prepare(&plan, &PrepareOptions::default()).expect("it runs every plan");
/// let mut run = prepared.start(None).expect("memory");
/// run.set_rows(0, 2, &|_| true, &Data::F32(vec![1.0, 2.5]), 0);
/// assert_eq!(run.window(2).expect("it has a result"), 2);
/// let mut y = Data::Bool(Vec::new());
/// assert!(run.add_output(0, 1, &mut y).expect("it is on the host"));
/// assert!(matches!(y, Data::F32(values) if values == [3.5]));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Reference;

impl Executor for Reference {
    fn about(&self) -> About {
        About {
            name: "reference".to_owned(),
            device: "cpu".to_owned(),
            devices: vec!["cpu".to_owned()],
            accuracy: Accuracy::Bits,
            waits: true,
            guesses: false,
            compiles: false,
        }
    }

    fn prepare(&self, plan: &Arc<Plan>, _: &PrepareOptions) -> Result<Arc<dyn Prepared>, Refused> {
        let (outline, cells) = (Outline::of(plan), plan.tapes.len() * size_of::<Option<Value>>());
        let per_tick = outline.bytes_per_tick.saturating_add(cells as u64);
        let footprint = Footprint { fixed: outline.bytes, per_tick };
        Ok(Arc::new(Ready { plan: Arc::clone(plan), footprint }))
    }
}

#[derive(Debug)]
struct Ready {
    plan: Arc<Plan>,
    footprint: Footprint,
}

impl Prepared for Ready {
    fn footprint(&self) -> Footprint {
        self.footprint
    }

    fn start(&self, _: Option<&Scope>) -> Result<Box<dyn Running>, Shortage> {
        memory::ask(self.footprint.at(1 + self.plan.ahead() as usize))?;
        Ok(Box::new(Steps {
            machine: Machine::new(Arc::clone(&self.plan)),
            inputs: vec![Vec::new(); self.plan.inputs.len()],
            outputs: Vec::new(),
            plan: Arc::clone(&self.plan),
            footprint: self.footprint,
        }))
    }
}

#[derive(Debug)]
struct Steps {
    plan: Arc<Plan>,
    machine: Machine,
    /// The inputs of the next window.
    inputs: Vec<Cells>,
    /// The outputs of the last window.
    outputs: Vec<Cells>,
    footprint: Footprint,
}

/// The value of type `ty` whose elements are row `row` of `data`.
fn row(data: &Data, ty: &Type, row: usize) -> Value {
    let (from, to) = (row * ty.shape.len(), (row + 1) * ty.shape.len());
    let elements = match data {
        Data::Bool(v) => Data::Bool(v[from..to].to_vec()),
        Data::Int(v) => Data::Int(v[from..to].to_vec()),
        Data::F32(v) => Data::F32(v[from..to].to_vec()),
        Data::F64(v) => Data::F64(v[from..to].to_vec()),
    };
    Value::new(ty.shape.clone(), elements)
}

impl Running for Steps {
    fn set_rows(
        &mut self,
        input: usize,
        ticks: usize,
        present: &dyn Fn(usize) -> bool,
        data: &Data,
        mut at: usize,
    ) -> usize {
        let ty = &self.plan.inputs[input].1;
        let cell = |t| {
            let there = present(t);
            let value = there.then(|| row(data, ty, at));
            at += usize::from(there);
            value
        };
        self.inputs[input] = (0..ticks).map(cell).collect();
        at
    }

    /// Reports every failure as a suspicion. The simulator then finds the exact error: an operator without a result, or
    /// a read of an absent value.
    fn window(&mut self, ticks: usize) -> Result<usize, Fault> {
        let (outputs, done) = self.machine.window(ticks, &self.inputs).map_err(|_| Fault::Suspect)?;
        self.outputs = outputs;
        Ok(done)
    }

    fn find(&mut self, ticks: usize) -> Result<Option<usize>, Fault> {
        self.machine.length(ticks, &self.inputs).map_err(|_| Fault::Suspect)
    }

    fn add_output(&mut self, output: usize, t: usize, to: &mut Data) -> Result<bool, Diagnostic> {
        let Some(value) = &self.outputs[output][t] else { return Ok(false) };
        append(to, value.to_data());
        Ok(true)
    }

    fn register(&self, register: usize) -> Option<Held> {
        self.machine.register(Reg::from_index(register)).cloned().map(Held::Host)
    }

    fn is_set(&self, register: usize) -> Result<bool, Diagnostic> {
        Ok(self.machine.register(Reg::from_index(register)).is_some())
    }

    fn unset_register(&mut self, register: usize) {
        self.machine.unset_register(Reg::from_index(register));
    }

    fn set_register(&mut self, register: usize, value: &Held) -> Result<(), Diagnostic> {
        let value = value.to_host()?.to_precision(self.plan.precision);
        self.machine.set_register(Reg::from_index(register), value);
        Ok(())
    }

    fn ask(&mut self, ticks: usize) -> Result<(), TooLong> {
        let least = Err("the reference keeps all values of a window");
        memory::ask(self.footprint.at(ticks)).map_err(|short| TooLong { short, least })
    }
}
