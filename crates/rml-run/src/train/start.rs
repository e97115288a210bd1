//! What must hold before a training run begins: the program compiles and fits the data, the options make sense, the checkpoint to
//! go on from was made under the same conditions, and the one to write can be written.

use rml_base::codes::run as codes;
use rml_base::profile::Phase;
use rml_base::{Diagnostic, Error};
use rml_data::{Dataset, Kept, Windows};
use rml_driver::{Options, Program, Source, interface};
use rml_ir::Precision;

use super::observer::Observer;
use super::options::{Evaluate, TestSplit, TrainOptions, Validate};
use super::records;
use super::resume::{self, Terms};
use super::test::Nodes;
use super::updates;
use crate::checkpoint::{Checkpoint, Policy, Position};
use crate::fingerprint;
use crate::runner::{Family, asked_batch, batch_size};

/// The node that is run over the test windows where nothing is said.
const INFER: &str = "infer";

/// No windows kept.
pub(super) const NONE: Kept = Kept { count: 0, last: false };

/// A checked beginning.
pub(super) struct Start {
    pub(super) family: Family,
    pub(super) windows: Windows,
    pub(super) test: Option<Nodes>,
    pub(super) position: Position,
    pub(super) resumed: Option<Checkpoint>,
}

/// What does not depend on where data comes from.
pub(super) struct Common {
    pub(super) resumed: Option<Checkpoint>,
    pub(super) compile: Options,
    /// How many windows are stacked.
    pub(super) size: usize,
    pub(super) family: Family,
    pub(super) program: Program,
    shuffle: bool,
    seed: u64,
}

impl Common {
    /// Reads the checkpoint to go on from, and compiles. Without data, as many windows are stacked as are asked for. With `gradients`,
    /// their norms are outputs.
    pub(super) fn new(
        source: &Source,
        data: Option<&dyn Dataset>,
        options: &TrainOptions,
        gradients: bool,
    ) -> Result<Self, Error> {
        records::check(options, source)?;
        let engine = &options.engine;
        let read = |path| engine.time(Phase::Checkpoint, || Checkpoint::read(path));
        let resumed = options.resume.as_ref().map(|path| read(path)).transpose()?;
        let before = resumed.as_ref().and_then(|c| c.position.as_ref());
        let Terms { node, mut set, precision, seed, shuffle } = resume::terms(options, before)?;
        let asked = asked_batch(options.batch, &mut set)?;
        let stacks = interface(source, &node)?.is_some_and(|i| i.has_batch);
        let stacked = asked.or(before.map(|p| p.batch).filter(|_| stacks));
        let batch = batch_size(source, &node, stacked)?;
        let compile = Options {
            node: Some(node),
            set,
            precision,
            seed,
            gradients,
            trained: true,
            ..Options::default()
        };
        let mut family = Family::new(source, compile.clone(), options.engine.clone())?;
        let size = data.map_or(stacked.unwrap_or(1), |data| family.size(batch, data));
        let program = family.program(size)?.clone();
        family.refuse_rejected(size)?;
        if let Some(checkpoint) = resumed.as_ref().filter(|_| asked.is_none()) {
            // before the data, so that a checkpoint of another program is called that
            checkpoint.select(&program, Policy::Exact)?;
        }
        Ok(Self { resumed, compile, size, family, program, shuffle, seed })
    }

    /// The position of a run that begins.
    pub(super) fn position(&self, windows: usize, test: Kept, validation: Kept, data: String) -> Position {
        Position {
            node: self.compile.node.clone().unwrap_or_default(),
            double: self.compile.precision == Precision::F64,
            seed: self.seed,
            batch: self.size,
            shuffle: self.shuffle,
            windows,
            test: test.count,
            validation: validation.count,
            last_test: test.last,
            last_validation: validation.last,
            ragged: false,
            epoch: 0,
            done: 0,
            length: None,
            sums: Vec::new(),
            program: fingerprint::program(self.program.sources()),
            data,
            columns: self.program.inputs().iter().map(|i| i.name.to_string()).collect(),
            best: None,
            set: Some(self.compile.set.clone()),
        }
    }

    /// The position to go on from, and the states that begin anew.
    pub(super) fn before(&self) -> Option<(&Position, Vec<String>)> {
        let checkpoint = self.resumed.as_ref()?;
        Some((checkpoint.position.as_ref()?, checkpoint.lacks(&self.program)))
    }
}

/// Checks everything.
pub(super) fn start(
    source: &Source,
    data: &dyn Dataset,
    options: &TrainOptions,
    observer: &mut dyn Observer,
) -> Result<Start, Error> {
    let mut common = Common::new(source, Some(data), options, options.stats)?;
    let engine = &options.engine;
    let windows = engine.time(Phase::Data, || bind(data, &common.program, options.allow_nan))?;
    common.family.refuse_undeclared(common.size, &windows)?;
    let program = &common.program;
    let test = test_node(source, data, options, &common.compile, common.size)?;
    for finding in program.warnings().iter() {
        observer.warning(finding, program.sources());
    }
    let columns = || fingerprint::data(data, program.inputs().iter().map(|i| &*i.name));
    let kept = count(options.test.unwrap_or_default(), windows.count, "testing")?;
    let validation = match &options.validate {
        Some(Validate::Split(split)) => count(*split, windows.count, "validation")?,
        Some(Validate::Data(_)) | None => NONE,
    };
    let fresh = Position {
        ragged: windows.same_length().is_none(),
        ..common.position(windows.count, kept, validation, engine.time(Phase::Data, columns)?)
    };
    let longest = (0..windows.count).map(|w| windows.length(w)).max().unwrap_or_default();
    let position = match common.before() {
        None => fresh,
        Some((before, anew)) => resume::position(before, &fresh, options, &anew, observer)?,
    };
    check_evaluation(options, &position, test.is_some())?;
    for note in updates::notes(program, longest, position.shuffle) {
        observer.warning(&note, program.sources());
    }
    let Common { family, resumed, .. } = common;
    Ok(Start { family, windows, test, position, resumed })
}

/// A node that is asked for is run, and some windows are left to train on.
fn check_evaluation(options: &TrainOptions, position: &Position, evaluates: bool) -> Result<(), Diagnostic> {
    let Position { windows, test, validation, .. } = position;
    if test + validation >= *windows {
        let what = format!(
            "{test} of {windows} windows are kept for testing and {validation} for validation, and none is left to train on"
        );
        return Err(Diagnostic::error(codes::BAD_OPTION, what));
    }
    if options.validate.is_some() && !evaluates {
        let what = "windows are kept for validation, and no node runs over them";
        return Err(Diagnostic::error(codes::BAD_OPTION, what)
            .help("name the node that evaluates them (`--evaluate NODE`), or call it `infer`"));
    }
    let validates = *validation > 0 || matches!(options.validate, Some(Validate::Data(_)));
    match &options.evaluate {
        Evaluate::Node(node) if *test == 0 && !validates => Err(Diagnostic::error(
            codes::BAD_OPTION,
            format!("node {node} is to evaluate the test windows, and there are none"),
        )
        .note(format!("of {windows} windows, none is kept for testing"))
        .help("keep some (`--test COUNT`), or evaluate nothing (leave `--evaluate` out)")),
        _ => Ok(()),
    }
}

fn bind(data: &dyn Dataset, program: &Program, allow_nan: bool) -> Result<Windows, Error> {
    Windows::bind(data, program.inputs(), program.precision(), allow_nan)
        .map_err(|d| Error::from(d).with_sources(program.sources()))
}

/// The node to evaluate, if the program has it.
fn test_node(
    source: &Source,
    data: &dyn Dataset,
    options: &TrainOptions,
    compile: &Options,
    size: usize,
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
        ..compile.clone()
    };
    let mut family = Family::new(source, options_of, options.engine.clone())?;
    let size = family.size(size, data);
    let program = family.program(size)?.clone();
    let windows = bind(data, &program, options.allow_nan)
        .and_then(|windows| family.refuse_undeclared(size, &windows).map(|()| windows))
        .map_err(|e| e.note(format!("node {node} is run after each epoch to evaluate the test windows")))?;
    let validation = match &options.validate {
        Some(Validate::Data(other)) => Some(bind(&**other, &program, options.allow_nan).map_err(|e| {
            e.note(format!("node {node} is run after each epoch over the data to validate by"))
        })?),
        Some(Validate::Split(_)) | None => None,
    };
    Ok(Some(Nodes { family, size, windows, validation }))
}

/// The windows that are kept for a purpose.
fn count(split: TestSplit, windows: usize, purpose: &str) -> Result<Kept, Error> {
    let bad = |what: String| Err(Diagnostic::error(codes::BAD_OPTION, what).into());
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "in 0..=windows"
    )]
    let count = match split {
        TestSplit::Count(n) | TestSplit::LastCount(n) => n,
        TestSplit::Share(s) | TestSplit::LastShare(s) if (0.0..1.0).contains(&s) => {
            (s * windows as f64).round() as usize
        }
        TestSplit::Share(s) | TestSplit::LastShare(s) => {
            return bad(format!("a share of {s} of the windows cannot be kept for {purpose}"));
        }
    };
    if count >= windows {
        return bad(format!(
            "{count} of {windows} windows are kept for {purpose}, and none is left to train on"
        ));
    }
    let last = matches!(split, TestSplit::LastCount(_) | TestSplit::LastShare(_));
    Ok(Kept { count, last: last && count > 0 })
}
