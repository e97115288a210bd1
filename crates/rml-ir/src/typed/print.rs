//! Text form.
use super::Module;

/// The module as text.
pub fn print(module: &Module) -> String {
    let _ = module;
    unimplemented!()
}
