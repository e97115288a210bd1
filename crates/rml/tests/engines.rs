//! User-defined engines: training and inference run on the given engine, window by window, and report if it declines.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rml::engine::{
    Block, BlockColumn, BlockResult, Declined, Exact, Fast, Feeding, FirstOf, Inputs, KnownOutputs, Present,
    Reason, Run, States, Usage, Use,
};
use rml::ir::flat::Drawn;
use rml::sim::SimulatorEngine;
use rml::{Data, Diagnostic, Engine, InferOptions, Session, Shape, TrainOptions, Value, engine};
use support::{CLASSIFIER, code, data, options, source, train};

/// Runs whole windows of a known length and declines all other uses. It computes with a simulator, returns columns, and
/// suspects every third window without a reason.
#[derive(Clone, Debug, Default)]
struct Windowed {
    blocks: Arc<AtomicUsize>,
}

impl engine::ProgramEngine for Windowed {
    fn name(&self) -> &str {
        "windowed"
    }

    fn open(&self, program: &Arc<Drawn>, wish: &Use) -> Result<Box<dyn Run>, Declined> {
        let Feeding::Windows { cycles: Some(cycles) } = wish.feeding else {
            return Err(Declined::new(Reason::Use, "it runs windows of a known length"));
        };
        let run = Box::new(SimulatorEngine::new().start(program, wish));
        let (program, wish) = (Arc::clone(program), wish.clone());
        let (own, blocks) = (Arc::clone(&program), Arc::clone(&self.blocks));
        let fast = Fixed { run, cycles, program: own, wish: wish.clone(), blocks };
        Ok(Box::new(Exact::new(fast, Arc::new(SimulatorEngine::new()), program, wish)))
    }
}

#[derive(Debug)]
struct Fixed {
    run: Box<dyn Run>,
    cycles: usize,
    program: Arc<Drawn>,
    wish: Use,
    blocks: Arc<AtomicUsize>,
}

impl Fast for Fixed {
    fn run(&mut self, first: u64, inputs: Inputs<'_>) -> Result<BlockResult, Diagnostic> {
        assert!(matches!(inputs, Inputs::Block(block) if block.cycles() == self.cycles));
        if self.blocks.fetch_add(1, Ordering::SeqCst) % 3 == 2 {
            return Ok(BlockResult::SUSPECT);
        }
        self.run.feed(inputs)?;
        let parts: Vec<KnownOutputs> = std::iter::from_fn(|| self.run.next_outputs()).collect();
        let columns = (0..self.program.outputs.len()).map(|k| column(&parts, k)).collect();
        Ok(BlockResult::Done(KnownOutputs::Block { first, block: Block::new(self.cycles, columns) }))
    }

    fn states(&self) -> Result<States, Diagnostic> {
        self.run.states()
    }

    fn set_states(&mut self, states: &States) -> Result<(), Diagnostic> {
        self.run = Box::new(SimulatorEngine::new().start(&self.program, &self.wish));
        self.run.set_states(states)
    }

    fn usage(&self) -> Usage {
        self.run.usage()
    }
}

/// An output of numbers in single cycles, as a column.
fn column(parts: &[KnownOutputs], output: usize) -> BlockColumn {
    let (mut marks, mut numbers, mut dims) = (vec![false; parts.len()], Vec::new(), Vec::new());
    for (t, part) in parts.iter().enumerate() {
        part.for_each_value(output, |_, value| {
            marks[t] = true;
            dims = value.shape().dims().to_vec();
            match value.to_data() {
                Data::F32(v) => numbers.extend(v),
                other => panic!("{other:?}"),
            }
        })
        .unwrap();
    }
    dims.insert(0, marks.iter().filter(|m| **m).count());
    let present: Present = marks.into_iter().collect();
    BlockColumn::new(present, Value::new(Shape::new(&dims), Data::F32(numbers)))
}

#[test]
fn training_and_inference_feed_whole_windows_and_agree_with_the_simulator() {
    let folder = tempfile::tempdir().unwrap();
    let [plain, fast] = ["plain", "fast"].map(|name| folder.path().join(name));
    let windowed = Windowed::default();
    let engine = Engine::new(Arc::new(windowed.clone()));
    let simulator = Engine::simulator();
    train(CLASSIFIER, &data(23), &TrainOptions { engine: simulator, ..options(&plain, 3) });
    train(CLASSIFIER, &data(23), &TrainOptions { engine: engine.clone(), ..options(&fast, 3) });
    assert_eq!(std::fs::read(&plain).unwrap(), std::fs::read(&fast).unwrap());
    let trained = windowed.blocks.load(Ordering::SeqCst);
    assert!(trained > 9, "{trained} batches of windows");
    let infer = |engine: Engine| {
        let options = InferOptions { engine, keep_outputs: true, ..InferOptions::new(&plain) };
        let report = rml::infer(&source(CLASSIFIER), &data(23), &options).unwrap();
        (report.metrics, format!("{:?}", report.outputs))
    };
    assert_eq!(infer(engine), infer(Engine::simulator()));
    assert!(windowed.blocks.load(Ordering::SeqCst) > trained);
}

#[test]
fn an_engine_that_declines_is_reported_or_passed_over() {
    let windowed = || Arc::new(Windowed::default());
    let program =
        rml::compile(&source(CLASSIFIER), &rml::Options { batch: Some(1), ..infer_node() }).unwrap();
    let error = Session::on(&program, &Engine::new(windowed()));
    assert_eq!(code(error), "engine-declines");
    let either = FirstOf::new(vec![windowed()], Arc::new(SimulatorEngine::new()));
    let mut session = Session::on(&program, &Engine::new(Arc::new(either))).unwrap();
    let x = Value::new(Shape::new(&[1, 2]), Data::F32(vec![0.5, -0.5]));
    let y = Value::new(Shape::new(&[1]), Data::Int(vec![1]));
    let rows = session.step([("x", x.into()), ("end", true.into()), ("y", y.into())]).unwrap();
    assert!(rows[0].num("loss").is_some());
}

fn infer_node() -> rml::Options {
    rml::Options { node: Some("infer".into()), ..Default::default() }
}
