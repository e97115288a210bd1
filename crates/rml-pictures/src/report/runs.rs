//! A page about several trainings: their curves in one picture for each metric, and a table of their settings and
//! results. Its script shows, hides and sorts them; without it, the curves are a picture and the table stands as it is.

use std::fmt::Write as _;

use rml_base::visible;
use serde_json::json;

use super::html::{Head, document, scrolled, text};
use super::{CHART, CONTROLS};
use crate::curves::{Panel, curves};
use crate::histogram::number;

/// What the page shows.
#[derive(Clone, Debug, Default)]
pub struct RunComparison {
    /// The heading.
    pub title: String,
    /// What the runs are, in a sentence.
    pub outcome: String,
    /// What has to be known about them, in lines.
    pub lines: Vec<String>,
    /// What the steps of the curves are called.
    pub steps: String,
    /// The names of the settings in which runs differ.
    pub settings: Vec<String>,
    /// The metrics.
    pub metrics: Vec<ComparedMetric>,
    /// The runs.
    pub runs: Vec<ComparedRun>,
    /// The groups with several finished runs.
    pub groups: Vec<ComparedGroup>,
    /// Of a page that a server sends, what is said once it has ended.
    pub live: Option<String>,
}

/// A metric of several runs.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ComparedMetric {
    /// Its name, such as `test loss`.
    pub title: String,
    /// Whether the greatest value is the best, or the smallest one; `None` if it is not known.
    pub is_high: Option<bool>,
}

/// Runs that differ in their seed only.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ComparedGroup {
    /// The settings that they have in common.
    pub name: String,
    /// How many runs there are.
    pub runs: usize,
    /// By metric, the interquartile mean and its 95 % interval.
    pub values: Vec<Option<(f64, Option<[f64; 2]>)>>,
}

/// A run beside others.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ComparedRun {
    /// Its name.
    pub name: String,
    /// How it ended, or that it runs.
    pub state: String,
    /// Its settings without its seed: runs that have these in common are a group.
    pub group: String,
    /// The values of the settings in which runs differ.
    pub settings: Vec<String>,
    /// The step that its values are of.
    pub step: Option<u64>,
    /// By metric, its value.
    pub values: Vec<Option<f64>>,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// By metric, its values over steps.
    pub curves: Vec<Vec<(f64, f64)>>,
}

const SCRIPT: &str = include_str!("runs.js");
/// The most points of all curves of a page.
const POINTS: usize = 200_000;
/// The fewest points of a curve that is too long.
const FEWEST: usize = 50;

impl RunComparison {
    /// The page in HTML.
    pub fn to_html(&self) -> String {
        let sections = [
            ("curves", "Learning curves", self.curves()),
            ("groups", "Interquartile means", self.groups_table()),
            ("runs", "Runs", self.table()),
        ];
        let mut scripts = String::new();
        if !self.runs.is_empty() {
            let data = self.data().to_string().replace('<', "\\u003c");
            let _ = write!(
                scripts,
                "<script type=\"application/json\" id=\"runs-data\">{data}</script>\n<script>{CHART}{SCRIPT}</script>\n"
            );
        }
        let head = Head {
            title: &self.title,
            outcome: &self.outcome,
            findings: "",
            lines: &self.lines,
            live: self.live.as_deref(),
        };
        document(&head, &sections, &scripts).replacen("<body>", "<body class=\"wide\">", 1)
    }

    /// The groups, and for each run the number of its group.
    fn groups(&self) -> (Vec<&str>, Vec<usize>) {
        let mut groups: Vec<&str> = Vec::new();
        let mut of = Vec::with_capacity(self.runs.len());
        for run in &self.runs {
            let known = groups.iter().position(|group| *group == run.group);
            of.push(known.unwrap_or(groups.len()));
            groups.extend(known.is_none().then_some(&*run.group));
        }
        (groups, of)
    }

    /// The number of the colour of each run: that of its group, if there are several groups.
    fn colours(&self) -> Vec<usize> {
        let (groups, of) = self.groups();
        if groups.len() > 1 { of } else { (0..self.runs.len()).collect() }
    }

    fn curves(&self) -> String {
        let panel = |(at, metric): (usize, &ComparedMetric)| Panel {
            title: metric.title.clone(),
            lines: self
                .runs
                .iter()
                .map(|run| (run.name.clone(), thinned(&run.curves[at], self.most())))
                .collect(),
            bands: Vec::new(),
        };
        let panels: Vec<Panel> = self.metrics.iter().enumerate().map(panel).collect();
        if panels.is_empty() {
            return String::new();
        }
        let (groups, _) = self.groups();
        let means = if groups.len() < self.runs.len() {
            "<label><input type=\"checkbox\" id=\"means\"> means of seeds</label>"
        } else {
            ""
        };
        format!(
            "{CONTROLS}<p id=\"choice\" hidden><label>filter <input type=\"search\" id=\"filter\" placeholder=\"parts of names and settings\"></label>{means}<span class=\"dim\" id=\"count\"></span></p>\n<div id=\"panels\" class=\"grid\">{}</div>\n",
            curves(&self.steps, &panels)
        )
    }

    fn table(&self) -> String {
        let head = |name: &str| format!("<th scope=\"col\">{}</th>", text(name));
        let metrics = self.metrics.iter().enumerate().map(|(at, metric)| {
            format!("<th scope=\"col\" data-metric=\"{at}\">{}</th>", text(&metric.title))
        });
        let heads: String = std::iter::once(head("run"))
            .chain(self.settings.iter().map(|name| head(name)))
            .chain(metrics)
            .chain([&*self.steps, "seconds", "state"].into_iter().map(head))
            .collect();
        let colours = self.colours();
        let row = |(at, run): (usize, &ComparedRun)| self.row(at, colours[at], run);
        let rows: String = self.runs.iter().enumerate().map(row).collect();
        scrolled(
            "Runs",
            &format!(
                "<table><caption>The values of the best {0} where a run searches for it, else of the last one</caption><thead><tr>{heads}</tr></thead><tbody>\n{rows}</tbody></table>",
                text(&self.steps)
            ),
        )
    }

    /// A table with the interquartile means of groups, and a picture of their intervals.
    fn groups_table(&self) -> String {
        if self.groups.is_empty() {
            return String::new();
        }
        let metrics =
            self.metrics.iter().map(|metric| format!("<th scope=\"col\">{}</th>", text(&metric.title)));
        let heads = metrics.collect::<String>();
        let row = |group: &ComparedGroup| {
            let cells =
                (0..self.metrics.len()).map(|metric| self.group_cell(group, metric)).collect::<String>();
            let name = if group.name.is_empty() { "all" } else { &group.name };
            format!("<tr><th scope=\"row\">{}</th><td>{}</td>{cells}</tr>\n", text(name), group.runs)
        };
        let rows: String = self.groups.iter().map(row).collect();
        scrolled(
            "Interquartile means",
            &format!(
                "<table><caption>The mean without the lowest and the highest quarter of the finished runs, and its 95 % interval by a bootstrap over them</caption><thead><tr><th scope=\"col\">settings</th><th scope=\"col\">runs</th>{heads}</tr></thead><tbody>\n{rows}</tbody></table>"
            ),
        )
    }

    /// A metric of a group: the mean, and its interval as numbers and on the scale of all groups.
    fn group_cell(&self, group: &ComparedGroup, metric: usize) -> String {
        const WIDTH: f64 = 100.0;
        let Some((mean, interval)) = group.values.get(metric).copied().flatten() else {
            return "<td>–</td>".to_owned();
        };
        let Some([low, high]) = interval else { return format!("<td>{}</td>", number(mean)) };
        let all = self.groups.iter().filter_map(|group| group.values.get(metric).copied().flatten()?.1);
        let (least, most) = all.fold((low, high), |(a, b), [low, high]| (a.min(low), b.max(high)));
        let place = |x: f64| if most > least { (x - least) / (most - least) * WIDTH } else { WIDTH / 2.0 };
        let line = format!(
            "<line x1=\"{:.1}\" x2=\"{:.1}\" y1=\"4\" y2=\"4\" stroke=\"currentColor\" stroke-width=\"2\"/>",
            place(low),
            place(high)
        );
        let dot = format!("<circle cx=\"{:.1}\" cy=\"4\" r=\"3.5\" fill=\"currentColor\"/>", place(mean));
        format!(
            "<td>{} <span class=\"dim\">{} to {}</span><br><svg width=\"108\" height=\"8\" viewBox=\"-4 0 108 8\" aria-hidden=\"true\">{line}{dot}</svg></td>",
            number(mean),
            number(low),
            number(high)
        )
    }

    fn row(&self, at: usize, colour: usize, run: &ComparedRun) -> String {
        let name = text(&run.name);
        let mut out = format!(
            "<tr data-run=\"{at}\"><th scope=\"row\" data-value=\"{name}\"><span class=\"key\" style=\"--own:{}\">{name}</span></th>",
            of_number(colour)
        );
        for value in &run.settings {
            let value = text(value);
            let _ = write!(out, "<td data-value=\"{value}\">{value}</td>");
        }
        for (metric, value) in run.values.iter().enumerate() {
            let _ = match value {
                Some(x) if x.is_finite() => {
                    write!(out, "<td data-metric=\"{metric}\" data-value=\"{x}\">{}</td>", number(*x))
                }
                Some(x) => write!(out, "<td data-metric=\"{metric}\" data-value=\"\">{x}</td>"),
                None => write!(out, "<td data-metric=\"{metric}\" data-value=\"\">–</td>"),
            };
        }
        let step = run.step.map_or_else(String::new, |step| step.to_string());
        let state = text(&run.state);
        let _ = writeln!(
            out,
            "<td data-value=\"{step}\">{step}</td><td data-value=\"{0}\">{0:.1}</td><td class=\"text\" data-value=\"{state}\">{state}</td></tr>",
            run.seconds
        );
        out
    }

    /// The most points of a curve.
    fn most(&self) -> usize {
        (POINTS / (self.runs.len() * self.metrics.len()).max(1)).max(FEWEST)
    }

    fn data(&self) -> serde_json::Value {
        let finite = |x: f64| x.is_finite().then_some(x);
        let ((groups, of), colours) = (self.groups(), self.colours());
        let run = |(at, run): (usize, &ComparedRun)| {
            let curve = |points: &Vec<(f64, f64)>| {
                let points = thinned(points, self.most());
                points.into_iter().map(|(x, y)| json!([x, finite(y)])).collect::<Vec<_>>()
            };
            let settings =
                self.settings.iter().zip(&run.settings).map(|(name, value)| format!("{name}={value}"));
            let words = [run.name.clone(), run.state.clone()].into_iter().chain(settings);
            json!({
                "name": visible(&run.name),
                "text": visible(&words.collect::<Vec<_>>().join(" ")),
                "group": of[at],
                "colour": colours[at],
                "curves": run.curves.iter().map(curve).collect::<Vec<_>>(),
            })
        };
        let metric = |metric: &ComparedMetric| {
            let best = metric.is_high.map(|is_high| if is_high { "max" } else { "min" });
            json!({"title": visible(&metric.title), "best": best})
        };
        json!({
            "steps": self.steps,
            "groups": groups.iter().map(|group| visible(group)).collect::<Vec<_>>(),
            "metrics": self.metrics.iter().map(metric).collect::<Vec<_>>(),
            "runs": self.runs.iter().enumerate().map(run).collect::<Vec<_>>(),
        })
    }
}

/// A colour, as the script has it.
fn of_number(colour: usize) -> String {
    if colour < 6 {
        return format!("var(--c{colour})");
    }
    format!("hsl({:.0} 62% var(--lightness))", (colour as f64 * 137.508) % 360.0)
}

/// Some of the points of a curve, with the first and the last one.
fn thinned(points: &[(f64, f64)], most: usize) -> Vec<(f64, f64)> {
    let step = points.len().div_ceil(most.max(2)).max(1);
    let last = points.len().saturating_sub(1);
    let kept = points.iter().enumerate().filter(|(i, _)| i % step == 0 || *i == last);
    kept.map(|(_, point)| *point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(name: &str, rate: &str, values: [f64; 2]) -> ComparedRun {
        ComparedRun {
            name: name.to_owned(),
            state: "finished".to_owned(),
            group: format!("rate={rate}"),
            settings: vec![rate.to_owned()],
            step: Some(2),
            values: vec![Some(values[1])],
            seconds: 1.25,
            curves: vec![vec![(1.0, values[0]), (2.0, values[1])]],
        }
    }

    fn comparison() -> RunComparison {
        RunComparison {
            title: "Runs of <d>".to_owned(),
            outcome: "2 runs".to_owned(),
            steps: "epoch".to_owned(),
            settings: vec!["rate".to_owned()],
            metrics: vec![ComparedMetric { title: "test loss".to_owned(), is_high: Some(false) }],
            runs: vec![run("a", "0.1", [3.0, f64::NAN]), run("b</script>", "0.2", [2.0, 1.0])],
            ..RunComparison::default()
        }
    }

    #[test]
    fn groups_have_interquartile_means_with_intervals() {
        let values = vec![Some((0.5, Some([0.25, 1.0])))];
        let group = ComparedGroup { name: "rate=<1".to_owned(), runs: 4, values };
        let other = ComparedGroup { name: String::new(), runs: 1, values: vec![Some((2.0, None))] };
        let html = RunComparison { groups: vec![group, other], ..comparison() }.to_html();
        for part in [
            "rate=&lt;1</th><td>4</td><td>0.5000",
            "0.2500 to 1.0000",
            "x1=\"0.0\" x2=\"100.0\"",
            "all</th><td>1</td><td>2.0000</td>",
        ] {
            assert!(html.contains(part), "{part} in {html}");
        }
        assert!(!comparison().to_html().contains("Interquartile"));
    }

    #[test]
    fn runs_are_a_table_a_picture_and_data_for_the_script() {
        let html = comparison().to_html();
        for part in [
            "<title>Runs of &lt;d&gt;</title>",
            "<th scope=\"col\" data-metric=\"0\">test loss</th>",
            "<span class=\"key\" style=\"--own:var(--c1)\">b&lt;/script&gt;</span>",
            "<td data-value=\"0.2\">0.2</td><td data-metric=\"0\" data-value=\"1\">1.0000</td>",
            "<td data-value=\"2\">2</td><td data-value=\"1.25\">1.2</td><td class=\"text\" data-value=\"finished\">",
            "<svg",
            "connect-src 'none'",
        ] {
            assert!(html.contains(part), "{part} in {html}");
        }
        let data = html.split("id=\"runs-data\">").nth(1).and_then(|rest| rest.split("</script>").next());
        let data: serde_json::Value = serde_json::from_str(data.expect("data")).expect("JSON");
        assert_eq!(data["runs"][0]["curves"], json!([[[1.0, 3.0], [2.0, null]]]));
        assert_eq!(data["runs"][1]["text"], "b</script> finished rate=0.2");
        assert_eq!(data["metrics"][0], json!({"title": "test loss", "best": "min"}));
        assert!(!html.contains("id=\"means\""), "each group is one run");
        assert!(!["https:", "src=", "fetch("].iter().any(|at| html.contains(at)), "nothing is fetched");
    }

    #[test]
    fn seeds_of_a_group_have_one_colour_and_a_mean() {
        let mut all = comparison();
        all.runs.insert(1, run("a2", "0.1", [3.0, 2.0]));
        assert!(all.to_html().contains("id=\"means\""));
        assert_eq!(all.colours(), [0, 0, 1]);
        all.runs.truncate(2);
        assert_eq!(all.colours(), [0, 1], "of one group, each run has its own");
    }

    #[test]
    fn long_curves_keep_their_ends() {
        let points: Vec<(f64, f64)> = (0..1000).map(|i| (f64::from(i), 0.0)).collect();
        let kept = thinned(&points, 50);
        assert!(kept.len() <= 51 && kept[0].0 == 0.0 && kept.last().map(|p| p.0) == Some(999.0));
        assert_eq!(thinned(&points, 5000).len(), 1000);
        assert!(thinned(&[], 50).is_empty());
    }
}
