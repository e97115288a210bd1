//! A language server for R(ML)²: the Language Server Protocol between an editor and the library `rml`.
//!
//! One thread answers the editor from the names of a text, which are found at once. Another thread checks texts: first
//! names, types and shapes, which are published while the user types; then, if no newer text waits, clocks, causality
//! and facts about each variable.
//!
//! | of the protocol | module |
//! |---|---|
//! | frames of messages on two streams | `frames` |
//! | messages, and what they change | `session`, `server`, `capabilities` |
//! | open texts, and their paths | `texts` |
//! | positions in lines | `lines` |
//! | findings | `checker`, `findings` |
//! | definition, references, highlights, rename | `navigate`, `rename` |
//! | hover, signature help | `hover`, `signature`, `docs` |
//! | completion | `completion` |
//! | inlay hints, code lenses, semantic tokens, outline | `hints`, `lenses`, `tokens`, `outline` |
//! | quick fixes, formatting | `actions` |

mod actions;
mod capabilities;
mod checker;
mod completion;
mod docs;
mod ended;
mod findings;
mod frames;
mod hints;
mod hover;
mod lenses;
mod lines;
mod navigate;
mod outline;
mod rename;
mod server;
mod session;
mod signature;
mod texts;
mod tokens;

use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;

pub use ended::Ended;

/// Serves an editor on standard input and output until it ends the session. Texts of the library are written to the
/// folder `library` when the editor needs to open them.
///
/// # Errors
/// The input is not the protocol, or the editor disconnected without ending the session.
pub fn serve_stdio(library: Option<PathBuf>) -> Result<(), Ended> {
    serve(BufReader::new(io::stdin()), io::stdout(), library)
}

/// Serves an editor, reading its messages from `input` and writing to `output`.
///
/// # Errors
/// As [`serve_stdio`].
pub fn serve(
    input: impl BufRead + Send + 'static,
    output: impl Write + Send + 'static,
    library: Option<PathBuf>,
) -> Result<(), Ended> {
    let pipes = frames::Pipes::open(input, output)?;
    let served = session::run(&pipes, library);
    pipes.close(served)
}
