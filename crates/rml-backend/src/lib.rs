//! The contract between engines, which run programs, and backends, which compute tensors for them.
//!
//! - [`Function`]: a tensor function, a typed and shaped graph over the operator table. Pure: no streams, no clocks, no
//!   state.
//! - [`Backend`] prepares a whole function, or refuses it; an [`Executable`] runs it on [`Held`] values, which stay on
//!   the device between calls until a caller asks for a host copy.
//! - [`Prepared`] is an executable with the exact semantics of errors: where a backend suspects that an integer may not
//!   fit or a position is outside of its axis, the call is computed again by the [`mod@reference`] evaluation.
//! - [`routine`]: a sequence of functions, with loops around them. A backend compiles a routine to one program, or it
//!   runs call by call.
//! - `suite` (feature `suite`): the checks that every backend must pass; its tests run them.
//! - [`plugin`]: the same contract for libraries loaded at run time.
//!
//! All traits are object-safe: which backend runs is chosen at run time. Nothing here knows a particular library, opens
//! a file by a path of its own, or reads the environment.

mod contract;
mod device;
mod error;
mod function;
pub mod plugin;
mod prepared;
pub mod reference;
pub mod routine;
#[cfg(feature = "suite")]
pub mod suite;
mod text;
mod verify;

pub use contract::{About, Backend, Buffer, Compiled, Executable, Held, Options, Outcome};
pub use device::Device;
pub use error::Failure;
pub use function::{Def, Function, Kind, Val};
pub use prepared::{Prepared, RunError};
pub use routine::Routine;
pub use text::{parse, print};
pub use verify::verify;
