//! The surface names.

/// A documentation entry of the operator table.
#[derive(Clone, Copy, Debug)]
pub struct OpInfo {
    /// The surface name (`matmul`, `+`).
    pub name: &'static str,
}

/// The entry of a surface name.
pub fn info(name: &str) -> Option<&'static OpInfo> {
    let _ = name;
    None
}

/// All surface names of functions.
pub fn names() -> impl Iterator<Item = &'static str> {
    std::iter::empty()
}
