//! How a node runs: the shape of its plan, or why it has none.

use rml::{Analysis, PlanShape, RunFacts};
use serde_json::{Value, json};

use super::size;

/// In one line. The reason why there is no plan names the place in the source.
pub(super) fn line(analysis: &Analysis, run: &RunFacts) -> String {
    match PlanShape::new(run) {
        Ok(PlanShape { outline: plan, footprint }) => {
            let mut parts = Vec::new();
            parts.extend(plan.waits.then(|| "blocks that wait".to_owned()));
            let mut add = |count: usize, one: &str, many: &str| match count {
                0 => {}
                1 => parts.push(format!("1 {one}")),
                n => parts.push(format!("{n} {many}")),
            };
            add(plan.forward, "loop forward", "loops forward");
            add(plan.backward, "loop backward", "loops backward");
            add(plan.sums, "sum", "sums");
            let loops = if parts.is_empty() { "no loop".to_owned() } else { parts.join(", ") };
            let values = if plan.over == 1 { "value" } else { "values" };
            let (once, each) = (size(footprint.fixed), size(footprint.per_tick));
            format!("plan: {loops}; {} {values} over all ticks; memory {once} + {each} a tick", plan.over)
        }
        Err(declined) => {
            let place = declined.span.filter(|span| (span.file.0 as usize) < usize::MAX).map(|span| {
                let (line, column) = analysis.sources.line_column(span.file, span.start);
                format!(" ({}:{line}:{column})", analysis.sources.name(span.file))
            });
            format!("runs in the simulator: {}{}", declined.text, place.unwrap_or_default())
        }
    }
}

/// As JSON: the numbers of a plan, or `{"declined": reason, "line": .., "column": ..}`.
pub(super) fn json(analysis: &Analysis, run: &RunFacts) -> Value {
    match PlanShape::new(run) {
        Ok(PlanShape { outline: plan, footprint }) => json!({
            "waits": plan.waits,
            "loops": {"forward": plan.forward, "backward": plan.backward},
            "sums": plan.sums,
            "over_all_ticks": plan.over,
            "bytes": {"once": footprint.fixed, "per_tick": footprint.per_tick},
        }),
        Err(declined) => {
            let mut object = json!({"declined": declined.text});
            if let Some(span) = declined.span {
                let (line, column) = analysis.sources.line_column(span.file, span.start);
                object["line"] = json!(line);
                object["column"] = json!(column);
                object["file"] = json!(analysis.sources.name(span.file));
            }
            object
        }
    }
}
