//! Files: reads them up to a maximum size, and replaces them in one step. Apart from the commands, no other crate opens
//! a file.
//!
//! [`contents`] reads only regular files, up to a maximum size; [`write_output`] keeps the old content of a file until
//! the new content is safe on the disk; [`FileCache`] is a folder of cache files; [`Scratch`] is a temporary file for
//! data that does not fit in memory; [`Unpacked`] is data that is read once and may be compressed. [`memory`]
//! determines the memory that the process may use.

pub mod contents;
mod digest;
mod distinct;
mod growing;
mod kept;
pub mod memory;
mod output;
mod scratch;
mod unpacked;

pub use digest::digest;
pub use distinct::{Written, check_distinct};
pub use growing::{FileStamp, Growing, HeldFolder, create_folder, hold, mark, remove, try_hold};
pub use kept::FileCache;
pub use output::{check_output, is_same, write_output, write_outputs};
pub use scratch::Scratch;
pub use unpacked::{Compression, Unpacked, is_standard_input, unpack_zstd};
