//! `rml explain`.

use rml::{Diagnostic, codes};

use crate::args::Explain;
use crate::output::{Output, Stop};
use crate::pages::PAGES;

/// Prints the page of a code, or lists all codes.
pub(crate) fn explain(args: &Explain, output: &mut Output) -> Result<(), Stop> {
    let Some(name) = &args.code else {
        let mut all: Vec<_> = codes::all().collect();
        all.sort_unstable();
        let width = all.iter().map(|c| c.name.len()).max().unwrap_or(0);
        return output
            .print(&all.iter().map(|c| format!("{:width$}  {}\n", c.name, c.summary)).collect::<String>());
    };
    match PAGES.iter().find(|(code, _)| code == name) {
        Some((_, page)) => output.print(page),
        None => {
            Err(Diagnostic::error(codes::run::BAD_OPTION, format!("there is no diagnostic code `{name}`"))
                .help("`rml explain` lists all codes")
                .into())
        }
    }
}
