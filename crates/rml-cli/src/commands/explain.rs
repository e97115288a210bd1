//! `rml explain`.

use rml::{Diagnostic, codes};

use crate::args::Explain;
use crate::output::{Output, Stop};

/// Says what a code means, or lists all.
pub(crate) fn explain(args: &Explain, output: &mut Output) -> Result<(), Stop> {
    let Some(name) = &args.code else {
        let mut all: Vec<_> = codes::all().collect();
        all.sort_unstable();
        let width = all.iter().map(|c| c.name.len()).max().unwrap_or(0);
        return output
            .print(&all.iter().map(|c| format!("{:width$}  {}\n", c.name, c.summary)).collect::<String>());
    };
    match codes::find(name) {
        Some(code) => output.print(&format!("{}: {}\n", code.name, code.summary)),
        None => {
            Err(Diagnostic::error(codes::run::BAD_OPTION, format!("there is no diagnostic code `{name}`"))
                .help("`rml explain` lists all codes")
                .into())
        }
    }
}
