//! A chronogram as a page of its own: the source beside the table, arrows of one cell at a time, values of tensors, and
//! the order in which cells become known. A single file without external resources.

use rml_base::visible;
use serde_json::{Value as Json, json};

use crate::chronogram::{Axis, Cell, Chronogram};

/// What a page shows beside its chronogram.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The heading.
    pub title: String,
    /// The texts of the program, by name.
    pub sources: Vec<(String, String)>,
    /// For each row of the chronogram, what is known about it.
    pub rows: Vec<PageRow>,
    /// The values of tensors, as nested arrays; by row and cycle.
    pub tensors: Vec<(usize, usize, Json)>,
    /// What is known about the program, in lines.
    pub verdict: Vec<String>,
    /// Other forms of the program by name, after tabs.
    pub forms: Vec<(String, String)>,
    /// Nodes beside the lines that they come from, after tabs.
    pub sides: Vec<Side>,
    /// What the lines of the program cost.
    pub costs: Vec<LineCost>,
    /// What is wrong.
    pub findings: String,
    /// Whether a server sends it that says, at the address `state` beside it, when it has another one.
    pub live: bool,
}

/// Text beside the lines that it comes from, such as an adjoint beside its program.
#[derive(Clone, Debug, Default)]
pub struct Side {
    /// Its name.
    pub name: String,
    /// Its lines, each with where it comes from.
    pub rows: Vec<(String, Vec<Origin>)>,
}

/// A line that another one comes from.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    /// The file and the line, as people say it.
    pub place: String,
    /// The text of the line.
    pub text: String,
    /// Which of the texts it is in, if it is in one of them, and the line there, from 1.
    pub line: Option<(usize, usize)>,
}

/// What a line of the program costs.
#[derive(Clone, Copy, Debug, Default)]
pub struct LineCost {
    /// Which of the texts it is in, and the line there, from 1.
    pub line: (usize, usize),
    /// Bytes of the values that it computes in a cycle, if all are present.
    pub bytes: u64,
    /// Nanoseconds in this run; an estimate from samples.
    pub ns: f64,
}

/// What is known about a row.
#[derive(Clone, Debug, Default)]
pub struct PageRow {
    /// Its type, perhaps with its clock: `num [4] when end`.
    pub ty: String,
    /// Where its variable is defined: which of the texts, and the line, from 1.
    pub place: Option<(usize, usize)>,
}

const TEMPLATE: &str = include_str!("page/view.html");
const STYLE: &str = include_str!("page/view.css");
const SCRIPT: &str = include_str!("page/view.js");

impl Chronogram {
    /// Draws it as a page in HTML. Headings and cells that are pointed out are left out.
    pub fn to_html(&self, page: &Page) -> String {
        // A text in the data must not end the element that it stands in.
        let data = self.data(page).to_string().replace('<', "\\u003c");
        let title = visible(&page.title).replace('&', "&amp;").replace('<', "&lt;");
        let connect = if page.live { "'self'" } else { "'none'" };
        let parts = [
            ("{connect}", connect),
            ("{title}", title.as_str()),
            ("{style}", STYLE),
            ("{script}", SCRIPT),
            ("{data}", &data),
        ];
        // What is put in is not looked at again.
        let mut text = String::with_capacity(TEMPLATE.len() + STYLE.len() + SCRIPT.len() + data.len());
        let mut rest = TEMPLATE;
        while let Some((at, (mark, part))) =
            parts.iter().filter_map(|p| Some((rest.find(p.0)?, p))).min_by_key(|(at, _)| *at)
        {
            text += &rest[..at];
            text += part;
            rest = &rest[at + mark.len()..];
        }
        text + rest
    }

    fn data(&self, page: &Page) -> Json {
        let rows = self.rows.iter().enumerate().map(|(r, row)| {
            let known = page.rows.get(r).cloned().unwrap_or_default();
            let line = known.place.map(|(text, line)| json!([text, line]));
            let cells: Vec<Json> = row.cells.iter().map(cell).collect();
            json!({"name": visible(&row.name), "type": known.ty, "line": line, "cells": cells})
        });
        let arrows = self.arrows.iter().map(|a| json!([a.from.row, a.from.cycle, a.to.row, a.to.cycle]));
        let tensors = page.tensors.iter().map(|(row, cycle, value)| {
            let at = row * self.cycles + cycle;
            (at.to_string(), value.clone())
        });
        let sources =
            page.sources.iter().map(|(name, text)| json!({"name": visible(name), "text": visible(text)}));
        json!({
            "cycles": self.cycles,
            "axis": if self.axis == Axis::Cycle { "cycle" } else { "element" },
            "rows": rows.collect::<Vec<_>>(),
            "arrows": arrows.collect::<Vec<_>>(),
            "tensors": tensors.collect::<serde_json::Map<_, _>>(),
            "sources": sources.collect::<Vec<_>>(),
            "forms": page.forms.iter().map(|(name, text)| json!({"name": name, "text": visible(text)})).collect::<Vec<_>>(),
            "sides": page.sides.iter().map(side).collect::<Vec<_>>(),
            "costs": page.costs.iter().map(|c| json!({"line": [c.line.0, c.line.1], "bytes": c.bytes, "ns": c.ns})).collect::<Vec<_>>(),
            "verdict": page.verdict.iter().map(|line| visible(line)).collect::<Vec<_>>(),
            "findings": visible(&page.findings),
            "live": page.live,
        })
    }
}

fn side(side: &Side) -> Json {
    let origin = |from: &Origin| {
        let line = from.line.map(|(text, line)| json!([text, line]));
        json!({"place": visible(&from.place), "text": visible(&from.text), "line": line})
    };
    let row = |(text, from): &(String, Vec<Origin>)| json!({"text": visible(text), "from": from.iter().map(origin).collect::<Vec<_>>()});
    json!({"name": side.name, "rows": side.rows.iter().map(row).collect::<Vec<_>>()})
}

/// A value as its text, anything else as a number: absent, unknown, nothing known, nothing shown.
fn cell(cell: &Cell) -> Json {
    match cell {
        Cell::Value(text) => json!(text),
        Cell::Absent => json!(0),
        Cell::Unknown => json!(1),
        Cell::Bottom => json!(2),
        Cell::Blank => json!(3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chronogram::{Arrow, CellIndex, Row};

    #[test]
    fn a_page_has_its_data_and_nothing_from_elsewhere() {
        let at = |row, cycle| CellIndex { row, cycle };
        let chronogram = Chronogram {
            cycles: 2,
            rows: vec![
                Row { name: "x".into(), cells: vec![Cell::Value("1.0".into()), Cell::Absent] },
                Row { name: "y</script>".into(), cells: vec![Cell::Unknown, Cell::Value("[..]".into())] },
            ],
            arrows: vec![Arrow { from: at(0, 0), to: at(1, 1) }],
            ..Chronogram::default()
        };
        let page = Page {
            title: "f <of> {data}".into(),
            sources: vec![("f.rml".into(), "-- </script>\nnode f".into())],
            rows: vec![PageRow { ty: "num []".into(), place: Some((0, 2)) }],
            tensors: vec![(1, 1, json!([1.0, -2.5]))],
            sides: vec![Side {
                name: "diff_f".into(),
                rows: vec![(
                    "dx = do;".into(),
                    vec![Origin { place: "f.rml:2".into(), text: "node f".into(), line: Some((0, 2)) }],
                )],
            }],
            costs: vec![LineCost { line: (0, 2), bytes: 4, ns: 1.5 }],
            ..Page::default()
        };
        let html = chronogram.to_html(&page);
        assert!(html.contains("<title>f &lt;of> {data}</title>"));
        assert_eq!(html.matches("</script>").count(), 2);
        let data = html.split("id=\"data\">").nth(1).and_then(|rest| rest.split("</script>").next());
        let data: Json = serde_json::from_str(data.expect("data")).expect("JSON");
        assert_eq!(
            data["rows"][0],
            json!({"name": "x", "type": "num []", "line": [0, 2], "cells": ["1.0", 0]})
        );
        assert_eq!(
            (&data["rows"][1]["name"], &data["arrows"]),
            (&json!("y</script>"), &json!([[0, 0, 1, 1]]))
        );
        assert_eq!((&data["tensors"]["3"], &data["cycles"]), (&json!([1.0, -2.5]), &json!(2)));
        let from = json!([{"place": "f.rml:2", "text": "node f", "line": [0, 2]}]);
        assert_eq!(data["sides"][0]["rows"][0], json!({"text": "dx = do;", "from": from}));
        assert_eq!(data["costs"][0], json!({"line": [0, 2], "bytes": 4, "ns": 1.5}));
        let without_names = html.replace("http://www.w3.org/2000/svg", "");
        assert!(!["http:", "https:"].iter().any(|at| without_names.contains(at)), "nothing is fetched");
    }
}
