//! The inputs and outputs of a program, by name.

use std::sync::Arc;

use crate::types::Type;

/// An input of the run node.
///
/// ```
/// # use std::sync::Arc;
/// # use rml_ir as rml;
/// use rml::{DType, InputInfo, Type};
///
/// // of an input that is declared `y: int [] when end`
/// let y = InputInfo {
///     name: Arc::from("y"),
///     ty: Type::scalar(DType::Int),
///     clock: Some((Arc::from("end"), true)),
///     batched: false,
/// };
/// assert_eq!(y.ty.to_string(), "int []");
/// ```
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
///
/// ```
/// # use std::sync::Arc;
/// # use rml_ir as rml;
/// use rml::{DType, OutputInfo, Type};
///
/// let y = OutputInfo { name: Arc::from("y"), ty: Type::new(DType::Num, &[3]) };
/// assert_eq!(y.ty.to_string(), "num [3]");
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct OutputInfo {
    /// Its name.
    pub name: Arc<str>,
    /// The type of its values.
    pub ty: Type,
}
