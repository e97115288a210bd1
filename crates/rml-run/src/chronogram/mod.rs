//! Chronograms of programs: a run as a table of variables over cycles, with its dependences in time as arrows.
//!
//! [`draw`] runs a program over its inputs and makes its [`Chronogram`]. [`stages`] shows how the table fills as cycles
//! are read. [`kahn`] makes the table of another semantics. The tables and their drawings are defined in
//! `rml-pictures`.

mod build;
mod kahn;
mod page;
mod stages;
mod statuses;

pub use build::{DrawnRun, draw, draw_page};
pub use kahn::kahn;
pub use rml_pictures::{
    Arrow, Axis, Cell, CellIndex, CellStatus, Chronogram, Direction, Heading, LineCost, LineOrigin, Page,
    PageRow, PlanPart, PlanPicture, PlanRegion, PlanWay, Row, Rows, Side, StreamNames, WindowEnds,
    dependences, shown,
};
pub use stages::stages;
