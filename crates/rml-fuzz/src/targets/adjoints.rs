//! Adjoints as `rml diff` prints them: they have the layout of the formatter, are accepted when read again, and compute
//! the same.

use std::sync::Arc;

use rml::{Options, Precision, Source};
use rml_ir::Value;
use rml_ir::flat::Drawn;
use rml_sim::{InputCell, Options as SimOptions, Simulator, Status};
use rml_testkit::Lcg;
use rml_testkit::gradients::LossProgram;

use super::{Target, cells, nothing_smaller};
use crate::{Corpus, FuzzInput};

pub(super) const TARGET: Target = Target {
    name: "adjoints",
    about: "printed adjoints are laid out by the formatter's rules, are accepted, and compute what those of the compiler do",
    chunk: 60,
    generate,
    check,
    smaller: nothing_smaller,
};

/// Calls the adjoint of a node around a random program's `main`. This node uses the derived adjoint of `main`, or one
/// that is defined in the text.
const CALLER: &str = "
node fuzz_outer(x: num [], y: num [2], w: num [2, 2], c: bool [], b: bool [], z: bool [], d: bool []) -> (loss)
  loss = main(x, y, w, c, b, z, d);

node fuzz_caller(x: num [], y: num [2], w: num [2, 2], c: bool [], b: bool [], z: bool [], d: bool [], bp: bool [],
    seed: num [] when bp) -> (loss, gx, gy, gw)
  loss, bpx, dx, bpy, dy, bpw, dw = diff_fuzz_outer(x, y, w, c, b, z, d, bp, seed);
  gx = merge bpx dx 0.0;
  gy = merge bpy dy zeros([2]);
  gw = merge bpw dw zeros([2, 2]);
";

fn generate(r: &mut Lcg, _: &Corpus) -> FuzzInput {
    let text = LossProgram::random(r).text();
    let seed = r.below(1_000_000).to_string();
    FuzzInput::with_settings("rml", "--", &[("seed", seed)], &text)
}

fn check(case: &FuzzInput) -> Result<(), String> {
    let (settings, text) = case.settings("--");
    // A random stream depends on the name of its variable, and a printed adjoint has other names.
    if text.contains("random_") {
        return Ok(());
    }
    let seed = settings.get("seed").and_then(|s| s.parse().ok()).unwrap_or(1);
    let options = Options { precision: Precision::F64, ..Options::default() };
    let Ok(printed) = rml::differentiate(&Source::text("program", text.clone()), &options, "main") else {
        return Ok(());
    };
    let again =
        rml::format("printed", &printed).map_err(|e| format!("printed, but not parsed: {e}\n{printed}"))?;
    if again != printed {
        return Err(format!("not as the formatter lays it out:\n{printed}\nbut\n{again}"));
    }
    let options = Options { node: Some("fuzz_caller".to_owned()), ..options };
    let compiled = |text: String| rml::compile(&Source::text("program", text + CALLER), &options);
    let Ok(made) = compiled(text.clone()) else { return Ok(()) };
    let read = compiled(format!("{}\n{printed}", without(&text, &printed)));
    let read = read.map_err(|e| format!("printed, but not accepted: {e}\n{printed}"))?;
    let mut r = Lcg(seed);
    let cycles = 1 + r.below(5);
    let inputs = cells::inputs(made.flat(), &mut r, cycles);
    let (first, second) = (outputs(made.flat(), &inputs), outputs(read.flat(), &inputs));
    match (first, second) {
        (None, _) => Ok(()),
        (Some(_), None) => Err(format!("printed, it does not run:\n{printed}")),
        (Some(a), Some(b)) if a.iter().flatten().zip(b.iter().flatten()).all(|(a, b)| near(a, b)) => Ok(()),
        (Some(a), Some(b)) => Err(format!("printed, it computes {b:?}, not {a:?}:\n{printed}")),
    }
}

/// The nodes of a text that another text does not define. Each node starts on a new line.
fn without(text: &str, other: &str) -> String {
    let header = |node: &str| format!("node {}(", node.split('(').next().unwrap_or_default().trim());
    let nodes = text.split("node ").skip(1);
    nodes.filter(|node| !other.contains(&header(node))).map(|node| format!("node {node}")).collect()
}

/// The outputs of a run; `None` if it fails.
fn outputs(flat: &Arc<Drawn>, inputs: &[Vec<InputCell>]) -> Option<Vec<Vec<Status>>> {
    let mut sim = Simulator::new(Arc::clone(flat), SimOptions::default());
    inputs.iter().try_for_each(|row| sim.feed(row)).and_then(|()| sim.finish(true)).ok()?;
    let rows: Vec<_> = std::iter::from_fn(|| sim.next_output()).map(|row| row.values).collect();
    (rows.len() == inputs.len()).then_some(rows)
}

fn near(a: &Status, b: &Status) -> bool {
    let numbers = |v: &Value| match v.to_data() {
        rml_ir::Data::F64(v) => v,
        _ => Vec::new(),
    };
    match (a, b) {
        (Status::Value(a), Status::Value(b)) => {
            let (a, b) = (numbers(a), numbers(b));
            let near = |(a, b): (&f64, &f64)| {
                a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= 1e-9 * (1.0 + a.abs())
            };
            a.len() == b.len() && a.iter().zip(&b).all(near)
        }
        _ => a.same(b),
    }
}
