//! Tests how programs are divided into tensor functions for a backend.

use std::sync::Arc;

use rml::{Data, Options, Shape, Source, Type, Value};
use rml_backend_cpu::Cpu;
use rml_ir::DType;
use rml_sim::{InputCell, Simulator, Stats, Status, Tensors};

/// Runs a node for windows of eight cycles, the last of each with `end`; returns the counters, and all outputs as text.
fn run(text: &str, windows: usize, backend: bool) -> (Stats, Vec<String>) {
    let options = Options { node: Some("main".to_owned()), ..Options::default() };
    let program = rml::compile(&Source::text("main", text), &options).unwrap_or_else(|e| panic!("{e}"));
    let tensors = if backend { Tensors::On(Arc::new(Cpu)) } else { Tensors::Reference };
    let mut sim =
        Simulator::new(Arc::clone(program.flat()), rml_sim::Options { tensors, ..Default::default() });
    let mut outputs = Vec::new();
    for n in 0..8 * windows {
        let row: Vec<InputCell> =
            program.inputs().iter().map(|i| InputCell::Given(value(&i.ty, n))).collect();
        sim.feed(&row).unwrap_or_else(|e| panic!("{e}"));
        outputs.extend(std::iter::from_fn(|| sim.next_output()).map(|row| show(&row.values)));
    }
    (sim.stats(), outputs)
}

fn value(ty: &Type, n: usize) -> Value {
    if ty.dtype == DType::Bool {
        return Value::Bool(n % 8 == 7);
    }
    let number = |i: usize| ((n * 31 + i * 7) % 17) as f32 / 17.0;
    Value::new(Shape::new(ty.shape.dims()), Data::F32((0..ty.shape.len()).map(number).collect()))
}

/// A text with every bit of the values.
fn show(row: &[Status]) -> String {
    let bits = |v: &Value| match v.to_data() {
        Data::F32(v) => v.iter().map(|x| format!("{:08x}", x.to_bits())).collect::<String>(),
        other => format!("{other:?}"),
    };
    row.iter().map(|s| s.value().map_or_else(|| "-".to_owned(), bits)).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_step_of_an_lstm_is_one_call() {
    let text = "import std.layers;\nnode main(x: num [8]) -> (h)\n  h = lstm(16, x);\n";
    let (stats, outputs) = run(text, 4, true);
    assert_eq!((stats.calls, stats.functions), (32, 1), "{stats:?}");
    assert_eq!(outputs, run(text, 4, false).1);
}

#[test]
fn a_trained_window_is_a_call_for_each_cycle_and_direction() {
    let text = "import std.layers;
node f(x: num [8], end: bool []) -> (y)
  h = lstm(16, x) every end;
  y = sum(dense(1, h));
node main(x: num [8], end: bool [], t: num []) -> (loss)
  y, _ = diff_f(x, end, true, 0.1 * (y - t));
  loss = (y - t) * (y - t);
";
    let (stats, outputs) = run(text, 6, true);
    assert_eq!(outputs, run(text, 6, false).1);
    // There are eight cycles forward and eight backward. `when`, `merge` and the updates of the parameters divide the
    // functions between them.
    assert!(stats.calls <= 6 * 26 && stats.functions <= 8, "{stats:?}");
}
