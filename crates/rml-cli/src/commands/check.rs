//! `rml check`.

use rml::{Options, Source};

use crate::args::Check;
use crate::output::{Output, Stop};

/// Checks all files; fails if any has errors.
pub(crate) fn check(args: &Check, output: &mut Output) -> Result<(), Stop> {
    let options = Options {
        node: args.node.clone(),
        set: args.set.iter().cloned().collect(),
        precision: super::precision(args.f64),
        ..Options::default()
    };
    let mut failed = false;
    for file in &args.files {
        let (sources, findings) = rml::check(&Source::file(file), &options);
        output.report(&findings, &sources);
        failed |= findings.has_errors();
        if !findings.has_errors() && !output.json() {
            output.print(&format!("{}: ok\n", file.display()))?;
        }
    }
    if failed { Err(Stop::Reported) } else { Ok(()) }
}
