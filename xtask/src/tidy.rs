//! The checks that no compiler makes. Each gives its findings as `path: what is wrong`.

mod circles;
mod codes;
mod columns;
mod dependencies;
mod licences;
pub(crate) mod links;
mod operators;
mod passages;
mod prose;
mod rules;
mod sources;
mod system;
mod test_map;
mod workflows;

use crate::workspace;

/// Folders and files whose prose still has to be made plain, and what is written from them.
const PENDING: &[&str] = &["crates/rml-lower/src/machine.rs"];

/// All findings of all checks.
pub(crate) fn check() -> Result<Vec<String>, String> {
    let sources = workspace::files(&["rs", "rml"])?;
    let mut findings = dependencies::check()?;
    findings.extend(licences::check()?);
    findings.extend(sources::check(&sources));
    findings.extend(circles::check(&sources));
    findings.extend(operators::check(&sources));
    findings.extend(system::check(&sources));
    findings.extend(codes::check(&sources)?);
    findings.extend(links::check()?);
    findings.extend(rules::check()?);
    let prose = workspace::files(&["rs", "rml", "md"])?;
    findings.extend(columns::check(&workspace::files(&["rs", "md"])?));
    findings.extend(prose::check(&prose));
    findings.extend(test_map::check(&sources)?);
    findings.extend(workflows::check()?);
    Ok(findings)
}
