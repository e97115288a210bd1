//! Backends: every way to run a program computes on the given backend. A failure is reported and does not damage
//! checkpoints.

mod support;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rml::backend::{
    self, About, Backend, Buffer, Compiled, Cpu, DefKind, Executable, Failure, Function, Held, Outcome,
};
use rml::{
    CheckOptions, Columns, Engine, Format, GradOptions, InferOptions, ModelExport, ModelFormat, Options,
    Profile, ProfileReport, RunOptions, Session, Stream, TrainOptions, Value,
};
use support::{CLASSIFIER, code, data, options, source, train};

/// The embedded backend, with a count of its calls and a set of the different functions, each of which counts as a
/// program with a compile time of a millisecond. One call can fail, and one operator can be refused.
#[derive(Clone, Debug, Default)]
struct Watched {
    calls: Arc<AtomicUsize>,
    programs: Arc<Mutex<BTreeSet<String>>>,
    fails_at: Option<usize>,
    lacks: Option<&'static str>,
}

impl Watched {
    fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }

    fn engine(&self) -> Engine {
        Engine::simulator_on(Arc::new(self.clone()))
    }
}

impl Backend for Watched {
    fn about(&self) -> About {
        About { name: "watched".into(), ..Cpu.about() }
    }

    fn is_host(&self) -> bool {
        Cpu.is_host()
    }

    fn compiled(&self) -> Option<Compiled> {
        let programs = self.programs.lock().unwrap().len() as u64;
        Some(Compiled { programs, time: Duration::from_millis(programs), ..Compiled::default() })
    }

    fn prepare(&self, function: &Function) -> Result<Box<dyn Executable>, Failure> {
        self.programs.lock().unwrap().insert(rml_backend::print(function));
        for (at, def) in function.values.iter_enumerated() {
            if let DefKind::Apply { op, .. } = &def.kind
                && self.lacks.is_some_and(|lacked| op.to_string() == lacked)
            {
                return Err(Failure::refusal(at, "there is no such operator here"));
            }
        }
        Ok(Box::new(Ready { inner: Cpu.prepare(function)?, watched: self.clone() }))
    }

    fn upload(&self, value: &Value) -> Result<Arc<dyn Buffer>, Failure> {
        Cpu.upload(value)
    }
}

#[derive(Debug)]
struct Ready {
    inner: Box<dyn Executable>,
    watched: Watched,
}

impl Executable for Ready {
    fn run(&self, args: Vec<Held>) -> Result<Outcome, Failure> {
        let call = self.watched.calls.fetch_add(1, Ordering::SeqCst);
        if self.watched.fails_at == Some(call) {
            return Err(Failure::call("the device is gone").help("put it back"));
        }
        self.inner.run(args)
    }
}

const LINE: &str = "node line(x: num [2]) -> (o)\n  k = param([2.0, 3.0]);\n  o = sum(tanh(k * x));\n";

fn inputs() -> Columns {
    Columns::parse(br#"{"x": [[1.0, 2.0], [3.0, 4.0], [0.5, -1.0]]}"#, Format::Json, "inputs").unwrap()
}

#[test]
fn names_open_backends() {
    let cpu = backend::open("cpu", &backend::Options { threads: Some(3), ..Default::default() }).unwrap();
    assert_eq!(cpu.about(), Cpu.about());
    let open = |name: &str, device: &str, threads| {
        backend::open(name, &backend::Options { device: device.into(), threads, ..Default::default() })
            .unwrap_err()
    };
    let unknown = open("tor", "cpu", None);
    assert_eq!(unknown.code(), Some(rml::codes::run::BAD_OPTION));
    assert!(open("troch", "cpu", None).to_string().contains("there is `torch`"));
    assert!(unknown.to_string().contains("cpu, native, reference, xla, torch"));
    for device in ["", "gpu", "cuda", "cuda:", "cuda:-1", "cuda:01", "cuda:+1", "CPU", "cuda:99999999999"] {
        assert_eq!(open("cpu", device, None).code(), Some(rml::codes::run::BAD_OPTION), "{device}");
    }
    assert_eq!(open("cpu", "cpu", Some(0)).code(), Some(rml::codes::run::BAD_OPTION));
    assert_eq!(open("cpu", "cuda:0", None).code(), Some(rml::codes::backend::NO_DEVICE));
    let names: Vec<&str> = backend::list().iter().map(|info| info.name).collect();
    assert_eq!(names, backend::NAMES);
}

/// The reference runs plans and functions, and describes its purpose.
#[test]
fn the_reference_is_a_backend_of_its_own() {
    let none = backend::Options::default();
    let about = backend::open("reference", &none).unwrap().about();
    assert_eq!((about.name.as_str(), &about.devices[..]), ("reference", &["cpu".to_owned()][..]));
    assert!(about.version.contains("slow") && about.version.contains("compared"), "{}", about.version);
    let elsewhere = backend::Options { device: "cuda:0".into(), ..none.clone() };
    assert_eq!(
        backend::open("reference", &elsewhere).unwrap_err().code(),
        Some(rml::codes::backend::NO_DEVICE)
    );
    let engine = |runner, name| backend::engine(runner, name, &none).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let trained = |name, runner| {
        let path = folder.path().join(format!("{name}, {runner:?}"));
        let options = TrainOptions { engine: engine(runner, name), ..options(&path, 2) };
        train(CLASSIFIER, &data(23), &options);
        let infer = InferOptions { engine: engine(runner, name), ..InferOptions::new(&path) };
        rml::infer(&source(CLASSIFIER), &data(23), &infer).unwrap().metrics
    };
    let [cpu, reference] = ["cpu", "reference"].map(|name| trained(name, backend::Runner::Plan));
    let simulated = ["cpu", "reference"].map(|name| trained(name, backend::Runner::Simulator));
    assert_eq!(simulated[0], simulated[1]);
    assert!((cpu["loss"] - reference["loss"]).abs() < 1e-5, "{reference:?}, not {cpu:?}");
}

#[test]
fn traces_and_gradients_are_computed_on_the_backend_that_is_given() {
    let (watched, compile, inputs) = (Watched::default(), Options::default(), inputs());
    let program = rml::compile(&source(LINE), &compile).unwrap();
    let run = |engine: Engine| {
        rml::run(&program, &inputs, &RunOptions { engine, ..Default::default() }).unwrap().to_json()
    };
    assert_eq!(run(watched.engine()), run(Engine::simulator()));
    assert_eq!(watched.calls(), 3);

    let mut session = Session::on(&program, &watched.engine()).unwrap();
    session.step([("x", [1.0_f32, 2.0].into())]).unwrap();
    assert_eq!(watched.calls(), 4);

    let with = |engine: Engine| GradOptions { engine, ..GradOptions::default() };
    let grad = |engine: Engine| rml::grad(&source(LINE), &compile, &inputs, &with(engine)).unwrap().to_json();
    let before = watched.calls();
    assert_eq!(grad(watched.engine()), grad(Engine::simulator()));
    assert!(watched.calls() > before);

    let check = |engine: Engine| {
        rml::gradcheck(&source(LINE), &compile, &inputs, &with(engine), &CheckOptions::default())
            .unwrap()
            .to_json()
    };
    let before = watched.calls();
    assert_eq!(check(watched.engine()), check(Engine::simulator()));
    // At least two sums for each of the eight compared elements.
    assert!(watched.calls() > before + 16);
}

#[test]
fn training_and_inference_are_computed_on_the_backend_that_is_given() {
    let folder = tempfile::tempdir().unwrap();
    let [plain, on] = ["plain", "on"].map(|name| folder.path().join(name));
    let watched = Watched::default();
    let simulator = Engine::simulator();
    train(CLASSIFIER, &data(23), &TrainOptions { engine: simulator, ..options(&plain, 2) });
    let on_backend = |epochs| TrainOptions { engine: watched.engine(), ..options(&on, epochs) };
    train(CLASSIFIER, &data(23), &on_backend(1));
    let first = watched.calls();
    assert!(first > 0);
    // The training continues on the same backend. The last batch of each epoch has another size.
    train(CLASSIFIER, &data(23), &TrainOptions { resume: Some(on.clone()), ..on_backend(2) });
    assert_eq!(watched.calls(), 2 * first);
    assert_eq!(std::fs::read(&plain).unwrap(), std::fs::read(&on).unwrap());

    let infer = |engine: Engine| {
        rml::infer(&source(CLASSIFIER), &data(23), &InferOptions { engine, ..InferOptions::new(&on) })
            .unwrap()
            .metrics
    };
    assert_eq!(infer(watched.engine()), infer(Engine::simulator()));
    assert!(watched.calls() > 2 * first);

    let stream = |engine: Engine| {
        let mut stream =
            Stream::new(&source(CLASSIFIER), &InferOptions { engine, ..InferOptions::new(&on) }).unwrap();
        stream.line(r#"{"x": [0.5, -0.5], "end": true, "y": 1}"#).unwrap()
    };
    let before = watched.calls();
    assert_eq!(stream(watched.engine()), stream(Engine::simulator()));
    assert!(watched.calls() > before);
}

#[test]
fn what_is_compiled_is_told_of_each_epoch_and_of_the_whole_training() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("net");
    let watched = Watched::default();
    let backend: Arc<dyn Backend> = Arc::new(watched.clone());
    let profile = Profile::new(false);
    let engine = Engine::plan_on(Arc::clone(&backend)).or(&Engine::simulator_on(backend));
    let engine = engine.measured_by(&profile);
    let trained = |epochs| {
        let options = TrainOptions { engine: engine.clone(), resume: None, ..options(&path, epochs) };
        rml::train(&source(CLASSIFIER), &data(23), &options, &mut ()).unwrap()
    };
    let report = trained(3);
    let all = watched.compiled().unwrap();
    assert_eq!(report.compiled, all);
    let of = |epoch: usize| &report.epochs[epoch].compiled;
    assert!(of(0).programs > 0 && !of(0).is_nothing());
    assert!(of(2).is_nothing(), "all lengths have come before");
    assert_eq!(of(0).programs + of(1).programs, all.programs);
    assert!(
        report.epochs[0]
            .json_line()
            .contains(&format!("\"compiled\":{{\"loaded\":0,\"programs\":{}", of(0).programs))
    );
    assert!(!report.epochs[2].json_line().contains("compiled"));
    let table = ProfileReport::new(&profile).to_table();
    let row = table.lines().find(|line| line.contains("(programs compiled by the backend)")).unwrap();
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(&cells[2..4], [format!("{}.000", all.programs), all.programs.to_string()], "{table}");
    // A second run on the same backend reports only its own programs.
    assert_eq!(trained(1).compiled, watched.compiled().unwrap().since(&all));
}

/// Loops run over the cycles of a window: the text for a window of another length differs only in numbers.
#[test]
fn what_is_compiled_does_not_grow_with_the_length_of_windows() {
    let compile = |cycles| {
        let options = Options { node: Some("train".to_owned()), ..Options::default() };
        let export = ModelExport { cycles: Some(cycles), ..ModelExport::new(ModelFormat::StableHlo) };
        let model = rml::export_model(&source(CLASSIFIER), &options, None, &export);
        String::from_utf8(model.unwrap().bytes).unwrap()
    };
    let without_numbers = |text: String| {
        text.split(|c: char| c.is_ascii_digit()).filter(|part| !part.is_empty()).collect::<Vec<_>>().join("#")
    };
    let [short, long] = [16, 4000].map(compile);
    assert!(long.len() < short.len() + short.len() / 10);
    assert_eq!(without_numbers(short), without_numbers(long));
}

#[test]
fn a_call_that_fails_midway_leaves_the_checkpoint_of_the_epoch_before() {
    let folder = tempfile::tempdir().unwrap();
    let [whole, part] = ["whole", "part"].map(|name| folder.path().join(name));
    let watched = Watched::default();
    train(CLASSIFIER, &data(23), &TrainOptions { engine: watched.engine(), ..options(&whole, 1) });
    let epoch = watched.calls();
    let fails = Watched { fails_at: Some(epoch + epoch / 2), ..Watched::default() };
    let on = TrainOptions { engine: fails.engine(), ..options(&part, 2) };
    let error = rml::train(&source(CLASSIFIER), &data(23), &on, &mut ()).unwrap_err();
    assert_eq!(error.code(), Some(rml::codes::backend::BACKEND_FAILED));
    let text = error.to_string();
    assert!(
        ["the device is gone", "put it back", "in epoch 2"].iter().all(|part| text.contains(part)),
        "{text}"
    );
    assert_eq!(std::fs::read(&part).unwrap(), std::fs::read(&whole).unwrap());
    for path in [&whole, &part] {
        train(CLASSIFIER, &data(23), &TrainOptions { resume: Some(path.clone()), ..options(path, 2) });
    }
    assert_eq!(std::fs::read(&part).unwrap(), std::fs::read(&whole).unwrap());
}

#[test]
fn what_a_backend_refuses_is_named_with_its_place() {
    let lacks = Watched { lacks: Some("tanh"), ..Watched::default() };
    let program = rml::compile(&source(LINE), &Options::default()).unwrap();
    let trace =
        rml::run(&program, &inputs(), &RunOptions { engine: lacks.engine(), ..Default::default() }).unwrap();
    let error = trace.error.unwrap();
    assert_eq!(error.code(), Some(rml::codes::backend::BACKEND_REFUSES));
    assert!(error.to_string().contains("at test.rml:3:"), "{error}");
    assert!(error.to_string().contains("`tanh`, of type num [2]"), "{error}");
    let with = GradOptions { engine: lacks.engine(), ..GradOptions::default() };
    assert_eq!(code(rml::grad(&source(LINE), &Options::default(), &inputs(), &with)), "backend-refuses");
    assert_eq!(lacks.calls(), 0);
}
