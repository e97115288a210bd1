//! Confusion matrices: how often an evaluation takes one class for another.

mod text;

use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Error};
use rml_data::Windows;
use rml_driver::{ClassAxes, Program, keep_inputs};
use rml_engine::{Block, InputCell, KnownOutputs};
use rml_ir::{DType, Data, Type, Value};

/// The most classes that are counted.
const MOST: usize = 100;

/// The classes that the confusion matrix of an evaluation over windows of data compares.
///
/// ```
/// assert!(matches!(rml::TrainOptions::default().classes, rml::Classes::Nothing));
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Classes {
    /// No confusion matrix.
    #[default]
    Nothing,
    /// An integer input and an output with scores, if there is exactly one such pair: the output does not depend on the
    /// input, and has the input's shape with an additional last axis of 2 to 100 scores.
    Usual,
    /// An integer input or output, and an output of the same shape that is a class, or that has a score for each class
    /// along an additional last axis.
    Named {
        /// The input or output with the correct class.
        label: String,
        /// The output with the predicted class, or scores.
        found: String,
    },
}

/// A confusion matrix of an evaluation.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let text = "import std.losses;
/// #   node net(x: num [2]) -> (logits: num [2])  logits = param(zeros([2])) + x;
/// #   node train(x: num [2], y: int []) -> (loss: num [], logits: num [2])
/// #     logits, _ = diff_net(x, true, d);  loss, d = diff_cross_entropy(logits, y, true, -0.1);
/// #   node infer(x: num [2], y: int []) -> (logits: num [2], loss: num [])
/// #     logits = net(x);  loss = cross_entropy(logits, y);";
/// # let source = rml::Source::text("net.rml", text);
/// # let rows = b"x[0],x[1],y\n1,0,0\n0,1,1\n3,0,0\n0,2,1\n";
/// # let data = rml::Columns::parse(rows, rml::Format::Csv, "data.csv")?;
/// use rml::{Classes, TestSplit, TrainOptions};
///
/// let test = Some(TestSplit::Count(2));
/// let options = TrainOptions { classes: Classes::Usual, test, ..TrainOptions::default() };
/// let report = rml::train(&source, &data, &options, &mut ())?;
/// let found = report.epochs[9].confusion.as_ref().expect("labels and logits");
/// assert_eq!(found.right(), (2, 2));
/// # Ok(()) }
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Confusion {
    /// The input or output with the correct class.
    pub label: String,
    /// The output with the predicted class, or a score for each class.
    pub found: String,
    /// The windows that were evaluated: `test`, `validation`, `train` or `all`.
    pub of: &'static str,
    /// For each correct class, how often each class was predicted: a square matrix.
    pub counts: Vec<Vec<u64>>,
    /// The names of the classes, in the order of their numbers, if the data has names.
    pub names: Vec<String>,
    /// How often the correct or the predicted class was not counted: below 0, beyond the scores, or above 99; or all
    /// scores were NaN.
    pub others: u64,
}

impl Confusion {
    /// How often the predicted class is correct, and how many predictions there are.
    pub fn right(&self) -> (u64, u64) {
        let right = self.counts.iter().enumerate().map(|(class, row)| row[class]).sum();
        (right, self.counts.iter().flatten().sum::<u64>() + self.others)
    }
}

/// The pair to compare: indices of inputs and outputs of a program.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    label: Label,
    found: usize,
    /// The number of scores; `None` if the output is the class.
    scores: Option<usize>,
    names: (String, String),
    /// The program, which has the names of the values.
    program: Program,
}

#[derive(Clone, Copy, Debug)]
enum Label {
    Input(usize),
    Output(usize),
}

/// The pair of an evaluating program to compare, if the options ask for one.
///
/// # Errors
/// Names that are not such a pair.
pub(crate) fn find(program: &Program, classes: &Classes) -> Result<Option<Pair>, Error> {
    match classes {
        Classes::Nothing => Ok(None),
        Classes::Usual => Ok(usual(program)),
        Classes::Named { label, found } => named(program, label, found)
            .map(Some)
            .ok_or_else(|| Error::from(no_pair(program, label, found)).with_sources(program.sources())),
    }
}

/// The only pair of an integer input and of scores that do not depend on it.
fn usual(program: &Program) -> Option<Pair> {
    let inputs = program.inputs().iter().enumerate().filter(|(_, input)| input.ty.dtype == DType::Int);
    let mut pairs = inputs.flat_map(|(i, input)| {
        let without = keep_inputs(program, |name| name != &*input.name);
        let outputs = program.outputs().iter().enumerate();
        let pair = move |(o, output): (usize, &rml_ir::OutputInfo)| {
            let scores = scores(&input.ty, &output.ty)?;
            let is_free = without.outputs().iter().any(|kept| kept.name == output.name);
            let names = (input.name.to_string(), output.name.to_string());
            is_free.then(|| Pair {
                label: Label::Input(i),
                found: o,
                scores: Some(scores),
                names,
                program: program.clone(),
            })
        };
        outputs.filter_map(pair).collect::<Vec<_>>()
    });
    pairs.next().filter(|_| pairs.next().is_none())
}

fn named(program: &Program, label: &str, found: &str) -> Option<Pair> {
    let output = |name: &str| program.outputs().iter().position(|output| &*output.name == name);
    let input = program.inputs().iter().position(|input| &*input.name == label);
    let (place, ty) = match (input, output(label)) {
        (Some(i), _) => (Label::Input(i), &program.inputs()[i].ty),
        (None, Some(o)) => (Label::Output(o), &program.outputs()[o].ty),
        (None, None) => return None,
    };
    let at = output(found)?;
    let other = &program.outputs()[at].ty;
    let scores = scores(ty, other);
    let is_class = ty.dtype == DType::Int && other == ty && label != found;
    let names = (label.to_owned(), found.to_owned());
    (is_class || scores.is_some()).then(|| Pair {
        label: place,
        found: at,
        scores,
        names,
        program: program.clone(),
    })
}

/// The number of scores for each label, by the types of label and output.
fn scores(label: &Type, found: &Type) -> Option<usize> {
    let (last, lead) = found.shape.dims().split_last()?;
    let fits = label.dtype == DType::Int && found.dtype == DType::Num && lead == label.shape.dims();
    (fits && (2..=MOST).contains(last)).then_some(*last)
}

fn no_pair(program: &Program, label: &str, found: &str) -> Diagnostic {
    let what = format!("`{label}` and `{found}` of node {} are no labels with their classes", program.node());
    with_types(program, Diagnostic::error(codes::BAD_OPTION, what))
}

/// The error that no names are given, and there is not exactly one pair.
pub(crate) fn no_usual(program: &Program) -> Error {
    let what = format!(
        "node {} does not have exactly one integer input with scores for its classes",
        program.node()
    );
    let d = Diagnostic::error(codes::BAD_OPTION, what);
    Error::from(with_types(program, d)).with_sources(program.sources())
}

/// Adds the inputs and outputs of a program, two of which have to be named.
fn with_types(program: &Program, d: Diagnostic) -> Diagnostic {
    let (inputs, outputs) = (program.inputs().iter(), program.outputs().iter());
    let inputs = inputs.map(|input| format!("input `{}`: {}", input.name, input.ty));
    let outputs = outputs.map(|output| format!("output `{}`: {}", output.name, output.ty));
    inputs
        .chain(outputs)
        .fold(d, Diagnostic::note)
        .help(format!(
            "name an integer input or output, and an output that has the same type, or is `num` and has 2 to {MOST} scores behind that shape (`--confusion LABEL:OUTPUT`)"
        ))
}

/// The error that no node evaluates windows of data.
pub(super) fn no_node() -> Diagnostic {
    let what = "classes are to be compared, and no node evaluates windows of data";
    Diagnostic::error(codes::BAD_OPTION, what)
        .help("name the node that evaluates (`--evaluate NODE`), or call it `infer`")
}

/// The error that there are no windows of data.
pub(crate) fn no_data() -> Diagnostic {
    Diagnostic::error(codes::BAD_OPTION, "a confusion matrix needs data, and there is none")
        .help("compare the classes in the program, and make the accuracy an output")
}

/// The counts of a confusion matrix.
pub(crate) struct Counts<'p> {
    pair: &'p Pair,
    confusion: Confusion,
    /// Whether the user named the pair.
    is_named: bool,
}

impl Pair {
    /// The number of the input with the labels, if the labels are an input.
    pub(super) fn label_input(&self) -> Option<usize> {
        match self.label {
            Label::Input(i) => Some(i),
            Label::Output(_) => None,
        }
    }

    /// The number of the output with the classes or scores.
    pub(super) fn found(&self) -> usize {
        self.found
    }

    /// The names of the label and of the output with the classes or scores.
    pub(super) fn named(&self) -> (&str, &str) {
        (&self.names.0, &self.names.1)
    }

    /// The number of scores; `None` if the output is the class.
    pub(super) fn scores(&self) -> Option<usize> {
        self.scores
    }

    /// Starts to count in windows of this kind.
    pub(crate) fn counts(&self, of: &'static str) -> Counts<'_> {
        let (label, found) = self.names.clone();
        let classes = self.scores.unwrap_or(0);
        let counts = vec![vec![0; classes]; classes];
        let confusion = Confusion { label, found, of, counts, names: Vec::new(), others: 0 };
        Counts { pair: self, confusion, is_named: false }
    }

    /// The names of the classes.
    pub(super) fn classes(&self, data: &Windows) -> Vec<String> {
        let classes = data.classes().map(|(input, names)| (input.to_owned(), names.to_vec())).collect();
        let names = self.program.names(&classes, &ClassAxes::new());
        let own = names.of(&self.names.0).or_else(|| names.of(&self.names.1));
        own.unwrap_or_default().iter().map(ToString::to_string).collect()
    }
}

impl Counts<'_> {
    /// The matrix of the counts.
    pub(crate) fn end(self) -> Confusion {
        self.confusion
    }

    /// Counts in the outputs of windows of the data, in the cycles where both label and prediction are present.
    ///
    /// # Errors
    /// Values that cannot be copied from their device.
    pub(crate) fn add(
        &mut self,
        all: &[KnownOutputs],
        data: &Windows,
        windows: &[usize],
    ) -> Result<(), Diagnostic> {
        if !std::mem::replace(&mut self.is_named, true) {
            self.confusion.names = self.pair.classes(data);
        }
        let labels = match self.pair.label {
            Label::Input(i) => input(data, i, windows)?,
            Label::Output(o) => output(all, o)?,
        };
        let found = output(all, self.pair.found)?;
        for (label, found) in labels.iter().zip(&found) {
            if let (Some(label), Some(found)) = (label, found) {
                self.compare(label, found);
            }
        }
        Ok(())
    }

    fn compare(&mut self, label: &Value, found: &Value) {
        let Data::Int(labels) = label.to_data() else { return };
        let found: Vec<Option<usize>> = match (found.to_data(), self.pair.scores) {
            (Data::Int(classes), None) => {
                classes.into_iter().map(|class| usize::try_from(class).ok()).collect()
            }
            (Data::F32(scores), Some(n)) => {
                scores.chunks(n).map(|s| greatest(s.iter().copied().map(f64::from))).collect()
            }
            (Data::F64(scores), Some(n)) => scores.chunks(n).map(|s| greatest(s.iter().copied())).collect(),
            _ => return,
        };
        for (label, found) in labels.into_iter().zip(found) {
            self.count(usize::try_from(label).ok(), found);
        }
    }

    fn count(&mut self, label: Option<usize>, found: Option<usize>) {
        let Confusion { counts, others, .. } = &mut self.confusion;
        let most = self.pair.scores.unwrap_or(MOST);
        match (label.filter(|c| *c < most), found.filter(|c| *c < most)) {
            (Some(label), Some(found)) => {
                let classes = counts.len().max(label + 1).max(found + 1);
                counts.resize_with(classes, Vec::new);
                counts.iter_mut().for_each(|row| row.resize(classes, 0));
                counts[label][found] += 1;
            }
            _ => *others += 1,
        }
    }
}

/// The first of the greatest scores.
pub(super) fn greatest(scores: impl Iterator<Item = f64>) -> Option<usize> {
    let mut best: Option<(usize, f64)> = None;
    for (class, score) in scores.enumerate().filter(|(_, score)| !score.is_nan()) {
        if best.is_none_or(|(_, most)| score > most) {
            best = Some((class, score));
        }
    }
    best.map(|(class, _)| class)
}

/// The values of an input, cycle by cycle.
pub(super) fn input(data: &Windows, i: usize, windows: &[usize]) -> Result<Vec<Option<Value>>, Diagnostic> {
    let cycles = windows.first().map_or(0, |window| data.length(*window));
    let block = Block::new(cycles, vec![data.column(i, windows)?]);
    let (mut rows, mut row, mut values) = (block.rows()?, Vec::new(), Vec::with_capacity(cycles));
    while rows.next_inputs(&mut row) {
        values.push(row.pop().and_then(|input| match input {
            InputCell::Given(value) | InputCell::OnDemand(Some(value)) => Some(value),
            InputCell::OnDemand(None) | InputCell::Absent => None,
        }));
    }
    Ok(values)
}

/// The values of an output, cycle by cycle.
pub(super) fn output(all: &[KnownOutputs], o: usize) -> Result<Vec<Option<Value>>, Diagnostic> {
    let mut values = Vec::new();
    for outputs in all {
        let start = values.len();
        values.resize_with(start + outputs.cycles(), || None);
        outputs.for_each_value(o, |t, value| values[start + t] = Some(value.clone()))?;
    }
    Ok(values)
}
