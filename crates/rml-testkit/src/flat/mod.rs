//! Flat programs: built by hand or at random, run through every engine and compared cell by cell.

mod builder;
mod cells;
mod engines;
mod outline;
mod passes;
pub mod random;

pub use builder::{BOOL, Builder, INT, NUM, Scalar};
pub use cells::{column_texts, columns, sim_row, text};
pub use engines::{rows, run, run_with};
pub use outline::outlined;
pub use passes::check_passes;
