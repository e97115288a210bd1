//! A chronogram as a page of its own: the table beside the source, arrows and a sentence for the chosen cell, values of
//! tensors, the order in which cells become known; and pictures of the network and the plan. A single file without
//! external resources.

use rml_base::visible;
use serde_json::{Value as Json, json};

use crate::chronogram::{Axis, Cell, Chronogram};
use crate::network::{Network, Role};
use crate::words::Reasons;

/// What a page shows beside its chronogram.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The heading.
    pub title: String,
    /// The checkpoint whose parameters the program runs with.
    pub checkpoint: Option<String>,
    /// The texts of the program, by name.
    pub sources: Vec<(String, String)>,
    /// For each row of the chronogram, what is known about it.
    pub rows: Vec<PageRow>,
    /// The values of tensors, as nested arrays; by row and cycle.
    pub tensors: Vec<(usize, usize, Json)>,
    /// Why each cell has its value.
    pub reasons: Reasons,
    /// The ends of windows.
    pub windows: Vec<WindowEnds>,
    /// The network.
    pub network: Network,
    /// The plan.
    pub plan: PlanPicture,
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
    pub rows: Vec<(String, Vec<LineOrigin>)>,
}

/// A line that another one comes from.
#[derive(Clone, Debug, Default)]
pub struct LineOrigin {
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

/// The cycles in which the windows of one condition end.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WindowEnds {
    /// The condition.
    pub name: String,
    /// How many windows are around such a window.
    pub depth: usize,
    /// The last cycle of each.
    pub cycles: Vec<usize>,
}

/// A plan as a picture: regions that run one after the other.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PlanPicture {
    /// The regions.
    pub regions: Vec<PlanRegion>,
    /// The registers that are written when all regions have run, and their values.
    pub commits: Vec<String>,
}

/// A region of a plan.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PlanRegion {
    /// How it runs over the ticks of a window.
    pub way: PlanWay,
    /// The conditions that end sequences within the window.
    pub by: Vec<String>,
    /// What it fills.
    pub parts: Vec<PlanPart>,
    /// The registers that it writes, and their values.
    pub writes: Vec<String>,
    /// The earlier regions that it reads.
    pub reads: Vec<usize>,
}

/// How a region runs over the ticks of a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PlanWay {
    /// At all ticks at once.
    #[default]
    Over,
    /// Tick by tick from the first one on.
    Forward,
    /// Tick by tick from the last one back.
    Backward,
}

/// A value that a region of a plan fills.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PlanPart {
    /// Its name.
    pub name: String,
    /// The type of an element.
    pub ty: String,
    /// How it is computed, a line for each case.
    pub rules: Vec<String>,
    /// Whether it is a sum over ticks.
    pub is_sum: bool,
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
/// The part of the script that loads the page of a server again.
pub(crate) const LIVE: &str = include_str!("page/script/live.js");

/// The script, in files that each do one thing; a later one uses the names of earlier ones.
const SCRIPT: &[&str] = &[
    include_str!("page/script/base.js"),
    include_str!("page/script/model.js"),
    include_str!("page/script/routes.js"),
    include_str!("page/script/layout.js"),
    include_str!("page/script/paint.js"),
    include_str!("page/script/heads.js"),
    include_str!("page/script/grid.js"),
    include_str!("page/script/detail.js"),
    include_str!("page/script/source.js"),
    include_str!("page/script/network.js"),
    include_str!("page/script/plan.js"),
    LIVE,
    include_str!("page/script/main.js"),
];

impl Chronogram {
    /// Draws it as a page in HTML. Headings and cells that are pointed out are left out.
    pub fn to_html(&self, page: &Page) -> String {
        // A text in the data must not end the element that it stands in.
        let data = self.data(page).to_string().replace('<', "\\u003c");
        let title = visible(&page.title).replace('&', "&amp;").replace('<', "&lt;");
        let script = SCRIPT.concat();
        let connect = if page.live { "'self'" } else { "'none'" };
        let parts = [
            ("{connect}", connect),
            ("{title}", title.as_str()),
            ("{style}", STYLE),
            ("{script}", &script),
            ("{data}", &data),
        ];
        // What is put in is not looked at again.
        let mut text = String::with_capacity(TEMPLATE.len() + STYLE.len() + script.len() + data.len());
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
            let why = page.reasons.of.get(r).cloned().unwrap_or_default();
            json!({"name": visible(&row.name), "type": known.ty, "line": line, "cells": cells, "why": why})
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
            "reasons": page.reasons.texts.iter().map(|text| visible(text)).collect::<Vec<_>>(),
            "windows": page.windows.iter().map(|w| json!({"name": w.name, "depth": w.depth, "cycles": w.cycles})).collect::<Vec<_>>(),
            "network": network(&page.network),
            "plan": plan(&page.plan),
            "verdict": page.verdict.iter().map(|line| visible(line)).collect::<Vec<_>>(),
            "findings": visible(&page.findings),
            "checkpoint": page.checkpoint.as_deref().map(visible),
            "live": page.live,
        })
    }
}

fn side(side: &Side) -> Json {
    let origin = |from: &LineOrigin| {
        let line = from.line.map(|(text, line)| json!([text, line]));
        json!({"place": visible(&from.place), "text": visible(&from.text), "line": line})
    };
    let row = |(text, from): &(String, Vec<LineOrigin>)| json!({"text": visible(text), "from": from.iter().map(origin).collect::<Vec<_>>()});
    json!({"name": side.name, "rows": side.rows.iter().map(row).collect::<Vec<_>>()})
}

fn network(network: &Network) -> Json {
    let role = |role: Role| match role {
        Role::Value => "value",
        Role::Input => "input",
        Role::Parameter => "parameter",
        Role::Output => "output",
    };
    let boxes = network.boxes.iter().map(
        |b| json!({"path": b.path, "name": visible(&b.name), "what": visible(&b.what), "type": b.ty, "role": role(b.role)}),
    );
    json!({"boxes": boxes.collect::<Vec<_>>(), "lines": network.lines})
}

fn plan(plan: &PlanPicture) -> Json {
    let part = |p: &PlanPart| json!({"name": p.name, "type": p.ty, "rules": p.rules, "sum": p.is_sum});
    let region = |r: &PlanRegion| {
        let way = match r.way {
            PlanWay::Over => "over",
            PlanWay::Forward => "forward",
            PlanWay::Backward => "backward",
        };
        let parts: Vec<Json> = r.parts.iter().map(part).collect();
        json!({"way": way, "by": r.by, "parts": parts, "writes": r.writes, "reads": r.reads})
    };
    json!({"regions": plan.regions.iter().map(region).collect::<Vec<_>>(), "commits": plan.commits})
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
            reasons: Reasons { texts: vec!["`x` is an input.".into()], of: vec![vec![0, 0], vec![0, 0]] },
            windows: vec![WindowEnds { name: "end".into(), depth: 0, cycles: vec![1] }],
            sides: vec![Side {
                name: "diff_f".into(),
                rows: vec![(
                    "dx = do;".into(),
                    vec![LineOrigin { place: "f.rml:2".into(), text: "node f".into(), line: Some((0, 2)) }],
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
            json!({"name": "x", "type": "num []", "line": [0, 2], "cells": ["1.0", 0], "why": [0, 0]})
        );
        assert_eq!(
            (&data["rows"][1]["name"], &data["arrows"]),
            (&json!("y</script>"), &json!([[0, 0, 1, 1]]))
        );
        assert_eq!((&data["tensors"]["3"], &data["cycles"]), (&json!([1.0, -2.5]), &json!(2)));
        assert_eq!(data["reasons"], json!(["`x` is an input."]));
        assert_eq!(data["windows"], json!([{"name": "end", "depth": 0, "cycles": [1]}]));
        let from = json!([{"place": "f.rml:2", "text": "node f", "line": [0, 2]}]);
        assert_eq!(data["sides"][0]["rows"][0], json!({"text": "dx = do;", "from": from}));
        assert_eq!(data["costs"][0], json!({"line": [0, 2], "bytes": 4, "ns": 1.5}));
        let without_names = html.replace("http://www.w3.org/2000/svg", "");
        assert!(!["http:", "https:"].iter().any(|at| without_names.contains(at)), "nothing is fetched");
    }
}
