//! `rml check`.

use std::path::Path;

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
        if args.types {
            types(file, &options, args.instances, output)?;
        }
    }
    if failed { Err(Stop::Reported) } else { Ok(()) }
}

/// Prints types, shapes and clocks of the node, or of each node that can be run by itself. Those of an ill-clocked program are printed
/// as well: they show what its equations say.
fn types(file: &Path, options: &Options, instances: bool, output: &mut Output) -> Result<(), Stop> {
    let source = Source::file(file);
    let analyses = match options.node {
        Some(_) => rml::analyse(&source, options).into_iter().collect(),
        None => rml::analyse_all(&source, options),
    };
    for analysis in analyses {
        let assumed = analysis.assumed.iter().map(|(name, value)| format!("{name} = {value}"));
        let assumed: Vec<String> = assumed.collect();
        let given =
            if assumed.is_empty() { String::new() } else { format!(", taking {}", assumed.join(", ")) };
        output.print(&format!("node {}{given}\n{}", analysis.flat.name, analysis.types(instances)))?;
    }
    Ok(())
}
