//! Errors of the library, as one-line failures.

use rml_backend::Failure;
use rml_base::codes::backend as codes;

/// A message of the library as a failure, shortened to one line.
pub(crate) fn said(text: &str) -> Failure {
    let line: String = text.lines().next().unwrap_or_default().trim().chars().take(300).collect();
    let line = line.trim_end_matches('.');
    if text.contains("RESOURCE_EXHAUSTED") || text.to_lowercase().contains("out of memory") {
        return Failure::new(codes::BACKEND_MEMORY, format!("XLA has no memory left: {line}"))
            .help("stack fewer windows with `--batch`, or choose another device");
    }
    Failure::call(format!("XLA: {line}"))
}
