//! The library sources that every program may import, embedded in the binary.

use rml_base::{Sources, Span};

/// The modules of the library by import path, with their texts.
pub const LIBRARY: &[(&str, &str)] = &[
    ("std.attention", include_str!("../../../std/attention.rml")),
    ("std.environments", include_str!("../../../std/environments.rml")),
    ("std.experts", include_str!("../../../std/experts.rml")),
    ("std.layers", include_str!("../../../std/layers.rml")),
    ("std.learning", include_str!("../../../std/learning.rml")),
    ("std.losses", include_str!("../../../std/losses.rml")),
    ("std.metrics", include_str!("../../../std/metrics.rml")),
    ("std.normalisation", include_str!("../../../std/normalisation.rml")),
    ("std.optimisers", include_str!("../../../std/optimisers.rml")),
    ("std.schedules", include_str!("../../../std/schedules.rml")),
    ("std.statistics", include_str!("../../../std/statistics.rml")),
    ("std.structure", include_str!("../../../std/structure.rml")),
    ("std.time", include_str!("../../../std/time.rml")),
];

/// Whether a place is in the library.
pub(crate) fn is_library(sources: &Sources, place: Span) -> bool {
    let text = sources.text(place.file);
    text == PRELUDE || LIBRARY.iter().any(|(_, own)| text == *own)
}

/// The nodes that are in scope everywhere.
pub const PRELUDE: &str = include_str!("../../../std/prelude.rml");

#[cfg(test)]
mod tests {
    use super::*;

    /// Every file of `std/` is embedded, and no other file.
    #[test]
    fn table_is_the_directory() {
        let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../std");
        let mut found: Vec<String> = std::fs::read_dir(dir)
            .expect("std/ exists")
            .map(|e| e.expect("readable").file_name().to_string_lossy().into_owned())
            .filter_map(|n| n.strip_suffix(".rml").map(|n| format!("std.{n}")))
            .filter(|n| n != "std.prelude")
            .collect();
        found.sort();
        let mut embedded: Vec<String> = LIBRARY.iter().map(|(n, _)| (*n).to_owned()).collect();
        embedded.sort();
        assert_eq!(found, embedded);
    }
}
