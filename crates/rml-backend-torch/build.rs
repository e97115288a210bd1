//! Has the library search for libtorch in the folder that it is in.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var_os("CARGO_FEATURE_LINK").is_some() {
        println!("cargo::rustc-link-arg-cdylib=-Wl,-rpath,$ORIGIN");
    }
}
