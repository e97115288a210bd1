//! Drawing as SVG: the table, arrows in the gutters between the cells, a legend below. The ground is part of the
//! picture, so that it can be read on any page; viewers that prefer dark pages get a dark one.

use std::fmt::Write as _;

use crate::chronogram::{Arrow, Cell, CellIndex, Chronogram, Direction, Heading};
use crate::routes::{self, Port, Route, Routing};
use crate::style::{self, DIRECTIONS, STYLE};

const MARGIN: f64 = 16.0;
const CHARACTER: f64 = 8.5;
const PADDING: f64 = 9.0;
const MIN_COLUMN: f64 = 40.0;
const ROW: f64 = 26.0;
const MIN_GAP: f64 = 14.0;
const MIN_GUTTER: f64 = 22.0;
/// Between cells where there are no arrows.
const NARROW: f64 = 4.0;
const HEADING: f64 = 30.0;
/// From an entry of the legend to its text.
const LEGEND_TEXT: f64 = 32.0;
const LEGEND_CHARACTER: f64 = 7.3;
const LANE: f64 = 7.0;
/// Between a cell and the first lane beside it.
const CLEARANCE: f64 = 12.0;
const CORNER: f64 = 4.0;

impl Chronogram {
    /// The table with its arrows as an SVG document: brown within a cycle, blue forward in time, red backward.
    pub fn to_svg(&self) -> String {
        let routing = routes::routing(&self.arrows);
        let layout = Layout::new(self, &routing);
        let mut svg = String::new();
        layout.open(&mut svg);
        layout.header(&mut svg, self);
        for heading in &self.headings {
            layout.heading(&mut svg, heading);
        }
        for (r, row) in self.rows.iter().enumerate() {
            layout.label(&mut svg, layout.row_top(r), &row.name);
            for (cycle, cell) in row.cells.iter().enumerate().take(self.cycles) {
                let place = CellIndex { row: r, cycle };
                layout.cell(&mut svg, place, cell, self.fresh.binary_search(&place).is_ok());
            }
        }
        for (arrow, route) in self.arrows.iter().zip(&routing.routes) {
            layout.arrow(&mut svg, *arrow, *route, self.is_waiting(arrow.to));
        }
        layout.legend(&mut svg, self);
        svg.push_str("</svg>\n");
        svg
    }
}

/// Coordinates of everything.
struct Layout {
    label_width: f64,
    /// Left edge and width of each cycle's column.
    columns: Vec<(f64, f64)>,
    /// Top edge of each row.
    rows: Vec<f64>,
    width: f64,
    height: f64,
}

impl Layout {
    fn new(chronogram: &Chronogram, routing: &Routing) -> Self {
        let text = |s: &str| s.chars().count() as f64 * CHARACTER + 2.0 * PADDING;
        let names = chronogram.rows.iter().map(|r| text(&r.name));
        let label_width = names.fold(text(chronogram.axis_name()), f64::max);
        let explained: f64 = legend(chronogram).into_iter().map(|(_, text)| legend_width(text)).sum();
        let narrow = chronogram.arrows.is_empty();
        let (least_gap, least_gutter) = if narrow { (NARROW, NARROW) } else { (MIN_GAP, MIN_GUTTER) };
        let mut x = MARGIN + label_width;
        let mut columns = Vec::new();
        for n in 0..chronogram.cycles {
            let cells = chronogram.rows.iter().filter_map(|r| r.cells.get(n)).map(|c| text(style::cell(c).0));
            let width = cells.fold(MIN_COLUMN.max(text(&chronogram.column_name(n))), f64::max);
            x += if n == 0 { 0.0 } else { breadth(routing.gutters.get(&n), least_gutter) };
            columns.push((x, width));
            x += width;
        }
        x += routing.gutters.get(&chronogram.cycles).map_or(0.0, |n| breadth(Some(n), MIN_GUTTER));
        let mut y = MARGIN + ROW;
        let mut rows = Vec::new();
        for r in 0..chronogram.rows.len() {
            y += breadth(routing.gaps.get(&r), least_gap);
            y += chronogram.headings.iter().filter(|h| h.row == r).count() as f64 * HEADING;
            rows.push(y);
            y += ROW;
        }
        y += routing.gaps.get(&chronogram.rows.len()).map_or(0.0, |n| breadth(Some(n), MIN_GAP));
        let legend = if chronogram.arrows.is_empty() { 0.0 } else { ROW + MIN_GAP };
        Layout {
            label_width,
            columns,
            rows,
            width: x.max(MARGIN + explained) + MARGIN,
            height: y + legend + MARGIN,
        }
    }

    fn row_top(&self, row: usize) -> f64 {
        self.rows.get(row).copied().unwrap_or(0.0)
    }

    fn column(&self, cycle: usize) -> (f64, f64) {
        self.columns.get(cycle).copied().unwrap_or((0.0, 0.0))
    }

    fn open(&self, svg: &mut String) {
        let (w, h) = (self.width, self.height);
        let _ = write!(
            svg,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w:.0}\" height=\"{h:.0}\" viewBox=\"0 0 {w:.0} {h:.0}\" \
             font-family=\"DejaVu Sans Mono, Menlo, Consolas, monospace\" font-size=\"14\">\n\
             <style>\n{STYLE}</style>\n<rect class=\"ground\" width=\"100%\" height=\"100%\" rx=\"6\"/>\n<defs>\n"
        );
        for way in DIRECTIONS {
            let (name, _) = style::direction(way);
            let _ = writeln!(
                svg,
                "<marker id=\"{name}\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"7\" markerHeight=\"7\" \
                 markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path class=\"tip {name}\" d=\"M0 0.5L10 5L0 9.5z\"/></marker>"
            );
        }
        svg.push_str("</defs>\n");
    }

    fn header(&self, svg: &mut String, chronogram: &Chronogram) {
        self.label(svg, MARGIN, chronogram.axis_name());
        for (n, &(x, width)) in self.columns.iter().enumerate() {
            let (x, y) = (x + width / 2.0, MARGIN + ROW / 2.0);
            let _ =
                writeln!(svg, "<text class=\"cycle mid\" x=\"{x:.1}\" y=\"{y:.1}\" dy=\"0.35em\">{n}</text>");
        }
    }

    fn label(&self, svg: &mut String, top: f64, text: &str) {
        let (x, y) = (MARGIN + self.label_width - PADDING, top + ROW / 2.0);
        let text = escape(text);
        let _ = writeln!(svg, "<text class=\"name\" x=\"{x:.1}\" y=\"{y:.1}\" dy=\"0.35em\">{text}</text>");
    }

    fn heading(&self, svg: &mut String, heading: &Heading) {
        let (x, y) = (MARGIN, self.row_top(heading.row) - HEADING / 2.0 + NARROW);
        let text = escape(&heading.text);
        let _ = writeln!(svg, "<text class=\"note\" x=\"{x:.1}\" y=\"{y:.1}\" dy=\"0.35em\">{text}</text>");
    }

    fn cell(&self, svg: &mut String, place: CellIndex, cell: &Cell, fresh: bool) {
        if *cell == Cell::Blank {
            return;
        }
        let ((x, width), y) = (self.column(place.cycle), self.row_top(place.row));
        let (text, class) = style::cell(cell);
        let fresh = if fresh { " fresh" } else { "" };
        let (cx, cy) = (x + width / 2.0, y + ROW / 2.0);
        let text = escape(text);
        let _ = writeln!(
            svg,
            "<rect class=\"{class}{fresh}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{ROW}\"/>\
             <text class=\"mid {class}-text\" x=\"{cx:.1}\" y=\"{cy:.1}\" dy=\"0.35em\">{text}</text>"
        );
    }

    fn arrow(&self, svg: &mut String, arrow: Arrow, (route, from, to): (Route, Port, Port), waiting: bool) {
        let (name, _) = style::direction(arrow.direction());
        let waits = if waiting { " waits" } else { "" };
        let (from_right, to_right) = routes::sides(arrow, route);
        let ((x1, y1), (x2, y2)) = (self.end(arrow.from, from_right, from), self.end(arrow.to, to_right, to));
        let path = match route {
            Route::Down => {
                let (x, width) = self.column(arrow.to.cycle);
                let (top, x) = (self.row_top(arrow.from.row), x + width / 2.0);
                let down = arrow.to.row > arrow.from.row;
                let (y1, y2) = if down {
                    (top + ROW, self.row_top(arrow.to.row))
                } else {
                    (top, self.row_top(arrow.to.row) + ROW)
                };
                format!("M{x:.1} {y1:.1}V{y2:.1}")
            }
            Route::Gutter { gutter, lane } => rounded(&[
                (x1, y1),
                (self.gutter(gutter, lane), y1),
                (self.gutter(gutter, lane), y2),
                (x2, y2),
            ]),
            Route::Around { leave, along, arrive } => {
                let (a, y, b) = (
                    self.gutter(leave.0, leave.1),
                    self.gap(along.0, along.1),
                    self.gutter(arrive.0, arrive.1),
                );
                rounded(&[(x1, y1), (a, y1), (a, y), (b, y), (b, y2), (x2, y2)])
            }
        };
        let _ =
            writeln!(svg, "<path class=\"line {name}{waits}\" d=\"{path}\" marker-end=\"url(#{name})\"/>");
    }

    /// Where an arrow ends at a cell's side.
    fn end(&self, place: CellIndex, right: bool, port: Port) -> (f64, f64) {
        let (x, width) = self.column(place.cycle);
        let y = self.row_top(place.row) + ROW * (port.index + 1) as f64 / (port.count + 1) as f64;
        (if right { x + width } else { x }, y)
    }

    fn gutter(&self, gutter: usize, lane: usize) -> f64 {
        let (x, width) = self.column(gutter.saturating_sub(1));
        x + width + CLEARANCE + lane as f64 * LANE
    }

    fn gap(&self, gap: usize, lane: usize) -> f64 {
        let top = gap.checked_sub(1).map_or(MARGIN + ROW, |above| self.row_top(above) + ROW);
        top + MIN_GAP / 2.0 + lane as f64 * LANE
    }

    fn legend(&self, svg: &mut String, chronogram: &Chronogram) {
        let mut x = MARGIN;
        let y = self.height - MARGIN - ROW / 2.0;
        for (name, text) in legend(chronogram) {
            let tip = if name == "waits" { String::new() } else { format!(" marker-end=\"url(#{name})\"") };
            let _ = writeln!(
                svg,
                "<path class=\"line {name}\" d=\"M{x:.1} {y:.1}h26\"{tip}/>\
                 <text class=\"legend\" x=\"{:.1}\" y=\"{y:.1}\" dy=\"0.35em\">{text}</text>",
                x + LEGEND_TEXT
            );
            x += legend_width(text);
        }
    }
}

/// The classes that the legend explains, with their texts.
fn legend(chronogram: &Chronogram) -> Vec<(&'static str, &'static str)> {
    let arrows = &chronogram.arrows;
    let present = |way: &Direction| arrows.iter().any(|a| a.direction() == *way);
    let mut entries: Vec<_> = DIRECTIONS.into_iter().filter(present).map(style::direction).collect();
    if arrows.iter().any(|a| chronogram.is_waiting(a.to)) {
        entries.push(("waits", "waits for"));
    }
    entries
}

/// The space that an entry of the legend takes.
fn legend_width(text: &str) -> f64 {
    LEGEND_TEXT + text.len() as f64 * LEGEND_CHARACTER + 2.0 * PADDING
}

/// The space that many lanes take between two cells.
fn breadth(lanes: Option<&usize>, least: f64) -> f64 {
    lanes.map_or(least, |&n| (2.0 * CLEARANCE + n.saturating_sub(1) as f64 * LANE).max(least))
}

/// A line along those points with rounded corners.
fn rounded(points: &[(f64, f64)]) -> String {
    let mut path = String::new();
    let mut points = points.to_vec();
    points.dedup_by(|a, b| (a.0 - b.0).abs() < 0.05 && (a.1 - b.1).abs() < 0.05);
    for (i, &(x, y)) in points.iter().enumerate() {
        let corner = i.checked_sub(1).and_then(|p| points.get(p)).zip(points.get(i + 1));
        match corner {
            None => {
                let _ = write!(path, "{}{x:.1} {y:.1}", if i == 0 { "M" } else { "L" });
            }
            Some((&before, &after)) => {
                let (a, b) = (toward((x, y), before), toward((x, y), after));
                let _ = write!(path, "L{:.1} {:.1}Q{x:.1} {y:.1} {:.1} {:.1}", a.0, a.1, b.0, b.1);
            }
        }
    }
    path
}

/// The point a corner's radius away from `from` in the direction of `to`, at most half the way.
fn toward(from: (f64, f64), to: (f64, f64)) -> (f64, f64) {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let length = dx.hypot(dy);
    let part = if length > 0.0 { CORNER.min(length / 2.0) / length } else { 0.0 };
    (from.0 + dx * part, from.1 + dy * part)
}

pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chronogram::Row;

    fn chronogram() -> Chronogram {
        let row = |name: &str, cells: Vec<Cell>| Row { name: name.to_owned(), cells };
        let value = |t: &str| Cell::Value(t.to_owned());
        let arrow = |from: (usize, usize), to: (usize, usize)| Arrow {
            from: CellIndex { row: from.0, cycle: from.1 },
            to: CellIndex { row: to.0, cycle: to.1 },
        };
        Chronogram {
            cycles: 3,
            rows: vec![
                row("i<1>", vec![value("2.0"), Cell::Absent, value("8.0")]),
                row("end", vec![value("F"), Cell::Absent, value("T")]),
                row("o", vec![value("8.0"), Cell::Absent, Cell::Unknown]),
            ],
            arrows: vec![
                arrow((0, 2), (2, 2)),
                arrow((1, 2), (2, 2)),
                arrow((2, 2), (2, 0)),
                arrow((0, 0), (1, 2)),
            ],
            ..Chronogram::default()
        }
    }

    #[test]
    fn every_cell_and_arrow_is_drawn_once() {
        let svg = chronogram().to_svg();
        assert_eq!(svg.matches("<rect class=").count(), 1 + 9, "the ground and the cells");
        assert_eq!(svg.matches("□").count(), 3);
        assert_eq!(svg.matches(">?<").count(), 1);
        assert_eq!(svg.matches("marker-end").count(), 4 + 3, "arrows and the legend");
        assert!(svg.contains("i&lt;1&gt;") && !svg.contains("NaN"));
    }

    #[test]
    fn slabs_have_headings_and_point_out_what_is_new() {
        let mut chronogram = chronogram();
        chronogram.arrows.clear();
        chronogram.headings.push(Heading { row: 1, text: "[0:2]".to_owned() });
        chronogram.fresh.push(CellIndex { row: 1, cycle: 2 });
        chronogram.rows[2].cells[1] = Cell::Blank;
        let svg = chronogram.to_svg();
        assert_eq!(svg.matches(">[0:2]<").count(), 1);
        assert_eq!(svg.matches("value fresh").count(), 1);
        assert_eq!(svg.matches("<rect class=").count(), 1 + 8, "the ground and the cells");
        let gap = |svg: &str| svg.matches("class=\"line").count();
        assert_eq!(gap(&svg), 0, "no arrows, no legend");
    }

    #[test]
    fn lines_stay_out_of_the_cells() {
        let chronogram = chronogram();
        let routing = routes::routing(&chronogram.arrows);
        let layout = Layout::new(&chronogram, &routing);
        for (gutter, lanes) in &routing.gutters {
            for lane in 0..*lanes {
                let x = layout.gutter(*gutter, lane);
                let (left, width) = layout.column(gutter - 1);
                let right = layout.columns.get(*gutter).map_or(layout.width, |c| c.0);
                assert!(left + width < x && x < right, "gutter {gutter} lane {lane}: {x}");
            }
        }
        for (gap, lanes) in &routing.gaps {
            for lane in 0..*lanes {
                let y = layout.gap(*gap, lane);
                assert!(
                    y < layout.row_top(*gap) && (*gap == 0 || y > layout.row_top(gap - 1) + ROW),
                    "gap {gap}"
                );
            }
        }
    }

    #[test]
    fn an_empty_chronogram_is_a_document_too() {
        let svg = Chronogram::default().to_svg();
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
    }
}
