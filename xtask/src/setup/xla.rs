//! XLA: headers and libraries out of TensorFlow's wheel, and a small library with C functions over them, which the
//! backend calls (its sources stand in `crates/rml-backend-xla/cpp`).

use std::path::{Path, PathBuf};

use super::wheels::{TENSORFLOW, Wheel};
use super::{Environment, Recipe, disk, layout, tools};
use crate::workspace;

/// How the folder `xla` is made.
pub(super) const RECIPE: Recipe = Recipe {
    name: "xla",
    package: "rml-backend-xla",
    plugin: "librml_backend_xla.so",
    revision: 1,
    wheels: &[TENSORFLOW],
    place,
    required: &["lib/libtensorflow_cc.so.2", "lib/libtensorflow_framework.so.2"],
    complete,
    environment,
};

/// The C functions.
const SOURCE: &str = "xla_c.cc";

/// Prefixes of TensorFlow's members and where they go, the first that fits; an empty place: nowhere.
const PLACES: &[(&str, &str)] = &[
    ("tensorflow/include/external/highwayhash/highwayhash/", "include/highwayhash/"),
    ("tensorflow/include/external/com_github_grpc_grpc/include/", "include/"),
    ("tensorflow/include/external/farmhash_archive/src/farmhash.h", "include/farmhash.h"),
    ("tensorflow/include/external/", ""),
    ("tensorflow/include/tensorflow/", ""),
    ("tensorflow/include/", "include/"),
    ("tensorflow/libtensorflow_cc.so.2", "lib/libtensorflow_cc.so.2"),
    ("tensorflow/libtensorflow_framework.so.2", "lib/libtensorflow_framework.so.2"),
    ("tensorflow/THIRD_PARTY_NOTICES.txt", "licences/tensorflow-cpu/THIRD_PARTY_NOTICES.txt"),
];

fn place(wheel: &Wheel, member: &str) -> Option<String> {
    if let Some(licence) = layout::licence(wheel.project, member) {
        return Some(licence);
    }
    let (prefix, to) = PLACES.iter().find(|(prefix, _)| member.starts_with(prefix))?;
    (!to.is_empty()).then(|| format!("{to}{}", &member[prefix.len()..]))
}

/// Copies the stand-ins for headers that the wheel lacks and builds the library, where its sources changed.
fn complete(folder: &Path) -> Result<(), String> {
    let sources = workspace::root().join("crates/rml-backend-xla/cpp");
    let mut all = Vec::new();
    for file in files(&sources.join("stand-ins"))?.into_iter().chain([SOURCE.into()]) {
        let is_source = file.ends_with(SOURCE);
        let from = if is_source { sources.join(&file) } else { sources.join("stand-ins").join(&file) };
        let text = std::fs::read(&from).map_err(|e| disk::failure("read", &from, &e))?;
        let to = if is_source { folder.join(&file) } else { folder.join("include").join(&file) };
        disk::put(&to, &text)?;
        all.extend([file.to_string_lossy().as_bytes(), b"\n", &text].concat());
    }
    let (library, stamp) = (folder.join("lib/librml_xla.so"), folder.join("lib/librml_xla.stamp"));
    if !library.exists() || std::fs::read(&stamp).ok().as_ref() != Some(&all) {
        println!("  compiling librml_xla.so");
        compile(folder, &library)?;
        disk::put(&stamp, &all)?;
    }
    Ok(())
}

fn compile(folder: &Path, library: &Path) -> Result<(), String> {
    let new = library.with_extension("new");
    let mut compiler = tools::compiler();
    compiler
        .args(["-std=c++17", "-w", "-O1", "-DNDEBUG", "-fPIC", "-shared", "-I"])
        .arg(folder.join("include"));
    compiler.arg(folder.join(SOURCE)).arg("-o").arg(&new);
    compiler.args(["-Wl,-soname,librml_xla.so", "-Wl,-rpath,$ORIGIN", "-Wl,--no-undefined", "-L"]);
    compiler.arg(folder.join("lib"));
    compiler.args(["-l:libtensorflow_cc.so.2", "-l:libtensorflow_framework.so.2"]);
    tools::run(&mut compiler)?;
    std::fs::rename(&new, library).map_err(|e| disk::failure("rename", &new, &e))
}

/// The files in a folder and the folders in it, as paths from there, in order.
fn files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|e| disk::failure("list", folder, &e))? {
        let path = entry.map_err(|e| disk::failure("list", folder, &e))?.path();
        let name = PathBuf::from(path.file_name().unwrap_or_default());
        if path.is_dir() {
            found.extend(files(&path)?.into_iter().map(|file| name.join(file)));
        } else {
            found.push(name);
        }
    }
    found.sort();
    Ok(found)
}

fn environment(folder: &Path) -> Result<Environment, String> {
    Ok(vec![("RML_XLA", folder.into())])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_of_tensorflow_have_their_places() {
        for (member, to) in [
            ("tensorflow/include/xla/shape.h", Some("include/xla/shape.h")),
            (
                "tensorflow/include/external/com_github_grpc_grpc/include/grpc/grpc.h",
                Some("include/grpc/grpc.h"),
            ),
            ("tensorflow/include/external/farmhash_archive/src/farmhash.h", Some("include/farmhash.h")),
            ("tensorflow/include/external/other/x.h", None),
            ("tensorflow/include/tensorflow/core/x.h", None),
            ("tensorflow/libtensorflow_cc.so.2", Some("lib/libtensorflow_cc.so.2")),
            ("tensorflow/python/x.py", None),
            ("tensorflow_cpu-2.21.0.dist-info/licenses/LICENSE", Some("licences/tensorflow-cpu/LICENSE")),
        ] {
            assert_eq!(place(&TENSORFLOW, member).as_deref(), to, "{member}");
        }
    }

    #[test]
    fn the_stand_ins_are_found_with_their_folders() {
        let found = files(&workspace::root().join("crates/rml-backend-xla/cpp/stand-ins")).unwrap();
        assert!(found.contains(&PathBuf::from("mlir/IR/BuiltinOps.h")), "{found:?}");
    }
}
