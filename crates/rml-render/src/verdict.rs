//! Verdicts as text and as JSON: clocks, how long outputs wait, memory.

use rml::analysis::{Bound, Bytes, Direction, Verdict, WaitKind};
use rml::codes::analysis as codes;
use rml::{Analysis, CheckReport, RunFacts, Unchecked};
use serde_json::{Map, Value, json};

mod plan;

/// How the engines run a node that is not rejected, in one line.
pub fn engine_line(analysis: &Analysis) -> Option<String> {
    runs(analysis).map(|run| plan::line(analysis, run))
}

/// The facts about the runs of a node that is not rejected.
fn runs(analysis: &Analysis) -> Option<&RunFacts> {
    analysis.run.as_ref().filter(|run| run.bounds.program.kind != WaitKind::Rejected)
}

/// The verdicts on the nodes of a file without errors, a few lines each; empty if the file has errors.
pub fn summary(report: &CheckReport, file: &str) -> String {
    if report.findings.has_errors() {
        return String::new();
    }
    let analysed = report.analyses.iter().fold(format!("{file}: ok\n"), |text, analysis| {
        let engine = runs(analysis).into_iter().flat_map(|run| plan::lines(analysis, run));
        text + &format!("  {}\n", line(analysis))
            + &engine.map(|line| format!("    {line}\n")).collect::<String>()
    });
    analysed + &unchecked(report, file)
}

/// The notes about the nodes that are not analysed, two lines each.
pub fn unchecked(report: &CheckReport, file: &str) -> String {
    let of = |node: &Unchecked| {
        let help = node.help.replace("FILE", file);
        format!("  {}: not checked in full, {}\n    {help}\n", node.node, node.why)
    };
    report.unchecked.iter().map(of).collect()
}

/// The word for the verdict on clocks.
fn clock(analysis: &Analysis) -> &'static str {
    match analysis.clocks.verdict {
        Verdict::Synchronous => "synchronous",
        Verdict::Dynamic(_) => "dynamic",
        Verdict::Rejected(_) => "rejected",
    }
}

/// The order of verdicts, from best to worst.
fn rank(analysis: &Analysis) -> (WaitKind, &'static str) {
    let clock = clock(analysis);
    (analysis.kind(), if clock == "synchronous" { "" } else { clock })
}

/// The whole report as one JSON object.
pub fn json(report: &CheckReport) -> Value {
    let diagnostics = crate::json_objects(&report.findings, &report.sources);
    let worst = report.analyses.iter().max_by_key(|a| rank(a)).filter(|_| !report.findings.has_errors());
    let mut top = match (worst, &report.analyses[..]) {
        (Some(worst), _) => node(worst),
        (None, [only]) => node(only),
        (None, _) => Map::new(),
    };
    if report.findings.has_errors() {
        // Programs with errors in the front end were not analysed, or only in part.
        let late = [
            codes::INSTANTANEOUS_CYCLE,
            codes::UNCUT_RECURRENCE,
            codes::NO_LAST_VALUE,
            codes::UPDATE_CAUSALITY,
        ];
        if report.findings.iter().any(|d| d.is_error() && !late.contains(&d.code)) {
            top.insert("clock".to_owned(), json!("rejected"));
        }
        top.entry("clock").or_insert(json!("synchronous"));
        top.insert("causality".to_owned(), json!({"kind": "rejected"}));
        top.entry("bytes").or_insert(json!({}));
    } else if worst.is_none() {
        // There are no nodes to analyse.
        top.insert("clock".to_owned(), json!("synchronous"));
        top.insert("causality".to_owned(), json!({"kind": "bounded", "lookahead": 0}));
        top.insert("bytes".to_owned(), json!({"state": 0, "look_ahead": 0}));
    }
    if report.analyses.len() > 1 {
        let nodes = report.analyses.iter().map(|a| (a.node().to_owned(), Value::Object(node(a))));
        top.insert("nodes".to_owned(), Value::Object(nodes.collect()));
    }
    if !report.unchecked.is_empty() {
        let of = |n: &Unchecked| json!({"node": n.node, "why": n.why});
        top.insert("unchecked".to_owned(), report.unchecked.iter().map(of).collect());
    }
    top.insert("diagnostics".to_owned(), diagnostics);
    Value::Object(top)
}

/// The verdict on one node.
fn node(analysis: &Analysis) -> Map<String, Value> {
    let mut object = Map::new();
    object.insert("node".to_owned(), json!(analysis.node()));
    object.insert("clock".to_owned(), json!(clock(analysis)));
    let Some(run) = &analysis.run else {
        object.insert("causality".to_owned(), json!({"kind": "rejected"}));
        object.insert("bytes".to_owned(), json!({}));
        return object;
    };
    let mut causality = bound_json(&run.bounds.program);
    if run.bounds.program.kind == WaitKind::Dynamic {
        causality["reasons"] = run.causality.reasons.iter().map(|r| r.message.clone()).collect();
    }
    object.insert("causality".to_owned(), causality);
    object.insert("bytes".to_owned(), bytes_json(run.bounds.bytes));
    let outputs = run.bounds.outputs.iter().map(|(v, bound)| {
        let mut of = bound_json(bound);
        of["clock"] = json!(run.clocks.clocks.text(&run.flat, run.clocks.clocks.of[*v]));
        (name(run, *v), of)
    });
    object.insert("outputs".to_owned(), Value::Object(outputs.collect()));
    if runs(analysis).is_some() {
        object.insert("plan".to_owned(), plan::json(analysis, run));
    }
    object
}

fn name(run: &RunFacts, var: rml::ir::flat::Var) -> String {
    run.flat.vars[var].name.as_ref().map_or_else(|| var.to_string(), ToString::to_string)
}

fn bound_json(bound: &Bound) -> Value {
    let mut object = json!({"kind": bound.kind.name()});
    if let Some(z) = bound.look_ahead {
        object["lookahead"] = json!(z);
    }
    if let Some(window) = &bound.window {
        object["window"] = json!(window);
    }
    object
}

fn bytes_json(bytes: Bytes) -> Value {
    let mut object = json!({"state": bytes.state});
    if let Some(held) = bytes.look_ahead {
        object["look_ahead"] = json!(held);
    }
    if let Some(per_cycle) = bytes.per_cycle {
        object["per_cycle"] = json!(per_cycle);
    }
    if let Some(once) = bytes.once {
        object["once"] = json!(once);
    }
    object
}

/// The verdict on one node in one line.
pub fn line(analysis: &Analysis) -> String {
    let Some(run) = &analysis.run else { return format!("{}: rejected", analysis.node()) };
    let clocks = if clock(analysis) == "dynamic" { ", clocks are checked when it runs" } else { "" };
    let said = format!("{}: {}{clocks}", analysis.node(), words(&run.bounds.program));
    match run.bounds.program.kind {
        WaitKind::Rejected => said,
        kind => format!("{said}; {}", memory(run.bounds.bytes, kind)),
    }
}

fn words(bound: &Bound) -> String {
    let cycles = |z: u64| if z == 1 { "1 cycle".to_owned() } else { format!("{z} cycles") };
    match bound.kind {
        WaitKind::Bounded if bound.look_ahead == Some(0) => "bounded, no look-ahead".to_owned(),
        WaitKind::Bounded => format!("bounded, look-ahead {}", cycles(bound.look_ahead.unwrap_or(0))),
        WaitKind::Windowed => format!("windowed by `{}`", bound.window.as_deref().unwrap_or_default()),
        WaitKind::ClosedOnly => "known at the end of a closed trace only".to_owned(),
        WaitKind::Dynamic => "dynamic, only the run can tell".to_owned(),
        WaitKind::Rejected => "rejected".to_owned(),
    }
}

fn memory(bytes: Bytes, kind: WaitKind) -> String {
    let state = format!("state {}", size(bytes.state));
    match (bytes.look_ahead, bytes.per_cycle) {
        (Some(0), _) => state,
        (Some(held), _) => format!("{state}, waiting cycles {}", size(held)),
        (None, Some(per_cycle)) if kind == WaitKind::Windowed => {
            format!("{state}, window {}", each(per_cycle, bytes.once))
        }
        (None, Some(per_cycle)) => format!("{state}, {} an open cycle", size(per_cycle)),
        (None, None) => state,
    }
}

/// A number of bytes, in the largest unit that is not more than it.
fn size(bytes: u64) -> String {
    if bytes < 10_000 {
        return format!("{bytes} B");
    }
    let (mut value, mut unit) = (bytes as f64 / 1000.0, "kB");
    for next in ["MB", "GB", "TB"] {
        if value >= 1000.0 {
            (value, unit) = (value / 1000.0, next);
        }
    }
    format!("{value:.1} {unit}")
}

/// The detailed explanation of one node, for people.
pub fn explanation(analysis: &Analysis, cycles: Option<usize>) -> String {
    let mut text = format!("{}\n", line(analysis));
    let Some(run) = &analysis.run else { return text };
    for (v, bound) in &run.bounds.outputs {
        let declared = format!("{}: {}{}", name(run, *v), run.flat.vars[*v].ty, run.clock(*v));
        text += &format!("  output {declared}\n    {}\n", wait(run, *v, bound));
    }
    text += &recurrences(run);
    for reason in &run.causality.reasons {
        text += &format!("  not known: {}\n", reason.message);
        let lines = reason.spans.iter().filter(|s| (s.file.0 as usize) < usize::MAX).map(|s| {
            let (line, _) = analysis.sources.line_column(s.file, s.start);
            format!("{}:{line}", analysis.sources.name(s.file))
        });
        let mut lines: Vec<String> = lines.collect();
        lines.dedup();
        if !lines.is_empty() {
            text += &format!("    at {}\n", lines.join(", "));
        }
    }
    if run.bounds.program.kind != WaitKind::Rejected {
        text += &kept(run.bounds.bytes);
        text.extend(plan::lines(analysis, run).iter().map(|line| format!("  {line}\n")));
        text += &cycles.and_then(|cycles| plan::window(run, cycles)).unwrap_or_default();
    }
    text
}

/// The memory that each cycle needs, and the part of it that is needed only once per window.
fn each(per_cycle: u64, once: Option<u64>) -> String {
    match once {
        Some(once) if once > 0 => {
            format!("{} a cycle, of which {} once a window", size(per_cycle), size(once))
        }
        _ => format!("{} a cycle", size(per_cycle)),
    }
}

fn kept(bytes: Bytes) -> String {
    let state = format!("  memory: {} in delays and parameters", size(bytes.state));
    match (bytes.look_ahead, bytes.per_cycle) {
        (Some(0), _) => format!("{state}; no cycle waits for a later one\n"),
        (Some(held), _) => format!("{state}, at most {} of cycles that wait for later ones\n", size(held)),
        (None, Some(per_cycle)) => {
            format!("{state}, of cycles that wait at most {}\n", each(per_cycle, bytes.once))
        }
        (None, None) => format!("{state}\n"),
    }
}

fn wait(run: &RunFacts, var: rml::ir::flat::Var, bound: &Bound) -> String {
    match (&run.causality.latency[var], bound.kind) {
        (rml::analysis::Latency::Windowed(w), _) => {
            let conditions: Vec<String> =
                w.cuts.iter().map(|c| format!("`{}`", run.causality.cuts[*c].name)).collect();
            let mut text = format!("known when {} next holds", conditions.join(", then "));
            if w.cuts.iter().any(|c| !run.causality.cuts[*c].all && run.causality.cuts[*c].ends.len() > 1) {
                text += ", or a window around it ends";
            }
            if w.rounds > 1 {
                text += &format!(" for the {}. time", w.rounds);
            }
            if w.lead > 0 {
                text += &format!(", counted from {} later", plural(w.lead));
            }
            if w.lag > 0 {
                text += &format!(", and {} more", plural(w.lag));
            }
            text
        }
        (_, WaitKind::Bounded) if bound.look_ahead == Some(0) => "known in its own cycle".to_owned(),
        (_, WaitKind::Bounded) => format!("known {} later", plural(bound.look_ahead.unwrap_or(0))),
        (_, WaitKind::ClosedOnly) => {
            "known at the end of a closed trace; in an endless stream never".to_owned()
        }
        (_, WaitKind::Rejected) => "never known".to_owned(),
        (_, WaitKind::Dynamic | WaitKind::Windowed) => "only the run can tell when it is known".to_owned(),
    }
}

fn plural(cycles: u64) -> String {
    if cycles == 1 { "1 cycle".to_owned() } else { format!("{cycles} cycles") }
}

/// The most recurrences, and members of each, that are listed.
const SHOWN: usize = 12;

fn recurrences(run: &RunFacts) -> String {
    let mut text = String::new();
    let vars = &run.flat.vars;
    let all = &run.causality.recurrences;
    for r in all.iter().take(SHOWN) {
        let way = match r.direction {
            Direction::Forward => "forward",
            Direction::Backward => "backward",
            Direction::Mixed => "forward, with looks ahead",
            Direction::Unknown if run.bounds.program.kind == WaitKind::Rejected => "in no order",
            Direction::Unknown => "in an order that only the run can tell",
        };
        let within = r.cut.map(|c| format!(", cut by `{}`", run.causality.cuts[c].name)).unwrap_or_default();
        let names: Vec<&str> = r.members.iter().filter_map(|v| vars[*v].name.as_deref()).collect();
        let more = names.len().saturating_sub(4);
        let mut list = names.iter().take(4).map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
        if more > 0 {
            list += &format!(" and {more} more");
        }
        let equations = if r.members.len() == 1 { "equation" } else { "equations" };
        text += &format!("  recurrence {way}{within}, through {} {equations}", r.members.len());
        text += &if list.is_empty() { "\n".to_owned() } else { format!(": {list}\n") };
    }
    if all.len() > SHOWN {
        text += &format!("  and {} more recurrences\n", all.len() - SHOWN);
    }
    text
}
