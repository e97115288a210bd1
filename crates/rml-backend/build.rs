//! Puts a fingerprint of the contract's sources into `RML_BACKEND_FINGERPRINT`. A program refuses a library that was
//! built from other sources, because operators and their text form are part of the contract. The fingerprint does not
//! cover the suite.

use std::path::{Path, PathBuf};

fn main() {
    let here = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let mut files = Vec::new();
    for folder in ["src", "../rml-ir/src/op"] {
        println!("cargo::rerun-if-changed={folder}");
        collect(&here.join(folder), &mut files);
    }
    for file in ["../rml-ir/src/text.rs", "../rml-ir/src/types.rs", "../rml-ir/src/value.rs"] {
        println!("cargo::rerun-if-changed={file}");
        files.push(here.join(file));
    }
    files.sort();
    // FNV-1a, over names and contents.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for file in &files {
        let name = file.file_name().unwrap_or_default().as_encoded_bytes();
        let text = std::fs::read(file).unwrap_or_default();
        for byte in name.iter().chain(&text) {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    println!("cargo::rustc-env=RML_BACKEND_FINGERPRINT={hash:016x}");
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|e| e.path()) {
        if path.is_dir() && path.file_name().is_some_and(|name| name != "suite") {
            collect(&path, files);
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
}
