//! Data from outside: tables of columns in files, and how they meet the inputs of a program.
//!
//! [`Columns`] are read from and written to npz, csv, JSON and JSON lines, and with the feature `parquet` read from
//! Parquet; a file is data from outside, so sizes that it declares are compared with what is present before anything is
//! allocated, and whatever is wrong with it is a diagnostic that names the place. The elements of what may be larger
//! than the memory are [`OnDisk`]; either is a [`Dataset`]. [`by_cycle`] and [`Windows`] bind columns to inputs, cycle
//! by cycle or window by window; what one input takes in one cycle is a [`Feed`]. Nothing here knows how a program is
//! compiled or run.

mod bind;
mod builder;
mod cells;
mod columns;
mod csv;
mod feed;
mod format;
pub mod half;
mod joined;
mod json;
mod malformed;
mod npy;
mod npz;
mod on_disk;
#[cfg(feature = "parquet")]
mod parquet;
mod pieces;
mod records;
mod scan;
mod sequences;
mod split;
mod stored;
#[cfg(test)]
mod tests;
pub mod text;
mod windows;

pub use bind::{Converted, by_cycle, convert};
pub use columns::{Column, Columns, Elements};
pub use csv::write_row;
pub use feed::{Feed, tensor};
pub use format::Format;
pub use joined::data_files;
pub use json::{Cell, cells};
pub use malformed::{Unusable, Wrong};
pub use on_disk::{Dataset, OnDisk};
pub use scan::Ill;
pub use split::{Kept, Parts, order, split};
pub use windows::{Windows, missing};
