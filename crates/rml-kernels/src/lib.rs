//! Numeric kernels over slices.
//!
//! Every kernel gives the same bits on every machine, at every place of a slice and for every size of the other
//! operands: its specification is one sequence of IEEE operations for each element, and the code paths for single
//! instruction sets differ in how many elements they compute at a time, nothing else. `docs/numerics.md` states orders
//! and errors.

mod api;
mod functions;
mod isa;
mod product;
mod real;
mod sums;
mod transpose;
mod vector;

pub use api::{
    Real, binary, extremes, flush, product, product_backward, product_of_zeros, product_packed, sigmoid,
    sums, tanh, unary, unary_in_place, unary_one,
};
pub use functions::{Binary, Unary};
pub use isa::{Task, run};
pub use product::{Matrix, MatrixMut, Packed};
pub use real::constants;
pub use transpose::transpose;
