//! The evaluation of a training without data, by a node that makes its own data.

use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Error};
use rml_driver::{Options, Program, Source, interface};
use rml_engine::{Snapshot, States};
use rml_ir::Value;

use super::observer::Observer;
use super::options::{Evaluate, Length, TestSplit, TrainOptions};
use super::shards::first_tick;
use super::test::warn_of_learning;
use crate::checkpoint::{Checkpoint, Policy};
use crate::rollout::{Reach, Rollout};
use crate::runner::{Averages, Family, Metrics, metric_names};
use crate::session::Session;

/// The default node for evaluation.
const EVALUATE: &str = "evaluate";

/// A node that runs after each report with the trained parameters; all its other states restart.
pub(super) struct Evaluation {
    rollout: Rollout,
    /// The snapshot that it starts with.
    initial: Snapshot,
    windows: usize,
}

impl Evaluation {
    /// The node that the options name, or the default one, beside a training with this number of shards.
    pub(super) fn new(
        source: &Source,
        length: &Length,
        options: &TrainOptions,
        (compile, shards): (&Options, usize),
    ) -> Result<Option<Self>, Error> {
        let windows = windows(options.test)?;
        let node = match &options.evaluate {
            Evaluate::Nothing => return Ok(None),
            Evaluate::Usual if interface(source, EVALUATE)?.is_none() || windows == 0 => {
                return Ok(None);
            }
            Evaluate::Usual => EVALUATE,
            Evaluate::Node(_) if windows == 0 => {
                let what = "a node is to evaluate, and no window is left for it";
                return Err(Diagnostic::error(codes::BAD_OPTION, what)
                    .help("give it some (`--test COUNT`)")
                    .into());
            }
            Evaluate::Node(node) => node,
        };
        let (set, defaults) = (Default::default(), compile.set.clone());
        let node_of = Some(node.to_owned());
        let compile = Options {
            node: node_of,
            set,
            defaults,
            gradients: false,
            probes: Vec::new(),
            trained: false,
            evaluates: true,
            ..compile.clone()
        };
        let mut family = Family::new(source, compile, options.engine.clone())?;
        let open = |family: &mut Family| {
            let program = family.program(1)?.clone();
            family.refuse_rejected(1)?;
            Ok((Rollout::open(&program, &options.engine, length.look_ahead)?, program))
        };
        let evaluates = |e: Error| e.note(format!("node {node} is run after each report to evaluate"));
        let (mut rollout, program) = open(&mut family).map_err(evaluates)?;
        rollout.session_mut().set_states(&first_ticks(&program, shards))?;
        let initial = rollout.session().snapshot()?;
        Ok(Some(Self { rollout, initial, windows }))
    }

    /// How many windows it runs.
    pub(super) fn windows(&self) -> usize {
        self.windows
    }

    /// Warns if it updates parameters.
    pub(super) fn warn(&self, observer: &mut dyn Observer) {
        warn_of_learning(self.rollout.session().program(), observer);
    }

    /// The note that its windows are single cycles, so that few windows are a short evaluation.
    pub(super) fn note(&self) -> Option<String> {
        let program = self.rollout.session().program();
        let (node, windows) = (program.node(), self.windows);
        let cycles = if windows == 1 { "1 cycle".to_owned() } else { format!("{windows} cycles") };
        program.flat().windows.is_empty().then(|| {
            format!("`{node}` runs {cycles}, since a window of it is one cycle; `--test 500` runs 500")
        })
    }

    /// The names of its metrics.
    pub(super) fn names(&self) -> Vec<String> {
        metric_names(self.rollout.session().program())
    }

    /// Restarts with the current parameters of the training.
    pub(super) fn begin(&mut self, trained: &Session) -> Result<(), Error> {
        let session = self.rollout.session_mut();
        session.set_snapshot(&self.initial)?;
        let flat = trained.program().flat();
        let mut states = trained.states()?;
        states.retain(|key, _| flat.states.get(key).is_some_and(|state| state.parameter));
        session.restore(&Checkpoint::of_states(states), Policy::Inference).map_err(|e| {
            let (node, trained) = (session.program().node(), trained.program().node());
            e.note(format!("node {node} evaluates what node {trained} trains, by parameters of the same paths"))
                .note("so both nodes call the network in the same way: not one itself, and the other one in a node that it calls")
        })
    }

    /// The averages over its windows with the current parameters of the training.
    pub(super) fn run(&mut self, trained: &Session) -> Result<Metrics, Error> {
        let within = |e: Error| e.note("while the training was evaluated");
        self.begin(trained)?;
        let session = self.rollout.session();
        let mut averages = Averages::new(session.program());
        let mut left = self.windows as u64;
        while left > 0 {
            let stretch = self.rollout.advance(Reach { windows: left, cycles: u64::MAX }).map_err(within)?;
            averages.add(&stretch.outputs, 1).map_err(|d| self.rollout.session().fail(d))?;
            left -= stretch.windows;
        }
        Ok(averages.metrics())
    }
}

/// How many windows to run.
fn windows(test: Option<TestSplit>) -> Result<usize, Diagnostic> {
    let what = match test {
        None => return Ok(1),
        Some(TestSplit::Count(n)) => return Ok(n),
        Some(TestSplit::Share(share)) => format!("a share of {share} of the windows"),
        Some(TestSplit::LastShare(_) | TestSplit::LastCount(_)) => "the last windows".to_owned(),
    };
    let what = format!("{what} cannot be kept for testing, since there is no data");
    Err(Diagnostic::error(codes::BAD_OPTION, what)
        .help("say how many windows the evaluation runs (`--test COUNT`)"))
}

/// For the random streams of a program, the tick at which the evaluation starts to draw: that of the shard after the
/// last one, which no training reaches.
fn first_ticks(program: &Program, shards: usize) -> States {
    let ticks = program.flat().ticks();
    ticks.into_iter().map(|key| (key, Value::Int(first_tick(shards)))).collect()
}
