//! Weights of PyTorch, Keras and flax, made by these libraries (`tests/weights/generate.py`): imported, they give the
//! same outputs as in the library; exported, they equal the originals.
//!
//! `RML_WEIGHTS` names a folder with other weights and outputs, such as those that `cargo xtask weights` generates
//! again.

mod support;

use std::path::{Path, PathBuf};

use rml::{Columns, Elements, TensorFile};
use support::Folder;

/// The name of the weights and of their mapping, and the node that they belong to.
const NETWORKS: &[(&str, &str)] = &[
    ("torch_lstm", "lstm_net"),
    ("torch_lstm_2", "lstm_net_2"),
    ("torch_bi_lstm", "bi_lstm_net"),
    ("torch_gru", "gru_net"),
    ("torch_bi_gru", "bi_gru_net"),
    ("torch_rnn", "rnn_net"),
    ("torch_mlp", "mlp_net"),
    ("torch_conv1d", "conv1d_net"),
    ("torch_conv2d", "conv2d_strided_net"),
    ("torch_norm", "norm_net"),
    ("torch_embedding", "embedding_net"),
    ("keras_lstm", "lstm_net"),
    ("keras_lstm_2", "lstm_net_2"),
    ("keras_bi_lstm", "bi_lstm_net"),
    ("keras_gru", "gru_net"),
    ("keras_rnn", "rnn_net"),
    ("keras_conv1d", "conv1d_dense_net"),
    ("keras_conv2d", "conv2d_net"),
    ("keras_norm", "norm_dense_net"),
    ("keras_embedding", "embedding_net"),
    ("flax_lstm", "lstm_net"),
    ("flax_gru", "gru_net"),
    ("flax_norm", "conv1d_norm_net"),
    ("flax_conv2d", "conv2d_net"),
    ("flax_embedding", "embedding_net"),
];

/// The mappings that add two tensors, which an export cannot separate again.
const SUMS: &[&str] = &["torch_lstm", "torch_lstm_2", "torch_bi_lstm", "torch_rnn"];

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/weights")
}

/// A folder with the programs, a mapping, and the weights and outputs of a library, `weights.*` and `io.npz`; and the
/// file name of the weights.
fn folder(name: &str) -> (Folder, &'static str) {
    let made = std::env::var_os("RML_WEIGHTS").map_or_else(fixtures, PathBuf::from);
    let read = |path: PathBuf| std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let weights = if name.starts_with("keras") { "weights.npz" } else { "weights.safetensors" };
    let extension = weights.trim_start_matches("weights");
    let folder = Folder::new()
        .file("networks.rml", read(fixtures().join("networks.rml")))
        .file("map.toml", read(fixtures().join(format!("{name}.toml"))))
        .file(weights, read(made.join(format!("{name}{extension}"))))
        .file("io.npz", read(made.join(format!("{name}.io.npz"))));
    (folder, weights)
}

fn numbers(file: &Path, column: &str) -> (Vec<usize>, Vec<f32>) {
    let columns = Columns::read(file).expect("an archive");
    let column = &columns.columns[column];
    let Elements::F32(v) = &column.elements else { panic!("{column:?}") };
    (column.shape.dims().to_vec(), v.clone())
}

#[test]
fn imported_weights_give_the_outputs_of_their_library() {
    for (name, node) in NETWORKS {
        let (folder, weights) = folder(name);
        let import = format!(
            "params import networks.rml --node {node} --from {weights} --map map.toml --save ck.safetensors"
        );
        folder.rml(&import).ok();
        let infer = "infer networks.rml --params ck.safetensors --data io.npz --out y.npz --node";
        folder.rml(&format!("{infer} {node}")).ok();
        let (shape, expected) = numbers(&folder.path("io.npz"), "y");
        let (found_shape, found) = numbers(&folder.path("y.npz"), "y");
        // a window of one cycle has no axis for cycles
        let squeezed: Vec<usize> =
            shape.iter().enumerate().filter(|(i, d)| *i != 1 || **d != 1).map(|(_, d)| *d).collect();
        assert_eq!(found_shape, squeezed, "{name}");
        let far = expected.iter().zip(&found).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(far <= 1e-5, "{name}: outputs are up to {far} from those of the library");
        assert!(expected.iter().any(|y| y.abs() > 0.1), "{name}: the outputs say nothing");
    }
}

#[test]
fn exported_weights_are_what_was_imported() {
    for (name, node) in NETWORKS {
        let (folder, weights) = folder(name);
        let back = weights.replace("weights", "back");
        let again = format!("--node {node} --map map.toml");
        folder
            .rml(&format!("params import networks.rml {again} --from {weights} --save ck.safetensors"))
            .ok();
        for like in ["".to_owned(), format!("--like {weights}")] {
            folder
                .rml(&format!(
                    "params export networks.rml {again} --params ck.safetensors --out {back} {like}"
                ))
                .ok();
            let (first, second) = (
                TensorFile::read(&folder.path(weights)).unwrap(),
                TensorFile::read(&folder.path(&back)).unwrap(),
            );
            let mut names: Vec<_> = second.tensors.keys().collect();
            let mut expected: Vec<_> = first.tensors.keys().collect();
            names.sort();
            expected.sort();
            assert_eq!(names, expected, "{name}");
            let differ = first.tensors.iter().find(|(key, t)| !t.same(&second.tensors[*key]));
            assert!(differ.is_none() || SUMS.contains(name), "{name}: {differ:?}");
            assert_eq!(differ.is_some(), SUMS.contains(name), "{name}");
        }
        // the exported tensors import to the same bits
        folder
            .rml(&format!("params import networks.rml {again} --from {back} --save again.safetensors"))
            .ok();
        let bytes = |file: &str| std::fs::read(folder.path(file)).expect("a checkpoint");
        assert!(bytes("ck.safetensors") == bytes("again.safetensors"), "{name}");
    }
}
