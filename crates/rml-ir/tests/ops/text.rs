//! Text forms: what they look like, and what is refused. (That every sample reads back is checked beside the
//! samples.)

use rml_ir::op::{AxisIndex, Binary, Distribution, Op, Reduction};
use rml_ir::{DType, Shape, Type};

#[test]
fn operators_look_like_this() {
    let slice = AxisIndex::Slice { start: 1, len: 3, step: 2 };
    let expected = [
        (Op::Binary(Binary::Add), "add"),
        (Op::StopGradient, "stop_gradient"),
        (Op::Transpose { perm: vec![1, 0] }, "transpose{1, 0}"),
        (Op::Reshape { shape: Shape::new(&[4, 64]) }, "reshape{[4, 64]}"),
        (Op::Broadcast { shape: Shape::scalar() }, "broadcast{[]}"),
        (Op::Index { items: vec![AxisIndex::At(0), slice] }, "index{0, 1:3:2}"),
        (
            Op::Unindex { shape: Shape::new(&[5, 8]), items: vec![AxisIndex::At(0), slice] },
            "unindex{[5, 8]; 0, 1:3:2}",
        ),
        (Op::Index { items: vec![AxisIndex::Slice { start: 4, len: 2, step: -2 }] }, "index{4:2:-2}"),
        (Op::Reduce(Reduction::Sum, Some(1)), "sum{axis=1}"),
        (Op::Reduce(Reduction::Sum, None), "sum"),
        (Op::Concat { axis: 2 }, "concat{axis=2}"),
        (Op::OneHot { classes: 10 }, "one_hot{10}"),
    ];
    for (op, text) in expected {
        assert_eq!(op.to_string(), text);
        assert_eq!(Op::parse(text), Ok(op));
    }
}

#[test]
fn spaces_do_not_matter_inside_braces() {
    assert_eq!(Op::parse("transpose{1,0}"), Ok(Op::Transpose { perm: vec![1, 0] }));
    assert_eq!(Op::parse("reshape{ [4,64] }"), Ok(Op::Reshape { shape: Shape::new(&[4, 64]) }));
}

#[test]
fn other_texts_are_refused_with_a_reason() {
    for text in [
        "",
        "ad",
        "add{1}",
        "transpose",
        "transpose{1, 0",
        "transpose{-1}",
        "transpose{a}",
        "reshape{4, 64}",
        "reshape",
        "sum{1}",
        "sum{axis=}",
        "index{1:2}",
        "index{1:2:3:4}",
        "unindex{[3]}",
        "unindex{3; 1}",
        "one_hot{99999999999999999999999}",
        "concat",
    ] {
        let error = Op::parse(text).expect_err(text);
        assert!(error.contains(&format!("`{text}`")), "{error}");
    }
}

#[test]
fn distributions_read_back() {
    for dist in [
        Distribution::GlorotUniform,
        Distribution::Orthogonal,
        Distribution::Uniform { lo: -0.1, hi: 1e300 },
        Distribution::Normal { mean: 0.0, std: 1.0 / 3.0 },
    ] {
        assert_eq!(Distribution::parse(&dist.to_string()), Ok(dist));
    }
    assert_eq!(Distribution::Uniform { lo: -0.5, hi: 2.0 }.to_string(), "uniform{-0.5, 2.0}");
    for text in ["uniform", "uniform{1}", "uniform{1, b}", "orthogonal{1}", "cauchy"] {
        assert!(Distribution::parse(text).is_err(), "{text}");
    }
}

#[test]
fn types_print_as_in_messages() {
    assert_eq!(Type::new(DType::Num, &[2, 3]).to_string(), "num [2, 3]");
}
