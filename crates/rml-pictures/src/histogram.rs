//! Histograms of numbers before and after, as SVG.

use std::fmt::Write as _;

use crate::svg::escape;

const BINS: usize = 40;
const WIDTH: f64 = 230.0;
const HEIGHT: f64 = 40.0;

/// Both histograms over the same bins: a line for what was before, bars for what came after. What is not finite is told
/// in the name.
pub(crate) fn histogram(name: &str, before: &[f64], after: &[f64]) -> String {
    let finite = || before.iter().chain(after).copied().filter(|x| x.is_finite());
    let (low, high) =
        finite().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
    let lost = before.len() + after.len() - finite().count();
    let rest = if lost > 0 { format!(", {lost} not finite") } else { String::new() };
    if low > high {
        return format!("no finite element{rest}");
    }
    let (before, after) = (bins(before, low, high), bins(after, low, high));
    let most = before.iter().chain(&after).copied().max().unwrap_or(0).max(1) as f64;
    let (width, y) = (WIDTH / BINS as f64, |n: usize| HEIGHT - HEIGHT * n as f64 / most);
    let label = format!("{name}: {} to {}{rest}", number(low), number(high));
    let mut out = format!(
        "<svg class=\"histogram\" viewBox=\"0 0 {WIDTH} 56\" role=\"img\" aria-label=\"{0}\"><title>{0}</title>",
        escape(&label)
    );
    let mut bars = String::new();
    let mut line = format!("M0,{HEIGHT}");
    for (i, (before, after)) in before.iter().zip(&after).enumerate() {
        let (left, right) = (i as f64 * width, (i + 1) as f64 * width);
        if *after > 0 {
            let _ = write!(bars, "M{left:.1},{HEIGHT}V{:.1}H{right:.1}V{HEIGHT}z", y(*after));
        }
        let _ = write!(line, "V{:.1}H{right:.1}", y(*before));
    }
    let _ = write!(out, "<path class=\"after\" d=\"{bars}\"/>");
    if before.iter().any(|n| *n > 0) {
        let _ = write!(out, "<path class=\"before\" d=\"{line}V{HEIGHT}\"/>");
    }
    let _ = write!(
        out,
        "<text x=\"0\" y=\"53\" font-size=\"10\">{}</text><text x=\"{WIDTH}\" y=\"53\" font-size=\"10\" text-anchor=\"end\">{}{rest}</text></svg>",
        number(low),
        number(high)
    );
    out
}

/// How many numbers are in each of the bins between two numbers. Halves, since their difference may overflow.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of the bins")]
fn bins(values: &[f64], low: f64, high: f64) -> [usize; BINS] {
    let mut counts = [0; BINS];
    let half = high / 2.0 - low / 2.0;
    for x in values.iter().filter(|x| x.is_finite()) {
        let share = if half > 0.0 { (x / 2.0 - low / 2.0) / half } else { 0.5 };
        counts[((share * BINS as f64) as usize).min(BINS - 1)] += 1;
    }
    counts
}

/// A number with four digits.
pub(crate) fn number(x: f64) -> String {
    match x.abs() {
        0.0 => "0".to_owned(),
        a if (1e-3..1e5).contains(&a) => format!("{x:.4}"),
        _ => format!("{x:.3e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_finite_number_is_in_one_bin() {
        let counts = bins(&[0.0, 0.1, 1.0, f64::NAN], 0.0, 1.0);
        assert_eq!((counts[0], counts[4], counts[BINS - 1], counts.iter().sum::<usize>()), (1, 1, 1, 3));
        assert_eq!(bins(&[f64::MIN, f64::MAX], f64::MIN, f64::MAX)[BINS - 1], 1);
        assert_eq!(
            bins(&[2.0, 2.0], 2.0, 2.0)[BINS / 2],
            2,
            "numbers that are all the same are in the middle"
        );
    }

    #[test]
    fn both_are_drawn_over_the_same_bins() {
        let svg = histogram("a\"b", &[0.0, 0.0], &[1.0, f64::INFINITY]);
        assert!(svg.contains("aria-label=\"a&quot;b: 0 to 1.0000, 1 not finite\""), "{svg}");
        assert!(
            svg.contains("class=\"before\" d=\"M0,40V0.0H5.8") && svg.contains("V20.0H230.0V40z"),
            "{svg}"
        );
        assert!(!histogram("k", &[], &[1.0]).contains("before"), "what was not there before is not drawn");
        assert_eq!(histogram("k", &[f64::NAN], &[]), "no finite element, 1 not finite");
    }
}
