//! XLA: headers and libraries out of TensorFlow's wheel, and a small library with the functions that the `xla` crate calls and the
//! wheel does not export (its sources stand in `crates/rml-backend-xla/cpp`).

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::wheels::{LIBCLANG, TENSORFLOW, Wheel};
use super::{Environment, Recipe, cache, disk, fetch, layout, tools};
use crate::workspace;

/// How the folder `xla` is made.
pub(super) const RECIPE: Recipe = Recipe {
    name: "xla",
    package: "rml-backend-xla",
    plugin: "librml_backend_xla.so",
    revision: 1,
    wheels: &[TENSORFLOW, LIBCLANG],
    place,
    required: &["lib/libtensorflow_cc.so.2", "lib/libtensorflow_framework.so.2", "clang/lib/libclang.so"],
    complete,
    environment,
};

/// What `-lxla_extension` finds: a linker script over the three libraries. The gap comes first: it stands in for the others.
const LINKER_SCRIPT: &str = "INPUT(libxla_gap.so libtensorflow_cc.so.2 libtensorflow_framework.so.2)\n";

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
    if wheel.project == LIBCLANG.project {
        return member.ends_with("/libclang.so").then(|| "clang/lib/libclang.so".to_owned());
    }
    let (prefix, to) = PLACES.iter().find(|(prefix, _)| member.starts_with(prefix))?;
    (!to.is_empty()).then(|| format!("{to}{}", &member[prefix.len()..]))
}

/// Copies the stand-ins for headers that the wheel lacks and builds the gap library, where its sources or the compiler changed.
fn complete(folder: &Path) -> Result<(), String> {
    let sources = workspace::root().join("crates/rml-backend-xla/cpp");
    let mut digest = String::new();
    for file in files(&sources.join("stand-ins"))?.into_iter().chain(["xla_gap.cc".into()]) {
        let from = if file.ends_with("xla_gap.cc") {
            sources.join(&file)
        } else {
            sources.join("stand-ins").join(&file)
        };
        let text = std::fs::read(&from).map_err(|e| disk::failure("read", &from, &e))?;
        let to = if file.ends_with("xla_gap.cc") {
            folder.join(&file)
        } else {
            folder.join("include").join(&file)
        };
        disk::put(&to, &text)?;
        digest += &format!("{} {}\n", fetch::hash(&from)?, file.display());
    }
    let (library, stamp) = (folder.join("lib/libxla_gap.so"), folder.join("lib/libxla_gap.stamp"));
    if !library.exists() || std::fs::read_to_string(&stamp).ok().as_deref() != Some(&digest) {
        println!("  compiling libxla_gap.so");
        compile_gap(folder, &library)?;
        disk::put(&stamp, digest.as_bytes())?;
    }
    disk::put(&folder.join("lib/libxla_extension.so"), LINKER_SCRIPT.as_bytes()).map(|_| ())
}

fn compile_gap(folder: &Path, library: &Path) -> Result<(), String> {
    let new = library.with_extension("new");
    let mut compiler = tools::compiler();
    compiler
        .args(["-std=c++17", "-w", "-O1", "-DNDEBUG", "-fPIC", "-shared", "-I"])
        .arg(folder.join("include"));
    compiler.arg(folder.join("xla_gap.cc")).arg("-o").arg(&new);
    compiler.args(["-Wl,-soname,libxla_gap.so", "-Wl,-rpath,$ORIGIN", "-Wl,--no-undefined", "-L"]);
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
    let mut headers = OsString::from(tools::compiler_headers()?);
    if let Some(more) = cache::environment("C_INCLUDE_PATH") {
        headers.push(":");
        headers.push(more);
    }
    Ok(vec![
        ("XLA_EXTENSION_DIR", folder.into()),
        ("LIBCLANG_PATH", folder.join("clang/lib").into()),
        ("C_INCLUDE_PATH", headers),
    ])
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
        assert_eq!(place(&LIBCLANG, "clang/native/libclang.so").as_deref(), Some("clang/lib/libclang.so"));
        assert_eq!(place(&LIBCLANG, "clang/cindex.py"), None);
    }

    #[test]
    fn the_stand_ins_are_found_with_their_folders() {
        let found = files(&workspace::root().join("crates/rml-backend-xla/cpp/stand-ins")).unwrap();
        assert!(found.contains(&PathBuf::from("mlir/IR/BuiltinOps.h")), "{found:?}");
    }
}
