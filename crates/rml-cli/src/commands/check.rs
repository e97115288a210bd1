//! `rml check`.

use std::time::Duration;

use rml::{CheckReport, Options, Source};
use rml_render::verdict;

use super::watched;
use crate::args::{Check, VerdictFormat};
use crate::output::{Output, Stop};

/// Checks all files, repeatedly with `--watch`; fails if any file has errors.
pub(crate) fn check(args: &Check, output: &mut Output) -> Result<(), Stop> {
    let options = Options {
        node: args.node.clone(),
        set: super::settings(&args.set, args.batch)?,
        precision: super::precision(args.f64),
        batch: args.batch,
        ..Options::default()
    };
    if !args.watch {
        return once(args, &options, output);
    }
    loop {
        let seen = watched::state(&args.files, &[]);
        match once(args, &options, output) {
            Ok(()) | Err(Stop::Reported) => {}
            Err(stop) => return Err(stop),
        }
        output.note("waiting for a change; Ctrl-C ends this\n");
        while watched::state(&args.files, &[]) == seen {
            std::thread::sleep(PAUSE);
        }
    }
}

/// How long `--watch` waits between checks for changes.
const PAUSE: Duration = Duration::from_millis(200);

/// Checks all files; fails if any has errors.
fn once(args: &Check, options: &Options, output: &mut Output) -> Result<(), Stop> {
    let mut failed = false;
    for file in &args.files {
        let source = Source::file(file);
        let report = rml::check_report(&source, options);
        failed |= report.findings.has_errors();
        if args.format == VerdictFormat::Json {
            output.print_json(&verdict::json(&report).to_string())?;
            continue;
        }
        output.report(&report.findings, &report.sources);
        if args.explain || !output.json() {
            output.print(&text(args, &report, &file.display().to_string()))?;
        }
        if args.types {
            types(&source, options, args.instances, output)?;
        }
    }
    if failed { Err(Stop::Reported) } else { Ok(()) }
}

/// Prints types, shapes and clocks of the node, or of each node that can run by itself. An ill-clocked program is
/// printed as well, to show what its equations imply.
fn types(source: &Source, options: &Options, instances: bool, output: &mut Output) -> Result<(), Stop> {
    let analyses = match options.node {
        Some(_) => rml::analyse_any_batch(source, options).into_iter().collect(),
        None => rml::analyse_all(source, options),
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

fn text(args: &Check, report: &CheckReport, file: &str) -> String {
    if !args.explain {
        return verdict::summary(report, file);
    }
    let ok = if report.findings.has_errors() { String::new() } else { format!("{file}: ok\n") };
    let text =
        report.analyses.iter().fold(ok, |text, analysis| text + &verdict::explanation(analysis, args.cycles));
    text + &verdict::unchecked(report, file)
}
