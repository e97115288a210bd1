//! The flag `--profile`.

use std::path::PathBuf;

use clap::Args;

/// Whether to measure the command.
#[derive(Args, Clone, Debug)]
pub(crate) struct Profiling {
    /// Print on standard error where the time goes, by source line; with =FILE, write it as a trace for
    /// ui.perfetto.dev, too
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub(crate) profile: Option<Option<PathBuf>>,
}
