//! The families of models in `benches/breadth`, which `cargo xtask peers breadth` compares with other tools: every
//! program passes the check, and learns from one window.

#[path = "../benches/peers/family.rs"]
mod family;

use family::{Family, columns};
use rml::{Evaluate, Options, TestSplit, TrainOptions, check};

/// The names of the folders.
fn families() -> Vec<String> {
    let entries = std::fs::read_dir(family::folder()).unwrap().map(|entry| entry.unwrap().path());
    let folders = entries.filter(|path| path.join("family.json").exists());
    let mut names: Vec<String> =
        folders.map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

/// Trains on the data of one step, and returns the loss.
fn loss(family: &Family, size: &str) -> f64 {
    let options = TrainOptions {
        batch: family.batch(size),
        set: family.set(size).unwrap().into_iter().collect(),
        shuffle: Some(false),
        evaluate: Evaluate::Nothing,
        test: Some(TestSplit::Count(0)),
        epochs: 1,
        ..TrainOptions::default()
    };
    let data = columns(&family.made(size).unwrap(), 1);
    let report = rml::train(&family.source(), &data, &options, &mut ()).unwrap_or_else(|e| panic!("{e}"));
    report.epochs[0].train["loss"]
}

#[test]
fn every_family_learns_from_a_window() {
    let names = families();
    assert!(names.len() >= 24, "{names:?}");
    for name in names {
        let family = Family::read(&name).unwrap();
        let size = &family.smallest();
        let set = family.set(size).unwrap().into_iter().collect();
        let options = Options { set, batch: family.batch(size), ..Options::default() };
        let (_, findings) = check(&family.source(), &options);
        assert!(findings.is_empty(), "{name}: {findings:?}");
        let loss = loss(&family, size);
        assert!(loss.is_finite() && loss != 0.0, "{name}: {loss}");
    }
}

#[test]
fn every_family_has_both_libraries() {
    for name in families() {
        for module in ["in_jax.py", "in_torch.py"] {
            assert!(family::folder().join(&name).join(module).exists(), "{name} lacks {module}");
        }
    }
}
