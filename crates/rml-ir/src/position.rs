//! Where in a window, or in another segment of time, a tick is; and sets of such positions.

use std::fmt;

/// Where a tick of the segment's clock is in its segment.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Position {
    /// Neither the first tick nor the last one. In the trace, which has no ends, every tick is here.
    Middle,
    /// The first of several ticks.
    First,
    /// The last of several ticks: the one that ends the segment.
    Last,
    /// The only tick.
    Only,
}

impl Position {
    /// All positions.
    pub const ALL: [Position; 4] = [Position::Middle, Position::First, Position::Last, Position::Only];

    /// That of tick `t` of a segment of `ticks` ticks.
    pub fn of(t: usize, ticks: usize) -> Position {
        match (t == 0, t + 1 == ticks) {
            (true, true) => Position::Only,
            (true, false) => Position::First,
            (false, true) => Position::Last,
            (false, false) => Position::Middle,
        }
    }

    /// Where it stands in [`Position::ALL`].
    pub fn index(self) -> usize {
        self as usize
    }

    /// Whether it is the first tick of a segment.
    pub fn is_start(self) -> bool {
        matches!(self, Position::First | Position::Only)
    }

    /// Whether it is the last tick of a segment.
    pub fn is_end(self) -> bool {
        matches!(self, Position::Last | Position::Only)
    }

    /// The positions that the tick before one at this position may have.
    pub fn before(self) -> Positions {
        if self.is_start() { Positions::NONE } else { Positions::BEFORE_END }
    }

    /// The positions that the tick after one at this position may have.
    pub fn after(self) -> Positions {
        if self.is_end() { Positions::NONE } else { Positions::AFTER_START }
    }

    /// The position of the first tick of the segment that a tick at this one is in.
    pub fn start(self) -> Position {
        if self.is_start() { self } else { Position::First }
    }

    /// The position of the last tick of the segment that a tick at this one is in.
    pub fn end(self) -> Position {
        if self.is_end() { self } else { Position::Last }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Position::Middle => "middle",
            Position::First => "first",
            Position::Last => "last",
            Position::Only => "only",
        })
    }
}

/// A set of positions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Positions(u8);

impl Positions {
    /// No position.
    pub const NONE: Positions = Positions(0);
    /// Every position.
    pub const ALL: Positions = Positions(0b1111);
    /// The first tick of a segment.
    pub const STARTS: Positions = Positions(0b1010);
    /// The last tick of a segment.
    pub const ENDS: Positions = Positions(0b1100);
    /// Ticks that another one of the segment precedes.
    pub const AFTER_START: Positions = Positions(0b0101);
    /// Ticks that another one of the segment follows.
    pub const BEFORE_END: Positions = Positions(0b0011);
    /// The middle alone.
    pub const MIDDLE: Positions = Positions(0b0001);

    /// Whether a position is in the set.
    pub fn contains(self, p: Position) -> bool {
        self.0 & (1 << p.index()) != 0
    }

    /// Whether every position of this set is in the other one.
    pub fn is_within(self, other: Positions) -> bool {
        self.0 & !other.0 == 0
    }

    /// Whether there is no position in the set.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether a segment has one tick at most at these positions: only the first one, or only the last one.
    pub fn is_edge(self) -> bool {
        self.is_within(Positions::STARTS) || self.is_within(Positions::ENDS)
    }

    /// Whether it makes no difference to the set whether a tick is the last one.
    pub fn ignores_end(self) -> bool {
        let alike = |a, b| self.contains(a) == self.contains(b);
        alike(Position::First, Position::Only) && alike(Position::Middle, Position::Last)
    }

    /// The positions of either set.
    #[must_use]
    pub fn or(self, other: Positions) -> Positions {
        Positions(self.0 | other.0)
    }

    /// The positions of both sets.
    #[must_use]
    pub fn and(self, other: Positions) -> Positions {
        Positions(self.0 & other.0)
    }

    /// The set with one more position.
    #[must_use]
    pub fn with(self, p: Position) -> Positions {
        Positions(self.0 | 1 << p.index())
    }

    /// The set without a position.
    #[must_use]
    pub fn without(self, p: Position) -> Positions {
        Positions(self.0 & !(1 << p.index()))
    }

    /// The positions in order.
    pub fn iter(self) -> impl Iterator<Item = Position> {
        Position::ALL.into_iter().filter(move |p| self.contains(*p))
    }
}

impl FromIterator<Position> for Positions {
    fn from_iter<I: IntoIterator<Item = Position>>(positions: I) -> Positions {
        positions.into_iter().fold(Positions::NONE, Positions::with)
    }
}

impl fmt::Display for Positions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.iter().map(|p| p.to_string()).collect();
        f.write_str(&names.join("+"))
    }
}
