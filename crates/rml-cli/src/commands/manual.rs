//! `rml completions` and `rml man`: completions for shells and pages for `man`.

use clap::CommandFactory as _;

use crate::args::{Cli, Completions, Man};
use crate::output::{Output, Stop, unwritable};

/// Prints the completions of a shell.
pub(crate) fn completions(args: &Completions, output: &mut Output) -> Result<(), Stop> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "rml", &mut text);
    output.exact(&String::from_utf8_lossy(&text))
}

/// Writes `rml.1` and a page for each command, such as `rml-train.1`.
pub(crate) fn man(args: &Man) -> Result<(), Stop> {
    rml::create_folder(&args.folder)?;
    clap_mangen::generate_to(Cli::command(), &args.folder)
        .map_err(|e| unwritable(args.folder.display(), &e))?;
    Ok(())
}
