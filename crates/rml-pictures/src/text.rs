//! Drawing for a terminal: aligned columns, in blocks of cycles that fit the width.

use std::fmt::Write as _;
use std::ops::Range;

use rml_base::{table, visible_name};

use crate::chronogram::{Cell, Chronogram};

/// Between two columns.
const GAP: usize = 2;

impl Chronogram {
    /// The table as text, a header of cycles and a line a variable. Cycles that do not fit into `width` characters go
    /// into further blocks below; no width means one block. Arrows are not drawn, and fresh cells look like others.
    pub fn to_text(&self, width: Option<usize>) -> String {
        let names = self.rows.iter().map(|r| r.name.as_str()).chain([self.axis_name()]);
        let names = names.map(|name| length(&visible_name(name))).max().unwrap_or(0);
        let columns: Vec<usize> = (0..self.cycles).map(|n| self.column_width(n)).collect();
        let mut text = String::new();
        let mut start = 0;
        loop {
            let end = block_end(&columns, start, names, width);
            text.push_str(if start > 0 { "\n" } else { "" });
            self.block(&mut text, start..end);
            start = end;
            if start >= self.cycles {
                return text;
            }
        }
    }

    /// The columns of some cycles, with the names of the rows before them and the headings between them.
    fn block(&self, text: &mut String, cycles: Range<usize>) {
        let header = cycles.clone().map(|n| self.column_name(n));
        let mut rows = vec![std::iter::once(self.axis_name().to_owned()).chain(header).collect::<Vec<_>>()];
        rows.extend(self.rows.iter().map(|row| {
            let cells = row.cells.iter().take(cycles.end).skip(cycles.start).map(|c| glyph(c).to_owned());
            std::iter::once(row.name.clone()).chain(cells).collect()
        }));
        for (r, line) in table(&rows, &[0]).lines().enumerate() {
            for heading in self.headings.iter().filter(|h| h.row + 1 == r) {
                let _ = writeln!(text, "\n{}", heading.text);
            }
            text.push_str(line);
            text.push('\n');
        }
    }

    fn column_width(&self, cycle: usize) -> usize {
        let cells = self.rows.iter().filter_map(|r| r.cells.get(cycle)).map(|c| length(glyph(c)));
        cells.chain([length(&self.column_name(cycle))]).max().unwrap_or(0)
    }
}

/// One past the last cycle that fits the width; at least one cycle goes into a block.
fn block_end(columns: &[usize], start: usize, names: usize, width: Option<usize>) -> usize {
    let mut used = names;
    let mut end = start;
    for column in columns.iter().skip(start) {
        used += GAP + column;
        if end > start && width.is_some_and(|w| used > w) {
            break;
        }
        end += 1;
    }
    end
}

fn glyph(cell: &Cell) -> &str {
    match cell {
        Cell::Absent => "□",
        Cell::Unknown => "?",
        Cell::Bottom => "⊥",
        Cell::Blank => "",
        Cell::Value(text) => text,
    }
}

fn length(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chronogram::Row;

    fn backfill() -> Chronogram {
        let row = |name: &str, cells: &[&str]| Row {
            name: name.to_owned(),
            cells: cells
                .iter()
                .map(|c| match *c {
                    "" => Cell::Absent,
                    "?" => Cell::Unknown,
                    c => Cell::Value(c.to_owned()),
                })
                .collect(),
        };
        Chronogram {
            cycles: 4,
            rows: vec![
                row("i", &["2.5", "", "8.0", "15.25"]),
                row("end", &["F", "", "T", "F"]),
                row("o", &["8.0", "", "8.0", "?"]),
            ],
            ..Chronogram::default()
        }
    }

    #[test]
    fn columns_are_aligned() {
        let text = "\
cycle    0  1    2      3
i      2.5  □  8.0  15.25
end      F  □    T      F
o      8.0  □  8.0      ?
";
        assert_eq!(backfill().to_text(None), text);
        assert_eq!(backfill().to_text(Some(80)), text);
    }

    #[test]
    fn what_does_not_fit_goes_below() {
        let text = "\
cycle    0  1    2
i      2.5  □  8.0
end      F  □    T
o      8.0  □  8.0

cycle      3
i      15.25
end        F
o          ?
";
        assert_eq!(backfill().to_text(Some(20)), text);
        assert_eq!(backfill().to_text(Some(1)).matches("cycle").count(), 4);
    }

    #[test]
    fn a_trace_of_no_cycles_shows_its_names() {
        let mut chronogram = backfill();
        chronogram.cycles = 0;
        chronogram.rows.iter_mut().for_each(|r| r.cells.clear());
        assert_eq!(chronogram.to_text(None), "cycle\ni\nend\no\n");
        assert_eq!(Chronogram::default().to_text(Some(10)), "cycle\n");
    }
}
