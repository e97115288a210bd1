//! Learning curves.

use std::collections::BTreeMap;
use std::path::Path;

use indexmap::IndexMap;
use rml_base::Error;
use rml_base::codes::run as codes;
use rml_pictures::{Curves, Mark, Panel, curves};

use super::log;
use super::observer::EpochSummary;
use super::options::BestBy;
use super::sweep::table::mean_and_deviation;
use super::sweep::{RunOutcome, SweepReport};

/// The learning curves of epochs or reports as SVG: a picture for each metric, with a line each for the windows that
/// were trained on, the validation, and the evaluation.
pub fn learning_curves(epochs: &[EpochSummary]) -> String {
    curves(steps(epochs), &panels(epochs))
}

/// The name of the steps: epochs or reports.
pub(super) fn steps(epochs: &[EpochSummary]) -> &'static str {
    if epochs.first().is_some_and(|epoch| epoch.ran.is_some()) { "report" } else { "epoch" }
}

/// The same curves for a page, each with its best point: the epoch or report that the training found to be the best by
/// this metric, or else the lowest loss or error, or the highest accuracy.
pub(super) fn marked_curves(epochs: &[EpochSummary]) -> Curves {
    let panels = panels(epochs);
    let marks = panels.iter().map(|panel| mark(panel, epochs)).collect();
    Curves { steps: steps(epochs).to_owned(), panels, marks }
}

fn mark(panel: &Panel, epochs: &[EpochSummary]) -> Option<Mark> {
    let best = epochs.last().and_then(|epoch| epoch.best.as_ref());
    let named = best.and_then(|best| {
        let (of, metric) = best.metric.split_once('.')?;
        let line = panel.lines.iter().position(|(name, _)| name == of)?;
        (metric == panel.title).then(|| Mark { line, step: best.epoch as f64, value: best.value() })
    });
    let usual = || {
        let direction = BestBy::usual(&panel.title)?;
        let is = |part: &str| panel.lines.iter().position(|(name, _)| name == part);
        let line = is("validation").or_else(|| is("test")).or_else(|| is("train"))?;
        let finite = panel.lines[line].1.iter().filter(|(_, value)| value.is_finite());
        let (step, value) = match direction {
            BestBy::Min => finite.min_by(|a, b| a.1.total_cmp(&b.1)),
            BestBy::Max => finite.min_by(|a, b| b.1.total_cmp(&a.1)),
        }?;
        Some(Mark { line, step: *step, value: *value })
    };
    named.or_else(usual)
}

fn panels(epochs: &[EpochSummary]) -> Vec<Panel> {
    let mut panels: Vec<Panel> = Vec::new();
    for (i, part) in ["train", "validation", "test"].into_iter().enumerate() {
        for epoch in epochs {
            for (metric, value) in [&epoch.train, &epoch.validation, &epoch.test][i] {
                let at = panels.iter().position(|panel| panel.title == *metric).unwrap_or(panels.len());
                if at == panels.len() {
                    panels.push(Panel { title: metric.clone(), ..Panel::default() });
                }
                let lines = &mut panels[at].lines;
                if lines.last().is_none_or(|(name, _)| name != part) {
                    lines.push((part.to_owned(), Vec::new()));
                }
                lines
                    .last_mut()
                    .into_iter()
                    .for_each(|(_, points)| points.push((epoch.epoch as f64, *value)));
            }
        }
    }
    panels
}

/// The learning curves of several runs as SVG, from their logs in the folder of the runs: a picture for each metric,
/// with a line for each combination of settings. A line is the mean over the seeds, in a band of their standard
/// deviation on both sides.
///
/// # Errors
/// A log that cannot be read.
pub fn sweep_curves(folder: &Path, report: &SweepReport) -> Result<String, Error> {
    let mut panels: Vec<Panel> = Vec::new();
    let mut has_reports = false;
    for group in report.runs.chunk_by(|a, b| a.settings == b.settings) {
        let settings: Vec<String> = group[0].settings.iter().map(|(name, v)| format!("{name}={v}")).collect();
        let name = if settings.is_empty() { format!("{} runs", group.len()) } else { settings.join(", ") };
        for (metric, steps) in values(folder, group, &mut has_reports)? {
            let title = metric.replacen('.', " ", 1);
            let at = panels.iter().position(|panel| panel.title == title).unwrap_or(panels.len());
            if at == panels.len() {
                panels.push(Panel { title, ..Panel::default() });
            }
            let means = steps.iter().map(|(step, values)| (*step as f64, mean_and_deviation(values)));
            let means: Vec<(f64, (f64, Option<f64>))> = means.collect();
            let line = means.iter().map(|(step, (mean, _))| (*step, *mean)).collect();
            let band = |(step, (mean, deviation)): &(f64, (f64, Option<f64>))| {
                let wide = (*deviation)?;
                Some((*step, mean - wide, mean + wide))
            };
            panels[at].bands.push(means.iter().filter_map(band).collect());
            panels[at].lines.push((name.clone(), line));
        }
    }
    Ok(curves(if has_reports { "report" } else { "epoch" }, &panels))
}

/// For each metric and step, the values in the logs of the runs.
type Values = IndexMap<String, BTreeMap<u64, Vec<f64>>>;

fn values(folder: &Path, runs: &[RunOutcome], has_reports: &mut bool) -> Result<Values, Error> {
    let mut values = Values::new();
    for run in runs {
        let rows = match log::logged(&folder.join(&run.name)) {
            // A run that could not begin has no log.
            Err(e) if e.code() == Some(codes::UNREADABLE_FILE) => continue,
            rows => rows?,
        };
        for row in &rows {
            let Some(step) = log::number(row) else { continue };
            *has_reports |= row.contains_key("report");
            for (metric, value) in log::metrics(row) {
                values.entry(metric).or_default().entry(step).or_default().push(value);
            }
        }
    }
    Ok(values)
}
