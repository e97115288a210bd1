//! The contract between engines, which run programs, and backends, which compute tensors for them.
//!
//! - [`Function`]: a tensor function, a typed and shaped graph over the operator table. It is pure: it has no streams,
//!   clocks or state.
//! - [`Backend`] prepares a whole function, or refuses it. An [`Executable`] runs it on [`Held`] values, which stay on
//!   the device between calls until a caller requests a host copy.
//! - [`Prepared`] is an executable with the exact semantics of errors: if a backend suspects that an integer may not
//!   fit or a position is outside its axis, the [`mod@reference`] evaluation computes the call again.
//! - [`routine`]: a sequence of functions, with loops around them. A backend compiles a routine to one program, or runs
//!   it call by call.
//! - `suite` (feature `suite`): the checks that every backend must pass; its tests run them.
//! - [`plugin`]: the same contract for libraries that are loaded at run time.
//!
//! All traits are object-safe, because the backend is chosen at run time. The crate knows no particular library, opens
//! no file by a path of its own, and does not read the environment.

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
pub use function::{Def, DefKind, Function, Val};
pub use prepared::{Prepared, RunError};
pub use routine::Routine;
pub use text::{parse, print};
pub use verify::verify;
