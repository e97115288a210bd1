//! What a program reads and gives, by name.

use std::sync::Arc;

use crate::types::Type;

/// An input of the run node.
#[derive(Clone, PartialEq, Debug)]
pub struct InputInfo {
    /// Its name.
    pub name: Arc<str>,
    /// The type of its values.
    pub ty: Type,
    /// Its declared clock: the name of the condition, and which value of it.
    pub clock: Option<(Arc<str>, bool)>,
    /// Whether its declared shape begins with the dimension `batch`.
    pub batched: bool,
}

/// An output of the run node.
#[derive(Clone, PartialEq, Debug)]
pub struct OutputInfo {
    /// Its name.
    pub name: Arc<str>,
    /// The type of its values.
    pub ty: Type,
}
