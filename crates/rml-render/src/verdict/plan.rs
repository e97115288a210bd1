//! How a node runs: the shape of its plan, or why it has none.

use rml::engine::Declined;
use rml::{Analysis, PlanShape, RunFacts, memory};
use serde_json::{Value, json};

use super::size;

/// One line about the plan. If there is none, the reason names the place in the source, and another line has advice.
pub(super) fn line(analysis: &Analysis, run: &RunFacts) -> String {
    line_of(analysis, &PlanShape::new(run))
}

/// As [`line`], with another line about the requirements of an export.
pub(super) fn lines(analysis: &Analysis, run: &RunFacts) -> Vec<String> {
    let shape = PlanShape::new(run);
    let needs = shape.as_ref().is_ok_and(|shape| shape.needs_checkpoint);
    let export = needs
        .then(|| "export: needs `--params FILE`, since the node learns none of its parameters".to_owned());
    std::iter::once(line_of(analysis, &shape)).chain(export).collect()
}

fn line_of(analysis: &Analysis, shape: &Result<PlanShape, Declined>) -> String {
    match shape {
        Ok(PlanShape { outline: plan, footprint, .. }) => {
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
            let help = declined.help.as_ref().map(|help| format!("\n      help: {help}"));
            let (place, help) = (place.unwrap_or_default(), help.unwrap_or_default());
            format!("runs in the simulator: {}{place}{help}", declined.text)
        }
    }
}

/// The memory of a window with this many cycles, and how it runs in the available memory; none if there is no plan.
pub(super) fn window(run: &RunFacts, cycles: usize) -> Option<String> {
    let available = memory::limit().saturating_sub(memory::used());
    let budget = PlanShape::budget(run, cycles, available).ok()?;
    let plural = if cycles == 1 { "" } else { "s" };
    let mut text = format!("    a window of {cycles} cycle{plural} takes {}", size(budget.whole));
    let room = size(available);
    text += &match budget.cut {
        None if budget.whole <= available => format!("\n    it fits in {room}\n"),
        None => format!("\n    it does not fit in {room}\n"),
        Some(cut) => {
            let (ticks, bytes) = (cut.ticks, size(cut.bytes));
            let again = match cut.again {
                (0, _) => String::new(),
                (again, all) => format!("; {again} of {all} loops, and what they need, are computed again"),
            };
            format!(
                " as a whole\n    within {room} it runs in segments of {ticks} cycles, in {bytes}{again}\n"
            )
        }
    };
    text += &match budget.least {
        Ok(least) if least == budget.whole => "    in segments it takes no less\n".to_owned(),
        Ok(least) => format!("    in segments it takes at least {}\n", size(least)),
        Err(why) => format!("    it does not run in segments: {why}\n"),
    };
    Some(text)
}

/// The plan as JSON: its numbers, or `{"declined": reason, "line": .., "column": ..}`.
pub(super) fn json(analysis: &Analysis, run: &RunFacts) -> Value {
    match PlanShape::new(run) {
        Ok(PlanShape { outline: plan, footprint, needs_checkpoint }) => json!({
            "waits": plan.waits,
            "loops": {"forward": plan.forward, "backward": plan.backward},
            "sums": plan.sums,
            "over_all_ticks": plan.over,
            "bytes": {"once": footprint.fixed, "per_tick": footprint.per_tick},
            "export_needs_params": needs_checkpoint,
        }),
        Err(declined) => {
            let mut object = json!({"declined": declined.text});
            if let Some(help) = &declined.help {
                object["help"] = json!(help);
            }
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
