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

/// Why a group cannot continue: one of its ranks failed, or is gone. Ranks tell each other, and all name the same one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Cause {
    /// Which rank, for messages.
    rank: String,
    /// Whether it left without a word. Otherwise it said why.
    is_gone: bool,
    why: String,
}

impl Cause {
    /// A rank that left without a word, and how this was noticed.
    pub(crate) fn gone(rank: &str, how: impl Into<String>) -> Self {
        Self { rank: rank.to_owned(), is_gone: true, why: how.into() }
    }

    /// The last message of a rank that fails by itself.
    pub(crate) fn own(why: &str) -> String {
        format!("\n\n{why}")
    }

    /// The last message of a rank that leaves because of this.
    pub(crate) fn told(&self) -> String {
        let Self { rank, is_gone, why } = self;
        format!("{rank}\n{}\n{why}", if *is_gone { "gone" } else { "" })
    }

    /// The cause in the last message of a rank.
    pub(crate) fn from(sender: &str, text: &str) -> Self {
        let mut parts = text.splitn(3, '\n');
        let mut next = || parts.next().unwrap_or_default();
        let (rank, is_gone, why) = (next(), next() == "gone", next().to_owned());
        Self { rank: if rank.is_empty() { sender } else { rank }.to_owned(), is_gone, why }
    }

    pub(crate) fn diagnostic(&self) -> Diagnostic {
        let Self { rank, is_gone, why } = self;
        if *is_gone {
            return Diagnostic::error(codes::PEER_LOST, format!("{rank} is gone, so this one ends, too"))
                .note(why.clone())
                .help("look at its output, and continue with `--resume` from the last checkpoint; any number of ranks can");
        }
        Diagnostic::error(codes::PEER_LOST, format!("{rank} ended with an error, so this one ends, too"))
            .note(format!("its error: {why}"))
            .help(
                "look at the first error of all ranks, and continue with `--resume` from the last checkpoint",
            )
    }
}
