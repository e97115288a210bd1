//! Links the C functions over XLA, and makes the built library search for its dependencies in the folder in which it is
//! installed.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=RML_XLA");
    if std::env::var_os("CARGO_FEATURE_LINK").is_none() {
        return;
    }
    let Ok(folder) = std::env::var("RML_XLA") else {
        println!("cargo::error=RML_XLA names the folder that `cargo xtask setup xla` makes");
        return;
    };
    println!("cargo::rustc-link-search=native={folder}/lib");
    println!("cargo::rustc-link-lib=dylib=rml_xla");
    println!("cargo::rustc-link-arg=-Wl,-rpath-link,{folder}/lib");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-rpath,$ORIGIN");
}
