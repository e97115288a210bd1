//! Weights in other files: read beside the model and below its folder, nowhere else.

use std::path::Path;

use rml::{ImportedModel, ModelOptions};
use rml_import::proto::StringStringEntryProto;

use super::support::Net;

/// Four numbers, after one that is none of them.
fn weights() -> Vec<u8> {
    [9.0_f32, 1.0, 2.0, 3.0, 4.0].iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// A model whose weight is in another file.
fn net(entries: &[(&str, &str)]) -> Vec<u8> {
    let mut net =
        Net::new(17).input("x", &["4"]).tensor("w", &[4], &[]).node("Mul", "x w", "y", &[]).output("y");
    let weight = &mut net.graph.initializer[0];
    weight.data_location = 1;
    let entry = |(key, value): &(&str, &str)| StringStringEntryProto {
        key: (*key).to_owned(),
        value: (*value).to_owned(),
    };
    weight.external_data = entries.iter().map(entry).collect();
    net.bytes()
}

/// Imports the model in a folder `model` that has the weights in `net.bin` and `below/net.bin`, as the folder around it
/// has in `net.bin`.
fn import(entries: &[(&str, &str)]) -> Result<ImportedModel, String> {
    let around = tempfile::tempdir().expect("a folder");
    let folder = around.path().join("model");
    std::fs::create_dir_all(folder.join("below")).expect("a folder");
    for place in [around.path(), &folder, &folder.join("below")] {
        std::fs::write(place.join("net.bin"), weights()).expect("a file");
    }
    link(&around.path().join("net.bin"), &folder.join("link.bin"));
    std::fs::write(folder.join("net.onnx"), net(entries)).expect("a file");
    let model = rml::import_model(&folder.join("net.onnx"), &ModelOptions::default());
    model.map_err(|e| e.to_string())
}

#[cfg(unix)]
fn link(to: &Path, at: &Path) {
    std::os::unix::fs::symlink(to, at).expect("a link");
}

#[cfg(not(unix))]
fn link(_: &Path, at: &Path) {
    std::fs::write(at, weights()).expect("a file");
}

#[track_caller]
fn gives(entries: &[(&str, &str)], expected: &[f32]) {
    let model = import(entries).unwrap_or_else(|e| panic!("{entries:?}: {e}"));
    let value = model.checkpoint.states.values().next().expect("a parameter");
    assert!(value.same(&super::support::nums(&[4], expected)), "{entries:?}: {value:?}");
}

#[track_caller]
fn refused(entries: &[(&str, &str)], why: &str) {
    let error = import(entries).err().unwrap_or_else(|| panic!("{entries:?} is imported"));
    assert!(error.contains("malformed-model") && error.contains(why), "{entries:?}: {error}");
}

#[test]
fn weights_are_read_beside_the_model_and_below() {
    for file in ["net.bin", "./net.bin", "below/net.bin"] {
        gives(&[("location", file), ("offset", "4"), ("length", "16")], &[1.0, 2.0, 3.0, 4.0]);
        gives(&[("location", file), ("offset", "4")], &[1.0, 2.0, 3.0, 4.0]);
        gives(&[("location", file), ("length", "16")], &[9.0, 1.0, 2.0, 3.0]);
    }
}

#[test]
fn files_elsewhere_are_not_read() {
    for file in ["../net.bin", "below/../../net.bin", "/etc/hostname", ""] {
        refused(&[("location", file), ("offset", "4"), ("length", "16")], "outside of its folder");
    }
    if cfg!(unix) {
        refused(&[("location", "link.bin"), ("offset", "4"), ("length", "16")], "outside of its folder");
    }
    refused(&[("location", "nothing.bin")], "nothing.bin");
    refused(&[("offset", "4")], "has no name");
}

#[test]
fn places_beyond_the_file_are_refused() {
    for (offset, length) in
        [("8", "16"), ("21", "0"), ("18446744073709551615", "16"), ("16", "18446744073709551615")]
    {
        refused(&[("location", "net.bin"), ("offset", offset), ("length", length)], "beyond the end");
    }
    refused(&[("location", "net.bin"), ("offset", "-1")], "no number");
    refused(&[("location", "net.bin"), ("length", "four")], "no number");
    refused(&[("location", "net.bin"), ("length", "12")], "needs 4 elements");
    refused(&[("location", "net.bin"), ("length", "15")], "no elements of 4 bytes");
}
