//! Tests of checkpoint files.

use super::*;
use rml_ir::typed::StaticValue;

fn sample() -> Checkpoint {
    let mut states: IndexMap<Arc<str>, Value> = IndexMap::new();
    states.insert(
        "lstm_0.kernel".into(),
        Value::new(Shape::new(&[2, 2]), Data::F32(vec![0.1, -2.0, f32::NAN, 4.0])),
    );
    states.insert("n".into(), Value::Int(-3));
    states.insert("rst".into(), Value::Bool(true));
    states.insert("x".into(), Value::F64(0.3));
    Checkpoint::at(states, position())
}

pub(crate) fn position() -> TrainingPosition {
    let setup = Setup {
        node: "train".into(),
        double: false,
        seed: u64::MAX,
        batch: 32,
        shards: 1,
        shuffle: true,
        windows: 1797,
        test: 297,
        validation: 100,
        last_test: true,
        last_validation: false,
        ragged: false,
        restarts: false,
        ranges: None,
    };
    let sums = vec![("loss".into(), 0.1_f64.to_bits(), 64)];
    let reached = Reached { epoch: 3, done: 64, length: None, sums };
    let origin = Origin { program: "00".into(), data: "ff".into(), columns: vec!["x".into()] };
    let list = StaticValue::Array(vec![StaticValue::Int(2), StaticValue::Bool(true)]);
    let set = [("rate".into(), StaticValue::Num(0.1)), ("shape".into(), list)];
    TrainingPosition {
        setup,
        reached,
        origin,
        preparation: Preparation::default(),
        best: None,
        set: Some(set.into()),
    }
}

#[test]
fn what_is_written_reads_back_and_has_the_same_bytes() {
    let bytes = sample().bytes().unwrap();
    let read = Checkpoint::parse(&bytes, "c").unwrap();
    assert_eq!(read.position, sample().position);
    for (key, value) in &sample().states {
        assert!(read.states[key].same(value), "{key}");
    }
    assert_eq!(read.bytes().unwrap(), bytes);
}

#[test]
fn impossible_positions_are_refused() {
    let refused = |f: &dyn Fn(&mut TrainingPosition)| {
        let mut c = sample();
        c.position.iter_mut().for_each(f);
        Checkpoint::parse(&c.bytes().unwrap(), "c").is_err()
    };
    assert!(!refused(&|p| p.reached.done = 1400));
    assert!(refused(&|p| p.reached.done = 65));
    assert!(!refused(&|p| (p.reached.done, p.setup.ragged) = (65, true)));
    assert!(refused(&|p| (p.reached.done, p.setup.ragged) = (1797, true)));
    assert!(refused(&|p| p.setup.batch = 0));
    assert!(refused(&|p| p.setup.test = 1797));
    assert!(refused(&|p| p.setup.windows = 3));
    assert!(refused(&|p| p.setup.validation = 1500));
    assert!(refused(&|p| p.reached.sums[0].2 = u64::MAX));
    let free = |p: &mut TrainingPosition, windows, report| {
        (p.setup.batch, p.setup.windows) = (1, 0);
        p.reached.length = Some(Done { windows, cycles: 500, report, until: Some(("loss < 1".into(), 2)) });
    };
    assert!(!refused(&|p| free(p, 70, 65)));
    assert!(refused(&|p| free(p, 70, 64)), "a report that is done is no part of the next one");
    assert!(refused(&|p| free(p, 60, 100)), "more windows than in all");
    assert!(refused(&|p| free(p, 501, 100)), "a window has a cycle");
    assert!(refused(&|p| (free(p, 70, 65), p.setup.batch = 0).1));
}

/// Checkpoints of earlier versions can be read, and the same run writes the same bytes.
#[test]
fn a_position_is_one_flat_object_in_a_fixed_order() {
    let text = serde_json::to_string(&position()).unwrap();
    let expected = concat!(
        r#"{"node":"train","double":false,"seed":18446744073709551615,"batch":32,"shuffle":true,"windows":1797,"test":297,"#,
        r#""validation":100,"last_test":true,"epoch":3,"done":64,"sums":[["loss",4591870180066957722,64]],"#,
        r#""program":"00","data":"ff","columns":["x"],"set":[["rate","0.1"],["shape",[2,true]]]}"#,
    );
    assert_eq!(text, expected);
    assert_eq!(serde_json::from_str::<TrainingPosition>(&text).unwrap(), position());
}

/// Damaged files cause errors or contain other states, but never cause a panic.
#[test]
fn damage_never_panics() {
    let good = sample().bytes().unwrap();
    for end in 0..good.len() {
        assert!(Checkpoint::parse(&good[..end], "c").is_err());
    }
    for at in 0..good.len() {
        for byte in [0, b'9', b'[', b'{', b'"', 0xff, good[at] ^ 1] {
            let mut bad = good.clone();
            bad[at] = byte;
            let _ = Checkpoint::parse(&bad, "c");
        }
    }
    let deep = format!("{{\"a\":{}", "[".repeat(100_000));
    let mut bytes = (deep.len() as u64).to_le_bytes().to_vec();
    bytes.extend(deep.as_bytes());
    assert!(Checkpoint::parse(&bytes, "c").is_err());
}
