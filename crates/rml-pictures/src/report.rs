//! A page about a training: curves, a confusion matrix, parameters, a profile, and the command to repeat it. A single
//! file without external resources. Its script draws the curves for the width of the window, with the values under the
//! pointer; without the script, they are a picture.

use std::fmt::Write as _;

use rml_base::visible;
use serde_json::json;

use crate::curves::{Panel, curves};
use crate::histogram::{histogram, number};
use crate::page::LIVE;
use crate::svg::escape;

/// What the page of a training shows. What is empty is left out.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The heading.
    pub title: String,
    /// How the training ended, in a sentence.
    pub outcome: String,
    /// What went wrong.
    pub findings: String,
    /// What is known about the program, in lines.
    pub verdict: Vec<String>,
    /// The last metrics: names and values.
    pub results: Vec<(String, String)>,
    /// The learning curves.
    pub curves: Curves,
    /// Which class was taken for which.
    pub confusion: Option<Matrix>,
    /// What is said in place of a matrix.
    pub no_confusion: String,
    /// The parameters.
    pub parameters: Vec<Trained>,
    /// What the time went into, in milliseconds.
    pub times: Vec<(String, f64)>,
    /// What has to be known about these times.
    pub time_notes: Vec<String>,
    /// The lines of the source that took longest.
    pub lines: Vec<TimedLine>,
    /// The command that does it again.
    pub command: String,
    /// What else decides the result: names and values.
    pub facts: Vec<(String, String)>,
    /// Whether a server sends it that says, at the address `state` beside it, when it has another one.
    pub live: bool,
}

/// Metrics over epochs or reports.
#[derive(Clone, Debug, Default)]
pub struct Curves {
    /// What the steps are called.
    pub steps: String,
    /// A panel for each metric.
    pub panels: Vec<Panel>,
    /// The best step of each panel that has one.
    pub marks: Vec<Option<Mark>>,
}

/// A point of a curve that is pointed out.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Mark {
    /// Which line of the panel it is on.
    pub line: usize,
    /// The step.
    pub step: f64,
    /// The value there.
    pub value: f64,
}

/// How often one class was taken for another.
#[derive(Clone, Debug, Default)]
pub struct Matrix {
    /// What it is of.
    pub caption: String,
    /// For each class that is right, how often each class was found.
    pub counts: Vec<Vec<u64>>,
    /// The names of the classes; those that have none are numbers.
    pub names: Vec<String>,
}

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

/// A line of the source, and the time that it took.
#[derive(Clone, Debug, Default)]
pub struct TimedLine {
    /// The file and the line.
    pub place: String,
    /// The line.
    pub text: String,
    /// The operators in it.
    pub operators: String,
    /// Milliseconds.
    pub ms: f64,
}

/// The least share of its colour that a count above 0 has, in percent.
const LEAST: f64 = 30.0;

const STYLE: &str = include_str!("report/report.css");
const SCRIPT: &str = include_str!("report/report.js");

/// The sections: what stands in addresses, the heading, the text.
type Section = (&'static str, &'static str, String);

impl Report {
    /// The page in HTML.
    pub fn to_html(&self) -> String {
        let sections: [Section; 6] = [
            ("result", "Result", self.result()),
            ("curves", "Learning curves", self.curves()),
            ("confusion", "Confusion matrix", self.matrix()),
            ("parameters", "Parameters", self.trained()),
            ("time", "Time", self.time()),
            ("again", "The same training again", self.again()),
        ];
        let sections: Vec<&Section> = sections.iter().filter(|(_, _, text)| !text.is_empty()).collect();
        let title = text(&self.title);
        let connect = if self.live { "'self'" } else { "'none'" };
        let mut out = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src {connect}\">\n\
             <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<header>\n<h1>{title}</h1>\n"
        );
        let class = if self.findings.is_empty() { "outcome" } else { "failed" };
        let _ = writeln!(out, "<p id=\"outcome\" class=\"{class}\">{}</p>", text(&self.outcome));
        for line in &self.verdict {
            let _ = writeln!(out, "<p class=\"dim\">{}</p>", text(line));
        }
        if !self.findings.is_empty() {
            let _ = writeln!(out, "<pre tabindex=\"0\">{}</pre>", text(&self.findings));
        }
        out += "<nav aria-label=\"Sections\">";
        for (id, heading, _) in &sections {
            let _ = write!(out, "<a href=\"#{id}\">{heading}</a>");
        }
        out += "</nav>\n</header>\n<main>\n";
        for (id, heading, body) in sections {
            let _ = writeln!(
                out,
                "<section id=\"{id}\" aria-labelledby=\"{id}-h\">\n<h2 id=\"{id}-h\">{heading}</h2>\n{body}</section>"
            );
        }
        if !self.curves.panels.is_empty() {
            let data = self.curves.data().to_string().replace('<', "\\u003c");
            let _ = write!(
                out,
                "<script type=\"application/json\" id=\"curves-data\">{data}</script>\n<script>{SCRIPT}</script>\n"
            );
        }
        if self.live {
            let ended = "document.getElementById(\"outcome\").textContent = \"The training has ended.\"";
            let _ = writeln!(out, "<script>{LIVE}loadAgain(() => ({ended}));</script>");
        }
        out + "</main>\n</body>\n</html>\n"
    }

    fn curves(&self) -> String {
        let Curves { steps, panels, .. } = &self.curves;
        if panels.is_empty() {
            return String::new();
        }
        format!(
            "<p id=\"scale\" hidden><label><input type=\"checkbox\" id=\"log\"> logarithmic scale</label></p>\n<div id=\"panels\">{}</div>\n",
            curves(steps, panels)
        )
    }

    fn result(&self) -> String {
        pairs("The last metrics", &self.results)
    }

    fn matrix(&self) -> String {
        let Some(Matrix { caption, counts, names }) = &self.confusion else {
            return if self.no_confusion.is_empty() {
                String::new()
            } else {
                format!("<p class=\"dim\">{}</p>\n", text(&self.no_confusion))
            };
        };
        let name =
            |class: usize| names.get(class).map_or_else(|| class.to_string(), |name| text(name).to_string());
        let heads: String =
            (0..counts.len()).map(|class| format!("<th scope=\"col\">{}</th>", name(class))).collect();
        let mut rows = String::new();
        for (class, row) in counts.iter().enumerate() {
            let all: u64 = row.iter().sum();
            let _ = write!(rows, "<tr><th scope=\"row\">{}</th>", name(class));
            for (found, n) in row.iter().enumerate() {
                if *n == 0 {
                    rows += "<td class=\"none\">0</td>";
                    continue;
                }
                let class = if found == class { "right" } else { "wrong" };
                // What is rarely found must be seen, too.
                let share = (100.0 * *n as f64 / all.max(1) as f64).max(LEAST);
                let _ = write!(rows, "<td class=\"{class}\" style=\"--share:{share:.0}%\">{n}</td>");
            }
            rows += "</tr>\n";
        }
        let matrix = scrolled(
            "Confusion matrix",
            &format!(
                "<table class=\"confusion\"><caption>{}</caption><thead><tr><th scope=\"col\">right \\ found</th>{heads}</tr></thead><tbody>\n{rows}</tbody></table>",
                text(caption)
            ),
        );
        matrix + &scores(counts, &name)
    }

    fn trained(&self) -> String {
        if self.parameters.is_empty() {
            return String::new();
        }
        let mut out = "<p class=\"dim\"><span class=\"key before\">before the training</span><span class=\"key after\">after it</span>Norms are roots of sums of squares.</p>\n<div class=\"parameters\">\n".to_owned();
        for Trained { name, ty, before, after, norms } in &self.parameters {
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

    fn time(&self) -> String {
        let total: f64 = self.times.iter().map(|(_, ms)| ms).sum();
        if self.times.is_empty() {
            return String::new();
        }
        let share = |ms: f64| 100.0 * ms / total.max(f64::MIN_POSITIVE);
        let cell = |ms: f64| {
            let share = share(ms);
            format!("<td>{ms:.1}</td><td class=\"share\" style=\"--share:{share:.1}%\">{share:.1} %</td>")
        };
        let mut rows = String::new();
        for (name, ms) in &self.times {
            let _ = writeln!(rows, "<tr><th scope=\"row\">{}</th>{}</tr>", text(name), cell(*ms));
        }
        let mut out = scrolled(
            "Time",
            &format!(
                "<table><caption>Where {:.2} s went</caption><thead><tr><th scope=\"col\">what</th><th scope=\"col\">ms</th><th scope=\"col\">share</th></tr></thead><tbody>\n{rows}</tbody></table>",
                total / 1000.0
            ),
        );
        for note in &self.time_notes {
            let _ = writeln!(out, "<p class=\"dim\">{}</p>", text(note));
        }
        if !self.lines.is_empty() {
            let mut rows = String::new();
            for TimedLine { place, text: line, operators, ms } in &self.lines {
                let _ = writeln!(
                    rows,
                    "<tr><th scope=\"row\">{}</th>{}<td class=\"text\">{}</td><td class=\"code\">{}</td></tr>",
                    text(place),
                    cell(*ms),
                    text(operators),
                    text(line)
                );
            }
            out += &scrolled(
                "Time by line",
                &format!(
                    "<table><caption>Steps and evaluations by line of the source, gradients included</caption><thead><tr><th scope=\"col\">place</th><th scope=\"col\">ms</th><th scope=\"col\">share</th><th scope=\"col\">operators</th><th scope=\"col\">source</th></tr></thead><tbody>\n{rows}</tbody></table>"
                ),
            );
        }
        out
    }

    fn again(&self) -> String {
        format!(
            "<pre tabindex=\"0\">{}</pre>\n{}",
            text(&self.command),
            pairs("What decides the result", &self.facts)
        )
    }
}

impl Curves {
    fn data(&self) -> serde_json::Value {
        let finite = |x: f64| x.is_finite().then_some(x);
        let panel = |(i, panel): (usize, &Panel)| {
            let line = |(name, points): &(String, Vec<(f64, f64)>)| {
                let points: Vec<_> = points.iter().map(|(x, y)| json!([x, finite(*y)])).collect();
                json!({"name": visible(name), "points": points})
            };
            let mark = self.marks.get(i).and_then(Option::as_ref);
            json!({
                "title": visible(&panel.title),
                "lines": panel.lines.iter().map(line).collect::<Vec<_>>(),
                "mark": mark.map(|mark| json!({"line": mark.line, "step": mark.step, "value": mark.value})),
            })
        };
        let panels: Vec<_> = self.panels.iter().enumerate().map(panel).collect();
        json!({"steps": self.steps, "panels": panels})
    }
}

/// How well each class is found: precision, recall, and F1, the harmonic mean of both.
fn scores(counts: &[Vec<u64>], name: &dyn Fn(usize) -> String) -> String {
    let share = |part: u64, all: u64| (all > 0).then(|| part as f64 / all as f64);
    let cell = |share: Option<f64>| {
        let percent = 100.0 * share.unwrap_or(0.0);
        let text = share.map_or_else(|| "–".to_owned(), |_| format!("{percent:.1} %"));
        format!("<td class=\"share\" style=\"--share:{percent:.1}%\">{text}</td>")
    };
    let mut rows = String::new();
    let mut all: [Vec<f64>; 3] = Default::default();
    for (class, row) in counts.iter().enumerate() {
        let right = row.get(class).copied().unwrap_or(0);
        let found: u64 = counts.iter().filter_map(|row| row.get(class)).sum();
        let there: u64 = row.iter().sum();
        let (precision, recall) = (share(right, found), share(right, there));
        let f1 = share(2 * right, found + there);
        let _ = write!(rows, "<tr><th scope=\"row\">{}</th><td>{there}</td>", name(class));
        for (value, all) in [precision, recall, f1].into_iter().zip(&mut all) {
            rows += &cell(value);
            all.extend(value);
        }
        rows += "</tr>\n";
    }
    let mean =
        |values: &Vec<f64>| (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64);
    let means: String = all.iter().map(|values| cell(mean(values))).collect();
    let total: u64 = counts.iter().flatten().sum();
    scrolled(
        "Precision and recall",
        &format!(
            "<table class=\"scores\"><caption>Precision: of what was found as a class, how much is right. Recall: of a class, how much was found. F1: their harmonic mean</caption><thead><tr><th scope=\"col\">class</th><th scope=\"col\">count</th><th scope=\"col\">precision</th><th scope=\"col\">recall</th><th scope=\"col\">F1</th></tr></thead><tbody>\n{rows}</tbody><tfoot><tr><th scope=\"row\">mean</th><td>{total}</td>{means}</tr></tfoot></table>"
        ),
    )
}

/// Names and values as a table.
fn pairs(caption: &str, pairs: &[(String, String)]) -> String {
    if pairs.is_empty() {
        return String::new();
    }
    let row = |(name, value): &(String, String)| {
        format!("<tr><th scope=\"row\">{}</th><td class=\"text\">{}</td></tr>\n", text(name), text(value))
    };
    let rows: String = pairs.iter().map(row).collect();
    scrolled(caption, &format!("<table><caption>{caption}</caption><tbody>\n{rows}</tbody></table>"))
}

/// A table that may be wider than the page: it scrolls by keys, too.
fn scrolled(label: &str, table: &str) -> String {
    format!("<div class=\"scroll\" role=\"region\" aria-label=\"{label}\" tabindex=\"0\">{table}</div>\n")
}

fn text(text: &str) -> String {
    escape(&visible(text))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        Report {
            title: "train <x>".into(),
            outcome: "ended after epoch 2".into(),
            results: vec![("loss".into(), "0.5".into())],
            confusion: Some(Matrix {
                caption: "y".into(),
                counts: vec![vec![3, 1], vec![0, 0]],
                names: vec!["a<b".into()],
            }),
            parameters: vec![Trained {
                name: "k".into(),
                ty: "num [2]".into(),
                before: vec![3.0, 4.0],
                after: vec![6.0, 8.0],
                norms: vec![6.0, 10.0],
            }],
            times: vec![("steps".into(), 30.0), ("data".into(), 10.0)],
            command: "rml train 'a b.rml'".into(),
            ..Report::default()
        }
    }

    #[test]
    fn a_report_has_its_sections_and_nothing_from_elsewhere() {
        let html = report().to_html();
        for part in [
            "<title>train &lt;x&gt;</title>",
            "href=\"#confusion\"",
            "<td class=\"right\" style=\"--share:75%\">3</td>",
            "<td class=\"wrong\" style=\"--share:30%\">1</td>",
            "<tr><th scope=\"row\">a&lt;b</th><td>4</td><td class=\"share\" style=\"--share:100.0%\">100.0 %</td><td class=\"share\" style=\"--share:75.0%\">75.0 %</td><td class=\"share\" style=\"--share:85.7%\">85.7 %</td></tr>",
            "<tr><th scope=\"row\">1</th><td>0</td><td class=\"share\" style=\"--share:0.0%\">0.0 %</td><td class=\"share\" style=\"--share:0.0%\">–</td>",
            "norm 5.0000 → 10.0000, of the change 5.0000",
            "norm of k over the training: 6.0000 to 10.0000",
            "<polyline points=\"2.0,23.0 228.0,3.0\"/>",
            "Where 0.04 s went",
            "--share:75.0%\">75.0 %",
            "rml train 'a b.rml'",
        ] {
            assert!(html.contains(part), "{part} in {html}");
        }
        assert!(!html.contains("Learning curves"), "what is empty is left out");
        assert!(
            !["http:", "https:", "<script", "src="].iter().any(|at| html.contains(at)),
            "nothing is fetched"
        );
    }

    #[test]
    fn curves_are_a_picture_and_data_for_the_script() {
        let panel = Panel {
            title: "</script>".into(),
            lines: vec![("test".into(), vec![(1.0, 2.0), (2.0, f64::NAN)])],
            bands: Vec::new(),
        };
        let mark = Mark { line: 0, step: 1.0, value: 2.0 };
        let curves = Curves { steps: "epoch".into(), panels: vec![panel], marks: vec![Some(mark)] };
        let html = Report { curves, ..report() }.to_html();
        assert!(
            html.contains("<h2 id=\"curves-h\">Learning curves</h2>")
                && html.contains("<circle class=\"c0\"")
        );
        let data = html.split("id=\"curves-data\">").nth(1).and_then(|rest| rest.split("</script>").next());
        let data: serde_json::Value = serde_json::from_str(data.expect("data")).expect("JSON");
        assert_eq!(
            data["panels"][0],
            json!({
                "title": "</script>",
                "lines": [{"name": "test", "points": [[1.0, 2.0], [2.0, null]]}],
                "mark": {"line": 0, "step": 1.0, "value": 2.0},
            })
        );
    }

    #[test]
    fn the_page_of_a_server_asks_for_another_one() {
        let html = Report { live: true, ..report() }.to_html();
        assert!(html.contains("connect-src 'self'") && html.contains("loadAgain(() =>"));
        let html = report().to_html();
        assert!(html.contains("connect-src 'none'") && !html.contains("fetch("));
    }

    #[test]
    fn what_went_wrong_is_told_first() {
        let html = Report { findings: "error[diverged]: <loss>".into(), ..report() }.to_html();
        let (error, nav) = (html.find("error[diverged]: &lt;loss&gt;"), html.find("<nav"));
        assert!(error.is_some() && error < nav && html.contains("class=\"failed\">"), "{html}");
    }
}
