//! Windows that do not fit in memory run in segments, and have the bits of windows that run as a whole. The segments
//! are stored if there is nearly enough memory, and otherwise computed again. This file contains one test, because the
//! limit applies to the process.

#[path = "../stepper/ffi.rs"]
#[allow(dead_code, reason = "it counts calls, too")]
mod ffi;
#[path = "../support/networks.rs"]
mod networks;

use std::path::Path;

use ffi::bytes_kept_by;
use networks::network;
use rml::{DType, Options, PlanShape, Program, Source, StaticValue, Stepper, memory};
use rml_testkit::Lcg;

const UNLIMITED: u64 = 1 << 40;

/// Sets all inputs in all cycles of a window: numbers, small integers, and conditions that are sometimes true.
fn fill(stepper: &mut Stepper, program: &Program, cycles: usize, window: usize) {
    let flat = program.flat();
    for input in &flat.inputs {
        let data = &flat.vars[input.var];
        let name = data.name.clone().expect("inputs have names");
        if &*name == "end" {
            continue;
        }
        let n = data.ty.shape.len();
        let seed = |i: usize| (i * 7919 + window * 104_729) % 2003;
        for t in 0..cycles {
            let at = |j: usize| seed(t * n + j);
            match data.ty.dtype {
                DType::Num => {
                    let port = stepper.input::<f32>(&name).expect("a number");
                    let x: Vec<f32> = (0..n).map(|j| at(j) as f32 / 1001.5 - 1.0).collect();
                    stepper.write_at(port, t, &x);
                }
                DType::Int => {
                    let port = stepper.input::<i64>(&name).expect("an integer");
                    let x: Vec<i64> = (0..n).map(|j| at(j) as i64 % 2).collect();
                    stepper.write_at(port, t, &x);
                }
                DType::Bool => {
                    let port = stepper.input::<bool>(&name).expect("a condition");
                    let x: Vec<bool> = (0..n).map(|j| at(j) % 7 == 0).collect();
                    stepper.write_at(port, t, &x);
                }
            }
        }
    }
}

/// The outputs of some windows of about `cycles` cycles, to the bit.
fn outputs(stepper: &mut Stepper, program: &Program, cycles: usize) -> Vec<String> {
    let mut seen = Vec::new();
    for (window, cycles) in [cycles, cycles - 20, cycles + 1].into_iter().enumerate() {
        stepper.window(cycles).expect("there is memory");
        fill(stepper, program, cycles, window);
        stepper.step().expect("it runs");
        let flat = program.flat();
        for output in &flat.outputs {
            let data = &flat.vars[*output];
            let name = data.name.clone().expect("outputs have names");
            for t in 0..cycles {
                let text = match data.ty.dtype {
                    DType::Num => {
                        let port = stepper.output::<f32>(&name).expect("a number");
                        let bits = |x: &[f32]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                        format!("{:?}", stepper.read_at(port, t).map(bits))
                    }
                    DType::Int => format!("{:?}", stepper.read_at(stepper.output::<i64>(&name).unwrap(), t)),
                    DType::Bool => {
                        format!("{:?}", stepper.read_at(stepper.output::<bool>(&name).unwrap(), t))
                    }
                };
                seen.push(format!("{name} {t} {text}"));
            }
        }
    }
    seen
}

/// Random draws, a user-defined cell with a normalisation, two layers, a loss in every cycle, and a metric over the
/// losses.
const OWN: &str = "
import std.layers;
import std.losses;
import std.normalisation;
node cell(units, x: num [batch, d]) -> (h: num [batch, units])
  hp = zeros([batch, units]) fby h;
  cp = zeros([batch, units]) fby c;
  z = dense(units, concat(x, hp, 1));
  c = 0.9 * cp + layer_norm(z) * sigmoid(z);
  h = tanh(c);
node net(x: num [batch, 5]) -> (o: num [batch, 2])
  a = dropout(0.3, cell(6, x), true);
  o = dense(2, lstm(7, a));
node train(x: num [batch, 5], y: num [batch, 2], end: bool []) -> (loss, mean when end)
  o, _ = diff_net(x, true, do) every end;
  loss, do, _ = diff_mse(o, y, true, -0.1);
  total, n = sums(loss) every end;
  mean = (total / n) when end;
node sums(x: num []) -> (total, n)
  total = (0.0 fby total) + x;
  n = (0.0 fby n) + 1.0;
";

fn options() -> Options {
    let defaults = [("batch".to_owned(), StaticValue::Int(4))].into_iter().collect();
    Options { node: Some("train".to_owned()), defaults, ..Options::default() }
}

/// Runs windows as a whole, with one byte too little for that, and with a part of the memory of their ticks. Returns
/// whether the segments are stored if one byte is missing.
fn compare(name: &str, source: &Source, parts: &[u64], tables: u64) -> bool {
    memory::set_limit(UNLIMITED);
    let program = rml::compile(source, &options()).unwrap();
    let facts = rml::analyse(source, &options()).unwrap().run.unwrap();
    let stated = PlanShape::new(&facts).unwrap().footprint;
    let cycles = 203;
    let whole = outputs(&mut Stepper::windows(&program).unwrap(), &program, cycles);
    // The memory for values computed once per window is larger in segments.
    let of = |part: &u64| 2 * stated.fixed + stated.per_tick * cycles as u64 / part;
    let nearly = stated.at(cycles - 20) - 1;
    for limit in parts.iter().map(of).chain([nearly]) {
        let mut stepper = Stepper::windows(&program).unwrap();
        memory::set_limit(memory::used() + limit);
        let (bytes, begun) = bytes_kept_by(|| stepper.window(cycles + 1));
        begun.unwrap();
        assert!(bytes as u64 <= limit + tables, "{name}: {bytes} of {limit} bytes");
        assert!(limit < stated.at(cycles - 20), "{name} runs as a whole");
        assert_eq!(outputs(&mut stepper, &program, cycles), whole, "{name}, in {limit} bytes");
    }
    let cut = PlanShape::budget(&facts, cycles, nearly).unwrap().cut;
    cut.expect("it does not fit as a whole").again.0 == 0
}

/// The bytes of the tables of the code, which runs in segments in two ways.
const TABLES: u64 = 200_000;
/// The same for networks whose windows are only slightly larger than their code.
const TABLES_OF_NETWORKS: u64 = 400_000;

#[test]
fn windows_in_segments_have_the_bits_of_whole_ones() {
    let mut stored = 0;
    for name in ["digits", "digits_gru", "bidirectional", "forecast", "batchnorm", "characters", "nested"] {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../examples/{name}.rml"));
        // A product of one row per cycle processes 64 cycles at a time.
        let parts: &[u64] = if name == "nested" { &[2] } else { &[3, 9] };
        stored += usize::from(compare(name, &Source::file(&file), parts, TABLES));
    }
    stored += usize::from(compare("own", &Source::text("own", OWN), &[2, 8], TABLES));
    for seed in 0..12 {
        let text = network(&mut Lcg(seed));
        stored += usize::from(compare(&text, &Source::text("network", &text), &[2, 6], TABLES_OF_NETWORKS));
    }
    assert!(stored >= 8, "{stored} of 20 are stored");
}
