//! Networks over sequences that stand one after the other in a window: by plan and by simulator, and together as tick
//! by tick.

use rml::{Options, Source};
use rml_ir::{Data, Shape, Value};
use rml_plan::{Ends, Region};
use rml_schedule::{Fed, schedule};
use rml_sim::InputCell;
use rml_testkit::Lcg;
use rml_testkit::plans::{Planned, compare};

const NETWORKS: u64 = 12;
const CYCLES: usize = 50;

/// A layer over `$` in windows of its own.
const LAYERS: &[&str] = &[
    "lstm(3, $) every seq_end",
    "gru(2, $) every seq_end",
    "lstm_back(2, $) every seq_end",
    "rnn(4, $) every seq_end",
    "lstm(2, gru(2, $) every seq_end) every (seq_end and part_end)",
    "gru(2, $)",
    "tanh(dense(2, $))",
];

fn network(rows: usize, r: &mut Lcg) -> String {
    let (mut body, mut last) = (String::new(), "x".to_owned());
    for i in 0..1 + r.below(3) {
        body += &format!("  h{i} = {};\n", r.pick(LAYERS).replace('$', &last));
        last = format!("h{i}");
    }
    // The loss is that of all ticks, or that of whole sequences.
    let (bp, when) = if r.chance(0.5) { ("seq_end", " when seq_end") } else { ("true", "") };
    format!(
        "import std.layers;\n
node net(x: num [{rows}, 2], seq_end, part_end: bool []) -> (o: num [{rows}, 1])\n{body}  o = dense(1, {last});\n
node main(x: num [{rows}, 2], seq_end, part_end, end: bool []) -> (loss{when})
  o = diff_net(x, seq_end, part_end, {bp}, do) every end;
  do = (-0.1 * (o - 0.3)){when};
  loss = sum(do * do);
"
    )
}

/// A layer over `$`, which is available where a sequence ends, in windows of sequences.
const OVER_SEQUENCES: &[&str] = &[
    "gru(3, $) every (part_end when seq_end)",
    "lstm_back(2, $) every (part_end when seq_end)",
    "rnn(2, gru(2, $)) every (part_end when seq_end)",
    "batch_norm(0.9, $, part_end when seq_end)",
    "gru(2, $) every (seq_end when part_end)",
    "rnn(2, $) every ((part_end when part_end) when (seq_end when part_end))",
];

/// A network that reads sequences, and then what it made of each of them.
fn over_sequences(rows: usize, r: &mut Lcg) -> String {
    let within = r.pick(&LAYERS[..4]).replace('$', "x");
    let over = r.pick(OVER_SEQUENCES).replace('$', "(h when seq_end)");
    format!(
        "import std.layers;\nimport std.normalisation;\n
node net(x: num [{rows}, 2], seq_end, part_end: bool []) -> (o: num [{rows}, 1] when seq_end)
  h = {within};
  d = {over};
  o = dense(1, d);\n
node main(x: num [{rows}, 2], seq_end, part_end, end: bool []) -> (loss when seq_end)
  o = diff_net(x, seq_end, part_end, true when seq_end, do) every end;
  do = -0.1 * (o - (0.3 when seq_end));
  loss = sum(do * do);
"
    )
}

/// Windows of sequences of up to six cycles; the last one of a window may have no end.
fn inputs(rows: usize, r: &mut Lcg) -> Vec<Vec<InputCell>> {
    let truth = |b: bool| InputCell::Given(Value::Bool(b));
    let cycle = |n: usize, r: &mut Lcg| {
        let x = Data::F32((0..2 * rows).map(|_| r.range(-1.0, 1.0) as f32).collect());
        let x = Value::new(Shape::new(&[rows, 2]), x);
        let (seq_end, part_end, end) = (r.chance(0.3), r.chance(0.5), r.chance(0.06) || n + 1 == CYCLES);
        vec![InputCell::Given(x), truth(seq_end), truth(part_end), truth(end)]
    };
    (0..CYCLES).map(|n| cycle(n, r)).collect()
}

/// Whether a gradient comes to a tick is asked for each parameter of a layer, and computed once.
#[test]
fn recurrences_that_are_alike_are_one() {
    let text = "\
import std.layers;

node net(x: num [2, 3], seq_end: bool []) -> (o: num [2, 1] when seq_end)
  h = gru(4, x) every seq_end;
  o = dense(1, h when seq_end);

node main(x: num [2, 3], seq_end, end: bool []) -> (o when seq_end)
  o = diff_net(x, seq_end, true when seq_end, 0.1 * o) every end;
";
    let program = rml::compile(&Source::text("main", text), &Options::default()).unwrap();
    let plan = schedule(program.flat(), Fed::Windows).expect("it has a plan");
    let is_condition = |part: &rml_plan::Part| plan.tapes[part.tape].ty == rml_ir::Type::condition();
    let asked = plan.regions.iter().filter(|region| match region {
        Region::Loop { backward: true, parts, .. } => parts.iter().all(is_condition),
        _ => false,
    });
    // One goes to the ends of sequences, one to those of windows.
    assert_eq!(asked.count(), 2);
}

#[test]
fn windows_on_sampled_clocks_mean_the_same() {
    for seed in 0..2 * NETWORKS {
        let mut r = Lcg(seed);
        let rows = 1 + r.below(3);
        let text = over_sequences(rows, &mut r);
        let program = rml::compile(&Source::text("main", text.as_str()), &Options::default());
        let program = program.unwrap_or_else(|e| panic!("{e}\n{text}"));
        match compare(program.flat(), &inputs(rows, &mut r), &mut r) {
            Ok(Planned::Equal) => {}
            Ok(other) => panic!("seed {seed}: {other:?}\n{text}"),
            Err(why) => panic!("seed {seed}: {why}\n{text}"),
        }
    }
}

/// Outermost windows whose ends are sampled, once or twice; what is in them is sampled likewise, or is not.
#[test]
fn outermost_windows_that_end_on_sampled_clocks_mean_the_same() {
    let (seq, part, not) = ("when seq_end", "when (part_end when seq_end)", "when not seq_end");
    let mut programs = Vec::new();
    for (clock, end) in [
        (seq.to_owned(), seq.to_owned()),
        (format!("{seq} {part}"), format!("{seq} {part}")),
        (not.to_owned(), not.to_owned()),
        (String::new(), seq.to_owned()),
        (String::new(), format!("{seq} {part}")),
        (seq.to_owned(), format!("{seq} {part}")),
    ] {
        for cell in
            ["gru(2, x)", "tanh(dense(2, x)) + (zeros([ROWS, 2]) fby back h)", "gru(2, gru(2, x)) every part"]
        {
            programs.push((cell, clock.clone(), end.clone()));
        }
    }
    let mut ended = 0;
    for (seed, (cell, clock, end)) in (0..).zip(programs) {
        let mut r = Lcg(seed);
        let rows = 1 + r.below(3);
        let text = format!(
            "import std.layers;
node net(x: num [{rows}, 2], part: bool []) -> (h: num [{rows}, 2])
  h = {};
node main(x: num [{rows}, 2], seq_end, part_end, end: bool []) -> (loss)
  h = diff_net(x {clock}, part_end {clock}, true {clock}, -0.1 * h) every (end {end});
  loss = sum(h * h);
",
            cell.replace("ROWS", &rows.to_string())
        );
        let program = rml::compile(&Source::text("main", text.as_str()), &Options::default());
        let program = program.unwrap_or_else(|e| panic!("{e}\n{text}"));
        let plan = schedule(program.flat(), Fed::Windows).unwrap_or_else(|why| panic!("{why:?}\n{text}"));
        assert!(plan.ends != Ends::Nothing, "{text}");
        for _ in 0..4 {
            match compare(program.flat(), &inputs(rows, &mut r), &mut r) {
                Ok(Planned::Equal) => ended += 1,
                // A stream has no plan.
                Ok(Planned::Declined(_)) => {}
                Ok(other) => panic!("{other:?}\n{text}"),
                Err(why) => panic!("{why}\n{text}"),
            }
        }
    }
    assert!(ended > 18, "{ended} of 72 runs by plan");
}

#[test]
fn sequences_in_windows_mean_the_same_together() {
    let (mut loops, mut planned) = (0, 0);
    for seed in 0..NETWORKS {
        let mut r = Lcg(seed);
        let rows = 1 + r.below(3);
        let text = network(rows, &mut r);
        let program = rml::compile(&Source::text("main", text.as_str()), &Options::default());
        let program = program.unwrap_or_else(|e| panic!("{e}\n{text}"));
        let flat = program.flat();
        match compare(flat, &inputs(rows, &mut r), &mut r) {
            Ok(Planned::Equal) => planned += 1,
            Ok(other) => panic!("seed {seed}: {other:?}\n{text}"),
            Err(why) => panic!("seed {seed}: {why}\n{text}"),
        }
        let plan = schedule(flat, Fed::Windows).expect("it has a plan");
        loops +=
            plan.regions.iter().filter(|r| matches!(r, Region::Loop { by, .. } if !by.is_empty())).count();
    }
    assert!(
        planned == NETWORKS && loops > 20,
        "{planned} networks have a plan, with {loops} loops over sequences"
    );
}
