//! Line charts as SVG, with logarithmic axes: equal factors have equal distances.

use anyhow::Result;
use plotters::prelude::*;

/// The content of a chart.
pub(crate) struct Chart<'a> {
    pub(crate) title: &'a str,
    /// Whether the horizontal axis is logarithmic, too.
    pub(crate) by_factors: bool,
    /// The unit of `y`.
    pub(crate) unit: &'a str,
    /// The names of the lines, and their points.
    pub(crate) lines: Vec<(&'a str, Vec<(f64, f64)>)>,
}

/// Colours that are also distinguishable for colour-blind readers.
const COLOURS: [u32; 7] = [0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7, 0xe69f00, 0x56b4e9, 0x555555];

/// The chart as text; none if there is nothing to show.
pub(crate) fn svg(chart: &Chart<'_>) -> Result<Option<String>> {
    let of_x = |x: f64| if chart.by_factors { x.log10() } else { x };
    let shown = |points: &[(f64, f64)]| -> Vec<(f64, f64)> {
        points.iter().filter(|(_, y)| *y > 0.0).map(|(x, y)| (of_x(*x), y.log10())).collect()
    };
    let lines: Vec<_> = chart.lines.iter().map(|(name, points)| (*name, shown(points))).collect();
    let all = || lines.iter().flat_map(|(_, points)| points);
    if all().next().is_none() {
        return Ok(None);
    }
    let mut text = String::new();
    let area = SVGBackend::with_string(&mut text, (760, 300)).into_drawing_area();
    area.fill(&WHITE)?;
    let title = format!("{}, {}", chart.title, chart.unit);
    let mut plot = ChartBuilder::on(&area)
        .caption(title, ("sans-serif", 14))
        .margin(10)
        .set_left_and_bottom_label_area_size(40)
        .build_cartesian_2d(bounds(all().map(|(x, _)| *x)), bounds(all().map(|(_, y)| *y)))?;
    let digits = |value: f64| [0.9995, 9.995, 99.95].iter().filter(|limit| value < **limit).count();
    let factor = |power: &f64| format!("{:.1$}", 10_f64.powf(*power), digits(10_f64.powf(*power)));
    let at = |x: &f64| if chart.by_factors { factor(x) } else { x.to_string() };
    plot.configure_mesh().disable_x_mesh().y_label_formatter(&factor).x_label_formatter(&at).draw()?;
    for ((name, points), colour) in lines.iter().zip(COLOURS.iter().cycle()) {
        let colour = RGBColor((colour >> 16) as u8, (colour >> 8) as u8, *colour as u8);
        let key = move |(x, y)| PathElement::new(vec![(x, y), (x + 12, y)], colour);
        plot.draw_series(LineSeries::new(points.clone(), colour).point_size(3))?.label(*name).legend(key);
    }
    plot.configure_series_labels().border_style(BLACK).background_style(WHITE).draw()?;
    drop(plot);
    drop(area);
    Ok(Some(text))
}

/// The least and the greatest value, with a margin.
fn bounds(values: impl Iterator<Item = f64>) -> std::ops::Range<f64> {
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
    let edge = ((high - low) * 0.05).max(0.05);
    low - edge..high + edge
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_drawn_with_its_name_and_factors_look_the_same() {
        let lines = vec![
            ("a", vec![(0.0, 1.0), (1.0, 10.0), (2.0, 100.0), (3.0, 0.0)]),
            ("c & d", vec![(0.0, 20.0)]),
        ];
        let chart = |lines| svg(&Chart { title: "t", by_factors: false, unit: "ms", lines }).unwrap();
        let text = chart(lines).unwrap();
        let parts = ["\nt, ms\n", "\nc &amp; d\n", "#0072B2"];
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
        let height = |circle: &str| circle.split('"').next().unwrap().parse().unwrap();
        let heights: Vec<f64> = text.split(" cy=\"").skip(1).map(height).collect();
        let steps = [heights[0] - heights[1], heights[1] - heights[2]];
        assert!(heights.len() == 4 && (steps[0] - steps[1]).abs() <= 1.0 && steps[0] > 50.0, "{heights:?}");
        assert!(chart(vec![]).is_none() && chart(vec![("a", vec![(0.0, 0.0)])]).is_none());
    }
}
