//! The simulator as an engine: values stay on a device, states are passed from run to run there, and a failed copy is
//! an error.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rml_backend::{About, Backend, Buffer, Executable, Failure, Function, Held, Outcome, reference};
use rml_base::codes::backend::BACKEND_FAILED;
use rml_engine::{Block, BlockColumn, Feeding, Inputs, Present, ProgramEngine, Run, Use};
use rml_ir::flat::{Drawn, Flat, Rhs, State};
use rml_ir::op::{Binary, Op, Reduction};
use rml_ir::{DType, Data, Precision, Shape, Type, Value};
use rml_sim::{Options, Simulator, SimulatorEngine, Tensors};
use rml_testkit::flat::{Builder, NUM};

/// A device that counts the copies from and to it; copies from it can fail.
#[derive(Clone, Default, Debug)]
struct Device {
    broken: Arc<AtomicBool>,
    downloads: Arc<AtomicUsize>,
    uploads: Arc<AtomicUsize>,
}

#[derive(Debug)]
struct Kept {
    ty: Type,
    value: Value,
    device: Device,
}

impl Device {
    fn keep(&self, value: Value) -> Arc<dyn Buffer> {
        Arc::new(Kept { ty: value.ty(), value, device: self.clone() })
    }

    fn copies(&self) -> (usize, usize) {
        (self.downloads.swap(0, Ordering::SeqCst), self.uploads.swap(0, Ordering::SeqCst))
    }
}

impl Buffer for Kept {
    fn ty(&self) -> &Type {
        &self.ty
    }

    fn precision(&self) -> Precision {
        self.value.precision()
    }

    fn download(&self) -> Result<Value, Failure> {
        if self.device.broken.load(Ordering::SeqCst) {
            return Err(Failure::call("the copy failed"));
        }
        self.device.downloads.fetch_add(1, Ordering::SeqCst);
        Ok(self.value.clone())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Backend for Device {
    fn about(&self) -> About {
        About { name: "device".into(), version: "1".into(), device: "far".into(), devices: Vec::new() }
    }

    fn prepare(&self, function: &Function) -> Result<Box<dyn Executable>, Failure> {
        Ok(Box::new(Ready { function: function.clone(), device: self.clone() }))
    }

    fn upload(&self, value: &Value) -> Result<Arc<dyn Buffer>, Failure> {
        self.uploads.fetch_add(1, Ordering::SeqCst);
        Ok(self.keep(value.clone()))
    }
}

#[derive(Debug)]
struct Ready {
    function: Function,
    device: Device,
}

impl Executable for Ready {
    fn run(&self, args: Vec<Held>) -> Result<Outcome, Failure> {
        let own = |held: &Held| match held {
            Held::Host(value) => value.clone(),
            Held::Device(buffer) => buffer.as_any().downcast_ref::<Kept>().expect("its own").value.clone(),
        };
        let args: Vec<Value> = args.iter().map(own).collect();
        let results = reference::evaluate(&self.function, &args).expect("numbers have results");
        Ok(Outcome::Done(results.into_iter().map(|v| Held::Device(self.device.keep(v))).collect()))
    }
}

/// A weight of four numbers that changes in each cycle, `w = zeros fby (w + x * ones)`, and `o = sum(w)`.
fn program() -> Arc<Drawn> {
    let mut b = Builder::new();
    let x = b.input("x", NUM);
    let vector = Type::new(DType::Num, &[4]);
    let w = b.var("w", vector.clone());
    let wide = b.apply(Op::Broadcast { shape: vector.shape.clone() }, &[x]);
    let next = b.apply(Op::Binary(Binary::Add), &[w, wide]);
    let init = b.init(Value::zeros(&vector, Precision::F64));
    let equation = b.define(w, Rhs::Fby { init, next, window: None });
    let o = b.apply(Op::Reduce(Reduction::Sum, None), &[w]);
    b.output(o);
    let mut flat = Flat::clone(&b.build());
    flat.states.clear();
    flat.states.insert("w".into(), State { equation, parameter: true });
    Arc::new(Drawn::new(flat).expect("one state has one key"))
}

fn feed(run: &mut dyn Run, numbers: &[f64]) -> Vec<f64> {
    let values = Value::new(Shape::new(&[numbers.len()]), Data::F64(numbers.to_vec()));
    let block = Block::new(numbers.len(), vec![BlockColumn::new(Present::Always, values)]);
    run.feed(Inputs::Block(&block)).unwrap();
    let mut sums = Vec::new();
    for outputs in std::iter::from_fn(|| run.next_outputs()) {
        outputs.for_each_value(0, |_, v| sums.push(v.as_num().unwrap())).unwrap();
    }
    sums
}

#[test]
fn states_are_handed_over_on_their_device() {
    let (device, program, windows) =
        (Device::default(), program(), Use::new(Feeding::Windows { cycles: None }));
    let engine = SimulatorEngine::on(Arc::new(device.clone()));
    let mut first = engine.open(&program, &windows).unwrap();
    assert_eq!(feed(&mut *first, &[1.0, 2.0, 3.0]), [0.0, 4.0, 12.0]);
    device.copies();
    let states = first.states().unwrap();
    let mut second = engine.open(&program, &Use { first: 3, ..windows.clone() }).unwrap();
    second.set_states(&states).unwrap();
    assert_eq!(device.copies(), (0, 0), "nothing is moved to hand them over");
    assert_eq!(feed(&mut *second, &[1.0]), [24.0]);
    assert_eq!(device.copies(), (1, 0), "the output alone is copied");
    assert_eq!(second.cycles(), 4);

    // On the host, the states are those that the reference computes.
    let mut plain = SimulatorEngine::new().open(&program, &windows).unwrap();
    feed(&mut *plain, &[1.0, 2.0, 3.0, 1.0]);
    let text = |run: &dyn Run| format!("{:?}", run.states().unwrap().to_host().unwrap()["w"].to_data());
    assert_eq!(text(&*plain), text(&*second));
    // Another engine accepts them, too.
    plain.set_states(&states).unwrap();
    assert_eq!(feed(&mut *plain, &[0.0]), [24.0]);
}

#[test]
fn outputs_and_errors_count_from_the_first_cycle() {
    let (program, wish) = (program(), Use { first: 7, ..Use::new(Feeding::Stream { look_ahead: Some(3) }) });
    let mut run = SimulatorEngine::new().open(&program, &Use { record: true, ..wish.clone() }).unwrap();
    feed(&mut *run, &[1.0, 1.0]);
    assert_eq!((run.cycles(), run.open_cycles()), (9, 0));
    let inspect = run.inspect().unwrap();
    let x = program.inputs[0].var;
    let known: Vec<bool> = (6..10).map(|n| inspect.status(n, x).unwrap().is_some()).collect();
    assert_eq!(known, [false, true, true, false]);
    let error = run.feed(Inputs::Cycle(&[rml_sim::InputCell::Given(Value::Bool(true))])).unwrap_err();
    assert!(error.to_string().contains("in cycle 9"), "{error}");
}

#[test]
fn a_copy_from_the_device_that_fails_is_an_error() {
    let program = program();
    for record in [false, true] {
        let device = Device::default();
        let tensors = Tensors::On(Arc::new(device.clone()));
        let mut sim = Simulator::new(Arc::clone(&program), Options { record, tensors, ..Options::default() });
        let row = [rml_sim::InputCell::Given(Value::F64(1.0))];
        sim.feed(&row).unwrap();
        device.broken.store(true, Ordering::SeqCst);
        let error = sim.feed(&row).unwrap_err();
        assert_eq!((error.code, error.message.as_str()), (BACKEND_FAILED, "the copy failed"));
        assert!(sim.has_failed());
        // A state that is read later is not reported as unknown either.
        let w = program.equations[program.states["w"].equation].lhs;
        assert_eq!(sim.status(1, w).unwrap_err().message, "the copy failed");
    }
}

#[test]
fn a_record_that_cannot_be_copied_is_an_error() {
    // Only the record reads the sum on the host.
    let mut b = Builder::new();
    let x = b.input("x", NUM);
    let wide = b.apply(Op::Broadcast { shape: Shape::new(&[4]) }, &[x]);
    b.apply(Op::Binary(Binary::Add), &[wide, wide]);
    b.output(x);
    let program = b.build();
    let device = Device::default();
    device.broken.store(true, Ordering::SeqCst);
    let tensors = Tensors::On(Arc::new(device));
    let options = |record| Options { record, tensors: tensors.clone(), ..Options::default() };
    let row = [rml_sim::InputCell::Given(Value::F64(1.0))];
    Simulator::new(Arc::clone(&program), options(false)).feed(&row).unwrap();
    let mut recording = Simulator::new(program, options(true));
    let error = recording.feed(&row).unwrap_err();
    assert_eq!(error.code, BACKEND_FAILED);
    assert!(error.to_string().contains("in cycle 0"), "{error}");
    assert_eq!(recording.failure().unwrap().cycle, 0);
}
