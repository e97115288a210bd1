//! What fusion makes of the training of three networks: a hidden Markov model, attention over a ring, and an LSTM, in
//! batches of 16 with 32 inputs and 32 units, as the benchmarks have them.

use rml::{Options, Source, StaticValue};
use rml_ir::DType;
use rml_nest::{Home, NestProgram, Order, Work};

const TRAIN: &str = include_str!("../../rml/benches/peers/train.rml");

/// The nests of the training of a cell.
fn training(cell: &str, text: &str) -> NestProgram {
    let source = Source::text("bench.rml", format!("{TRAIN}{text}").replace("CELL", cell));
    let set = [("units", 32), ("d", 32), ("batch", 16)];
    let set = set.map(|(name, n)| (name.to_owned(), StaticValue::Int(n)));
    let options =
        Options { node: Some("train".to_owned()), set: set.into_iter().collect(), ..Options::default() };
    let program = rml::compile(&source, &options).unwrap();
    let proved = rml_schedule::proved(program.flat(), rml_schedule::Fed::Windows).unwrap();
    rml_nest::lower(&proved.plan)
}

/// How many nests there are, how many slots stages fill, and how many bytes these have at a tick.
fn counts(program: &NestProgram) -> [usize; 3] {
    let stages = program.nodes.iter().flat_map(|node| &node.stages);
    let filled = || program.slots.iter().filter(|slot| matches!(slot.home, Home::Tick { .. }));
    let width = |dtype| match dtype {
        DType::Bool => 1,
        DType::Num => 4,
        DType::Int => 8,
    };
    let bytes = filled().map(|slot| slot.ty.shape.len() * width(slot.ty.dtype));
    [stages.filter(|stage| matches!(stage.work, Work::Nest(_))).count(), filled().count(), bytes.sum()]
}

/// The stages of the loops over ticks.
fn loops(program: &NestProgram) -> Vec<String> {
    let loops = program.nodes.iter().filter(|node| node.order != Order::Over);
    let outline = |node: &rml_nest::NestNode| {
        let order = if node.order == Order::Forward { "forward" } else { "backward" };
        let stage = |stage: &rml_nest::NestStage| match stage.work {
            Work::Nest(_) => " nest",
            Work::Call(_) => " call",
        };
        format!("{order}:{}", node.stages.iter().map(stage).collect::<String>())
    };
    loops.map(outline).collect()
}

#[test]
fn the_loops_of_a_hidden_markov_model_are_one_nest_forward_and_one_backward() {
    let program = training("hmm", include_str!("../../rml/benches/peers/hmm.rml"));
    let fused = rml_nest::fuse(&program);
    assert_eq!([counts(&program), counts(&fused)], [[40, 48, 536_536], [10, 24, 167_276]]);
    // The last ones sum products.
    let sums = ["backward: call"; 3];
    assert_eq!(loops(&fused), [&["forward: nest", "backward: nest"][..], &sums].concat());
}

#[test]
fn the_loops_of_attention_over_a_ring_are_fused() {
    let program = training("ring", include_str!("../../rml/benches/peers/ring.rml"));
    let fused = rml_nest::fuse(&program);
    assert_eq!([counts(&program), counts(&fused)], [[47, 55, 440_696], [17, 31, 135_820]]);
    let wanted = [
        // The position in the ring, which may not fit an int, its remainder, and the values.
        "forward: nest nest nest",
        "backward: nest",
        "backward: call",
        "backward: call",
        "backward: nest call",
        "backward: nest call",
    ];
    assert_eq!(loops(&fused), wanted);
}

#[test]
fn the_loops_of_an_lstm_have_one_nest_for_each_product() {
    let program = training("lstm", "");
    let fused = rml_nest::fuse(&program);
    assert_eq!([counts(&program), counts(&fused)], [[57, 64, 205_528], [11, 29, 133_228]]);
    let wanted = [
        "forward: call nest",
        "backward: nest call",
        "backward: call",
        "backward: call call",
        "backward: call",
    ];
    assert_eq!(loops(&fused), wanted);
}
