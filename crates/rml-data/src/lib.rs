//! External data: tables of columns in files, and their binding to the inputs of a program.
//!
//! [`Columns`] are read from npz, npy, csv, JSON, JSON lines and Arrow, and with the feature `parquet` from Parquet.
//! Files are not trusted: the sizes that they declare are compared with their real content before anything is
//! allocated, and every fault is a diagnostic that names its place. Data larger than memory can be kept [`OnDisk`]; a
//! [`Dataset`] is either. A [`Recipe`] says how columns become inputs, and a [`Preparation`] is a recipe that was
//! fitted to training data. [`by_cycle`] and [`Windows`] bind columns to inputs, cycle by cycle or window by window;
//! a [`Feed`] is the value of one input in one cycle. This crate does not depend on how programs are compiled or run.

mod absent;
mod advice;
mod arranged;
mod array;
mod arrow;
mod bind;
mod builder;
mod cells;
mod classes;
mod columns;
mod concat;
mod csv;
mod cut;
mod dated;
mod dates;
mod dialect;
mod element;
mod feed;
mod files;
mod filling;
mod format;
mod formats;
pub mod half;
mod header;
mod ill;
mod joined;
mod json;
mod labels;
mod layout;
mod malformed;
mod mapping;
mod npy;
mod npz;
mod on_disk;
#[cfg(feature = "parquet")]
mod parquet;
mod parts;
mod pieces;
mod prepare;
mod presence;
mod recipe;
mod records;
mod scan;
mod selection;
mod sequences;
mod split;
mod stacked;
mod stored;
#[cfg(test)]
mod tests;
pub mod text;
#[doc(hidden)]
pub mod tree;
mod windows;

pub use arranged::Arranged;
pub use arrow::{ArrowAnswers, ArrowCell, ArrowField, ArrowRow, ArrowRows, ArrowType};
pub use bind::{Converted, by_cycle, convert};
pub use columns::{Column, Columns, Elements};
pub use csv::write_row;
pub use cut::{Rest, Windowing};
pub use dialect::Dialect;
pub use feed::{Feed, tensor};
pub use formats::Format;
pub use ill::line_advice;
pub use joined::{check_ranges, data_files};
pub use json::{JsonCell, cells};
pub use layout::Layout;
pub use malformed::{Unusable, Wrong};
pub use mapping::ColumnMapping;
pub use on_disk::{Dataset, OnDisk};
pub use prepare::Fill;
pub use recipe::{Preparation, Recipe};
pub use scan::Ill;
pub use selection::Selection;
pub use split::{Amount, Kept, Parts, Ranges, SplitRequest, order, split};
pub use windows::{Batches, Uneven, WindowCycles, Windows, missing};
