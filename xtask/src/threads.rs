//! What tests cannot see of `unsafe` code: other orders of threads, and undefined behaviour.

use std::process::Command;

use crate::workspace::{cargo, root, step, target};

/// Has `loom` try all orders in which the threads of the pool may run.
pub(crate) fn loom() -> Result<(), String> {
    let mut model = cargo(&["test", "--package", "rml-backend-cpu", "--lib", "--release", "pool::model"]);
    // Nothing that was built without the flag fits.
    model.env("RUSTFLAGS", "--cfg loom").env("CARGO_TARGET_DIR", target().join("loom"));
    step("orders of threads", &mut model)
}

/// The tests of code with `unsafe` that runs without libraries and without instructions of one processor: the arena,
/// the threads that share it, and the kernels as every processor runs them.
const INTERPRETED: [(&str, &[&str]); 2] = [
    ("rml-backend-cpu", &["plan::cells", "pool", "plan::threads::tests"]),
    ("rml-kernels", &["product::tests", "product::row", "transpose"]),
];

/// Has Miri interpret them. It is part of Rust's nightly toolchain.
pub(crate) fn miri() -> Result<(), String> {
    for (package, tests) in INTERPRETED {
        let mut miri = Command::new("cargo");
        miri.args(["+nightly", "miri", "test", "--package", package, "--lib", "--"]).args(tests);
        miri.current_dir(root()).env("CARGO_TARGET_DIR", target().join("miri"));
        step(&format!("undefined behaviour: {package}"), &mut miri)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_interpreted_exists() {
        let model = ("rml-backend-cpu", &["pool::model"][..]);
        for (package, modules) in INTERPRETED.into_iter().chain([model]) {
            let sources = root().join("crates").join(package).join("src");
            for module in modules {
                let path = sources.join(module.replace("::", "/"));
                let found = path.with_extension("rs").exists() || path.join("mod.rs").exists();
                assert!(found, "{package}: {module}");
            }
        }
    }
}
