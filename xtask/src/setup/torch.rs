//! libtorch for the CPU: headers and libraries out of PyTorch's wheel, without what only CUDA needs.

use std::path::Path;

use super::wheels::{CUDA_CUPTI, CUDA_RUNTIME, TORCH, Wheel};
use super::{Environment, Recipe, disk, layout, tools};

/// How the folder `torch` is made.
pub(super) const RECIPE: Recipe = Recipe {
    name: "torch",
    package: "rml-backend-torch",
    plugin: "librml_backend_torch.so",
    revision: 1,
    wheels: &[TORCH, CUDA_RUNTIME, CUDA_CUPTI],
    place,
    required: &[
        "lib/libtorch_cpu.so",
        "lib/libc10.so",
        "lib/libgomp.so.1",
        "lib/libcudart.so.13",
        "lib/libcupti.so.13",
    ],
    complete,
    environment,
};

/// The version that the crate `torch-sys` asks for, in the file in which it searches for it.
const VERSION: &str = "2.13.0+cpu\n";

fn place(wheel: &Wheel, member: &str) -> Option<String> {
    if let Some(licence) = layout::licence(wheel.project, member) {
        return Some(licence);
    }
    if let Some(header) = member.strip_prefix("torch/include/") {
        return Some(format!("include/{header}"));
    }
    let library = format!("lib/{}", member.rsplit('/').next()?);
    RECIPE.required.contains(&library.as_str()).then_some(library)
}

/// Makes the umbrella `libtorch.so`: that of the wheel asks for CUDA's libraries, this one for the CPU's alone.
fn complete(folder: &Path) -> Result<(), String> {
    let library = folder.join("lib/libtorch.so");
    if !library.exists() {
        println!("  linking libtorch.so");
        let (source, new) = (folder.join("umbrella.c"), folder.join("lib/libtorch.new"));
        disk::put(&source, b"/* nothing of its own */\n")?;
        let mut compiler = tools::compiler();
        compiler.args(["-shared", "-x", "c"]).arg(&source).args(["-x", "none", "-o"]).arg(&new);
        compiler.args(["-Wl,-soname,libtorch.so", "-Wl,--no-as-needed", "-Wl,-rpath,$ORIGIN", "-L"]);
        compiler.arg(folder.join("lib"));
        compiler.args(["-Wl,--unresolved-symbols=ignore-in-shared-libs", "-ltorch_cpu"]);
        tools::run(&mut compiler)?;
        std::fs::rename(&new, &library).map_err(|e| disk::failure("rename", &new, &e))?;
    }
    disk::put(&folder.join("build-version"), VERSION.as_bytes()).map(|_| ())
}

fn environment(folder: &Path) -> Result<Environment, String> {
    Ok(vec![("LIBTORCH", folder.into())])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_headers_and_the_libraries_of_the_cpu_are_kept() {
        for (wheel, member, to) in [
            (&TORCH, "torch/include/ATen/ATen.h", Some("include/ATen/ATen.h")),
            (&TORCH, "torch/lib/libtorch_cpu.so", Some("lib/libtorch_cpu.so")),
            (&TORCH, "torch/lib/libtorch_cuda.so", None),
            (&TORCH, "torch/lib/libtorch.so", None),
            (&CUDA_RUNTIME, "nvidia/cu13/lib/libcudart.so.13", Some("lib/libcudart.so.13")),
            (&CUDA_RUNTIME, "nvidia/cu13/include/cuda.h", None),
            (&TORCH, "torch-2.13.0.dist-info/licenses/LICENSE", Some("licences/torch/LICENSE")),
        ] {
            assert_eq!(place(wheel, member).as_deref(), to, "{member}");
        }
    }
}
