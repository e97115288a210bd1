//! Summary statistics of a tensor.

use rml_ir::Data;

/// Statistics of the elements of a tensor. Truth values count as 0 and 1.
///
/// ```
/// let summary = rml::Summary::of(&rml::Data::Int(vec![1, 2, 6]));
/// assert_eq!((summary.min, summary.max, summary.mean), (1.0, 6.0, 3.0));
/// ```
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Summary {
    /// The smallest finite element; 0 if there is none.
    pub min: f64,
    /// The largest finite element; 0 if there is none.
    pub max: f64,
    /// The mean of the finite elements; 0 if there is none.
    pub mean: f64,
    /// The standard deviation of the finite elements; 0 if there is none.
    pub std: f64,
    /// The number of elements that are NaN or infinite.
    pub not_finite: usize,
}

impl Summary {
    /// The statistics of these elements.
    #[allow(clippy::cast_precision_loss, reason = "a summary is for people")]
    pub fn of(data: &Data) -> Self {
        let all: Vec<f64> = match data {
            Data::Bool(v) => v.iter().map(|b| f64::from(u8::from(*b))).collect(),
            Data::Int(v) => v.iter().map(|i| *i as f64).collect(),
            Data::F32(v) => v.iter().map(|x| f64::from(*x)).collect(),
            Data::F64(v) => v.clone(),
        };
        let finite: Vec<f64> = all.iter().copied().filter(|x| x.is_finite()).collect();
        let not_finite = all.len() - finite.len();
        if finite.is_empty() {
            return Self { min: 0.0, max: 0.0, mean: 0.0, std: 0.0, not_finite };
        }
        let n = finite.len() as f64;
        let mean = finite.iter().sum::<f64>() / n;
        let variance = finite.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n;
        let min = finite.iter().copied().fold(f64::INFINITY, f64::min);
        let max = finite.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Self { min, max, mean, std: variance.sqrt(), not_finite }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_what_is_finite() {
        let s = Summary::of(&Data::F64(vec![1.0, 3.0, f64::NAN, f64::INFINITY]));
        assert_eq!(s, Summary { min: 1.0, max: 3.0, mean: 2.0, std: 1.0, not_finite: 2 });
        assert_eq!(Summary::of(&Data::Bool(vec![true, false])).mean, 0.5);
        assert_eq!(Summary::of(&Data::Int(Vec::new())).max, 0.0);
    }
}
