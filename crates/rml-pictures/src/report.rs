//! A page about a training: curves, samples, a confusion matrix, parameters, a profile, and the command to repeat it. A
//! single file without external resources. Its script draws the curves for the width of the window, with the values
//! under the pointer; without the script, they are a picture.

mod bitmap;
mod html;
mod matrix;
mod parameters;
pub(crate) mod runs;
mod samples;

use std::fmt::Write as _;

use rml_base::visible;
use serde_json::json;

use crate::curves::{Panel, curves};
use html::{Head, document, pairs, prose, scrolled, text};
pub use matrix::ConfusionMatrix;
pub use parameters::{Trained, norm};
pub use samples::{Samples, Series, ShownWindow};

/// What the page of a training shows. What is empty is left out.
#[derive(Clone, Debug, Default)]
pub struct TrainingReport {
    /// The heading.
    pub title: String,
    /// How the training ended, in a sentence.
    pub outcome: String,
    /// What went wrong.
    pub findings: String,
    /// What is known about the program, in lines.
    pub verdict: Vec<String>,
    /// What the metrics are of.
    pub results_of: String,
    /// The metrics: names and values.
    pub results: Vec<(String, String)>,
    /// The learning curves.
    pub curves: Curves,
    /// Windows that were evaluated, and what was found for them.
    pub samples: Option<Samples>,
    /// Which class was taken for which.
    pub confusion: Option<ConfusionMatrix>,
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

const SCRIPT: &str = include_str!("report/report.js");

/// Draws curves.
const CHART: &str = include_str!("report/chart.js");

/// Controls of how curves are drawn.
const CONTROLS: &str = "<p id=\"controls\" hidden><label><input type=\"checkbox\" id=\"log\"> logarithmic scale</label>\
<label>smoothing <input type=\"range\" id=\"smooth\" min=\"0\" max=\"0.99\" step=\"0.01\" value=\"0\"> \
<output id=\"smoothness\" for=\"smooth\">none</output></label></p>\n";

impl TrainingReport {
    /// The page in HTML.
    pub fn to_html(&self) -> String {
        let sections = [
            ("result", "Result", self.result()),
            ("curves", "Learning curves", self.curves()),
            ("samples", "Samples", self.samples.as_ref().map(Samples::to_html).unwrap_or_default()),
            ("confusion", "Confusion matrix", self.matrix()),
            ("parameters", "Parameters", parameters::parameters(&self.parameters)),
            ("time", "Time", self.time()),
            ("again", "The same training again", self.again()),
        ];
        let mut script = String::new();
        if !self.curves.panels.is_empty() {
            let data = self.curves.data().to_string().replace('<', "\\u003c");
            let _ = write!(
                script,
                "<script type=\"application/json\" id=\"curves-data\">{data}</script>\n<script>{CHART}{SCRIPT}</script>\n"
            );
        }
        let head = Head {
            title: &self.title,
            outcome: &self.outcome,
            findings: &self.findings,
            lines: &self.verdict,
            live: self.live.then_some("The training has ended."),
        };
        document(&head, &sections, &script)
    }

    fn curves(&self) -> String {
        let Curves { steps, panels, .. } = &self.curves;
        if panels.is_empty() {
            return String::new();
        }
        format!("{CONTROLS}<div id=\"panels\">{}</div>\n", curves(steps, panels))
    }

    fn matrix(&self) -> String {
        match &self.confusion {
            Some(matrix) => matrix.to_html(),
            None if self.no_confusion.is_empty() => String::new(),
            None => format!("<p class=\"dim\">{}</p>\n", prose(&self.no_confusion)),
        }
    }

    fn result(&self) -> String {
        pairs(&self.results_of, &self.results)
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
            let _ = writeln!(out, "<p class=\"dim\">{}</p>", prose(note));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> TrainingReport {
        TrainingReport {
            title: "train <x>".into(),
            outcome: "ended after epoch 2, before `loss < 1`".into(),
            results_of: "The metrics of epoch 2".into(),
            results: vec![("loss".into(), "0.5".into())],
            confusion: Some(ConfusionMatrix {
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
            ..TrainingReport::default()
        }
    }

    #[test]
    fn a_report_has_its_sections_and_nothing_from_elsewhere() {
        let html = report().to_html();
        for part in [
            "<title>train &lt;x&gt;</title>",
            "ended after epoch 2, before <code>loss &lt; 1</code></p>",
            "<caption>The metrics of epoch 2</caption>",
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
        let html = TrainingReport { curves, ..report() }.to_html();
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
        let html = TrainingReport { live: true, ..report() }.to_html();
        assert!(html.contains("connect-src 'self'") && html.contains("loadAgain(() =>"));
        let html = report().to_html();
        assert!(html.contains("connect-src 'none'") && !html.contains("fetch("));
    }

    #[test]
    fn what_went_wrong_is_told_first() {
        let html = TrainingReport { findings: "error[diverged]: <loss>".into(), ..report() }.to_html();
        let (error, nav) = (html.find("error[diverged]: &lt;loss&gt;"), html.find("<nav"));
        assert!(error.is_some() && error < nav && html.contains("class=\"failed\">"), "{html}");
    }
}
