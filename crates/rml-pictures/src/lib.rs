//! Pictures of runs. A [`Chronogram`] is a trace as a table of variables over cycles, with its dependences in time as
//! arrows; two pure functions draw it ([`Chronogram::to_text`], [`Chronogram::to_svg`]), and one makes a page of it
//! ([`Chronogram::to_html`]).
//!
//! [`curves`] draws numbers over steps, such as the losses of a training; a [`TrainingReport`] is the page of a whole
//! training, a [`RunComparison`] that of several ones.
//!
//! [`shown`] chooses and names the rows of a program, [`dependences`] finds the arrows. Nothing here runs a program:
//! the caller supplies the cells.

mod chronogram;
mod curves;
mod dependences;
mod histogram;
mod network;
mod page;
mod report;
mod routes;
mod rows;
mod style;
mod svg;
mod text;
mod words;

pub use chronogram::{Arrow, Axis, Cell, CellIndex, Chronogram, Direction, Heading, Row};
pub use curves::{Panel, curves, sparkline};
pub use dependences::{CellStatus, dependences};
pub use network::{Network, NetworkBox, Role, network};
pub use page::{
    LineCost, LineOrigin, Page, PageRow, PlanPart, PlanPicture, PlanRegion, PlanWay, Side, WindowEnds,
};
pub use report::runs::{ComparedGroup, ComparedMetric, ComparedRun, RunComparison};
pub use report::{
    ConfusionMatrix, Curves, Mark, Samples, Series, ShownWindow, TimedLine, Trained, TrainingReport, norm,
};
pub use rows::{Rows, StreamNames, shown};
pub use words::{Reasons, reasons};
