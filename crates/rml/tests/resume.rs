//! Checkpoints of all examples that train: each engine continues from the checkpoints of the other engine, and bit by
//! bit from its own.

use std::path::{Path, PathBuf};

use rml::{
    Checkpoint, Column, Columns, Data, Elements, Engine, Evaluate, Length, Shape, Source, TestSplit,
    TrainOptions, Value,
};

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// The first windows of data.
fn first(data: &Columns, windows: usize) -> Columns {
    let mut few = Columns::default();
    for (name, column) in &data.columns {
        let [_, rest @ ..] = column.shape.dims() else { panic!("{name} has windows") };
        let windows = windows.min(column.rows());
        let len = windows * rest.iter().product::<usize>();
        let elements = match &column.elements {
            Elements::Bool(v) => Elements::Bool(v[..len].to_vec()),
            Elements::Int(v) => Elements::Int(v[..len].to_vec()),
            Elements::F32(v) => Elements::F32(v[..len].to_vec()),
            Elements::F64(v) => Elements::F64(v[..len].to_vec()),
        };
        let dims: Vec<usize> = std::iter::once(windows).chain(rest.iter().copied()).collect();
        let column = Column { shape: Shape::new(&dims), elements, present: None };
        few.columns.insert(name.clone(), column);
    }
    few
}

fn numbers(value: &Value) -> Vec<f64> {
    match value.to_data() {
        Data::F32(v) => v.into_iter().map(f64::from).collect(),
        Data::F64(v) => v,
        Data::Int(v) => v.into_iter().map(|i| i as f64).collect(),
        Data::Bool(v) => v.into_iter().map(f64::from).collect(),
    }
}

#[track_caller]
fn same_states(what: &str, a: &Path, b: &Path) {
    let (a, b) = (Checkpoint::read(a).unwrap().states, Checkpoint::read(b).unwrap().states);
    assert!(!a.is_empty() && a.keys().eq(b.keys()), "{what}");
    for (key, value) in &a {
        let pairs = numbers(value).into_iter().zip(numbers(&b[key]));
        for (x, y) in pairs {
            assert!((x - y).abs() <= 1e-3 * (1.0 + x.abs()), "{what}, {key}: {x} and {y}");
        }
    }
}

#[test]
fn each_engine_goes_on_from_checkpoints_of_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let all = [
        ("digits", "train", "digits.npz", 32),
        ("digits_gru", "train", "digits.npz", 32),
        ("bidirectional", "train", "same_ends.npz", 32),
        ("forecast", "train", "forecast.npz", 32),
        ("batchnorm", "train", "rings.npz", 64),
        ("experts", "train", "pieces.npz", 64),
        ("nested", "train", "sequences.npz", 6),
        ("pipeline", "train", "rings.npz", 64),
        ("pipeline", "train_whole", "rings.npz", 64),
        ("cartpole", "train", "", 0),
    ];
    for (name, node, file, windows) in all {
        let source = Source::file(examples().join(format!("{name}.rml")));
        let data = match file {
            "" => Columns::default(),
            file => first(&Columns::read(examples().join("data").join(file)).unwrap(), windows),
        };
        let run = |engine: &Engine, epochs: u64, resume: Option<&str>, save: &str| {
            let options = TrainOptions {
                node: Some(node.to_owned()),
                engine: engine.clone(),
                epochs,
                length: (windows == 0).then(|| Length {
                    windows: Some(3 * epochs),
                    report: Some(2),
                    ..Length::default()
                }),
                evaluate: Evaluate::Nothing,
                test: (windows > 0).then_some(TestSplit::Count(0)),
                resume: resume.map(path),
                save: Some(path(save)),
                ..TrainOptions::default()
            };
            rml::train(&source, &data, &options, &mut ()).unwrap_or_else(|e| panic!("{name}: {e}"));
        };
        let engines = [("plan", Engine::auto()), ("sim", Engine::simulator())];
        for (engine, own) in &engines {
            run(own, 2, None, &format!("{engine}-whole"));
            run(own, 1, None, &format!("{engine}-half"));
            run(own, 2, Some(&format!("{engine}-half")), &format!("{engine}-again"));
            let bytes = |which: &str| std::fs::read(path(&format!("{engine}-{which}"))).unwrap();
            assert!(bytes("whole") == bytes("again"), "{name} by {engine}: the same bits");
        }
        for ((one, _), (other, engine)) in [(&engines[0], &engines[1]), (&engines[1], &engines[0])] {
            let rest = format!("{other}-after-{one}");
            run(engine, 2, Some(&format!("{one}-half")), &rest);
            same_states(&format!("{name}, {rest}"), &path(&format!("{one}-whole")), &path(&rest));
        }
    }
}
