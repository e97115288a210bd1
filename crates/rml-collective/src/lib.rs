//! Processes that work together: a [`Group`] of *ranks* that exchange bytes, and sums over ranks by a fixed [`Tree`].
//!
//! [`Tcp`] is a group of processes on one or several machines, [`Threads`] one of threads. A group knows nothing of
//! what it carries.
//!
//! ```
//! use rml_collective::{Group, Threads, all_gather};
//!
//! let ranks = Threads::group(3).into_iter().map(|mut rank| {
//!     std::thread::spawn(move || {
//!         let own = vec![rank.rank() as u8];
//!         all_gather(&mut rank, &own)
//!     })
//! });
//! for rank in ranks.collect::<Vec<_>>() {
//!     assert_eq!(rank.join().unwrap().unwrap(), [[0], [1], [2]]);
//! }
//! ```

use rml_base::Diagnostic;
use rml_base::codes::run as codes;

mod tcp;
mod threads;
mod tree;

pub use tcp::{MeetingPoint, Rendezvous, Tcp};
pub use threads::Threads;
pub use tree::{Tree, TreeNode};

/// A group of ranks, as one of them sees it.
pub trait Group: Send {
    /// The number of this rank, from 0.
    fn rank(&self) -> usize;

    /// How many ranks there are.
    fn size(&self) -> usize;

    /// Sends `to[r]` to each rank r, and returns what each rank sent here, by rank; `to` of this rank comes back as it
    /// is. All ranks have to call this equally often.
    ///
    /// # Errors
    /// A rank that ended, failed or does not answer (`peer-lost`).
    fn exchange(&mut self, to: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Diagnostic>;

    /// Leaves the group, which cannot be used afterwards. The other ranks are told why, in place of what they expect
    /// next.
    fn fail(&mut self, why: &str);
}

/// Sends the same bytes to all ranks, and returns those of all ranks, by rank.
///
/// # Errors
/// The same as for [`Group::exchange`].
pub fn all_gather(group: &mut dyn Group, own: &[u8]) -> Result<Vec<Vec<u8>>, Diagnostic> {
    group.exchange(vec![own.to_vec(); group.size()])
}

/// The error that another rank ended with an error of its own.
pub(crate) fn failed(rank: &str, why: &str) -> Diagnostic {
    Diagnostic::error(codes::PEER_LOST, format!("{rank} ended with an error, so this one ends, too"))
        .note(format!("its error: {why}"))
        .help("look at the first error of all ranks, and continue with `--resume` from the last checkpoint")
}

/// The error that another rank is gone.
pub(crate) fn gone(rank: &str, how: &str) -> Diagnostic {
    Diagnostic::error(codes::PEER_LOST, format!("{rank} is gone, so this one ends, too"))
        .note(how.to_owned())
        .help("look at its output, and continue with `--resume` from the last checkpoint; any number of ranks can")
}
