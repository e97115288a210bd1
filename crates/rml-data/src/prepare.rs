//! Prepares the values of an input between its column and the program: classes for texts, values for gaps, one scale.

use rml_base::codes::run as codes;
use rml_base::{Diagnostic, visible_name};
use rml_ir::{DType, Data, InputInfo, Precision, Shape, Type, Value};
use serde::{Deserialize, Serialize};

use crate::columns::ABSENT;
use crate::labels::listed;

/// The value for gaps. Displays in the notation of options.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Fill {
    /// The mean of the values that are trained on.
    Mean,
    /// A number, or the name of a class.
    Given(String),
}

impl std::fmt::Display for Fill {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Fill::Mean => f.write_str("mean"),
            Fill::Given(text) => f.write_str(text),
        }
    }
}

/// The preparation of the numbers of an input. A list has one number, or one for each element of a cell.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Steps {
    /// The value for gaps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) fill: Option<Vec<f64>>,
    /// The scale, if values are standardised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) scale: Option<Scale>,
}

/// The scale of an input.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Scale {
    mean: Vec<f64>,
    deviation: Vec<f64>,
}

impl Scale {
    /// The means and the deviations.
    pub(crate) fn parts(&self) -> (&[f64], &[f64]) {
        (&self.mean, &self.deviation)
    }
}

impl Steps {
    /// The values for a program of this precision: cells, one after the other. Values to be scaled may be in double
    /// precision, and are rounded after that.
    pub(crate) fn applied(&self, value: Value, precision: Precision) -> Value {
        if self.fill.is_none() && self.scale.is_none() {
            return match (value.precision(), precision) {
                (Precision::F64, Precision::F32) => value.to_precision(precision),
                (Precision::F32, _) | (Precision::F64, Precision::F64) => value,
            };
        }
        let shape = value.shape().clone();
        #[allow(
            clippy::cast_possible_truncation,
            reason = "numbers are rounded to the precision of the program"
        )]
        let data = match value.to_data() {
            Data::F32(v) => Data::F32(self.each(&v, |x| f64::from(*x), |x| x as f32)),
            Data::F64(v) if precision == Precision::F32 => Data::F32(self.each(&v, |x| *x, |x| x as f32)),
            Data::F64(v) => Data::F64(self.each(&v, |x| *x, |x| x)),
            Data::Int(v) => {
                Data::Int(v.into_iter().map(|i| if i == ABSENT { self.integer() } else { i }).collect())
            }
            data @ Data::Bool(_) => data,
        };
        Value::new(shape, data)
    }

    fn each<T, U>(&self, v: &[T], double: fn(&T) -> f64, back: fn(f64) -> U) -> Vec<U> {
        let at = |list: &[f64], i: usize| list[i % list.len()];
        let one = |(i, x): (usize, &T)| {
            let mut x = double(x);
            if let Some(fill) = self.fill.as_ref().filter(|_| x.is_nan()) {
                x = at(fill, i);
            }
            if let Some(Scale { mean, deviation }) = &self.scale {
                x = (x - at(mean, i)) / at(deviation, i);
            }
            back(x)
        };
        v.iter().enumerate().map(one).collect()
    }

    /// The value for gaps of an input of integers.
    fn integer(&self) -> i64 {
        #[allow(clippy::cast_possible_truncation, reason = "it was an integer when it was fitted")]
        self.fill.as_ref().and_then(|fill| fill.first()).map_or(0, |x| *x as i64)
    }

    /// This many cells; cells without a value contain the value for gaps. `there` has the positions of the cells with
    /// values.
    pub(crate) fn filled(
        &self,
        values: Option<Value>,
        ty: &Type,
        cells: usize,
        there: &[usize],
        double: bool,
    ) -> Value {
        fn spread<T: Copy>(gap: T, v: &[T], n: usize, cells: usize, there: &[usize]) -> Vec<T> {
            let mut all = vec![gap; cells * n];
            for (i, place) in there.iter().enumerate() {
                all[place * n..(place + 1) * n].copy_from_slice(&v[i * n..(i + 1) * n]);
            }
            all
        }
        let n = ty.shape.len();
        let data = values.map(|values| values.to_data());
        let int = self.integer();
        match (data, ty.dtype) {
            (Some(Data::F32(v)), _) => Data::F32(spread(f32::NAN, &v, n, cells, there)),
            (Some(Data::F64(v)), _) => Data::F64(spread(f64::NAN, &v, n, cells, there)),
            (Some(Data::Int(v)), _) => Data::Int(spread(int, &v, n, cells, there)),
            (Some(Data::Bool(v)), _) => Data::Bool(spread(false, &v, n, cells, there)),
            (None, DType::Num) if double => Data::F64(spread(f64::NAN, &[], n, cells, &[])),
            (None, DType::Num) => Data::F32(spread(f32::NAN, &[], n, cells, &[])),
            (None, DType::Int) => Data::Int(spread(int, &[], n, cells, &[])),
            (None, DType::Bool) => Data::Bool(spread(false, &[], n, cells, &[])),
        }
        .into_value(&[&[cells], ty.shape.dims()].concat())
    }
}

trait IntoValue {
    fn into_value(self, dims: &[usize]) -> Value;
}

impl IntoValue for Data {
    fn into_value(self, dims: &[usize]) -> Value {
        Value::new(Shape::new(dims), self)
    }
}

/// Mean and variance of each element over cells (Welford).
#[derive(Debug)]
pub(crate) struct Moments {
    counts: Vec<f64>,
    means: Vec<f64>,
    squares: Vec<f64>,
}

impl Moments {
    pub(crate) fn new(cell: usize) -> Self {
        Self { counts: vec![0.0; cell], means: vec![0.0; cell], squares: vec![0.0; cell] }
    }

    /// Adds cells; NaN does not count.
    pub(crate) fn add(&mut self, value: &Value) {
        match value.to_data() {
            Data::F32(v) => v.iter().enumerate().for_each(|(i, x)| self.count(i, f64::from(*x))),
            Data::F64(v) => v.iter().enumerate().for_each(|(i, x)| self.count(i, *x)),
            Data::Int(_) | Data::Bool(_) => {}
        }
    }

    fn count(&mut self, i: usize, x: f64) {
        if x.is_nan() {
            return;
        }
        let i = i % self.counts.len();
        self.counts[i] += 1.0;
        let before = x - self.means[i];
        self.means[i] += before / self.counts[i];
        self.squares[i] += before * (x - self.means[i]);
    }

    /// The scale that gives each element the mean 0 and the standard deviation 1. An element that is constant is only
    /// shifted.
    fn scale(&self) -> Scale {
        let deviation = |(square, count): (&f64, &f64)| {
            let deviation = (square / count).sqrt();
            if deviation > 0.0 { deviation } else { 1.0 }
        };
        let deviation = self.squares.iter().zip(&self.counts).map(deviation).collect();
        Scale { mean: self.means.clone(), deviation }
    }
}

/// The requested preparation of an input, fitted to values with these moments; `classes` are the classes of its texts.
///
/// # Errors
/// An input without values, or with an infinite one; a value for gaps that is not a value of the input.
pub(crate) fn fitted(
    info: &InputInfo,
    (fill, scales): (Option<&Fill>, bool),
    moments: &Moments,
    classes: Option<&[String]>,
) -> Result<Steps, Diagnostic> {
    if (scales || fill == Some(&Fill::Mean))
        && let Some(element) = moments.counts.iter().position(|count| *count == 0.0)
    {
        let of = if moments.counts.len() > 1 { format!("element {element} of ") } else { String::new() };
        let what = format!("{of}input `{}` has no value in the windows that are trained on", info.name);
        let d = Diagnostic::error(codes::EMPTY_DATA, what).note("its mean is the mean of those values");
        return Err(d.help("give what stands in its place, `--fill 'x=0'`, or leave the column out"));
    }
    if moments.means.iter().any(|mean| !mean.is_finite()) {
        let what = format!("input `{}` has an infinite value, so it has no mean", info.name);
        let d = Diagnostic::error(codes::BAD_OPTION, what);
        return Err(d.help("replace infinite numbers in the data, or leave out their rows"));
    }
    let fill = match fill {
        None => None,
        Some(Fill::Mean) => Some(moments.means.clone()),
        Some(Fill::Given(text)) => Some(vec![given(info, text, classes)?]),
    };
    Ok(Steps { fill, scale: scales.then(|| moments.scale()) })
}

/// The number for gaps of an input.
fn given(info: &InputInfo, text: &str, classes: Option<&[String]>) -> Result<f64, Diagnostic> {
    let class = classes.and_then(|classes| classes.iter().position(|class| class == text));
    let number = match (info.ty.dtype, class) {
        (DType::Int, Some(class)) => Some(class as f64),
        (DType::Int, None) if classes.is_none() => text.parse::<i32>().ok().map(f64::from),
        (DType::Num, _) => text.parse::<f64>().ok().filter(|x| x.is_finite()),
        (DType::Int | DType::Bool, _) => None,
    };
    number.ok_or_else(|| {
        let what = format!("`{}` is no value of input `{}: {}`", visible_name(text), info.name, info.ty);
        let d = Diagnostic::error(codes::BAD_OPTION, what);
        match (info.ty.dtype, classes) {
            (DType::Int, Some(classes)) => d.note(format!("its classes are {}", listed(classes))),
            (DType::Int, None) => d.help(format!("give an integer: `--fill '{}=0'`", info.name)),
            (DType::Num | DType::Bool, _) => {
                d.help(format!("give a number or `mean`: `--fill '{}=mean'`", info.name))
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(v: Vec<f64>) -> Value {
        Value::new(Shape::new(&[v.len()]), Data::F64(v))
    }

    #[test]
    fn values_get_the_mean_0_and_the_deviation_1() {
        let mut moments = Moments::new(2);
        moments.add(&value(vec![1.0, 7.0, 3.0, 7.0, f64::NAN, 7.0]));
        let steps = Steps { fill: Some(moments.means.clone()), scale: Some(moments.scale()) };
        assert_eq!(steps.fill, Some(vec![2.0, 7.0]));
        let found = steps.applied(value(vec![1.0, 7.0, 3.0, 8.0, f64::NAN, f64::NAN]), Precision::F64);
        assert!(found.same(&value(vec![-1.0, 0.0, 1.0, 1.0, 0.0, 0.0])), "{found:?}");
    }

    #[test]
    fn a_preparation_is_read_back_to_the_bit() {
        let mut moments = Moments::new(1);
        (1..50).for_each(|i| moments.add(&value(vec![1.0 / f64::from(i)])));
        let steps = Steps { fill: Some(moments.means.clone()), scale: Some(moments.scale()) };
        let text = serde_json::to_string(&steps).unwrap();
        assert_eq!(serde_json::from_str::<Steps>(&text).unwrap(), steps);
    }
}
