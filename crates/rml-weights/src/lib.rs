//! Weights of other libraries: files of tensors, and mapping files that relate them to the parameters of a program.
//!
//! A mapping is parsed once (`mapping`), applied to the parameters of a program (`expand`), given shapes (`shapes`),
//! and turned into a table with the tensor element for each element of a parameter (`cells`). [`import`] reads this
//! table in one direction, [`export`] in the other. This crate does not compile programs: their parameters are given as
//! [`WantedParameter`].

mod apply;
mod cells;
mod element;
mod expand;
mod export;
mod expr;
mod foreign;
mod import;
mod layouts;
mod list;
mod mapping;
mod pattern;
mod rearrange;
mod shapes;
mod show;
mod summary;
mod tensors;
#[cfg(test)]
mod tests;

pub use apply::{ExportOptions, Mapping, export, import};
pub use expand::WantedParameter;
pub use foreign::foreign;
pub use layouts::{LayoutInfo, layouts};
pub use list::{ParamInfo, ParamList};
pub use summary::Summary;
pub use tensors::{FileTensor, Stored, TensorFile, is_tensor_file};
