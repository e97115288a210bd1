//! Shapes that are computed in the graph, and operators that move elements.

use super::support::{Attr, Net, close, nums, ramp};

#[test]
fn shapes_that_graphs_compute_are_folded() {
    // x is arranged as [first dimension, -1] by way of Shape, Gather, Unsqueeze and Concat.
    let net = Net::new(13)
        .input("x", &["2", "3", "4"])
        .integers("zero", &[], &[0])
        .integers("axes", &[1], &[0])
        .integers("rest", &[1], &[-1])
        .node("Shape", "x", "shape", &[])
        .node("Gather", "shape zero", "first", &[("axis", Attr::Int(0))])
        .node("Unsqueeze", "first axes", "one", &[])
        .node("Concat", "one rest", "wanted", &[("axis", Attr::Int(0))])
        .node("Reshape", "x wanted", "y", &[])
        .output("y");
    let text = net.program().program;
    assert!(text.contains("y = reshape([2, 12], x);"), "{text}");
}

#[test]
fn slices_go_beyond_the_axis_and_backward() {
    let net = |starts: i64, ends: i64, steps: i64| {
        Net::new(13)
            .input("x", &["5"])
            .integers("starts", &[1], &[starts])
            .integers("ends", &[1], &[ends])
            .integers("axes", &[1], &[0])
            .integers("steps", &[1], &[steps])
            .node("Slice", "x starts ends axes steps", "y", &[])
            .output("y")
            .y(ramp(&[5], 1.0))
    };
    assert_eq!(net(1, i64::MAX, 1), [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(net(-100, -2, 2), [0.0, 2.0]);
    assert_eq!(net(-1, i64::MIN, -1), [4.0, 3.0, 2.0, 1.0, 0.0]);
    assert_eq!(net(i64::MAX, 1, -2), [4.0, 2.0]);
}

#[test]
fn padding_repeats_reflects_and_fills() {
    let net = |mode: &str, lo: i64, hi: i64| {
        Net::new(19)
            .input("x", &["3"])
            .integers("pads", &[2], &[lo, hi])
            .tensor("fill", &[], &[9.0])
            .node("Pad", "x pads fill", "y", &[("mode", Attr::Text(mode))])
            .output("y")
            .y(ramp(&[3], 1.0))
    };
    assert_eq!(net("constant", 1, 2), [9.0, 0.0, 1.0, 2.0, 9.0, 9.0]);
    assert_eq!(net("reflect", 2, 1), [2.0, 1.0, 0.0, 1.0, 2.0, 1.0]);
    assert_eq!(net("edge", 1, 2), [0.0, 0.0, 1.0, 2.0, 2.0, 2.0]);
    assert_eq!(net("wrap", 2, 2), [1.0, 2.0, 0.0, 1.0, 2.0, 0.0, 1.0]);
    assert_eq!(net("constant", -1, 1), [1.0, 2.0, 9.0]);
}

#[test]
fn positions_may_count_from_the_end() {
    let net = Net::new(13)
        .input("x", &["3", "2"])
        .ints("i", &["2"])
        .node("Gather", "x i", "y", &[("axis", Attr::Int(0))])
        .output("y");
    let i = rml::Value::new(rml::Shape::new(&[2]), rml::Data::Int(vec![-1, 0]));
    let made = net.run(&[("x", ramp(&[3, 2], 1.0)), ("i", i)]);
    assert_eq!(made["y"], [4.0, 5.0, 0.0, 1.0]);
}

#[test]
fn the_largest_elements_come_first() {
    let net = Net::new(13)
        .input("x", &["2", "3"])
        .integers("k", &[1], &[2])
        .node("TopK", "x k", "y positions", &[("axis", Attr::Int(-1))])
        .output("y")
        .output("positions");
    let made = net.run(&[("x", nums(&[2, 3], &[1.0, 3.0, 2.0, 5.0, 4.0, 6.0]))]);
    assert_eq!(made["y"], [3.0, 2.0, 6.0, 5.0]);
    assert_eq!(made["positions"], [1.0, 2.0, 2.0, 0.0]);
}

#[test]
fn elements_are_written_at_positions() {
    let net = Net::new(13)
        .input("x", &["4"])
        .integers("i", &[2, 1], &[3, 1])
        .tensor("new", &[2], &[7.0, 8.0])
        .node("ScatterND", "x i new", "y", &[])
        .output("y");
    close(&net.y(ramp(&[4], 1.0)), &[0.0, 8.0, 2.0, 7.0]);
}

#[test]
fn axes_are_folded_in_any_order() {
    let net = |op: &str, keep: i64| {
        Net::new(13)
            .input("x", &["2", "2", "2"])
            .node("Transpose", "x", "t", &[("perm", Attr::Ints(&[2, 0, 1]))])
            .node(op, "t", "y", &[("axes", Attr::Ints(&[0, 2])), ("keepdims", Attr::Int(keep))])
            .output("y")
            .y(ramp(&[2, 2, 2], 1.0))
    };
    // Axes 2 and 1 of x: what is left is axis 0, over 0..4 and 4..8.
    close(&net("ReduceMean", 0), &[1.5, 5.5]);
    close(&net("ReduceMax", 1), &[3.0, 7.0]);
    close(&net("ReduceL2", 0), &[14.0_f64.sqrt(), 126.0_f64.sqrt()]);
}
