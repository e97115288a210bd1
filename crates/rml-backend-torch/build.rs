//! Makes the library search for libtorch in its own folder.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var_os("CARGO_FEATURE_LINK").is_some() {
        println!("cargo::rustc-link-arg-cdylib=-Wl,-rpath,$ORIGIN");
    }
}
