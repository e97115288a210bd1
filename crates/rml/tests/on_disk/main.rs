//! Data on disk gives the same bits as data in memory, with less memory. This file contains one test, because memory is
//! counted for the whole process.

mod ffi;

use std::fmt::Write as _;
use std::path::Path;

use ffi::most_held_by;
use rml::{
    Column, Columns, Dataset, Elements, InferOptions, OnDisk, Shape, Source, TestSplit, TrainOptions, infer,
    train,
};

const MIB: usize = 1 << 20;

/// A program that learns a mean over the cycles of a window.
const MEAN: &str = "
node averaged(x: num [batch, 64]) -> (o: num [batch])
  k = param(zeros([64]));
  o = matmul(x, k);

node train(x: num [batch, 64], y: num [batch]) -> (loss: num [])
  o, _ = diff_averaged(x, true, 0.001 * (y - o));
  loss = mean((o - y) * (o - y));

node infer(x: num [batch, 64], y: num [batch]) -> (loss: num [])
  o = averaged(x);
  loss = mean((o - y) * (o - y));
";

fn trained(data: &dyn Dataset, save: &Path, epochs: u64, resume: Option<&Path>) -> Vec<u8> {
    let source = Source::text("mean.rml", MEAN);
    let options = TrainOptions {
        epochs,
        batch: Some(50),
        test: Some(TestSplit::Share(0.1)),
        save: Some(save.to_owned()),
        resume: resume.map(Path::to_owned),
        ..TrainOptions::default()
    };
    train(&source, data, &options, &mut ()).expect("it trains");
    std::fs::read(save).expect("a checkpoint")
}

#[test]
fn data_on_disk_takes_little_memory_and_gives_the_same_bits() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    // 20,000 windows: 10 MB as an archive; programs that read JSON need 20 MB for the elements.
    let rows = 20_000;
    let x: Vec<f64> = (0..rows * 64).map(|i| ((i * 7919) % 1000) as f64 / 1000.0).collect();
    let y: Vec<f64> = x.chunks(64).map(|row| row.iter().sum::<f64>() / 64.0).collect();
    let mut lines = String::new();
    for (x, y) in x.chunks(64).zip(&y) {
        writeln!(lines, "{{\"x\": {x:?}, \"y\": {y}}}").expect("text");
    }
    std::fs::write(path("data.jsonl"), lines).expect("a file");
    let mut columns = Columns::default();
    let column = |dims: &[usize], v: Vec<f64>| Column {
        shape: Shape::new(dims),
        elements: Elements::F64(v),
        present: None,
    };
    columns.columns.insert("x".into(), column(&[rows, 64], x));
    columns.columns.insert("y".into(), column(&[rows], y));
    columns.write(path("data.npz")).expect("a file");
    drop(columns);

    let mut checkpoints = Vec::new();
    for name in ["data.npz", "data.jsonl"] {
        let files = [path(name)];
        let (in_memory, first) =
            most_held_by(|| trained(&Columns::read_all(&files).expect("data"), &path("memory"), 2, None));
        let (on_disk, second) =
            most_held_by(|| trained(&OnDisk::read_all(&files).expect("data"), &path("disk"), 2, None));
        assert!(in_memory > 20 * MIB, "{name}: {in_memory} bytes");
        assert!(on_disk < 10 * MIB, "{name}: {on_disk} bytes");
        assert!(first == second, "{name}: shuffled, the parameters are the same");
        checkpoints.push(second);
    }
    assert!(checkpoints[0] == checkpoints[1], "formats give the same windows");

    // A resumed run may read its data from another place.
    let disk = OnDisk::read_all(&[path("data.npz")]).expect("data");
    trained(&Columns::read_all(&[path("data.jsonl")]).expect("data"), &path("half"), 1, None);
    assert!(trained(&disk, &path("whole"), 2, Some(&path("half"))) == checkpoints[0]);
    let options = InferOptions { params: Some(path("whole").into()), ..InferOptions::default() };
    let source = Source::text("mean.rml", MEAN);
    let report = |data: &dyn Dataset| infer(&source, data, &options).expect("it infers").metrics;
    assert_eq!(report(&disk), report(&Columns::read_all(&[path("data.npz")]).expect("data")));
}
