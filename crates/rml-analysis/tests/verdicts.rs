//! Programs, with the verdicts on the waits for their outputs (CAUSE-1 to CAUSE-4).

use std::sync::Arc;

use rml::{Options, RunFacts, Source};
use rml_analysis::WaitKind;
use rml_base::codes::analysis::UPDATE_CAUSALITY;
use rml_ir::flat::{Drawn, Flat, Var};
use rml_ir::{DType, Value};
use rml_sim::InputCell;
use rml_testkit::Lcg;
use rml_testkit::verdicts::check_waits;

fn analysed(source: &Source, node: &str) -> RunFacts {
    let options = Options { node: Some(node.to_owned()), batch: None, ..Options::default() };
    let analysis = rml::analyse(source, &options)
        .or_else(|_| rml::analyse(source, &Options { batch: Some(2), ..options.clone() }))
        .unwrap_or_else(|e| panic!("{e}"));
    analysis.run.expect("its clocks fit")
}

/// The verdict as `bounded 2`, `windowed end`, `closed-only`, and the codes of its findings.
fn verdict(run: &RunFacts) -> String {
    let bound = &run.bounds.program;
    let mut text = bound.kind.name().to_owned();
    if let Some(z) = bound.look_ahead {
        text += &format!(" {z}");
    }
    if let Some(window) = &bound.window {
        text += &format!(" {window}");
    }
    for finding in run.causality.findings.iter() {
        text += &format!(" [{}]", finding.code);
    }
    text
}

fn of_text(body: &str) -> String {
    verdict(&analysed(&Source::text("test", body), "main"))
}

/// Programs in one line, with their verdicts.
const PROGRAMS: &[(&str, &str)] = &[
    ("node main(x: num []) -> (o) o = x + (0.0 fby o);", "bounded 0"),
    ("node main(x: num []) -> (o) o = post x;", "bounded 1"),
    ("node main(x: num []) -> (o) o = post (post x);", "bounded 2"),
    ("node main(x: num []) -> (o) o = 0.0 fby (post x);", "bounded 0"),
    ("node main(x: num []) -> (o) o = x - (post (post (0.0 fby x)));", "bounded 2"),
    ("node main(x: num []) -> (o) o = (0.0 fby o) + post x;", "bounded 1"),
    ("node main(x: num []) -> (o) o = 0.0 fby back x;", "bounded 1"),
    ("node main() -> (o) o = 0 fby o + 1;", "bounded 0"),
    ("node main(x: num [], c: bool []) -> (o) o = post (x when c);", "windowed c"),
    ("node main(x: num [], c: bool []) -> (o) o = 0.0 fby (x when c);", "bounded 0"),
    (
        "node main(i: int [], bp: bool []) -> (o) o = merge bp (i when bp) ((post o) when not bp);",
        "windowed bp",
    ),
    (
        "node main(i: int [], bp: bool []) -> (o) o = merge bp ((post o) when bp) (i when not bp);",
        "windowed not bp",
    ),
    ("node main(i: int [], end: bool []) -> (o) o = if end then i else post o;", "windowed end"),
    (
        "node main(i: int [], a: bool [], b: bool []) -> (o) c = a and b; o = if c then i else post o;",
        "windowed c",
    ),
    (
        "node back(x: num []) -> (a) a = x + (0.0 fby back a);
         node main(x: num [], c: bool [], end: bool []) -> (o) o = back(x when c) every (end when c);",
        "windowed end when c",
    ),
    ("node main(i: int []) -> (o) o = if false then i else post o;", "rejected [uncut-recurrence]"),
    ("node main(i: int []) -> (o) o = if true then i else post o;", "bounded 0"),
    ("node main() -> (o) o = post u; u = o + 1;", "rejected [uncut-recurrence]"),
    ("node main(x: num []) -> (o) o = x + o;", "rejected [instantaneous-cycle]"),
    ("node main(x: num [], c: bool []) -> (o) o = if c then x + o else x;", "rejected [instantaneous-cycle]"),
    (
        "node main(x: num []) -> (a) a = (0.0 fby b) + x; b = (0.0 fby back a) + x;",
        "rejected [instantaneous-cycle]",
    ),
    ("node main(x: num []) -> (a) a = (0.0 fby 0.0 fby b) + x; b = (post a) + x;", "bounded 0"),
    (
        "node main(x: num []) -> (a) a = (0.0 fby b) + x; b = (post post a) + x;",
        "rejected [uncut-recurrence]",
    ),
    ("node main(x: num [], c: bool []) -> (a) a = if c then x else b; b = if c then a else x;", "dynamic"),
    ("node main(x: num []) -> (o) o = x + (0.0 fby back o);", "closed-only [closed-only]"),
    (
        "node f(x) -> (o) o = x + (0.0 fby back o); node main(x: num [], end: bool []) -> (o) o = f(x) every end;",
        "windowed end",
    ),
    (
        "node f(x) -> (o) o = post x; node main(x: num [], end: bool []) -> (o) o = f(x) every end;",
        "rejected [no-last-value]",
    ),
    (
        "node f(x, c) -> (o) o = if c then x else post x; node main(x: num [], end: bool []) -> (o) o = f(x, end) every end;",
        "bounded 1",
    ),
    (
        "node g(x) -> (o) o = x + (0.0 fby back o); node f(x, s) -> (o) o = g(x) every s; \
         node main(x: num [], s: bool [], b: bool []) -> (o) o = f(x, s) every b;",
        "windowed s",
    ),
    // A condition that the recurrence itself computes does not cut it.
    (
        "node main(x: num []) -> (o) c = (post o) > 0.0; o = if c then x else post o;",
        "rejected [uncut-recurrence]",
    ),
    // A value that is sampled before it is anticipated never meets the cycles that cut.
    ("node main(x: num [], c: bool []) -> (o) o = merge c (x when c) (post (o when not c));", "dynamic"),
];

#[test]
fn small_programs() {
    let mut wrong = Vec::new();
    for (body, expected) in PROGRAMS {
        let found = of_text(body);
        if found != *expected {
            wrong.push(format!("{body}\n  expected {expected}, found {found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Examples, nodes and verdicts.
const EXAMPLES: &[(&str, &str, &str)] = &[
    ("paper/app.rml", "train", "bounded 0"),
    ("paper/app.rml", "train_pipe", "bounded 0"),
    ("paper/backfill.rml", "sample_backfill", "windowed bp"),
    ("paper/backfill.rml", "merge_backfill", "windowed bp"),
    ("paper/backfill.rml", "rec_merge_backfill", "windowed bp"),
    ("paper/batchnorm.rml", "main", "windowed batch_end"),
    ("paper/counter.rml", "counter", "bounded 0"),
    ("paper/future.rml", "pcounter", "rejected [uncut-recurrence]"),
    ("paper/gdescent.rml", "train", "bounded 0"),
    ("paper/gdescent.rml", "train_pipe", "bounded 0"),
    ("paper/lstm.rml", "main", "bounded 0"),
    ("paper/lstm.rml", "train", "windowed end"),
    ("paper/lstm_end.rml", "main", "windowed end"),
    ("paper/lstm_end.rml", "train", "windowed end"),
    ("paper/mlp.rml", "timeseries", "bounded 0"),
    ("paper/moe.rml", "main", "bounded 0"),
    ("batchnorm.rml", "train", "windowed end"),
    ("bidirectional.rml", "train", "windowed end"),
    ("descent.rml", "train_pipe", "bounded 0"),
    ("digits.rml", "train", "windowed end"),
    ("digits.rml", "infer", "bounded 0"),
    ("digits_gru.rml", "train", "windowed end"),
    ("experts.rml", "train", "bounded 0"),
    ("forecast.rml", "train", "windowed end"),
    ("forecast.rml", "infer", "bounded 0"),
    ("late_labels.rml", "train", "bounded 0"),
];

#[test]
fn examples() {
    for (file, node, expected) in EXAMPLES {
        let path = format!("{}/../../examples/{file}", env!("CARGO_MANIFEST_DIR"));
        let run = analysed(&Source::file(path), node);
        assert_eq!(verdict(&run), *expected, "{file} {node}");
        // The tables verify; in debug builds `facts` panics if they do not.
        let facts = run.facts();
        let verified = rml_analysis::verify_facts(&run.flat, &run.clocks.clocks, &facts);
        assert_eq!(verified, Ok(()), "{file} {node}");
    }
}

/// Two nodes trained in windows whose ends are independent: the first node sends values to the second and gets a
/// gradient back.
const BESIDE: &[(&str, &str, &str)] = &[
    (
        "o = param(0.5) * h;",
        "h, _ = diff_enc(x, true, dh) every end; o, dh = diff_dec(h, true, -0.1) every big;",
        "windowed end, big",
    ),
    (
        "o = param(0.5) * h;",
        "h, _ = diff_enc(x, true, dh) every big; o, dh = diff_dec(h, true, -0.1) every end;",
        "windowed big, end",
    ),
    // The gradient that the decoder sends back waits for the decoder's window, and the gradient in the encoder for both
    // windows.
    (
        "o = param(0.5) * h + 0.5 * (0.0 fby o);",
        "h, _ = diff_enc(x, true, dh) every end; o, dh = diff_dec(h, true, -0.1) every big;",
        "dynamic",
    ),
    (
        "o = param(0.5) * h + 0.5 * (0.0 fby o);",
        "h, _ = diff_enc(x, true, dh) every end; o, dh = diff_dec(h, true, -0.1) every end;",
        "windowed end",
    ),
    // The value that the decoder gets waits.
    (
        "o = param(0.5) * h;",
        "h, _ = diff_enc(post x, true, dh) every end; o, dh = diff_dec(h, true, -0.1) every big;",
        "dynamic",
    ),
];

#[test]
fn windows_side_by_side() {
    for (decoder, calls, expected) in BESIDE {
        let text = format!(
            "node enc(x: num []) -> (h: num []) h = tanh(param(0.5) * x + 0.5 * (0.0 fby h));
             node dec(h: num []) -> (o: num []) {decoder}
             node main(x: num [], end: bool [], big: bool []) -> (o) {calls}"
        );
        let run = analysed(&Source::text("test", text.as_str()), "main");
        assert_eq!(verdict(&run), *expected, "{text}");
        assert_eq!(rml_analysis::verify_facts(&run.flat, &run.clocks.clocks, &run.facts()), Ok(()), "{text}");
        let flat = Arc::new(Drawn::new(Flat::clone(&run.flat)).expect("nothing is random"));
        for seed in 0..20 {
            let waits = check_waits(&flat, &trace(&run.flat, &mut Lcg(seed)));
            let waits = waits.unwrap_or_else(|e| panic!("seed {seed}: {e}")).expect("it runs");
            assert!(waits.kind == 3 || *expected != "dynamic", "{waits:?} {text}");
        }
    }
}

/// Small numbers, with ends in some cycles.
fn trace(flat: &Flat, r: &mut Lcg) -> Vec<Vec<InputCell>> {
    let mut value = |v: Var| match flat.vars[v].ty.dtype {
        DType::Bool => Value::Bool(r.below(3) == 0),
        _ => Value::F32(r.below(5) as f32 - 2.0),
    };
    (0..14).map(|_| flat.inputs.iter().map(|i| InputCell::Given(value(i.var))).collect()).collect()
}

/// Kinds are ordered from best to worst.
#[test]
fn kinds_are_ordered() {
    assert!(
        WaitKind::Bounded < WaitKind::Windowed
            && WaitKind::ClosedOnly < WaitKind::Dynamic
            && WaitKind::Dynamic < WaitKind::Rejected
    );
}

/// Nodes that `main` trains in every cycle (CAUSE-7), with the verdict and the parameter that it names.
const TRAINED: &[(&str, &str)] = &[
    // The gradient comes back through a recurrence (ADJ-15).
    ("k = param(0.5); o = k * x + 0.5 * (0.0 fby o);", "rejected `f_0.k`"),
    ("k = param(0.5); h = k * x; o = h + (0.0 fby h);", "rejected `f_0.k`"),
    // A forward state is not the cause, nor is a parameter that the recurrence does not use.
    ("b = param(0.5); k = param(0.5); c = 0.9 * (0.0 fby c) + k * x; o = b + tanh(c);", "rejected `f_0.k`"),
    // A pipeline, without and with a path around its second stage.
    ("h = param(0.5) * x; o = param(0.5) * (0.0 fby h);", "bounded"),
    ("k = param(0.5); h = k * x; o = tanh(param(0.5) * (0.0 fby h)) + h;", "rejected `f_0.k`"),
];

#[test]
fn parameters_that_cannot_be_updated_in_time() {
    for (body, expected) in TRAINED {
        let node = format!("node f(x: num []) -> (o: num []) {body}");
        let call = |every: &str| {
            format!(
                "{node} node main(x: num [], t: num [], end: bool []) -> (o) o, bpx, dx = diff_f(x, true, do) {every}; do = 0.1 * (t - o);"
            )
        };
        let run = analysed(&Source::text("test", call("")), "main");
        let late = run.causality.findings.iter().find(|d| d.is_error());
        let key = late.map(|d| format!("`{}`", d.message.split('`').nth(1).unwrap_or_default()));
        let kind = run.bounds.program.kind.name();
        assert_eq!(key.map_or(kind.to_owned(), |key| format!("{kind} {key}")), *expected, "{body}");
        assert!(late.is_none_or(|d| d.code == UPDATE_CAUSALITY && d.labels.len() == 2), "{late:#?}");
        let windowed = analysed(&Source::text("test", call("every end")), "main");
        assert_eq!(windowed.bounds.program.kind, WaitKind::Windowed, "{body}");
    }
}
