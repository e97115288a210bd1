//! What a shard gives to a step, and the sum over shards.

use rml_base::Diagnostic;
use rml_base::codes::run as codes;
use rml_driver::{Program, Sharded};
use rml_engine::KnownOutputs;
use rml_ir::pass::Exchanged;
use rml_ir::{Data, Shape, Value};

use crate::runner::Averages;

/// What the windows of one shard, or of several, give to a step.
#[derive(Debug)]
pub(super) struct Part {
    /// For each parameter that is updated.
    pub(super) given: Vec<Given>,
    /// The sums of the metrics.
    pub(super) averages: Averages,
    /// How many cycles the longest of the windows has.
    pub(super) cycles: usize,
}

/// What is given to the update of a parameter.
#[derive(Debug)]
pub(super) struct Given {
    /// In how many cycles of the windows the update is present.
    pub(super) ticks: usize,
    /// The gradient, weighted by the share of the windows; `None` is -0.0, which changes no number it is added to.
    pub(super) gradient: Option<Value>,
}

impl Part {
    /// The part of a shard that has `share.0` of the `share.1` windows of the step.
    ///
    /// # Errors
    /// A parameter that is updated more than once in the windows, or read after that.
    pub(super) fn new(
        program: &Program,
        sharded: &Sharded,
        outputs: &[KnownOutputs],
        share: (usize, usize),
    ) -> Result<Self, Diagnostic> {
        let mut averages = Averages::new(program);
        averages.add_metrics(outputs, share.0)?;
        let first = sharded.gradients.outputs().len() - 2 * sharded.exchanged.len();
        let given = sharded.exchanged.iter().enumerate().map(|(place, exchanged)| {
            let mut given = Given::new(program, exchanged, outputs, first + 2 * place)?;
            given.gradient = given.gradient.map(|value| weighted(value, share));
            Ok(given)
        });
        let cycles = outputs.iter().map(KnownOutputs::cycles).sum();
        Ok(Self { given: given.collect::<Result<_, Diagnostic>>()?, averages, cycles })
    }

    /// Joins the pieces that ranks added into gradients of these shapes.
    ///
    /// # Errors
    /// `None`: they do not fill these shapes.
    pub(super) fn whole(pieces: Vec<Self>, shapes: &[Shape]) -> Option<Self> {
        let mut pieces = pieces.into_iter();
        let mut whole = pieces.next()?;
        let mut gradients: Vec<Vec<Value>> = vec![Vec::new(); shapes.len()];
        let mut take = |part: &mut Self| {
            for (given, all) in part.given.iter_mut().zip(&mut gradients) {
                all.extend(given.gradient.take());
            }
        };
        take(&mut whole);
        pieces.for_each(|mut piece| take(&mut piece));
        for ((given, pieces), shape) in whole.given.iter_mut().zip(gradients).zip(shapes) {
            if !pieces.is_empty() {
                given.gradient = Some(joined(pieces, shape)?);
            }
        }
        Some(whole)
    }

    /// Adds the part of the shards after these.
    pub(super) fn add(&mut self, other: Self) {
        self.averages.join(&other.averages);
        self.cycles = self.cycles.max(other.cycles);
        for (given, other) in self.given.iter_mut().zip(other.given) {
            given.ticks = given.ticks.max(other.ticks);
            given.gradient = match (given.gradient.take(), other.gradient) {
                (Some(a), Some(b)) => Some(sum(a, b)),
                (a, b) => a.or(b),
            };
        }
    }
}

impl Given {
    /// What outputs say at that place: `bp`, and after it `do`.
    fn new(
        program: &Program,
        exchanged: &Exchanged,
        outputs: &[KnownOutputs],
        place: usize,
    ) -> Result<Self, Diagnostic> {
        let (mut ticks, mut updates, mut last) = (0, 0, false);
        let mut gradients = Vec::new();
        for outputs in outputs {
            outputs.for_each_value(place, |_, bp| {
                last = bp.as_bool() == Some(true);
                (ticks, updates) = (ticks + 1, updates + usize::from(last));
            })?;
            outputs.for_each_value(place + 1, |_, gradient| gradients.push(gradient.clone()))?;
        }
        match (updates, last) {
            (0, _) => Ok(Self { ticks, gradient: None }),
            (1, true) => Ok(Self { ticks, gradient: gradients.pop() }),
            (1, false) => Err(read_later(program, &exchanged.key)),
            _ => Err(several(program, &exchanged.key, updates)),
        }
    }
}

/// A gradient times a share.
#[allow(clippy::cast_precision_loss, reason = "the numbers of windows are far below 2^53")]
#[allow(clippy::cast_possible_truncation, reason = "rounding to the chosen precision is meant")]
fn weighted(gradient: Value, (windows, all): (usize, usize)) -> Value {
    if windows == all {
        return gradient;
    }
    let (shape, share) = (gradient.shape(), windows as f64 / all as f64);
    let data = match gradient.into_data() {
        Data::F32(mut v) => {
            v.iter_mut().for_each(|x| *x *= share as f32);
            Data::F32(v)
        }
        Data::F64(mut v) => {
            v.iter_mut().for_each(|x| *x *= share);
            Data::F64(v)
        }
        other @ (Data::Bool(_) | Data::Int(_)) => other,
    };
    Value::new(shape, data)
}

/// The gradient with these elements; `None` if it has another number of them.
fn joined(pieces: Vec<Value>, shape: &Shape) -> Option<Value> {
    let mut pieces = pieces.into_iter().map(Value::into_data);
    let mut all = pieces.next()?;
    for piece in pieces {
        match (&mut all, piece) {
            (Data::F32(all), Data::F32(piece)) => all.extend(piece),
            (Data::F64(all), Data::F64(piece)) => all.extend(piece),
            _ => return None,
        }
    }
    (all.len() == shape.len()).then(|| Value::new(shape.clone(), all))
}

/// The sum of two gradients.
fn sum(a: Value, b: Value) -> Value {
    let shape = a.shape();
    let data = match (a.into_data(), b.into_data()) {
        (Data::F32(mut a), Data::F32(b)) => {
            a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
            Data::F32(a)
        }
        (Data::F64(mut a), Data::F64(b)) => {
            a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
            Data::F64(a)
        }
        (a, _) => a,
    };
    Value::new(shape, data)
}

fn refused(program: &Program, key: &str, what: String) -> Diagnostic {
    let d =
        Diagnostic::error(codes::CANNOT_SHARD, format!("the training cannot be divided into shards: {what}"));
    let flat = program.flat();
    match flat.states.get(key) {
        Some(state) => d.label(flat.equations[state.equation].span, "this parameter"),
        None => d,
    }
}

/// A parameter that is updated several times in a step.
fn several(program: &Program, key: &str, updates: usize) -> Diagnostic {
    refused(program, key, format!("parameter `{key}` is updated {updates} times in a window of the data"))
        .note("with shards, a step has one update, by the sum of the gradients of all shards")
        .help("call the node that has the parameter window by window, so that a window of the data has one update: `diff_f(x, true, d) every end`")
        .help("or leave `--shards` out")
}

/// A parameter that is read after its update in a step.
fn read_later(program: &Program, key: &str) -> Diagnostic {
    refused(program, key, format!("parameter `{key}` is read after its update in a window of the data"))
        .note("with shards, parameters are updated at the end of a step, by the sum of the gradients of all shards")
        .help("let the update be in the last cycle of the window, or call the node window by window: `diff_f(x, true, d) every end`")
        .help("or leave `--shards` out")
}

/// A parameter that its update changes although there is no gradient.
pub(super) fn changes(program: &Program, key: &str, cycles: usize) -> Diagnostic {
    refused(program, key, format!("parameter `{key}` changes in cycles without a gradient"))
        .note(format!("its update is present in {cycles} cycles of a window, and has a gradient in the last one"))
        .help("let the update change the parameter only where there is a gradient: `o1 = o + merge bp (..) 0.0`")
        .help("or leave `--shards` out")
}
