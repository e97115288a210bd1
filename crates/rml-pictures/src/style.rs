//! Colours of drawings, and the names by which elements get them.

use crate::chronogram::{Cell, Direction};

/// The style sheet: colours on a light ground, and on a dark one for those who prefer that.
pub(crate) const STYLE: &str = "\
.ground{fill:#fff}.mid{text-anchor:middle}.name{text-anchor:end;font-weight:bold;fill:#222}.cycle{fill:#666}
.note{fill:#444;font-weight:bold}.legend{font-size:12px;fill:#444}
.value,.absent,.unknown{stroke:#9a9a9a}.value{fill:#fff}.absent{fill:#e4e4e4}.unknown{fill:#fdf3d0}
.fresh{stroke:#1f5fd0;stroke-width:2.2}.value-text{fill:#111}.absent-text{fill:#777}.unknown-text{fill:#8a6d00}
.line{fill:none;stroke-width:1.4}.waits{stroke-dasharray:4 3}.waits{stroke:#777}
.same{stroke:#8a5a2b}.forward{stroke:#1f5fd0}.backward{stroke:#d0281f}
.tip{stroke:none}.tip.same{fill:#8a5a2b}.tip.forward{fill:#1f5fd0}.tip.backward{fill:#d0281f}
@media (prefers-color-scheme:dark){
.ground{fill:#15181c}.name{fill:#e8e8e8}.cycle{fill:#a0a6ad}.note,.legend{fill:#c4c9cf}
.value,.absent,.unknown{stroke:#5c636b}.value{fill:#1e2329}.absent{fill:#2d3238}.unknown{fill:#3a3215}
.fresh{stroke:#6ea8ff}.value-text{fill:#f0f0f0}.absent-text{fill:#9aa0a6}.unknown-text{fill:#e8c65a}
.waits{stroke:#9aa0a6}.same{stroke:#c8965a}.forward{stroke:#6ea8ff}.backward{stroke:#ff7b72}
.tip.same{fill:#c8965a}.tip.forward{fill:#6ea8ff}.tip.backward{fill:#ff7b72}
}
";

/// The directions in the order of the legend.
pub(crate) const DIRECTIONS: [Direction; 3] = [Direction::Same, Direction::Forward, Direction::Backward];

/// A direction's class, and what the legend calls it.
pub(crate) fn direction(direction: Direction) -> (&'static str, &'static str) {
    match direction {
        Direction::Same => ("same", "same cycle"),
        Direction::Forward => ("forward", "forward in time"),
        Direction::Backward => ("backward", "backward in time"),
    }
}

/// A cell's text and class.
pub(crate) fn cell(cell: &Cell) -> (&str, &'static str) {
    match cell {
        Cell::Absent => ("□", "absent"),
        Cell::Unknown => ("?", "unknown"),
        Cell::Bottom => ("⊥", "unknown"),
        Cell::Blank => ("", "absent"),
        Cell::Value(text) => (text, "value"),
    }
}
