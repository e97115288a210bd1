//! Parameters before and after a training.

use std::fmt::Write as _;

use super::html::text;
use crate::histogram::{histogram, number};

/// A parameter before and after.
#[derive(Clone, Debug, Default)]
pub struct Trained {
    /// Its path.
    pub name: String,
    /// Its type.
    pub ty: String,
    /// Its elements before the training; empty if it had none.
    pub before: Vec<f64>,
    /// Its elements now.
    pub after: Vec<f64>,
    /// Its norm after each epoch or report.
    pub norms: Vec<f64>,
}

/// All parameters.
pub(super) fn parameters(all: &[Trained]) -> String {
    if all.is_empty() {
        return String::new();
    }
    let mut out = "<p class=\"dim\"><span class=\"key before\">before the training</span><span class=\"key after\">after it</span>Norms are roots of sums of squares.</p>\n<div class=\"parameters\">\n".to_owned();
    for Trained { name, ty, before, after, norms } in all {
        let of = |values: &[f64]| if values.is_empty() { "–".to_owned() } else { number(norm(values)) };
        let moved: Vec<f64> = after.iter().zip(before).map(|(after, before)| after - before).collect();
        let _ = writeln!(
            out,
            "<figure><figcaption><b>{}</b> <span class=\"dim\">{}</span></figcaption>{}<p>norm {} → {}, of the change {}</p>{}</figure>",
            text(name).replace('.', ".<wbr>"),
            text(ty),
            histogram(name, before, after),
            of(before),
            of(after),
            of(&moved),
            course(name, norms),
        );
    }
    out + "</div>\n"
}

/// The root of the sum of squares.
pub fn norm(values: &[f64]) -> f64 {
    values.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// A norm over epochs or reports as a line, if there are some.
fn course(name: &str, norms: &[f64]) -> String {
    const WIDTH: f64 = 230.0;
    const HEIGHT: f64 = 26.0;
    let finite: Vec<f64> = norms.iter().copied().filter(|x| x.is_finite()).collect();
    if finite.len() < 2 {
        return String::new();
    }
    let (low, high) = finite.iter().fold((f64::MAX, f64::MIN), |(low, high), x| (low.min(*x), high.max(*x)));
    let half = (high / 2.0 - low / 2.0).max(f64::MIN_POSITIVE);
    let place = |(i, x): (usize, &f64)| {
        let across = 2.0 + (WIDTH - 4.0) * i as f64 / (finite.len() - 1) as f64;
        format!("{across:.1},{:.1}", HEIGHT - 3.0 - (HEIGHT - 6.0) * ((x / 2.0 - low / 2.0) / half))
    };
    let places: Vec<String> = finite.iter().enumerate().map(place).collect();
    let label = text(&format!("norm of {name} over the training: {} to {}", number(low), number(high)));
    format!(
        "<svg class=\"course\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{label}\"><title>{label}</title><polyline points=\"{}\"/></svg>",
        places.join(" ")
    )
}
