//! Outputs in the units of the data, if the training scaled the inputs that they are compared with.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use indexmap::IndexMap;
use rml_analysis::{NumberUnit, lost, units};
use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Span};
use rml_data::{Column, Elements, Preparation};
use rml_driver::Program;
use rml_ir::flat::Var;
use rml_ir::{Data, Value};

use crate::runner::Metrics;

/// The outputs of a program that can be brought to the unit of an input.
#[derive(Clone, Debug, Default)]
pub(crate) struct Units {
    outputs: IndexMap<Arc<str>, Scaled>,
}

/// The unit of an output, and the scale of its input.
#[derive(Clone, Debug)]
struct Scaled {
    input: String,
    unit: NumberUnit,
    mean: Vec<f64>,
    deviation: Vec<f64>,
}

impl Units {
    /// The units of a program's outputs.
    ///
    /// # Errors
    /// No output has one.
    pub(crate) fn of(program: &Program, preparation: &Preparation) -> Result<Self, Diagnostic> {
        let flat = program.flat();
        let scaled = preparation.changed_inputs();
        if scaled.is_empty() {
            let what = "the training standardised no input, so all outputs are as the program computes them";
            return Err(Diagnostic::error(codes::BAD_OPTION, what).help("leave `--unscale` out"));
        };
        let found = found(program, preparation, &scaled);
        let output = |(info, v): (&rml_ir::OutputInfo, &Var)| {
            let unit = *found.get(v)?;
            let (NumberUnit::Value(at) | NumberUnit::Differences(at, _)) = unit;
            let (mean, deviation) = preparation.scale(scaled[at])?;
            let (mean, deviation) = (mean.to_vec(), deviation.to_vec());
            Some((Arc::clone(&info.name), Scaled { input: scaled[at].to_owned(), unit, mean, deviation }))
        };
        let outputs: IndexMap<_, _> =
            program.outputs().iter().zip(&flat.outputs).filter_map(output).collect();
        if outputs.is_empty() {
            return Err(unknown(program, &scaled, lost(flat, &found)));
        }
        Ok(Self { outputs })
    }

    /// The value of an output in the units of the data.
    pub(crate) fn value<'v>(&self, output: &str, value: &'v Value) -> Cow<'v, Value> {
        let Some(scaled) = self.outputs.get(output) else { return Cow::Borrowed(value) };
        let data = match value.to_data() {
            Data::F32(v) => Data::F32(scaled.each(v, f64::from, narrow)),
            Data::F64(v) => Data::F64(scaled.each(v, |x| x, |x| x)),
            data @ (Data::Bool(_) | Data::Int(_)) => data,
        };
        Cow::Owned(Value::new(value.shape().clone(), data))
    }

    /// The same for a column of values.
    pub(crate) fn column(&self, output: &str, column: &mut Column) {
        let Some(scaled) = self.outputs.get(output) else { return };
        match &mut column.elements {
            Elements::F32(v) => *v = scaled.each(std::mem::take(v), f64::from, narrow),
            Elements::F64(v) => *v = scaled.each(std::mem::take(v), |x| x, |x| x),
            Elements::Bool(_) | Elements::Int(_) => {}
        }
    }

    /// The same for averages of outputs.
    pub(crate) fn metrics(&self, metrics: Metrics) -> Metrics {
        let one = |(name, x): (String, f64)| {
            let x = self.outputs.get(&*name).map_or(x, |scaled| scaled.one(0, x));
            (name, x)
        };
        metrics.into_iter().map(one).collect()
    }

    /// Which outputs have been brought to which unit: sentences without a full stop.
    pub(crate) fn notes(&self) -> Vec<String> {
        let note = |(output, scaled): (&Arc<str>, &Scaled)| {
            let unit = match scaled.unit {
                NumberUnit::Value(_) | NumberUnit::Differences(_, 1) => "the unit".to_owned(),
                NumberUnit::Differences(_, 2) => "the square of the unit".to_owned(),
                NumberUnit::Differences(_, n) => format!("the unit to the power of {n}"),
            };
            format!("`{output}` is in {unit} of `{}`", scaled.input)
        };
        self.outputs.iter().map(note).collect()
    }
}

/// The error that no output has the unit of an input; `lost` says where numbers of an input lose it.
fn unknown(program: &Program, scaled: &[&str], lost: Option<(usize, Span)>) -> Diagnostic {
    let inputs: Vec<String> = scaled.iter().map(|input| format!("`{input}`")).collect();
    let inputs = inputs.join(" or ");
    let what = format!("no output of node {} is known to be on the scale of {inputs}", program.node());
    let d = Diagnostic::error(codes::BAD_OPTION, what).note(
        "an output is on this scale if the program that was trained, or this one, subtracts it from the input",
    );
    let d = match lost {
        Some((input, at)) => {
            d.label(at, format!("the result of this has no unit, although `{}` has one", scaled[input]))
        }
        None => d,
    };
    d.help("leave `--unscale` out, and scale the output yourself by the mean and the deviation")
}

impl Scaled {
    fn one(&self, at: usize, x: f64) -> f64 {
        let at = at % self.mean.len();
        match self.unit {
            NumberUnit::Value(_) => x * self.deviation[at] + self.mean[at],
            NumberUnit::Differences(_, n) => x * (0..n).map(|_| self.deviation[at]).product::<f64>(),
        }
    }

    fn each<T>(&self, v: Vec<T>, double: fn(T) -> f64, back: fn(f64) -> T) -> Vec<T> {
        v.into_iter().enumerate().map(|(i, x)| back(self.one(i, double(x)))).collect()
    }
}

#[allow(clippy::cast_possible_truncation, reason = "numbers are rounded to the precision of the program")]
fn narrow(x: f64) -> f32 {
    x as f32
}

/// The units of a program's variables; inputs have their numbers in `scaled`.
fn found(program: &Program, preparation: &Preparation, scaled: &[&str]) -> IndexMap<Var, NumberUnit> {
    let flat = program.flat();
    let place = |input: &str| scaled.iter().position(|name| *name == input);
    let inputs: Vec<Var> = flat.inputs.iter().map(|input| input.var).collect();
    let value = |(v, data): (Var, &rml_ir::flat::VarData)| {
        let name = data.name.as_deref()?;
        let at =
            if inputs.contains(&v) { place(name) } else { place(preparation.values.get(&primal(name))?) };
        Some((v, at?))
    };
    let values: Vec<(Var, usize)> = flat.vars.iter_enumerated().filter_map(value).collect();
    let uniform = |name: &&str| preparation.scale(name).is_some_and(|(mean, _)| mean.len() == 1);
    units(flat, &values, &scaled.iter().map(uniform).collect::<Vec<_>>())
}

/// The variables of instances, by name, that are values of scaled inputs. Another program with these instances, which
/// may lack the inputs, can bring its outputs to their units.
pub(crate) fn named(program: &Program, preparation: &Preparation) -> BTreeMap<String, String> {
    let flat = program.flat();
    let scaled = preparation.changed_inputs();
    let named = |(v, unit): (Var, NumberUnit)| match unit {
        NumberUnit::Value(at) => {
            let name = flat.vars[v].name.as_deref().filter(|name| name.contains('.'))?;
            Some((primal(name), scaled[at].to_owned()))
        }
        NumberUnit::Differences(_, _) => None,
    };
    found(program, preparation, &scaled).into_iter().filter_map(named).collect()
}

/// The path of a variable in a program that is not differentiated.
fn primal(path: &str) -> String {
    let parts: Vec<&str> = path.split('.').map(|part| part.trim_start_matches("diff_")).collect();
    parts.join(".")
}
