//! Learning curves.

use rml_pictures::{Panel, curves};

use super::observer::EpochSummary;

/// The learning curves of epochs or reports as SVG: a picture for each metric, in it a line for the windows that were trained on, those for
/// validation, and those of the evaluation.
pub fn learning_curves(epochs: &[EpochSummary]) -> String {
    let mut panels: Vec<Panel> = Vec::new();
    for (i, part) in ["train", "validation", "test"].into_iter().enumerate() {
        for epoch in epochs {
            for (metric, value) in [&epoch.train, &epoch.validation, &epoch.test][i] {
                let at = panels.iter().position(|panel| panel.title == *metric).unwrap_or(panels.len());
                if at == panels.len() {
                    panels.push(Panel { title: metric.clone(), lines: Vec::new() });
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
    let has_reports = epochs.first().is_some_and(|epoch| epoch.ran.is_some());
    curves(if has_reports { "report" } else { "epoch" }, &panels)
}
