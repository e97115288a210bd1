//! Files: reading them within bounds, and replacing them in one step. Apart from the commands, no other crate opens a
//! file.
//!
//! [`contents`] reads regular files only, and of each no more than it may have; [`write_output`] keeps the old content
//! of a file until the new one is safe on the disk; [`Kept`] is a folder of files that save time and may be lost,
//! [`Scratch`] one file for what does not fit into the memory. [`memory`] asks the system's files how much memory the
//! process may take.

pub mod contents;
mod distinct;
mod growing;
mod kept;
pub mod memory;
mod output;
mod scratch;

pub use distinct::{Written, check_distinct};
pub use growing::{Growing, Held, create_folder, hold, remove};
pub use kept::Kept;
pub use output::{check_output, is_same, write_output, write_outputs};
pub use scratch::Scratch;
