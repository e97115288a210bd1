//! `rml completions` and `rml man`: what shells and `man` know about the command line.

use clap::CommandFactory as _;

use crate::args::{Cli, Completions, Man};
use crate::output::{Output, Stop, unwritable};

/// Prints what a shell reads to complete a command line.
pub(crate) fn completions(args: &Completions, output: &mut Output) -> Result<(), Stop> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "rml", &mut text);
    output.exact(&String::from_utf8_lossy(&text))
}

/// Writes `rml.1`, and `rml-train.1` and so on beside it.
pub(crate) fn man(args: &Man) -> Result<(), Stop> {
    rml::create_folder(&args.folder)?;
    clap_mangen::generate_to(Cli::command(), &args.folder)
        .map_err(|e| unwritable(args.folder.display(), &e))?;
    Ok(())
}
