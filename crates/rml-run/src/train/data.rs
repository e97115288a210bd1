//! Training on windows of data: epoch after epoch, batch after batch.

use std::collections::BTreeMap;
use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};
use rml_base::codes::run as codes;
use rml_base::profile::Phase;
use rml_base::{Diagnostic, Error};
use rml_data::{
    Amount, Arranged, Batches, Dataset, Kept, Parts, Preparation, Ranges, Recipe, SplitRequest, Windows,
    check_ranges, order,
};
use rml_driver::{ClassAxes, Options, Program, Source, enumerated_inputs, interface};
use rml_ir::Value;

use super::carried::{self, Restart};
use super::confusion;
use super::confusion::Classes;
use super::course::{Blocks, Course};
use super::keeper::Names;
use super::kept::{check_evaluation, left_out, smaller_batch};
use super::observer::{EpochSummary, Observer, Ran, TrainInfo, TrainReport};
use super::options::{Evaluate, TestSplit, TrainOptions, Validate};
use super::resume;
use super::start::{Common, NONE};
use super::steps::Steps;
use super::test::{Nodes, Test, warn_of_learning};
use super::unbound::{settable, sized};
use super::updates;
use super::{doubts, scale, targets};
use crate::checkpoint::{Checkpoint, Reached, Setup, TrainingPosition};
use crate::fingerprint;
use crate::infer::units;
use crate::runner::{Averages, Family, Metrics, Runner};
use crate::session::Session;

/// The default node to run over the test windows.
const INFER: &str = "infer";

/// A training on data, compiled and checked, that has not started.
pub(super) struct OnData<'a> {
    options: &'a TrainOptions,
    family: Family,
    windows: Windows,
    test: Option<Test>,
    train_set: Vec<usize>,
    /// The states to start with.
    begins_with: Option<Checkpoint>,
    /// The states that restart in each epoch.
    carried: IndexSet<Arc<str>>,
    course: Course<'a>,
}

impl<'a> OnData<'a> {
    /// Compiles, binds the data, and reads the checkpoint to continue from.
    pub(super) fn new(
        source: &Source,
        data: &dyn Dataset,
        options: &'a TrainOptions,
        observer: &mut dyn Observer,
    ) -> Result<Self, Error> {
        let mut cut = None;
        let mut count = |recipe: &Recipe| -> Result<usize, Diagnostic> {
            let arranged = options.engine.time(Phase::Data, || Arranged::new(data, &recipe.cut))?;
            let windows = arranged.most_windows();
            cut = Some(arranged);
            Ok(windows)
        };
        let common = Common::new(source, Some(&mut count), options, options.stats);
        let mut common = common.map_err(|error| sized(error, data.table()))?;
        let notes = cut.as_ref().map(Arranged::notes).unwrap_or_default();
        let data = cut.as_ref().map_or(data, |arranged| arranged as &dyn Dataset);
        let recipe = common.recipe(options).with_cases(enumerated_inputs(source)?);
        let allow_nan = options.allow_nan;
        let bound = || bind(data, &common.program, allow_nan, &recipe);
        let mut windows = options
            .engine
            .time(Phase::Data, bound)
            .map_err(|e| settable(e, source, common.compile.node.as_deref()))?;
        common.family.refuse_undeclared(common.stacked, &windows)?;
        let mut nodes = test_node(source, data, options, (&common.compile, common.stacked), &recipe)?;
        common.warn(observer);
        notes.iter().for_each(|note| observer.note(note));
        let in_order = common.shuffle.is_none() && windows.are_cut() && updates::crosses(&common.program);
        if in_order {
            common.shuffle = Some(false);
        }
        let carried = carried::carried(&common.program, &windows);
        let restarts = !options.keep_states && !carried.is_empty();
        let mut position = position(&common, (data, &recipe), (&windows, restarts), options, observer)?;
        let carried = if position.setup.restarts { carried } else { IndexSet::new() };
        if in_order {
            observer.note("windows keep their order, since states continue from one to the next (`--shuffle` shuffles them)");
        }
        if let Some(note) = carried::note(&carried).filter(|_| options.epochs > 1) {
            observer.note(&note);
        }
        if let 1.. = position.setup.left_out() {
            observer.note(&left_out(&position.setup));
        }
        check_evaluation(options, &position.setup, nodes.is_some())?;
        for note in
            updates::notes(&common.program, common.family.late(common.stacked), &windows, &position.setup)
        {
            observer.warning(&common.program.shown(note), common.program.sources());
        }
        if let Some(Nodes { family, size, .. }) = &mut nodes {
            let evaluating = family.program(*size)?;
            warn_of_learning(evaluating, observer);
            if let Some(note) = updates::unrestarted(&common.program, evaluating) {
                observer.warning(&evaluating.shown(note), evaluating.sources());
            }
        }
        for note in doubts::of_reading(&windows) {
            observer.warning(&note, common.program.sources());
        }
        if let (None, Classes::Named { .. }) = (&nodes, &options.classes) {
            return Err(confusion::no_node().into());
        }
        let Parts { train: train_set, test, validation } = position.setup.parts();
        if common.resumed.is_none() {
            let fitted = || preparation(options, data, (&windows, nodes.as_ref()), &train_set);
            position.preparation =
                options.engine.time(Phase::Data, fitted).map_err(|d| common.program.error(d))?;
        }
        position.preparation.axes = class_axes(&common.program, nodes.as_mut(), &position.preparation)?;
        position.preparation.values = named_values(&common.program, nodes.as_mut(), &position.preparation)?;
        windows.prepare(&position.preparation);
        for windows in nodes.iter_mut().flat_map(|nodes| nodes.all_windows()) {
            windows.prepare(&position.preparation);
        }
        if let Some(note) = doubts::tested_groups(&windows, &train_set, &test) {
            observer.note(&note);
        }
        let found = doubts::of_split(&windows, (&train_set, &test), position.setup.last_test);
        for note in found.into_iter().chain(doubts::of_reach(&common.program, &windows, &train_set)) {
            observer.warning(&common.program.shown(note), common.program.sources());
        }
        if let Some(Nodes { family, size, .. }) = &mut nodes {
            let evaluating = family.program(*size)?;
            targets::targets(evaluating, &position.preparation).iter().for_each(|note| observer.note(note));
        }
        for note in scale::findings(&common.program, &windows) {
            observer.warning(&common.program.shown(note), common.program.sources());
        }
        if let Some(asked) = common.asked.filter(|asked| *asked > train_set.len()) {
            observer.warning(&smaller_batch(asked, &position.setup), common.program.sources());
        }
        let batch = position.setup.batch;
        if position.setup.shards == 1 {
            let order = order(&train_set, position.setup.shuffle, position.setup.seed, 0);
            common.family.refuse_other_sizes(&windows.batches(&order, batch), batch.min(order.len()))?;
        }
        if let Some(nodes) = &mut nodes {
            nodes
                .refuse_other_sizes([("test", &test), ("validation", &validation)], position.setup.shard())?;
        }
        let trained = &common.program;
        let mut test =
            nodes.map(|nodes| Test::new(trained, nodes, test, validation, options, source)).transpose()?;
        if let Some(test) = &mut test {
            test.notes(&train_set)?.iter().for_each(|note| observer.note(note));
            if let Some(found) = test.leak(data.table())? {
                observer.warning(&found, trained.sources());
            }
        }
        let (test_names, validation) = test.as_ref().map(Test::names).unwrap_or_default();
        let names = Names { test: test_names, validation, ..Names::default() };
        let begins_with = common.begins_with().cloned();
        let mut family = common.family;
        let course = Course::new(options, family.program(position.setup.shard())?, names, position)?;
        Ok(Self { options, family, windows, test, train_set, begins_with, carried, course })
    }

    /// The position at which it starts.
    pub(super) fn position(&self) -> &TrainingPosition {
        self.course.position()
    }

    /// Trains all remaining epochs.
    pub(super) fn run(mut self, observer: &mut dyn Observer) -> Result<TrainReport, Error> {
        let setup = self.course.position().setup.clone();
        let cycles = self.windows.same_length();
        self.options.agree(self.course.position())?;
        let mut steps = Steps::on_data(&mut self.family, &setup, cycles, self.options)?;
        let restart = steps.restarting(self.carried)?;
        if let Some(checkpoint) = &self.begins_with {
            steps.restore(checkpoint)?;
        }
        steps.agree(self.options)?;
        let Self { options, windows, test, train_set, .. } = self;
        let (epochs, of, batches) = (options.epochs, None, Batches::default());
        let mut blocks = Epochs {
            epochs,
            setup,
            steps,
            restart,
            windows,
            test,
            train_set,
            of,
            batches,
            next: 0,
            first: Metrics::new(),
        };
        self.course.run(&mut blocks, observer)
    }
}

/// The windows of the data, shuffled again for each epoch.
struct Epochs<'f> {
    /// The total number of epochs.
    epochs: u64,
    setup: Setup,
    steps: Steps<Runner<'f>>,
    /// Restarts states at the start of each epoch after the first one.
    restart: Restart,
    windows: Windows,
    test: Option<Test>,
    train_set: Vec<usize>,
    /// The epoch of `batches`.
    of: Option<u64>,
    /// The batches of this epoch.
    batches: Batches,
    /// The next batch.
    next: usize,
    /// The metrics of the first batch of a training.
    first: Metrics,
}

impl Epochs<'_> {
    /// Divides the windows of an epoch into batches, without the first `done` windows.
    fn begin_epoch(&mut self, epoch: u64, done: usize) -> Result<(), Error> {
        if epoch > 0 && done == 0 {
            self.steps.restart(&self.restart)?;
        }
        let Setup { shuffle, seed, batch, .. } = self.setup;
        let order = order(&self.train_set, shuffle, seed, epoch);
        self.batches = self.windows.batches(&order, batch);
        let mut end = 0;
        let is_done = |batch: &[usize]| {
            end += batch.len();
            end <= done
        };
        self.next = self.batches.iter().map(is_done).take_while(|is_done| *is_done).count();
        self.of = Some(epoch);
        Ok(())
    }
}

impl Blocks for Epochs<'_> {
    fn session(&self) -> &Session {
        self.steps.session()
    }

    fn advance(
        &mut self,
        reached: &Reached,
        averages: &mut Averages,
        observer: &mut dyn Observer,
    ) -> Result<Ran, Error> {
        if self.of != Some(reached.epoch) {
            self.begin_epoch(reached.epoch, reached.done)?;
        }
        let Some(batch) = self.batches.get(self.next) else { return Ok(Ran { windows: 0, cycles: 0 }) };
        self.next += 1;
        self.steps.run(&self.windows, batch, self.next == self.batches.len(), averages)?;
        self.steps.note().iter().for_each(|note| observer.note(note));
        if reached.epoch == 0 && reached.done == 0 {
            self.first = averages.metrics();
        }
        Ok(Ran { windows: batch.len() as u64, cycles: 0 })
    }

    fn is_over(&self, reached: &Reached) -> bool {
        reached.epoch >= self.epochs
    }

    fn steps(&self, ran: &Ran) -> u64 {
        u64::from(ran.windows > 0)
    }

    fn describe(&self, info: &mut TrainInfo) {
        info.train_windows = self.train_set.len();
        info.validation_windows = self.test.as_ref().map_or(0, Test::validation_windows);
        info.epochs = Some(self.epochs);
        info.single_cycles = self.windows.same_length() == Some(1);
    }

    fn diverged(&self, finding: Diagnostic) -> Diagnostic {
        match self.windows.not_finite(&self.train_set) {
            Some((name, window, origin)) => {
                // The learning rate is not the cause.
                let mut finding = Diagnostic { labels: Vec::new(), ..finding };
                finding.notes.insert(
                    0,
                    format!("column `{name}` has a number that is not finite in window {window} of {origin}"),
                );
                finding.help("replace infinite numbers in the data, or leave out their rows")
            }
            None => finding,
        }
    }

    fn exploded(&self, metrics: &Metrics, within: &str) -> Option<Diagnostic> {
        const ENOUGH: usize = 8;
        let is_first = self.of == Some(0) && self.setup.batch >= ENOUGH;
        let overshot = || scale::overshot(&self.windows, &self.first, metrics).filter(|_| is_first);
        scale::exploded(&self.windows, metrics, within).or_else(overshot)
    }

    fn evaluate(&mut self, summary: &mut EpochSummary) -> Result<(), Error> {
        let Self { steps, setup, test, .. } = self;
        let Some(test) = test else { return Ok(()) };
        test.evaluate(&Checkpoint::of_states(steps.to_evaluate()?), setup.shard(), summary)
    }

    fn states(&mut self) -> Result<IndexMap<Arc<str>, Value>, Error> {
        self.steps.states()
    }

    fn show(&mut self, observer: &mut dyn Observer) -> Result<(), Error> {
        self.steps.show()?;
        observer.learned(self.steps.session());
        Ok(())
    }
}

/// The position at which a run on data starts or resumes.
fn position(
    common: &Common,
    (data, recipe): (&dyn Dataset, &Recipe),
    (windows, restarts): (&Windows, bool),
    options: &TrainOptions,
    observer: &mut dyn Observer,
) -> Result<TrainingPosition, Error> {
    let mut names: Vec<String> = common.program.inputs().iter().map(|i| i.name.to_string()).collect();
    names.extend(
        recipe.cut.columns().into_iter().filter(|name| !has(&common.program, name)).map(str::to_owned),
    );
    let columns = || fingerprint::data(data, names.iter().map(String::as_str));
    let setup = Setup { restarts, ..common.capped(setup(common, windows, options)?) };
    let mut fresh = common.position(setup, None, options.engine.time(Phase::Data, columns)?);
    fresh.origin.columns = names;
    match common.before() {
        None => Ok(fresh),
        Some((before, anew)) => resume::position(before, &fresh, options, &anew, observer),
    }
}

fn has(program: &Program, input: &str) -> bool {
    program.inputs().iter().any(|info| *info.name == *input)
}

/// The setup of a new run: the use of each window.
fn setup(common: &Common, windows: &Windows, options: &TrainOptions) -> Result<Setup, Error> {
    let validation = match &options.validate {
        Some(Validate::Split(split)) => Some(*split),
        Some(Validate::Data(_)) | None => None,
    };
    let ragged = windows.same_length().is_none();
    let wish = |split: TestSplit, purpose| checked(split, purpose).map(TestSplit::wish);
    let test = options.test.map(|split| wish(split, "testing")).transpose()?;
    let none = SplitRequest { amount: Amount::Count(0), last: false };
    let wished = validation.map_or(Ok(none), |split| wish(split, "validation"))?;
    if let Some((ranges, test)) = windows.divide((test, TestSplit::DEFAULT_SHARE), wished, common.seed)? {
        let kept = |ranges: &[(usize, usize)], last| Kept { count: Ranges::count(ranges), last };
        let (test, validation) = (kept(&ranges.test, test.last), kept(&ranges.validation, wished.last));
        return Ok(Setup { ranges: Some(ranges), ..common.setup(windows.count, test, validation, ragged) });
    }
    let usual = match windows.are_cut() {
        true => TestSplit::LastShare(TestSplit::DEFAULT_SHARE),
        false => TestSplit::default(),
    };
    let test = count(options.test.unwrap_or(usual), windows.count, "testing")?;
    let validation = validation.map_or(Ok(NONE), |split| count(split, windows.count, "validation"))?;
    Ok(common.setup(windows.count, test, validation, ragged))
}

fn bind(data: &dyn Dataset, program: &Program, allow_nan: bool, recipe: &Recipe) -> Result<Windows, Error> {
    let how = (program.precision(), allow_nan);
    Windows::bind_by(data, program.inputs(), how, recipe).map_err(|d| program.error(d))
}

/// How the data of a new run is prepared.
fn preparation(
    options: &TrainOptions,
    data: &dyn Dataset,
    (windows, nodes): (&Windows, Option<&Nodes>),
    train_set: &[usize],
) -> Result<Preparation, Diagnostic> {
    let all: Vec<&Windows> = std::iter::once(windows).chain(nodes.map(|nodes| &nodes.windows)).collect();
    Preparation::fit(options.recipe.clone().named_in(data.table()), &all, train_set)
}

/// The axes of parameters whose positions are classes, according to the training and the evaluation.
fn class_axes(
    trained: &Program,
    nodes: Option<&mut Nodes>,
    preparation: &Preparation,
) -> Result<ClassAxes, Error> {
    let mut axes = trained.class_axes(&preparation.classes);
    if let Some(Nodes { family, size, .. }) = nodes {
        for (key, own) in family.program(*size)?.class_axes(&preparation.classes) {
            axes.entry(key).or_insert(own);
        }
    }
    Ok(axes)
}

/// The variables that are values of standardised inputs, according to the training and the evaluation.
fn named_values(
    trained: &Program,
    nodes: Option<&mut Nodes>,
    preparation: &Preparation,
) -> Result<BTreeMap<String, String>, Error> {
    let mut values = units::named(trained, preparation);
    if let Some(Nodes { family, size, .. }) = nodes {
        values.extend(units::named(family.program(*size)?, preparation));
    }
    Ok(values)
}

/// The node to evaluate, if the program has it.
fn test_node(
    source: &Source,
    data: &dyn Dataset,
    options: &TrainOptions,
    (compile, size): (&Options, usize),
    recipe: &Recipe,
) -> Result<Option<Nodes>, Error> {
    let node = match &options.evaluate {
        Evaluate::Node(node) => node,
        Evaluate::Usual if interface(source, INFER)?.is_some() => INFER,
        Evaluate::Usual | Evaluate::Nothing => return Ok(None),
    };
    let set = std::mem::take(&mut compile.clone().set);
    let options_of = Options {
        node: Some(node.to_owned()),
        set: Default::default(),
        defaults: set,
        gradients: false,
        trained: false,
        evaluates: true,
        ..compile.clone()
    };
    let mut family = Family::new(source, options_of, options.engine.clone())?;
    let size = family.size(size, data.most_windows());
    let program = family.program(size)?.clone();
    let windows = bind(data, &program, options.allow_nan, recipe)
        .and_then(|windows| family.refuse_undeclared(size, &windows).map(|()| windows))
        .map_err(|e| e.note(format!("node {node} is run after each epoch to evaluate the test windows")))?;
    let classes = windows.classes().map(|(input, classes)| (input.to_owned(), classes.to_vec()));
    let known = Recipe { classes: classes.collect(), ..recipe.clone() };
    let validation = match &options.validate {
        Some(Validate::Data(other)) => {
            check_ranges(data.table(), other.table())?;
            Some(bind(&**other, &program, options.allow_nan, &known).map_err(|e| {
                e.note(format!("node {node} is run after each epoch over the data to validate by"))
            })?)
        }
        Some(Validate::Split(_)) | None => None,
    };
    Ok(Some(Nodes { family, size, windows, validation }))
}

/// Fails unless a share is below 1.
fn checked(split: TestSplit, purpose: &str) -> Result<TestSplit, Error> {
    match split {
        TestSplit::Share(s) | TestSplit::LastShare(s) if !(0.0..1.0).contains(&s) => {
            let what = format!("a share of {s} of the windows cannot be kept for {purpose}");
            Err(Diagnostic::error(codes::BAD_OPTION, what).into())
        }
        _ => Ok(split),
    }
}

/// The windows that are kept for a purpose.
fn count(split: TestSplit, windows: usize, purpose: &str) -> Result<Kept, Error> {
    let SplitRequest { amount, last } = checked(split, purpose)?.wish();
    let count = amount.of(windows);
    if count >= windows {
        let what =
            format!("{count} of {windows} windows are kept for {purpose}, and none is left to train on");
        return Err(Diagnostic::error(codes::BAD_OPTION, what).into());
    }
    Ok(Kept { count, last: last && count > 0 })
}
