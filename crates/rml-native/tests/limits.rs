//! The memory that compiled programs request equals their footprint. The limit applies to the whole process, so this
//! file has a single test.

use std::sync::Arc;

use rml_backend::Options;
use rml_base::memory;
use rml_executor::{Executor, Next, PrepareOptions, Running, suite};
use rml_ir::Data;
use rml_native::Native;

/// A backward loop that reads values from a forward loop.
const TEXT: &str = "plan \"there and back\" f32 until end
in end: bool []
in x: num [64]
const k0: num [64] = fill 0.0
over x: num [64] = in x
loop forward {
   at behind first h: num [64] = add(h[t-1], x)
   at first h: num [64] = add(k0, x)
}
over g: num [64] = tanh(h)
loop backward {
   at before last s: num [64] = add(g, s[t+1])
   at last s: num [64] = add(g, k0)
}
over at first z: num [] = sum(s)
out at first z: num [] = z
";

fn outputs(run: &mut dyn Running, ticks: usize) -> Vec<u32> {
    run.next(Next::Window(ticks));
    run.set_rows(0, ticks, &|_| true, &Data::Bool((0..ticks).map(|t| t + 1 == ticks).collect()), 0);
    let x = (0..64 * ticks).map(|i| (i % 17) as f32 / 8.0 - 1.0).collect();
    run.set_rows(1, ticks, &|_| true, &Data::F32(x), 0);
    assert_eq!(run.window(ticks).expect("it has a result"), ticks);
    let mut all = Data::F32(Vec::new());
    assert!(run.add_output(0, 0, &mut all).expect("it is present"));
    let Data::F32(all) = all else { unreachable!("the output is a number") };
    all.iter().map(|x| x.to_bits()).collect()
}

#[test]
fn it_asks_for_its_footprint_and_runs_in_segments_if_that_is_too_much() {
    let native = Native::open(&Options::default()).expect("a C compiler");
    assert_eq!(suite::limits(&native), []);
    let plan = Arc::new(rml_plan::parse(TEXT).expect("it is a plan"));
    let prepared = native.prepare(&plan, &PrepareOptions::default()).expect("it is compiled");
    let ticks = 2000;
    let mut whole = prepared.start(None).expect("there is memory");
    whole.ask(ticks).expect("there is memory");
    let wanted = outputs(&mut *whole, ticks);
    let mut short = prepared.start(None).expect("there is memory");
    memory::set_limit(memory::used() + prepared.footprint().at(ticks) * 3 / 4);
    let asked = short.ask(ticks);
    memory::set_limit(memory::UNCOUNTABLE - 1);
    asked.expect("the embedded executor runs it in segments");
    assert_eq!(outputs(&mut *short, ticks), wanted);
}
