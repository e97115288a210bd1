//! Lets the built library find the libraries that it needs in the folder in which it is installed beside them.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var_os("CARGO_FEATURE_LINK").is_some() {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-rpath,$ORIGIN");
    }
}
