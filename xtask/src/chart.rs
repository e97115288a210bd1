//! Line charts as SVG, with logarithmic axes: a factor looks the same everywhere.

use std::fmt::Write;

/// What a chart shows.
pub(crate) struct Chart<'a> {
    pub(crate) title: &'a str,
    pub(crate) x: Axis,
    /// What `y` is measured in.
    pub(crate) unit: &'a str,
    /// Names, and their points.
    pub(crate) lines: Vec<(&'a str, Vec<(f64, f64)>)>,
}

/// How the horizontal axis counts.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Axis {
    /// One after the other.
    Linear,
    /// By factors.
    Logarithmic,
}

/// The plot within the picture.
const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 220.0;
const LEFT: f64 = 70.0;
const TOP: f64 = 40.0;
/// Colours that readers who see few colours tell apart, too.
const COLOURS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555"];

/// The chart as a text; none where there is nothing to show.
pub(crate) fn svg(chart: &Chart<'_>) -> Option<String> {
    let points = || chart.lines.iter().flat_map(|(_, points)| points).filter(|(_, y)| *y > 0.0);
    let of_x = |x: f64| if chart.x == Axis::Logarithmic { x.log10() } else { x };
    let (x_low, x_high) = bounds(points().map(|(x, _)| of_x(*x)))?;
    let (y_low, y_high) = bounds(points().map(|(_, y)| y.log10()))?;
    let x = |value: f64| LEFT + WIDTH * (of_x(value) - x_low) / (x_high - x_low);
    let y = |value: f64| TOP + HEIGHT * (1.0 - (value.log10() - y_low) / (y_high - y_low));
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"20\" font-size=\"14\">{}, {}</text>\n\
         <rect x=\"{LEFT}\" y=\"{TOP}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"none\" stroke=\"#888\"/>\n",
        LEFT + WIDTH + 130.0,
        TOP + HEIGHT + 40.0,
        escaped(chart.title),
        escaped(chart.unit)
    );
    for tick in ticks(y_low, y_high) {
        let at = y(tick);
        let _ = writeln!(
            out,
            "<line x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{}\" y2=\"{at:.1}\" stroke=\"#ddd\"/>\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{tick}</text>",
            LEFT + WIDTH,
            LEFT - 6.0,
            at + 4.0
        );
    }
    if chart.x == Axis::Logarithmic {
        for tick in ticks(x_low, x_high).into_iter().filter(|t| t.log10().fract() == 0.0) {
            let _ = writeln!(
                out,
                "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{tick}</text>",
                x(tick),
                TOP + HEIGHT + 18.0
            );
        }
    }
    for (i, ((name, points), colour)) in chart.lines.iter().zip(COLOURS.iter().cycle()).enumerate() {
        let shown: Vec<String> = points
            .iter()
            .filter(|(_, value)| *value > 0.0)
            .map(|(at, value)| format!("{:.1},{:.1}", x(*at), y(*value)))
            .collect();
        let _ = writeln!(
            out,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
            shown.join(" ")
        );
        for point in &shown {
            let (x, y) = point.split_once(',').unwrap_or_default();
            let _ = writeln!(out, "<circle cx=\"{x}\" cy=\"{y}\" r=\"2.5\" fill=\"{colour}\"/>");
        }
        let _ = writeln!(
            out,
            "<text x=\"{}\" y=\"{}\" fill=\"{colour}\">{}</text>",
            LEFT + WIDTH + 10.0,
            TOP + 12.0 + 18.0 * i as f64,
            escaped(name)
        );
    }
    Some(out + "</svg>\n")
}

/// The least and the greatest, a bit apart.
fn bounds(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
    let edge = ((high - low) * 0.05).max(0.05);
    (low <= high).then_some((low - edge, high + edge))
}

/// 1, 2 and 5 times the powers of ten between those logarithms; powers alone where there are many.
fn ticks(low: f64, high: f64) -> Vec<f64> {
    let factors: &[f64] = if high - low > 2.5 { &[1.0] } else { &[1.0, 2.0, 5.0] };
    let powers = low.floor() as i32..=high.ceil() as i32;
    let all = powers.flat_map(|p| factors.iter().map(move |f| format!("{f}e{p}").parse().unwrap_or(1.0)));
    all.filter(|t: &f64| (low..=high).contains(&t.log10())).collect()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_drawn_with_its_name() {
        let lines = vec![("a & b", vec![(100.0, 10.0), (1000.0, 100.0)]), ("c", vec![(100.0, 20.0)])];
        let chart = Chart { title: "t", x: Axis::Logarithmic, unit: "ms", lines };
        let text = svg(&chart).unwrap();
        assert_eq!((text.matches("<polyline").count(), text.matches("<circle").count()), (2, 3));
        assert!(text.contains(">a &amp; b<") && text.contains(">t, ms<") && text.contains(">1000</text>"));
    }

    #[test]
    fn ten_times_as_much_is_as_far_everywhere() {
        let lines = vec![("a", vec![(0.0, 1.0), (1.0, 10.0), (2.0, 100.0)])];
        let text = svg(&Chart { title: "", x: Axis::Linear, unit: "", lines }).unwrap();
        let height = |circle: &str| circle.split('"').next().unwrap().parse::<f64>().unwrap();
        let heights: Vec<f64> = text.split("cy=\"").skip(1).map(height).collect();
        let steps = [heights[0] - heights[1], heights[1] - heights[2]];
        assert!((steps[0] - steps[1]).abs() < 0.2 && steps[0] > 50.0, "{heights:?}");
    }

    #[test]
    fn where_there_is_nothing_there_is_no_chart() {
        let chart = |lines| Chart { title: "", x: Axis::Linear, unit: "", lines };
        assert!(svg(&chart(vec![])).is_none() && svg(&chart(vec![("a", vec![(0.0, 0.0)])])).is_none());
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(ticks(-1.05, 0.4), [0.1, 0.2, 0.5, 1.0, 2.0]);
        assert_eq!(ticks(0.0, 4.0), [1.0, 10.0, 100.0, 1000.0, 10000.0]);
    }
}
