//! Damaged checkpoints: they must be refused, or used without a panic.

use std::path::Path;
use std::sync::OnceLock;

use rml::{Checkpoint, Columns, Format, InferOptions, Options, Source, Split, Stream, TrainOptions};
use rml_testkit::Lcg;

use super::{Target, bytes, nothing_smaller};
use crate::{Corpus, FuzzInput};

pub(super) const TARGET: Target = Target {
    name: "checkpoints",
    about: "damaged checkpoints are refused, or inference, streams and training continue from them",
    chunk: 150,
    generate,
    check,
    smaller: nothing_smaller,
};

const PROGRAM: &str = "
import std.layers;
import std.losses;
import std.optimisers;

node diff_param(init, bp, do) -> (o)
  o = momentum(0.9, init, bp, do);

node net(x: num [batch, 2], end: bool []) -> (y: num [batch, 2] when end)
  h = rnn(2, x) every end;
  y = dense(2, h when end);

node train(x: num [batch, 2], end: bool [], label: int [batch] when end) -> (loss: num [] when end)
  y, _ = diff_net(x, end, true, dy);
  loss, dy = diff_cross_entropy(y, label, true, -0.1);

node infer(x: num [batch, 2], end: bool []) -> (y: num [batch, 2] when end)
  y = net(x, end);
";

const DATA: &str = r#"{"x": [[[1, 0], [0, 1]], [[1, 1], [0, 0]], [[0, 1], [1, 0]], [[1, 0.5], [0.5, 1]]], "label": [0, 1, 0, 1]}"#;

fn source() -> Source {
    Source::text("net.rml", PROGRAM)
}

fn data() -> Result<Columns, String> {
    Columns::parse(DATA.as_bytes(), Format::Json, "data").map_err(|e| e.to_string())
}

fn train(save: &Path, resume: Option<&Path>, epochs: u64) -> Result<(), String> {
    let options = TrainOptions {
        epochs,
        batch: Some(2),
        save: Some(save.to_path_buf()),
        resume: resume.map(Path::to_path_buf),
        ..TrainOptions::default()
    };
    rml::train(&source(), &data()?, &options, &mut ()).map(|_| ()).map_err(|e| e.to_string())
}

/// An undamaged checkpoint after one epoch.
fn sound() -> &'static [u8] {
    static BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    BYTES.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("sound.safetensors");
        train(&path, None, 1).expect("the program trains");
        std::fs::read(&path).expect("a checkpoint")
    })
}

fn generate(r: &mut Lcg, corpus: &Corpus) -> FuzzInput {
    let kept = corpus.of(TARGET.name);
    let base = if !kept.is_empty() && r.chance(0.2) { r.pick(kept).bytes.clone() } else { sound().to_vec() };
    let damaged = if r.chance(0.7) { other_header(&base, r) } else { bytes::damaged(&base, r) };
    FuzzInput::bytes("safetensors", damaged)
}

/// The file with a damaged header and the correct header length.
fn other_header(base: &[u8], r: &mut Lcg) -> Vec<u8> {
    let length = base.first_chunk().map_or(0, |b| u64::from_le_bytes(*b));
    let end = usize::try_from(length).unwrap_or(0).saturating_add(8).min(base.len());
    let header = bytes::damaged(base.get(8..end).unwrap_or_default(), r);
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header);
    file.extend(&base[end..]);
    file
}

fn check(case: &FuzzInput) -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let path = folder.path().join("case.safetensors");
    std::fs::write(&path, &case.bytes).map_err(|e| e.to_string())?;
    let Ok(checkpoint) = Checkpoint::read(&path) else { return Ok(()) };
    let copy = folder.path().join("copy.safetensors");
    checkpoint.write(&copy).map_err(|e| format!("read, but not written: {e}"))?;
    let again = Checkpoint::read(&copy).map_err(|e| format!("written, but not read: {e}"))?;
    let same = |(key, value): (&std::sync::Arc<str>, &rml::Value)| {
        again.states.get(key).is_some_and(|v| v.same(value))
    };
    if again.position != checkpoint.position || !checkpoint.states.iter().all(same) {
        return Err("what is read is not what was written".to_owned());
    }
    let options = Options { node: Some("infer".to_owned()), batch: Some(2), ..Options::default() };
    let _ = rml::params(&source(), &options, Some(&checkpoint));
    let options = InferOptions { split: Split::All, ..InferOptions::new(&path) };
    let _ = rml::infer(&source(), &data()?, &options);
    if let Ok(mut stream) = Stream::new(&source(), &options) {
        let _ = stream.line(r#"{"x": [1, 0], "end": true}"#);
    }
    let _ = train(&copy, Some(&path), 2);
    Ok(())
}
