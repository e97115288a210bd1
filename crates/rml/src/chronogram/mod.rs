//! Chronograms: a trace as a table of variables over cycles, with its dependences in time as arrows.
//!
//! Here are the data ([`Chronogram`]) and the two pure functions that draw them ([`Chronogram::to_text`], [`Chronogram::to_svg`]).
//! [`dependences`] finds the arrows; [`draw`] does all of it for a program and its inputs.

mod build;
mod dependences;
mod routes;
mod svg;
mod text;

pub use build::{Drawn, Rows, draw};
pub use dependences::{Status, dependences};

/// What stands in one cell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Cell {
    /// No value in this cycle; drawn as □.
    Absent,
    /// Not determined; drawn as ?.
    Unknown,
    /// A value, as text.
    Value(String),
}

/// One variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// The variable's name.
    pub name: String,
    /// One cell a cycle.
    pub cells: Vec<Cell>,
}

/// A cell's place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Place {
    /// Index of the row.
    pub row: usize,
    /// Cycle, from 0.
    pub cycle: usize,
}

/// A dependence: the value at `to` was computed from the value at `from`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Arrow {
    /// Where the value comes from.
    pub from: Place,
    /// What is computed from it.
    pub to: Place,
}

/// Which way an arrow points in time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// Within a cycle; drawn in brown.
    Same,
    /// To a later cycle; drawn in blue.
    Forward,
    /// To an earlier cycle; drawn in red.
    Backward,
}

impl Arrow {
    /// Which way it points in time.
    pub fn direction(self) -> Direction {
        match self.from.cycle.cmp(&self.to.cycle) {
            std::cmp::Ordering::Equal => Direction::Same,
            std::cmp::Ordering::Less => Direction::Forward,
            std::cmp::Ordering::Greater => Direction::Backward,
        }
    }
}

/// A table of variables over cycles.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Chronogram {
    /// How many cycles.
    pub cycles: usize,
    /// The rows, from top to bottom; each has one cell a cycle.
    pub rows: Vec<Row>,
    /// The dependences between cells.
    pub arrows: Vec<Arrow>,
}
