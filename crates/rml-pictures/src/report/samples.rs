//! Windows that were evaluated: what went in, what was found, and what is right.

use std::fmt::Write as _;

use super::bitmap;
use super::html::{prose, text};
use crate::histogram::number;

/// Some of the windows that an evaluation ran.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Samples {
    /// What they are, and of how many, in a sentence.
    pub caption: String,
    /// The windows.
    pub list: Vec<ShownWindow>,
}

/// A window.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ShownWindow {
    /// Its name.
    pub title: String,
    /// What goes in, but for what is right.
    pub inputs: Vec<Series>,
    /// What is right.
    pub right: Series,
    /// What was found: of the same kind.
    pub found: Series,
    /// Whether both are classes, or else numbers.
    pub are_classes: bool,
    /// The names of the classes; those that have none are numbers.
    pub names: Vec<String>,
    /// The shares of all classes, of a window with a single label.
    pub shares: Vec<f64>,
}

/// The values of a variable in the cycles of a window.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Series {
    /// The variable.
    pub name: String,
    /// The shape of a value.
    pub dims: Vec<usize>,
    /// The elements, cycle by cycle; `None` where it is absent.
    pub cells: Vec<Option<Vec<f64>>>,
}

/// The most pictures of an input, one for each cycle.
const PICTURES: usize = 4;
/// The most lines in one picture of numbers over cycles.
const LINES: usize = 6;
/// The fewest rows and columns of a picture.
const SIDE: usize = 4;
/// The fewest rows of a picture whose elements stand in one list.
const SQUARE: usize = 7;
/// The most classes whose shares are shown.
const SHARES: usize = 3;

/// The smallest and the largest number of something.
type Range = (f64, f64);

impl Samples {
    pub(super) fn to_html(&self) -> String {
        let ranges: Vec<Range> = (0..self.list.first().map_or(0, |sample| sample.inputs.len()))
            .map(|i| range(self.list.iter().filter_map(|sample| sample.inputs.get(i))))
            .collect();
        let compared = range(self.list.iter().flat_map(|sample| [&sample.right, &sample.found]));
        let cards: String = self.list.iter().map(|sample| sample.to_html(&ranges, compared)).collect();
        // Lines need more room than pictures.
        let broad = if cards.contains("<polyline") { " broad" } else { "" };
        format!(
            "<p class=\"dim\">{}</p>\n<div class=\"samples{broad}\">\n{cards}</div>\n",
            prose(&self.caption)
        )
    }
}

impl ShownWindow {
    /// How many values were found right, of how many that are in both.
    pub fn hits(&self) -> (usize, usize) {
        let pairs = self.right.cells.iter().zip(&self.found.cells);
        let pairs = pairs.filter_map(|(right, found)| right.as_ref().zip(found.as_ref()));
        pairs
            .flat_map(|(right, found)| right.iter().zip(found))
            .fold((0, 0), |(hits, all), (right, found)| (hits + usize::from(right == found), all + 1))
    }

    fn to_html(&self, ranges: &[Range], compared: Range) -> String {
        let (hits, all) = self.hits();
        let class = match self.are_classes {
            true if hits == all => " right",
            true => " wrong",
            false => "",
        };
        let mut out = format!("<figure class=\"sample{class}\">");
        for (input, range) in self.inputs.iter().zip(ranges) {
            out += &input.drawn(*range, &self.title);
        }
        let verdict = match (self.are_classes, all) {
            (true, 1) => self.class_verdict(),
            (true, _) => self.classes_verdict(hits, all),
            (false, _) => self.number_verdict(compared),
        };
        let _ = writeln!(
            out,
            "<figcaption>{verdict}<span class=\"dim title\">{}</span></figcaption></figure>",
            text(&self.title)
        );
        out
    }

    fn name(&self, class: f64) -> String {
        let known = if class >= 0.0 { self.names.get(class as usize) } else { None };
        known.map_or_else(|| class.to_string(), |name| text(name))
    }

    /// One label.
    fn class_verdict(&self) -> String {
        let only = |series: &Series| series.present().flatten().next().copied().unwrap_or(f64::NAN);
        let (right, found) = (only(&self.right), only(&self.found));
        let mut out = match right == found {
            true => format!("<span class=\"found\">✓ <b>{}</b></span>", self.name(found)),
            false => format!(
                "<span class=\"found\">✗ <b>{}</b></span> <span class=\"answer\">is {}</span>",
                self.name(found),
                self.name(right)
            ),
        };
        let mut order: Vec<usize> = (0..self.shares.len()).collect();
        order.sort_by(|a, b| self.shares[*b].total_cmp(&self.shares[*a]));
        if !order.is_empty() {
            out += "<span class=\"shares\">";
        }
        for class in order.iter().take(SHARES) {
            let (share, mark) =
                (100.0 * self.shares[*class], if *class as f64 == right { " class=\"true\"" } else { "" });
            let _ = write!(
                out,
                "<span{mark} style=\"--share:{share:.1}%\"><i>{}</i> {share:.0} %</span>",
                self.name(*class as f64)
            );
        }
        if !order.is_empty() {
            out += "</span>";
        }
        out
    }

    /// Labels in several cycles, or of several elements.
    fn classes_verdict(&self, hits: usize, all: usize) -> String {
        const SHOWN: usize = 24;
        let line = |series: &Series, other: &Series| {
            let (own, other): (Vec<f64>, Vec<f64>) =
                (series.present().flatten().copied().collect(), other.present().flatten().copied().collect());
            let mut out = String::new();
            for (class, other) in own.iter().zip(&other).take(SHOWN) {
                let mark = if class == other { "" } else { " class=\"miss\"" };
                let _ = write!(out, "<span{mark}>{}</span> ", self.name(*class));
            }
            out + if own.len() > SHOWN { "…" } else { "" }
        };
        format!(
            "<span class=\"found\">{hits} of {all} right</span><span class=\"row\"><i>found</i> {}</span><span class=\"row\"><i>right</i> {}</span>",
            line(&self.found, &self.right),
            line(&self.right, &self.found)
        )
    }

    /// Numbers: two numbers, or both as lines.
    fn number_verdict(&self, compared: Range) -> String {
        let single = |series: &Series| {
            let mut all = series.present().flatten();
            all.next().copied().filter(|_| all.next().is_none())
        };
        if let (Some(right), Some(found)) = (single(&self.right), single(&self.found)) {
            return format!(
                "<span class=\"found\"><b>{}</b></span> <span class=\"answer\">is {}, off by {}</span>",
                number(found),
                number(right),
                number((found - right).abs())
            );
        }
        let keys = "<span class=\"row\"><span class=\"key c0\">right</span><span class=\"key c1\">found</span></span>";
        match (self.right.lines(), self.found.lines()) {
            (Some(right), Some(found)) if right.len() == 1 && found.len() == 1 => {
                let label = format!("{} and {} of {}", self.right.name, self.found.name, self.title);
                drawn_lines(&label, &[right, found].concat(), compared) + keys
            }
            _ => {
                let (right, found) =
                    (self.right.drawn(compared, &self.title), self.found.drawn(compared, &self.title));
                format!(
                    "<span class=\"row\"><i>right</i></span>{right}<span class=\"row\"><i>found</i></span>{found}"
                )
            }
        }
    }
}

impl Series {
    fn present(&self) -> impl Iterator<Item = &Vec<f64>> {
        self.cells.iter().flatten()
    }

    /// The shape of its values as a picture: rows, columns, and the numbers of a pixel with the distance between them.
    fn picture(&self) -> Option<([usize; 2], (usize, usize))> {
        let large = |rows: usize, columns: usize| rows >= SIDE && columns >= SIDE;
        match self.dims[..] {
            [rows, columns] if large(rows, columns) => Some(([rows, columns], (1, 0))),
            [rows, columns, channels @ (1 | 3)] if large(rows, columns) => {
                Some(([rows, columns], (channels, 1)))
            }
            [channels @ (1 | 3), rows, columns] if large(rows, columns) => {
                Some(([rows, columns], (channels, rows * columns)))
            }
            [n] if n.isqrt() >= SQUARE && n.isqrt().pow(2) == n && self.present().count() == 1 => {
                Some(([n.isqrt(); 2], (1, 0)))
            }
            _ => None,
        }
    }

    /// One line for each element of its values, over cycles or, of a single cycle, over the elements.
    fn lines(&self) -> Option<Vec<Vec<(f64, f64)>>> {
        let n: usize = self.dims.iter().product();
        let cells: Vec<(usize, &Vec<f64>)> =
            self.cells.iter().enumerate().filter_map(|(t, cell)| Some((t, cell.as_ref()?))).collect();
        match &cells[..] {
            [(_, cell)] if self.dims.len() == 1 && n > 1 => {
                Some(vec![cell.iter().enumerate().map(|(i, x)| (i as f64, *x)).collect()])
            }
            [_, _, ..] if n <= LINES => {
                let line = |i: usize| cells.iter().map(|(t, cell)| (*t as f64, cell[i])).collect();
                Some((0..n).map(line).collect())
            }
            _ => None,
        }
    }

    fn drawn(&self, range: Range, title: &str) -> String {
        let label = format!("{} of {title}", self.name);
        let n: usize = self.dims.iter().product();
        if let Some((dims, (channels, apart))) = self.picture() {
            let all = self.present().count();
            let pictures: String = self
                .present()
                .take(PICTURES)
                .map(|cell| {
                    bitmap(&label, dims, range, |row, column, channel| {
                        let at = if apart > 1 {
                            row * dims[1] + column
                        } else {
                            (row * dims[1] + column) * channels
                        };
                        cell.get(at + channel.min(channels - 1) * apart).copied().unwrap_or(f64::NAN)
                    })
                })
                .collect();
            let more = if all > PICTURES {
                format!("<span class=\"dim\">the first {PICTURES} of {all} cycles</span>")
            } else {
                String::new()
            };
            return format!("<div class=\"pictures\">{pictures}</div>{more}");
        }
        if let Some(lines) = self.lines() {
            return drawn_lines(&label, &lines, range);
        }
        let cells: Vec<&Vec<f64>> = self.present().collect();
        match &cells[..] {
            [] => String::new(),
            [cell] if n <= SIDE => {
                let values: Vec<String> = cell.iter().map(|x| number(*x)).collect();
                format!("<span class=\"row\"><i>{}</i> {}</span>", text(&self.name), values.join(", "))
            }
            cells => {
                // Cycles go down where there are no more of them than elements, as the rows of a picture do.
                let down = cells.len() <= n;
                let dims = if down { [cells.len(), n] } else { [n, cells.len()] };
                let of = |row: usize, column: usize, _| {
                    let (t, i) = if down { (row, column) } else { (column, row) };
                    cells[t][i]
                };
                format!("<div class=\"pictures\">{}</div>", bitmap(&label, dims, range, of))
            }
        }
    }
}

/// A picture in shades of grey, or in colours where it has red, green and blue.
fn bitmap(
    label: &str,
    dims: [usize; 2],
    (low, high): Range,
    value: impl Fn(usize, usize, usize) -> f64,
) -> String {
    let shade = |x: f64| {
        let share = if high > low { (x - low) / (high - low) } else { 0.5 };
        // NaN is 0.
        (255.0 * share.clamp(0.0, 1.0)) as u8
    };
    let address =
        bitmap::address(dims, |row, column| [0, 1, 2].map(|channel| shade(value(row, column, channel))));
    let [rows, columns] = dims;
    format!(
        "<img src=\"{address}\" alt=\"{}, {rows} × {columns}\" style=\"aspect-ratio:{columns}/{rows}\">",
        text(label)
    )
}

/// Lines over cycles or elements.
fn drawn_lines(label: &str, lines: &[Vec<(f64, f64)>], (low, high): Range) -> String {
    const WIDTH: f64 = 240.0;
    const HEIGHT: f64 = 72.0;
    let last = lines.iter().flatten().map(|(x, _)| *x).fold(1.0, f64::max);
    let wide = if high > low { high - low } else { 1.0 };
    let place = |(x, y): &(f64, f64)| {
        let share = ((y - low) / wide).clamp(0.0, 1.0);
        format!("{:.1},{:.1}", 2.0 + (WIDTH - 4.0) * x / last, HEIGHT - 4.0 - (HEIGHT - 8.0) * share)
    };
    let mut out = format!(
        "<svg class=\"series\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{0}\"><title>{0}</title>",
        text(&format!("{label}: {} to {}", number(low), number(high)))
    );
    for (i, line) in lines.iter().enumerate() {
        let step = line.len().div_ceil(WIDTH as usize).max(1);
        let places = line.iter().step_by(step).filter(|(_, y)| y.is_finite()).map(place);
        let places: Vec<String> = places.collect();
        let _ = write!(out, "<polyline class=\"c{}\" points=\"{}\"/>", i % 6, places.join(" "));
    }
    out + "</svg>"
}

fn range<'s>(series: impl Iterator<Item = &'s Series>) -> Range {
    let finite = series.flat_map(Series::present).flatten().copied().filter(|x| x.is_finite());
    let (low, high) = finite.fold((f64::MAX, f64::MIN), |(low, high), x| (low.min(x), high.max(x)));
    if low > high { (0.0, 1.0) } else { (low, high) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(name: &str, dims: &[usize], cells: &[&[f64]]) -> Series {
        let cells = cells.iter().map(|cell| Some(cell.to_vec())).collect();
        Series { name: name.to_owned(), dims: dims.to_vec(), cells }
    }

    fn html(sample: ShownWindow) -> String {
        Samples { caption: "one < two".to_owned(), list: vec![sample] }.to_html()
    }

    #[test]
    fn a_class_is_told_with_its_shares() {
        let sample = ShownWindow {
            title: "window 7".to_owned(),
            inputs: vec![series("x", &[8, 8], &[&[0.5; 64]])],
            right: series("y", &[], &[&[1.0]]),
            found: series("logits", &[], &[&[2.0]]),
            are_classes: true,
            names: vec!["a".to_owned(), "b<".to_owned()],
            shares: vec![0.125, 0.25, 0.625],
        };
        let wrong = html(sample.clone());
        for part in [
            "one &lt; two",
            "class=\"sample wrong\"",
            "<img src=\"data:image/bmp;base64,",
            "alt=\"x of window 7, 8 × 8\"",
            "✗ <b>2</b></span> <span class=\"answer\">is b&lt;</span>",
            "<span style=\"--share:62.5%\"><i>2</i> 62 %</span><span class=\"true\" style=\"--share:25.0%\"><i>b&lt;</i>",
        ] {
            assert!(wrong.contains(part), "{part} in {wrong}");
        }
        let right = html(ShownWindow { found: series("logits", &[], &[&[1.0]]), ..sample });
        assert!(right.contains("class=\"sample right\"") && right.contains("✓ <b>b&lt;</b>"), "{right}");
    }

    #[test]
    fn labels_of_cycles_are_compared_one_by_one() {
        let sample = ShownWindow {
            right: series("y", &[], &[&[0.0], &[1.0], &[1.0]]),
            found: series("c", &[], &[&[0.0], &[2.0], &[1.0]]),
            are_classes: true,
            ..ShownWindow::default()
        };
        let html = html(sample);
        assert!(html.contains("2 of 3 right") && html.contains("<span class=\"miss\">2</span>"), "{html}");
    }

    #[test]
    fn numbers_are_numbers_or_lines() {
        let one = ShownWindow {
            inputs: vec![series("x", &[2], &[&[1.0, -2.0]])],
            right: series("y", &[], &[&[0.5]]),
            found: series("o", &[], &[&[0.25]]),
            ..ShownWindow::default()
        };
        let html_of_one = html(one);
        assert!(html_of_one.contains("<b>0.2500</b></span> <span class=\"answer\">is 0.5000, off by 0.2500"));
        assert!(
            html_of_one.contains("<polyline class=\"c0\" points=\"2.0,4.0 238.0,68.0\"/>"),
            "{html_of_one}"
        );
        let many = ShownWindow {
            right: series("y", &[], &[&[0.0], &[1.0]]),
            found: series("o", &[], &[&[0.0], &[f64::NAN]]),
            ..ShownWindow::default()
        };
        let html = html(many);
        assert!(html.contains("<polyline class=\"c1\" points=\"2.0,68.0\"/>"), "{html}");
    }

    #[test]
    fn vectors_over_cycles_are_a_picture_that_reads_down_or_across() {
        let alt = |cells: usize| {
            let cells: Vec<Vec<f64>> = vec![vec![0.0; 9]; cells];
            let cells: Vec<&[f64]> = cells.iter().map(|cell| &cell[..]).collect();
            let sample = ShownWindow { inputs: vec![series("x", &[9], &cells)], ..ShownWindow::default() };
            html(sample).split("alt=\"").nth(1).and_then(|rest| rest.split('"').next()).map(str::to_owned)
        };
        assert_eq!(alt(8).as_deref(), Some("x of , 8 × 9"));
        assert_eq!(alt(20).as_deref(), Some("x of , 9 × 20"));
    }
}
