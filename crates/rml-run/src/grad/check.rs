//! Gradients against central differences, in double precision.

use std::sync::Arc;

use indexmap::IndexMap;
use rml_base::codes::run::BAD_OPTION;
use rml_base::{Diagnostic, Diagnostics, Error, Sources, Span};
use rml_data::Columns;
use rml_driver::{Differentiable, Options, Source, differentiable};
use rml_engine::Status;
use rml_ir::{Data, Precision, Type, Value};

use super::{Given, GradOptions, Gradients, Start, gradients, numbers, run};

/// An upper bound on the rounding errors of a sum, in units in the last place of its magnitude.
const ROUNDINGS: f64 = 64.0;

/// How often a step is enlarged, and by which factor.
const LARGER_STEPS: usize = 5;
const LARGER: f64 = 4.0;
/// In this many of the larger steps, the first ones, rounding errors dominate.
const SMALL_STEPS: usize = 2;

/// The range of steps that double precision can resolve and that still measure a slope.
const STEPS: std::ops::RangeInclusive<f64> = 1e-12..=1.0;

/// How to compare.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let text = "node f(x: num []) -> (o)  k = param(2.0);  o = k * x * x;";
/// # let source = rml::Source::text("f.rml", text);
/// # let options = rml::Options::default();
/// # let inputs = rml::Columns::parse(b"x\n1\n3\n", rml::Format::Csv, "inputs.csv")?;
/// use rml::{CheckOptions, GradOptions};
///
/// let check = CheckOptions { tolerance: 1e-7, ..CheckOptions::default() };
/// assert!(rml::gradcheck(&source, &options, &inputs, &GradOptions::default(), &check)?.ok());
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CheckOptions {
    /// The step of the differences for numbers up to 1; it grows in proportion to larger numbers. From 1e-12 to 1.
    pub eps: f64,
    /// The largest relative error that passes. Above 0 and below 1.
    pub tolerance: f64,
    /// How many elements of each parameter and input are compared, evenly spread; 0 = all.
    pub samples: usize,
}

impl Default for CheckOptions {
    fn default() -> Self {
        Self { eps: 1e-5, tolerance: 1e-5, samples: 32 }
    }
}

/// The comparison of one parameter or input.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let text = "node f(x: num []) -> (o)  k = param(2.0);  o = k * x * x;";
/// # let source = rml::Source::text("f.rml", text);
/// # let options = rml::Options::default();
/// # let inputs = rml::Columns::parse(b"x\n1\n3\n", rml::Format::Csv, "inputs.csv")?;
/// # let found = rml::gradcheck(&source, &options, &inputs, &rml::GradOptions::default(), &rml::CheckOptions::default())?;
/// let k = &found.params["k"];
/// assert_eq!((k.gradient, k.compared), (10.0, 1));
/// assert!(found.passes(k));
/// # Ok(()) }
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Checked {
    /// The type.
    pub ty: Type,
    /// How many elements it has, over all cycles.
    pub elements: usize,
    /// How many elements were compared.
    pub compared: usize,
    /// How many of the compared elements are at a kink, where the gradient has to be between the left and right
    /// differences.
    pub kinks: usize,
    /// The largest relative error: the difference divided by the larger magnitude. The divisor is at least large enough
    /// that rounding errors pass.
    pub error: f64,
    /// For an input, the cycle of the largest error.
    pub cycle: Option<usize>,
    /// For a tensor, the element with the largest error, in row-major order.
    pub index: Option<usize>,
    /// The gradient at this element.
    pub gradient: f64,
    /// The difference quotient at this element.
    pub difference: f64,
}

/// The result of a check.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let text = "node f(x: num []) -> (o)  k = param(2.0);  o = k * x * x;";
/// # let source = rml::Source::text("f.rml", text);
/// # let options = rml::Options::default();
/// # let inputs = rml::Columns::parse(b"x\n1\n3\n", rml::Format::Csv, "inputs.csv")?;
/// let found = rml::gradcheck(&source, &options, &inputs, &rml::GradOptions::default(), &rml::CheckOptions::default())?;
/// assert!(found.ok());
/// assert_eq!(found.inputs.len(), 1);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct GradCheck {
    /// The sum that was differentiated.
    pub loss: f64,
    /// The largest relative error that passes.
    pub tolerance: f64,
    /// The parameters, by checkpoint key.
    pub params: IndexMap<String, Checked>,
    /// The num inputs.
    pub inputs: IndexMap<String, Checked>,
    /// The places of `stop_gradient` in the program, if a gradient is not the derivative: it may be cut there on
    /// purpose.
    pub cuts: Vec<String>,
    /// Findings that did not stop the check.
    pub warnings: Diagnostics,
    /// The texts that the findings point into.
    pub sources: Arc<Sources>,
}

impl GradCheck {
    /// Whether all errors are within the tolerance.
    pub fn ok(&self) -> bool {
        self.params.values().chain(self.inputs.values()).all(|c| self.passes(c))
    }

    /// Whether the largest error of a parameter or input is within the tolerance.
    pub fn passes(&self, checked: &Checked) -> bool {
        checked.error <= self.tolerance
    }
}

/// Compares the result of [`grad`](crate::grad()) with central differences of the sum, always in double precision.
///
/// # Errors
/// As [`grad`](crate::grad()); a step or tolerance out of range. Gradients that differ are not an error, see
/// [`GradCheck::ok`].
pub fn gradcheck(
    source: &Source,
    options: &Options,
    inputs: &Columns,
    grad: &GradOptions,
    check: &CheckOptions,
) -> Result<GradCheck, Error> {
    in_range(check)?;
    let start = Start::new(grad)?;
    let options = Options { precision: Precision::F64, ..start.settings(options) };
    let compiled = differentiable(source, &options, grad.loss.as_deref())?;
    let given = Given::new(&compiled.backward, inputs, grad, &start)?;
    let mut found = gradients(&compiled, &given, &start)?;
    found.warnings.extend(start.changed(&options, &compiled.backward));
    Checker { compiled: &compiled, start, options: check }.check(given, found)
}

/// Fails if the step or tolerance is out of the range in which differences are meaningful.
fn in_range(check: &CheckOptions) -> Result<(), Error> {
    let bad = |what: String, help: &str| Err(Diagnostic::error(BAD_OPTION, what).help(help).into());
    if !STEPS.contains(&check.eps) {
        let what = format!("a step of {:e} says nothing about a slope", check.eps);
        return bad(what, "expected a step from 1e-12 to 1, such as 1e-5");
    }
    if !(check.tolerance > 0.0 && check.tolerance < 1.0) {
        let what = format!("a relative error of {:e} compares nothing", check.tolerance);
        return bad(what, "expected a tolerance above 0 and below 1, such as 1e-5");
    }
    Ok(())
}

struct Checker<'a> {
    compiled: &'a Differentiable,
    start: Start,
    options: &'a CheckOptions,
}

/// The sum, and the sum of magnitudes, which bounds its rounding error.
#[derive(Clone, Copy)]
struct Sum {
    value: f64,
    magnitude: f64,
}

/// The difference quotients at one element.
#[derive(Clone, Copy)]
struct Differences {
    left: f64,
    right: f64,
    central: f64,
    /// The largest rounding error of each.
    noise: f64,
}

impl Differences {
    /// The relative error of a gradient, compared with a slope.
    fn error(&self, gradient: f64, slope: f64, options: &CheckOptions) -> f64 {
        let floor = self.noise / options.tolerance;
        let distance = (gradient - slope).abs();
        if distance == 0.0 { 0.0 } else { distance / gradient.abs().max(slope.abs()).max(floor) }
    }

    /// The smaller and the larger slope of the two sides.
    fn slopes(&self) -> (f64, f64) {
        (self.left.min(self.right), self.left.max(self.right))
    }

    /// Whether the slopes of the two sides differ. Those of a smooth function are the same, except for a term
    /// proportional to the step.
    fn is_kink(&self) -> bool {
        let (low, high) = self.slopes();
        high - low > 1e-2 * high.abs().max(low.abs()) + self.noise
    }
}

/// The places where gradients are cut: `FILE:LINE`.
fn places(compiled: &Differentiable) -> Vec<String> {
    let sources = compiled.forward.sources();
    let place = |span: &Span| {
        let (line, _) = sources.line_column(span.file, span.start);
        format!("{}:{line}", sources.name(span.file))
    };
    let mut places: Vec<String> = compiled.cuts.iter().map(place).collect();
    places.dedup();
    places
}

impl Checker<'_> {
    fn check(&self, mut given: Given, found: Gradients) -> Result<GradCheck, Error> {
        let here = self.sum(&given, &[])?;
        let mut params = IndexMap::new();
        for (key, gradient) in &found.params {
            params.insert(key.clone(), self.parameter(&given, key, gradient, here)?);
        }
        let mut inputs = IndexMap::new();
        for (name, cells) in &found.inputs {
            inputs.insert(name.clone(), self.input(&mut given, name, cells, here)?);
        }
        let (tolerance, cuts) = (self.options.tolerance, Vec::new());
        let (warnings, sources) = (found.warnings, found.sources);
        let mut all = GradCheck { loss: here.value, tolerance, params, inputs, cuts, warnings, sources };
        if !all.ok() {
            all.cuts = places(self.compiled);
        }
        Ok(all)
    }

    fn sum(&self, given: &Given, params: &[(&str, Value)]) -> Result<Sum, Error> {
        let rows = run(&self.compiled.forward, given, &self.start, params)?;
        let mut sum = Sum { value: 0.0, magnitude: 0.0 };
        for row in rows {
            let Status::Value(v) = &row.values[0] else { continue };
            for x in numbers(v) {
                sum.value += x;
                sum.magnitude += x.abs();
            }
        }
        Ok(sum)
    }

    fn parameter(&self, given: &Given, key: &str, gradient: &Value, here: Sum) -> Result<Checked, Error> {
        let found = numbers(gradient);
        let mut checked = Checked::new(gradient.ty(), found.len());
        // A parameter without a value does not occur in the program of only the output.
        let value = self.value(key)?;
        for k in self.chosen(found.len()) {
            let differences = match &value {
                Some(value) => {
                    let mut elements = numbers(value);
                    self.differences((elements[k], found[k]), here, &mut |x| {
                        elements[k] = x;
                        let moved = Value::new(value.shape(), Data::F64(elements.clone()));
                        self.sum(given, &[(key, moved)])
                    })?
                }
                None => Differences { left: 0.0, right: 0.0, central: 0.0, noise: 0.0 },
            };
            let index = (!gradient.shape().is_scalar()).then_some(k);
            checked.add(found[k], &differences, self.options, None, index);
        }
        Ok(checked)
    }

    fn value(&self, key: &str) -> Result<Option<Value>, Error> {
        let session = self.start.session(&self.compiled.forward)?;
        Ok(session.states()?.get(key).map(|v| v.to_precision(Precision::F64)))
    }

    fn input(
        &self,
        given: &mut Given,
        name: &str,
        cells: &[Option<Value>],
        here: Sum,
    ) -> Result<Checked, Error> {
        let inputs = self.compiled.backward.inputs();
        let at = inputs.iter().position(|i| *i.name == *name).unwrap_or(0);
        let ty = &inputs[at].ty;
        let size = ty.shape.len();
        let present: Vec<usize> = (0..cells.len()).filter(|&n| cells[n].is_some()).collect();
        let mut checked = Checked::new(ty.clone(), present.len() * size);
        for element in self.chosen(present.len() * size) {
            let (n, k) = (present[element / size], element % size);
            let values = given.inputs[at].values.clone();
            let gradient = cells[n].as_ref().map_or(0.0, |g| numbers(g)[k]);
            let mut elements = numbers(&values);
            let differences = self.differences((elements[element], gradient), here, &mut |x| {
                elements[element] = x;
                given.inputs[at].values = Value::new(values.shape(), Data::F64(elements.clone()));
                self.sum(given, &[])
            })?;
            given.inputs[at].values = values;
            let index = (!ty.shape.is_scalar()).then_some(k);
            checked.add(gradient, &differences, self.options, Some(n), index);
        }
        Ok(checked)
    }

    /// The differences of the sum around `x`; `here` is the sum at `x`. If they differ from the gradient, larger steps
    /// are tried: the rounding errors of values inside the program count less there. A wrong gradient agrees with no
    /// step.
    fn differences(
        &self,
        (x, gradient): (f64, f64),
        here: Sum,
        sum: &mut dyn FnMut(f64) -> Result<Sum, Error>,
    ) -> Result<Differences, Error> {
        let first = self.differences_with(self.options.eps, x, here, sum)?;
        let agrees = |slope: f64, noise: f64| {
            let found = Differences { left: slope, right: slope, central: slope, noise };
            (found.error(gradient, slope, self.options) <= self.options.tolerance).then_some(found)
        };
        let (low, high) = first.slopes();
        let one_side = gradient.clamp(low.min(high), high);
        if agrees(first.central, first.noise).is_some()
            || first.is_kink() && agrees(one_side, first.noise).is_some()
        {
            return Ok(first);
        }
        let (mut eps, mut before) = (self.options.eps, first);
        // An estimate of the rounding errors of a difference: how far the quotients of small steps are apart.
        let mut rounding: f64 = 0.0;
        for larger in 0..LARGER_STEPS {
            eps *= LARGER;
            if !STEPS.contains(&eps) {
                break;
            }
            let mut found = self.differences_with(eps, x, here, sum)?;
            if larger < SMALL_STEPS {
                rounding = rounding.max((found.central - before.central).abs() * eps / LARGER);
            } else {
                found.noise = found.noise.max(2.0 * rounding / eps);
            }
            // Two steps together, without the error that grows with the square of the step.
            let both = (LARGER * LARGER * before.central - found.central) / (LARGER * LARGER - 1.0);
            let agreed = agrees(found.central, found.noise).or_else(|| agrees(both, before.noise));
            if let Some(found) = agreed {
                return Ok(found);
            }
            before = found;
        }
        Ok(first)
    }

    /// The same with one step.
    fn differences_with(
        &self,
        eps: f64,
        x: f64,
        here: Sum,
        sum: &mut dyn FnMut(f64) -> Result<Sum, Error>,
    ) -> Result<Differences, Error> {
        let wanted = eps * x.abs().max(1.0);
        // The actual steps, after rounding.
        let (above, below) = (x + wanted, x - wanted);
        let (up, down) = (sum(above)?, sum(below)?);
        let magnitude = here.magnitude.max(up.magnitude).max(down.magnitude);
        Ok(Differences {
            left: (here.value - down.value) / (x - below),
            right: (up.value - here.value) / (above - x),
            central: (up.value - down.value) / (above - below),
            noise: ROUNDINGS * f64::EPSILON * magnitude / wanted,
        })
    }

    /// The elements to compare, out of `count`.
    fn chosen(&self, count: usize) -> Vec<usize> {
        match self.options.samples {
            n if n == 0 || n >= count => (0..count).collect(),
            n => (0..n).map(|i| (2 * i + 1) * count / (2 * n)).collect(),
        }
    }
}

impl Checked {
    fn new(ty: Type, elements: usize) -> Self {
        let (gradient, difference) = (0.0, 0.0);
        Self {
            ty,
            elements,
            compared: 0,
            kinks: 0,
            error: 0.0,
            cycle: None,
            index: None,
            gradient,
            difference,
        }
    }

    fn add(
        &mut self,
        gradient: f64,
        found: &Differences,
        options: &CheckOptions,
        cycle: Option<usize>,
        index: Option<usize>,
    ) {
        let mut error = found.error(gradient, found.central, options);
        let mut difference = found.central;
        if error > options.tolerance && found.is_kink() {
            self.kinks += 1;
            let (low, high) = found.slopes();
            difference = gradient.clamp(low, high);
            error = found.error(gradient, difference, options);
        }
        // NaN counts as the largest error.
        if error.is_nan() {
            error = f64::INFINITY;
        }
        if self.compared == 0 || error > self.error {
            (self.error, self.cycle, self.index) = (error, cycle, index);
            (self.gradient, self.difference) = (gradient, difference);
        }
        self.compared += 1;
    }
}
