//! Mappings between parameters and the tensors of other libraries. A mapping must be refused, or the exported
//! parameters must have the same bits after an import.

use std::path::Path;

use rml::{ExportOptions, Mapping, Options, Source, TensorFile};
use rml_testkit::Lcg;
use rml_testkit::damage::damaged;

use super::{Target, bytes, nothing_smaller};
use crate::{Corpus, FuzzInput, root};

pub(super) const TARGET: Target = Target {
    name: "weights",
    about: "damaged mappings of other libraries' weights are refused, or what they export imports to the same bits",
    chunk: 300,
    generate,
    check,
    smaller: nothing_smaller,
};

/// Mappings and weights in `tests/weights`, and the node for which they are.
const NETWORKS: &[(&str, &str)] = &[
    ("torch_lstm", "lstm_net"),
    ("torch_bi_gru", "bi_gru_net"),
    ("torch_conv1d", "conv1d_net"),
    ("torch_conv2d", "conv2d_strided_net"),
    ("torch_norm", "norm_net"),
    ("torch_mlp", "mlp_net"),
    ("keras_lstm_2", "lstm_net_2"),
    ("keras_conv1d", "conv1d_dense_net"),
    ("keras_norm", "norm_dense_net"),
    ("keras_embedding", "embedding_net"),
    ("flax_gru", "gru_net"),
    ("flax_conv2d", "conv2d_net"),
];

fn folder() -> std::path::PathBuf {
    root().join("tests/weights")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn generate(r: &mut Lcg, corpus: &Corpus) -> FuzzInput {
    let kept = corpus.of(TARGET.name);
    if !kept.is_empty() && r.chance(0.15) {
        return FuzzInput::bytes("toml", bytes::damaged(&r.pick(kept).bytes, r));
    }
    let (name, _) = *r.pick(NETWORKS);
    let own = mapping(name, r);
    let other = r.pick(NETWORKS).0;
    let donor = mapping(other, r);
    let text = if r.chance(0.7) {
        damaged(&own, &donor, r)
    } else {
        String::from_utf8_lossy(&bytes::damaged(own.as_bytes(), r)).into_owned()
    };
    FuzzInput::with_settings("toml", "#", &[("weights", name.to_owned())], &text)
}

/// The mapping of a network; in some cases, one of its layouts is defined in the mapping.
fn mapping(name: &str, r: &mut Lcg) -> String {
    let text = read(&folder().join(format!("{name}.toml")));
    let used: Vec<_> =
        rml::layouts().into_iter().filter(|l| text.contains(&format!("\"{}\"", l.name))).collect();
    if used.is_empty() || r.chance(0.5) {
        return text;
    }
    let layout = r.pick(&used);
    format!("{}\n{}", layout.text, text).replace(&layout.name, "own.layout")
}

fn check(case: &FuzzInput) -> Result<(), String> {
    let (settings, text) = case.settings("#");
    let network = NETWORKS.iter().find(|(name, _)| settings.get("weights").is_some_and(|w| w == name));
    let Some((name, node)) = network else { return Ok(()) };
    let extension = if name.starts_with("keras") { "npz" } else { "safetensors" };
    let weights =
        TensorFile::read(&folder().join(format!("{name}.{extension}"))).map_err(|e| e.to_string())?;
    let source = Source::file(folder().join("networks.rml"));
    let options = Options { node: Some((*node).to_owned()), batch: Some(2), ..Options::default() };
    let mapping = Mapping::text("mapping", text);
    let Ok(imported) = rml::import_params(&source, &options, &weights, &mapping) else { return Ok(()) };
    for like in [None, Some(weights)] {
        let export = ExportOptions { like, ..ExportOptions::default() };
        let Ok(tensors) = rml::export_params(&source, &options, &imported.checkpoint, &mapping, &export)
        else {
            continue;
        };
        let again = rml::import_params(&source, &options, &tensors, &mapping);
        let again = again.map_err(|e| format!("exported, but not imported again: {e}"))?;
        let differs =
            imported.checkpoint.states.iter().find(|(key, value)| !again.checkpoint.states[*key].same(value));
        if let Some((key, value)) = differs {
            return Err(format!(
                "exported and imported, {key} is {:?}, not {value:?}",
                again.checkpoint.states[key]
            ));
        }
    }
    Ok(())
}
