//! Windows that an evaluation shows: what goes in, what is right, and what is found.

use rml_base::Diagnostic;
use rml_data::Windows;
use rml_driver::{Program, keep_inputs};
use rml_engine::KnownOutputs;
use rml_ir::{DType, Data, Value};
use rml_pictures::{Series, ShownWindow};

use super::confusion::{self, Pair, greatest};

/// The most inputs of a window that are shown.
const INPUTS: usize = 3;

/// Some of the windows that an evaluation ran, the same ones each time.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let text = "node line(x) -> (o)  k = param(0.0);  o = k * x;
/// #   node train(x: num [], y: num []) -> (loss)
/// #     o, _ = diff_line(x, true, 0.05 * (y - o));  loss = (o - y) * (o - y);
/// #   node infer(x: num [], y: num []) -> (o, loss)  o = line(x);  loss = (o - y) * (o - y);";
/// # let source = rml::Source::text("line.rml", text);
/// # let data = rml::Columns::parse(b"x,y\n1,2\n2,4\n3,6\n4,8\n", rml::Format::Csv, "data.csv")?;
/// use rml::{TestSplit, TrainOptions};
///
/// let test = Some(TestSplit::Count(2));
/// let options = TrainOptions { samples: 1, test, ..TrainOptions::default() };
/// let report = rml::train(&source, &data, &options, &mut ())?;
/// let shown = report.epochs[9].samples.as_ref().expect("`o` is what `y` says");
/// assert_eq!((shown.list.len(), shown.among, &*shown.found), (1, 2, "o"));
/// # Ok(()) }
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct EvaluatedSamples {
    /// The windows that were evaluated: `test` or `validation`.
    pub of: &'static str,
    /// How many these are.
    pub among: usize,
    /// The input that says what is right.
    pub label: String,
    /// The output that was found.
    pub found: String,
    /// The windows that are shown.
    pub list: Vec<ShownWindow>,
}

impl EvaluatedSamples {
    /// What they are, in a sentence.
    pub(super) fn caption(&self, what: &str, epoch: u64) -> String {
        let Self { of, among, label, found, list } = self;
        let right = match list.iter().map(ShownWindow::hits).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1)) {
            (hits, all) if list.iter().all(|sample| sample.are_classes) => {
                format!(", {hits} of {all} are right")
            }
            _ => String::new(),
        };
        format!(
            "{} of the {among} {of} windows, the same ones after each {what}: `{found}` beside `{label}`, after {what} {epoch}{right}",
            list.len()
        )
    }
}

/// What is shown of each window: places among the inputs and outputs of a program.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    label: usize,
    found: usize,
    classes: Option<Pair>,
    inputs: Vec<usize>,
    /// Whether values have a row for each window.
    is_batched: bool,
    program: Program,
    /// How many windows are shown at most.
    most: usize,
}

impl Asked {
    /// What there is to show, if anything: labels and classes, or else the first input of numbers with an output of its
    /// type that does not depend on it.
    pub(super) fn find(program: &Program, classes: Option<&Pair>, most: usize) -> Option<Self> {
        if most == 0 {
            return None;
        }
        let classes = classes.filter(|pair| pair.label_input().is_some());
        let (label, found) = match classes {
            Some(pair) => (pair.label_input()?, pair.found()),
            None => numbers_beside(program)?,
        };
        let inputs = program.inputs();
        let is_shown = |i: &usize| *i != label && inputs[*i].ty.dtype != DType::Bool;
        Some(Self {
            label,
            found,
            classes: classes.cloned(),
            inputs: (0..inputs.len()).filter(is_shown).take(INPUTS).collect(),
            is_batched: inputs[label].batched,
            program: program.clone(),
            most,
        })
    }

    /// Begins to collect windows of a set, which are spread over it in the order of the data.
    pub(super) fn begin(&self, of: &'static str, set: &[usize]) -> Collecting<'_> {
        let mut windows = set.to_vec();
        windows.sort_unstable();
        let (all, most) = (windows.len(), self.most.min(windows.len()));
        let windows = (0..most).map(|i| windows[i * all / most]).collect();
        Collecting { asked: self, of, among: all, windows, list: Vec::new() }
    }
}

/// The first input of numbers, and an output of its type that does not depend on it.
fn numbers_beside(program: &Program) -> Option<(usize, usize)> {
    let inputs = program.inputs().iter().enumerate().filter(|(_, input)| input.ty.dtype == DType::Num);
    inputs
        .filter_map(|(i, input)| {
            let without = keep_inputs(program, |name| name != &*input.name);
            let is_free = |name: &str| without.outputs().iter().any(|kept| &*kept.name == name);
            let found = program.outputs().iter().position(|o| o.ty == input.ty && is_free(&o.name))?;
            Some((i, found))
        })
        .next()
}

/// The windows that were collected so far.
pub(super) struct Collecting<'a> {
    asked: &'a Asked,
    of: &'static str,
    among: usize,
    windows: Vec<usize>,
    list: Vec<(usize, ShownWindow)>,
}

impl Collecting<'_> {
    /// Takes the windows to show out of those that were run.
    ///
    /// # Errors
    /// Values that cannot be copied from their device.
    pub(super) fn add(
        &mut self,
        all: &[KnownOutputs],
        data: &Windows,
        ran: &[usize],
    ) -> Result<(), Diagnostic> {
        let mut found = None;
        for (at, window) in ran.iter().enumerate() {
            let Ok(place) = self.windows.binary_search(window) else { continue };
            let found = match &found {
                Some(found) => found,
                None => found.insert(confusion::output(all, self.asked.found)?),
            };
            let sample = self.asked.sample(found, data, *window, (at, ran.len()))?;
            self.list.push((place, sample));
        }
        Ok(())
    }

    pub(super) fn end(mut self) -> EvaluatedSamples {
        self.list.sort_by_key(|(place, _)| *place);
        let Asked { label, found, program, .. } = self.asked;
        EvaluatedSamples {
            of: self.of,
            among: self.among,
            label: program.inputs()[*label].name.to_string(),
            found: program.outputs()[*found].name.to_string(),
            list: self.list.into_iter().map(|(_, sample)| sample).collect(),
        }
    }
}

impl Asked {
    /// A window, number `at` of those that were run together.
    fn sample(
        &self,
        found: &[Option<Value>],
        data: &Windows,
        window: usize,
        (at, of): (usize, usize),
    ) -> Result<ShownWindow, Diagnostic> {
        let right = self.input(data, self.label, window)?;
        let output = &self.program.outputs()[self.found];
        let part = |value: &Value| {
            let all = elements(value);
            let size = if self.is_batched { all.len() / of.max(1) } else { all.len() };
            all.get(at * size..(at + 1) * size).map_or_else(|| all.clone(), <[f64]>::to_vec)
        };
        let cells: Vec<Option<Vec<f64>>> = found.iter().map(|value| value.as_ref().map(part)).collect();
        let inputs = self.inputs.iter().map(|i| self.input(data, *i, window)).collect::<Result<_, _>>()?;
        let (name, dims) = (output.name.to_string(), right.dims.clone());
        let mut sample = ShownWindow { title: format!("window {window}"), inputs, ..ShownWindow::default() };
        (sample.found, sample.shares) = match self.classes.as_ref().map(|pair| (pair, pair.scores())) {
            None | Some((_, None)) => (Series { name, dims, cells }, Vec::new()),
            Some((_, Some(n))) => {
                let of_scores =
                    |scores: &[f64]| greatest(scores.iter().copied()).map_or(f64::NAN, |class| class as f64);
                let classes = |cell: &Vec<f64>| cell.chunks(n).map(of_scores).collect::<Vec<f64>>();
                let mut scores = cells.iter().flatten().filter(|cell| cell.len() == n);
                let only = scores.next().filter(|_| scores.next().is_none());
                let found = cells.iter().map(|cell| cell.as_ref().map(classes)).collect();
                (Series { name, dims, cells: found }, only.map(|scores| shares(scores)).unwrap_or_default())
            }
        };
        sample.right = right;
        if let Some(pair) = &self.classes {
            sample.are_classes = true;
            sample.names = pair.classes(data);
        }
        Ok(sample)
    }

    /// The values of an input in a window.
    fn input(&self, data: &Windows, i: usize, window: usize) -> Result<Series, Diagnostic> {
        let info = &self.program.inputs()[i];
        let dims = info.ty.shape.dims();
        let dims = if info.batched { dims.get(1..).unwrap_or_default() } else { dims }.to_vec();
        let cells = confusion::input(data, i, &[window])?;
        let cells = cells.iter().map(|value| value.as_ref().map(elements)).collect();
        Ok(Series { name: info.name.to_string(), dims, cells })
    }
}

/// Scores as shares of 1: as they are if they are shares, else by softmax.
fn shares(scores: &[f64]) -> Vec<f64> {
    let sum: f64 = scores.iter().sum();
    if (sum - 1.0).abs() < 1e-3 && scores.iter().all(|score| (0.0..=1.0).contains(score)) {
        return scores.to_vec();
    }
    let most = scores.iter().copied().fold(f64::MIN, f64::max);
    let powers: Vec<f64> = scores.iter().map(|score| (score - most).exp()).collect();
    let sum: f64 = powers.iter().sum();
    powers.into_iter().map(|power| power / sum).collect()
}

fn elements(value: &Value) -> Vec<f64> {
    match value.to_data() {
        Data::F32(v) => v.into_iter().map(f64::from).collect(),
        Data::F64(v) => v,
        Data::Int(v) => v.into_iter().map(|x| x as f64).collect(),
        Data::Bool(v) => v.into_iter().map(|x| f64::from(u8::from(x))).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_that_are_shares_stay_and_others_become_shares() {
        assert_eq!(shares(&[0.25, 0.75]), [0.25, 0.75]);
        assert_eq!(shares(&[3.0, 3.0]), [0.5, 0.5]);
        let found = shares(&[1000.0, 0.0]);
        assert!(found[0] > 0.999 && found.iter().sum::<f64>() == 1.0);
    }
}
