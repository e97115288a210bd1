//! A trace as a table of variables over cycles, with its dependences in time as arrows.

/// What stands in one cell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Cell {
    /// No value in this cycle; drawn as □.
    Absent,
    /// Present, the value not determined; drawn as ?.
    Unknown,
    /// Nothing is known, not even whether it is present; drawn as ⊥.
    Bottom,
    /// Outside of what is shown: a cycle that was not read yet. Drawn as nothing.
    Blank,
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
pub struct CellIndex {
    /// Index of the row.
    pub row: usize,
    /// Cycle, from 0.
    pub cycle: usize,
}

/// A dependence: the value at `to` was computed from the value at `from`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Arrow {
    /// Where the value comes from.
    pub from: CellIndex,
    /// What is computed from it.
    pub to: CellIndex,
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

/// What the columns are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Axis {
    /// Cycles, in which the rows are aligned.
    #[default]
    Cycle,
    /// The numbers of elements in each sequence.
    Element {
        /// Whether the last column stands for all further ones.
        goes_on: bool,
    },
}

/// A heading above a row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Heading {
    /// Index of the row below it.
    pub row: usize,
    /// Its text.
    pub text: String,
}

/// A table of variables over cycles.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Chronogram {
    /// How many cycles.
    pub cycles: usize,
    /// The rows, from top to bottom; each has one cell a cycle.
    pub rows: Vec<Row>,
    /// The dependences between cells; those of a cell that is not determined say what it waits for.
    pub arrows: Vec<Arrow>,
    /// What the columns are.
    pub axis: Axis,
    /// Headings above rows, in order.
    pub headings: Vec<Heading>,
    /// Cells to point out, in order.
    pub fresh: Vec<CellIndex>,
}

impl Chronogram {
    /// What the columns are called together.
    pub(crate) fn axis_name(&self) -> &'static str {
        match self.axis {
            Axis::Cycle => "cycle",
            Axis::Element { .. } => "element",
        }
    }

    /// What one column is called.
    pub(crate) fn column_name(&self, column: usize) -> String {
        let rest = self.axis == Axis::Element { goes_on: true } && column + 1 == self.cycles;
        if rest { "..".to_owned() } else { column.to_string() }
    }

    /// Whether a cell waits for something.
    pub(crate) fn is_waiting(&self, place: CellIndex) -> bool {
        let cell = self.rows.get(place.row).and_then(|r| r.cells.get(place.cycle));
        matches!(cell, Some(Cell::Unknown | Cell::Bottom))
    }
    /// Adds rows under a heading; those of the slab before say what is fresh in them.
    pub fn slab(&mut self, text: String, before: &[Row], now: Vec<Row>) {
        let first = self.rows.len();
        self.headings.push(Heading { row: first, text });
        let known = |cell: Option<&Cell>| matches!(cell, Some(Cell::Absent | Cell::Value(_)));
        for (r, row) in now.into_iter().enumerate() {
            let earlier = |cycle: usize| before.get(r).and_then(|row| row.cells.get(cycle));
            let fresh = (0..row.cells.len()).filter(|&n| known(row.cells.get(n)) && !known(earlier(n)));
            self.fresh.extend(fresh.map(|cycle| CellIndex { row: first + r, cycle }));
            self.rows.push(row);
        }
    }
}
