//! Curves of numbers over steps, as SVG and as a line of text.

use std::fmt::Write as _;

use crate::svg::escape;

/// A picture of its own for numbers of one kind, below the others.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Panel {
    /// What the numbers are.
    pub title: String,
    /// Names, and points from left to right. What is not finite leaves a gap.
    pub lines: Vec<(String, Vec<(f64, f64)>)>,
    /// What the first lines stand for: steps, with the least and the greatest number that is shown there.
    pub bands: Vec<Vec<(f64, f64, f64)>>,
}

/// How many lines have colours of their own.
const COLOURS: usize = 6;
/// About how wide a character of a name is.
const CHARACTER: f64 = 7.0;

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 180.0;
const LEFT: f64 = 80.0;
const TOP: f64 = 34.0;
/// From the top of a panel to that of the next.
const PITCH: f64 = HEIGHT + 70.0;
/// Room for names.
const RIGHT: f64 = 120.0;
const TICKS: f64 = 5.0;

/// On a light ground, and on a dark one for those who prefer that; told apart by readers who see few colours, too.
const STYLE: &str = "\
.ground{fill:#fff}.frame{fill:none;stroke:#888}.grid{stroke:#ddd}text{fill:#222}.end{text-anchor:end}.mid{text-anchor:middle}
polyline{fill:none;stroke-width:2}
polyline.c0{stroke:#0072b2}circle.c0,text.c0{fill:#0072b2}polyline.c1{stroke:#d55e00}circle.c1,text.c1{fill:#d55e00}polyline.c2{stroke:#009e73}circle.c2,text.c2{fill:#009e73}
polyline.c3{stroke:#a3528b}circle.c3,text.c3{fill:#a3528b}polyline.c4{stroke:#8a6d00}circle.c4,text.c4{fill:#8a6d00}polyline.c5{stroke:#555}circle.c5,text.c5{fill:#555}
polygon{fill-opacity:.2}polygon.c0{fill:#0072b2}polygon.c1{fill:#d55e00}polygon.c2{fill:#009e73}polygon.c3{fill:#a3528b}polygon.c4{fill:#8a6d00}polygon.c5{fill:#555}
@media (prefers-color-scheme:dark){.ground{fill:#15181c}.grid{stroke:#333940}text{fill:#e8e8e8}
polyline.c0{stroke:#56b4e9}circle.c0,text.c0{fill:#56b4e9}polyline.c1{stroke:#e69f00}circle.c1,text.c1{fill:#e69f00}polyline.c2{stroke:#3fc79a}circle.c2,text.c2{fill:#3fc79a}
polyline.c3{stroke:#dd9ac6}circle.c3,text.c3{fill:#dd9ac6}polyline.c4{stroke:#f0e442}circle.c4,text.c4{fill:#f0e442}polyline.c5{stroke:#bbb}circle.c5,text.c5{fill:#bbb}}
";

/// The panels one below the other, over the same steps, which are called `steps`.
pub fn curves(steps: &str, panels: &[Panel]) -> String {
    let names = panels.iter().flat_map(|panel| &panel.lines).map(|(name, _)| name.chars().count());
    let names = CHARACTER * names.max().unwrap_or(0) as f64 + 20.0;
    let (width, height) = (LEFT + WIDTH + RIGHT.max(names), PITCH * panels.len().max(1) as f64);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <style>\n{STYLE}</style>\n<rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n"
    );
    let all = || panels.iter().flat_map(|panel| &panel.lines).flat_map(|(_, points)| points);
    let x = Scale::new(all().map(|(x, _)| *x), LEFT, LEFT + WIDTH);
    for (i, panel) in panels.iter().enumerate() {
        let top = TOP + PITCH * i as f64;
        let values = panel.lines.iter().flat_map(|(_, points)| points).map(|(_, y)| *y);
        let bands = panel.bands.iter().flatten().flat_map(|(_, low, high)| [*low, *high]);
        draw(&mut out, panel, &x, &Scale::new(values.chain(bands), top + HEIGHT, top), steps);
    }
    out + "</svg>\n"
}

fn draw(out: &mut String, panel: &Panel, x: &Scale, y: &Scale, steps: &str) {
    let (top, bottom, right) = (y.end, y.begin, LEFT + WIDTH);
    let _ = writeln!(
        out,
        "<text x=\"{LEFT}\" y=\"{}\" font-size=\"14\">{}</text>",
        top - 10.0,
        escape(&panel.title)
    );
    for (at, label) in y.ticks() {
        let _ = writeln!(
            out,
            "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{right}\" y2=\"{at:.1}\"/><text class=\"end\" x=\"{}\" y=\"{:.1}\">{label}</text>",
            LEFT - 6.0,
            at + 4.0
        );
    }
    for (at, label) in x.ticks().into_iter().filter(|(_, label)| !label.contains('.')) {
        let below = bottom + 16.0;
        let _ = writeln!(out, "<text class=\"mid\" x=\"{at:.1}\" y=\"{below}\">{label}</text>");
    }
    let _ = writeln!(
        out,
        "<text x=\"{}\" y=\"{}\">{}</text>\n<rect class=\"frame\" x=\"{LEFT}\" y=\"{top}\" width=\"{WIDTH}\" height=\"{HEIGHT}\"/>",
        right + 10.0,
        bottom + 16.0,
        escape(steps)
    );
    for (i, band) in panel.bands.iter().enumerate() {
        let is_gap = |(_, low, high): &(f64, f64, f64)| !low.is_finite() || !high.is_finite();
        for run in band.split(is_gap).filter(|run| run.len() > 1) {
            let place = |at: f64, value: f64| format!("{:.1},{:.1}", x.at(at), y.at(value));
            let above = run.iter().map(|(at, _, high)| place(*at, *high));
            let below = run.iter().rev().map(|(at, low, _)| place(*at, *low));
            let places: Vec<String> = above.chain(below).collect();
            let _ = writeln!(out, "<polygon class=\"c{}\" points=\"{}\"/>", i % COLOURS, places.join(" "));
        }
    }
    for (i, (name, points)) in panel.lines.iter().enumerate() {
        let class = i % COLOURS;
        for run in points.split(|(_, y)| !y.is_finite()).filter(|run| !run.is_empty()) {
            let places: Vec<String> =
                run.iter().map(|(at, value)| format!("{:.1},{:.1}", x.at(*at), y.at(*value))).collect();
            let _ = match (run, &places[..]) {
                ([(at, value)], [_]) => writeln!(
                    out,
                    "<circle class=\"c{class}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"2.5\"/>",
                    x.at(*at),
                    y.at(*value)
                ),
                _ => writeln!(out, "<polyline class=\"c{class}\" points=\"{}\"/>", places.join(" ")),
            };
        }
        let (x, y) = (right + 10.0, top + 12.0 + 18.0 * i as f64);
        let _ = writeln!(out, "<text class=\"c{class}\" x=\"{x}\" y=\"{y}\">{}</text>", escape(name));
    }
}

/// From numbers to places.
struct Scale {
    low: f64,
    high: f64,
    begin: f64,
    end: f64,
}

impl Scale {
    /// All finite numbers have a place between the two ends.
    fn new(values: impl Iterator<Item = f64>, begin: f64, end: f64) -> Self {
        let (low, high) = values
            .filter(|x| x.is_finite())
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
        let (low, high) = if low <= high { (low, high) } else { (0.0, 1.0) };
        // Numbers that are all the same are drawn in the middle; halves, since the difference of two numbers may
        // overflow.
        let edge = (high / 2.0 - low / 2.0) * 0.1;
        let edge = if edge > 0.0 { edge } else { low.abs().max(1.0) * 0.1 };
        Self { low: (low - edge).max(f64::MIN), high: (high + edge).min(f64::MAX), begin, end }
    }

    fn at(&self, value: f64) -> f64 {
        let half = self.high / 2.0 - self.low / 2.0;
        self.begin + (self.end - self.begin) * ((value / 2.0 - self.low / 2.0) / half)
    }

    /// Round numbers, 1, 2 or 5 times a power of ten apart, and their places.
    fn ticks(&self) -> Vec<(f64, String)> {
        let least = self.high / TICKS - self.low / TICKS;
        let power = least.log10().floor();
        let step = [1.0, 2.0, 5.0, 10.0].map(|f| f * 10_f64.powf(power));
        let Some(step) = step.into_iter().find(|step| *step >= least && step.is_finite()) else {
            return Vec::new();
        };
        let (first, last) = ((self.low / step).ceil(), (self.high / step).floor());
        let digits = (-step.log10().floor()).max(0.0);
        let label = |value: f64| match digits {
            0.0..=5.0 if value.abs() < 1e6 => format!("{value:.*}", digits as usize),
            _ => format!("{value:.1e}"),
        };
        // 5 of them, or a few more; where steps vanish beside the numbers, there is none.
        let count = if last - first <= 2.0 * TICKS { last - first + 1.0 } else { 0.0 };
        (0..count as usize)
            .map(|i| (first + i as f64) * step)
            .map(|value| (self.at(value), label(value)))
            .collect()
    }
}

/// Numbers as blocks of eight heights; what is not finite is a blank.
pub fn sparkline(values: &[f64]) -> String {
    const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let finite = || values.iter().copied().filter(|x| x.is_finite());
    let (low, high) = (finite().fold(f64::INFINITY, f64::min), finite().fold(f64::NEG_INFINITY, f64::max));
    let half = high / 2.0 - low / 2.0;
    let block = |x: f64| {
        let share = if half > 0.0 { (x / 2.0 - low / 2.0) / half } else { 0.0 };
        BLOCKS[((share * 8.0) as usize).min(7)]
    };
    values.iter().map(|x| if x.is_finite() { block(*x) } else { ' ' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panel(points: &[(f64, f64)]) -> Panel {
        Panel {
            title: "a < b".to_owned(),
            lines: vec![("train".to_owned(), points.to_vec())],
            bands: Vec::new(),
        }
    }

    /// The places of a polyline.
    fn places(svg: &str) -> Vec<(f64, f64)> {
        let points = svg.split("points=\"").nth(1).unwrap().split('"').next().unwrap();
        let pair = |pair: &str| pair.split_once(',').map(|(x, y)| (x.parse().unwrap(), y.parse().unwrap()));
        points.split(' ').map(|p| pair(p).unwrap()).collect()
    }

    #[test]
    fn greater_numbers_are_higher_and_later_ones_farther_right() {
        let svg = curves("epoch", &[panel(&[(1.0, 3.0), (2.0, 2.0), (3.0, 1.0)])]);
        let at = places(&svg);
        assert!(at[0].1 < at[1].1 && at[1].1 < at[2].1, "y grows downward: {at:?}");
        assert!((at[1].0 - at[0].0 - (at[2].0 - at[1].0)).abs() < 0.2 && at[1].0 > at[0].0, "{at:?}");
        assert!(
            at.iter().all(|(x, y)| (LEFT..=LEFT + WIDTH).contains(x) && (TOP..=TOP + HEIGHT).contains(y))
        );
        assert!(
            svg.contains(">a &lt; b<")
                && svg.contains(">train<")
                && svg.contains(">epoch<")
                && svg.contains(">2.0<")
        );
    }

    #[test]
    fn bands_are_around_their_lines() {
        let mut panel = panel(&[(1.0, 3.0), (2.0, 2.0), (3.0, 1.0)]);
        panel.bands = vec![vec![(1.0, 2.0, 4.0), (2.0, 1.5, 2.5), (3.0, f64::NAN, 1.0)]];
        let svg = curves("epoch", &[panel]);
        let line = places(svg.split("<polyline").nth(1).unwrap());
        let band = places(svg.split("<polygon").nth(1).unwrap());
        assert_eq!(band.len(), 4, "a gap ends it: {band:?}");
        assert!(band[0].1 < line[0].1 && line[0].1 < band[3].1, "{band:?} {line:?}");
        assert!(band.iter().all(|(_, y)| (TOP..=TOP + HEIGHT).contains(y)), "{band:?}");
    }

    #[test]
    fn what_is_not_finite_leaves_a_gap() {
        let svg = curves("epoch", &[panel(&[(1.0, 3.0), (2.0, f64::NAN), (3.0, 1.0), (4.0, 0.0)])]);
        assert_eq!((svg.matches("<circle").count(), svg.matches("<polyline").count()), (1, 1));
        assert_eq!(places(&svg).len(), 2);
    }

    #[test]
    fn any_numbers_have_a_picture() {
        for points in [
            &[][..],
            &[(1.0, f64::NAN)],
            &[(1.0, 0.0)],
            &[(1.0, -5.0), (2.0, -5.0)],
            &[(1.0, f64::MAX), (2.0, f64::MIN)],
            &[(1.0, 5e-324), (2.0, 0.0)],
            &[(1.0, 1e300), (2.0, 1e300)],
        ] {
            let svg = curves("epoch", &[panel(points)]);
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{points:?} {svg}");
        }
        assert!(curves("epoch", &[]).ends_with("</svg>\n"));
    }

    #[test]
    fn ticks_are_round() {
        let labels = |low, high| {
            let scale = Scale { low, high, begin: 0.0, end: 1.0 };
            scale.ticks().into_iter().map(|(_, label)| label).collect::<Vec<_>>()
        };
        assert_eq!(labels(0.0, 1.0), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(labels(-130.0, 410.0), ["0", "200", "400"]);
    }

    #[test]
    fn a_sparkline_goes_from_the_lowest_block_to_the_highest() {
        assert_eq!(sparkline(&[0.0, f64::NAN, 4.0, 8.0, 1.0]), "▁ ▅█▂");
        assert_eq!(sparkline(&[2.0, 2.0]), "▁▁");
        assert_eq!(sparkline(&[]), "");
    }
}
