//! Damaged models of other tools: refused, or the program that is made of one compiles and is imported alike again.

use std::sync::OnceLock;

use rml::codes::run::{IMPORT_REFUSED, MALFORMED_MODEL};
use rml::{Checkpoint, Error, ModelExport, ModelFormat, ModelOptions, Options, Session, Source};
use rml_testkit::Lcg;

use super::{Target, bytes, nothing_smaller};
use crate::{Corpus, FuzzInput};

pub(super) const TARGET: Target = Target {
    name: "models",
    about: "damaged ONNX models are refused, or become programs that compile",
    chunk: 100,
    generate,
    check,
    smaller: nothing_smaller,
};

/// Nodes that become models: layers with weights, states, integers, loops.
const PROGRAM: &str = "
import std.layers;
import std.normalisation;

node layer(x: num [2, 6]) -> (y: num [2, 6])
  y = x + dense(6, gelu(dense(8, layer_norm(x))));

node deep(x: num [2, 6]) -> (y: num [2, 6])
  h[0] = x;
  h[k + 1] = layer(h[k]) for k < 3;
  y = softmax(h[3]);

node picture(x: num [1, 6, 6, 2]) -> (y: num [1, 3])
  k = param(normal([3, 3, 2, 3], 0.0, 0.1));
  h = relu(conv2d(x, k, 1, 1));
  y = mean(h, [1, 2]);

node stream(x: num [1, 3]) -> (h: num [1, 4])
  h = gru(4, x);

node numbers(x: int [5], c: bool [5]) -> (y: int [3], m: int [])
  z = where(c, x * 3, x - 1);
  y = cumsum(z)[1:4];
  m = argmax(z, 0);

node mixed(x: num [2, 6], i: int [2]) -> (y: num [2, 4])
  t = param(normal([5, 4], 0.0, 1.0));
  y = gather(t, i) + matmul(tanh(x), param(normal([6, 4], 0.0, 1.0)));
";

/// What a refusal is.
const REFUSALS: [rml::Code; 2] = [IMPORT_REFUSED, MALFORMED_MODEL];

const NODES: &[&str] = &["deep", "picture", "stream", "numbers", "mixed"];

/// The models of the nodes.
fn sound() -> &'static [Vec<u8>] {
    static MODELS: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    let model = |node: &&str| exported(node).unwrap_or_else(|e| panic!("{node}: {e}"));
    MODELS.get_or_init(|| NODES.iter().map(model).collect())
}

/// The model of a node, with the parameters that it begins with.
fn exported(node: &str) -> Result<Vec<u8>, Error> {
    let options = Options { node: Some(node.to_owned()), ..Options::default() };
    let source = Source::text("models.rml", PROGRAM);
    let states = Session::new(&rml::compile(&source, &options)?).states()?;
    let checkpoint = Checkpoint::of_states(states);
    Ok(rml::export_model(&source, &options, Some(&checkpoint), &ModelExport::new(ModelFormat::Onnx))?.bytes)
}

fn generate(r: &mut Lcg, corpus: &Corpus) -> FuzzInput {
    let kept = corpus.of(TARGET.name);
    let base = if !kept.is_empty() && r.chance(0.2) { &r.pick(kept).bytes } else { r.pick(sound()) };
    let mut model = bytes::damaged(base, r);
    if r.chance(0.2) {
        // Messages that follow each other are one message with the fields of both.
        let other: &Vec<u8> = r.pick(sound());
        model.extend_from_slice(other);
    }
    FuzzInput::bytes("onnx", model)
}

fn check(case: &FuzzInput) -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let path = folder.path().join("case.onnx");
    std::fs::write(&path, &case.bytes).map_err(|e| e.to_string())?;
    let import = || rml::import_model(&path, &ModelOptions::default());
    let model = match import() {
        Ok(model) => model,
        Err(error) if error.code().is_some_and(|code| REFUSALS.contains(&code)) => return Ok(()),
        Err(error) => return Err(format!("neither imported nor refused: {error}")),
    };
    let options = Options { node: Some("main".to_owned()), ..Options::default() };
    rml::compile(&Source::text("case.rml", model.program.as_str()), &options)
        .map_err(|e| format!("imported, but not compiled: {e}\n{}", model.program))?;
    match import() {
        Ok(again) if again.program == model.program && again.mapping == model.mapping => Ok(()),
        Ok(_) => Err("another program when it is imported again".to_owned()),
        Err(error) => Err(format!("imported once, but not again: {error}")),
    }
}
