//! A tick as a plan sees it: its position, and the positions of its neighbours.

use rml_ir::{Position, Positions};
use rml_plan::Tick;

/// A tick, as seen from another one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum At {
    /// That many ticks after it, or before it.
    Near(i32),
    /// The first one of the window.
    First,
    /// The last one of the window.
    Last,
}

impl At {
    pub(crate) const NOW: At = At::Near(0);
}

/// A tick and its neighbours, by position. What is proved in all views from a position holds in windows of any length.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct View {
    pub(crate) at: Position,
    before: Option<Position>,
    after: Option<Position>,
    /// How many ticks are known to stand after one of a block.
    sight: u32,
}

impl View {
    /// All views from ticks at a position, where ticks may have the positions that are `possible`.
    pub(crate) fn all(at: Position, possible: Positions) -> impl Iterator<Item = View> {
        let or_none = move |neighbours: Positions| {
            let neighbours = neighbours.and(possible);
            let none = neighbours.is_empty().then_some(None);
            neighbours.iter().map(Some).chain(none)
        };
        or_none(at.before()).flat_map(move |before| {
            or_none(at.after()).map(move |after| View { at, before, after, sight: 0 })
        })
    }

    /// All views from ticks of a block at a position, after which there are that many ticks more. After these the trace
    /// may end, so nothing follows from what would be there.
    pub(crate) fn of_block(at: Position, sight: u32) -> impl Iterator<Item = View> {
        let at = if at.is_start() { Position::First } else { Position::Middle };
        let all = View::all(at, Positions::NONE.with(Position::First).with(Position::Middle));
        all.map(move |view| View { sight, after: view.after.filter(|_| sight > 0), ..view })
    }

    /// The same view, where a tick of a block has that many ticks after it, or more.
    pub(crate) fn farther(self, sight: u32) -> View {
        if sight <= self.sight { self } else { View { sight, after: Some(Position::Middle), ..self } }
    }

    /// The one name of a tick that may have several; none if there is no such tick.
    pub(crate) fn tick(self, tick: Tick) -> Option<At> {
        match tick {
            Tick::Now => Some(At::NOW),
            Tick::Before => self.before.map(|p| if p == Position::First { At::First } else { At::Near(-1) }),
            Tick::After => self.after.map(|p| if p == Position::Last { At::Last } else { At::Near(1) }),
            Tick::First => Some(if self.at.is_start() { At::NOW } else { At::First }),
            Tick::Last => Some(if self.at.is_end() { At::NOW } else { At::Last }),
        }
    }

    /// The position of a tick.
    pub(crate) fn position(self, tick: At) -> Position {
        match tick {
            At::NOW => self.at,
            At::Near(..0) => self.before.unwrap_or(self.at),
            At::Near(1) => self.after.unwrap_or(self.at),
            At::Near(_) => Position::Middle,
            At::First => self.at.start(),
            At::Last => self.at.end(),
        }
    }

    /// The position of a tick; none if there is no such tick.
    pub(crate) fn position_of(self, tick: Tick) -> Option<Position> {
        self.tick(tick).map(|tick| self.position(tick))
    }

    /// The tick before; none if there is none, or if nothing is known about it.
    pub(crate) fn previous(self, tick: At) -> Option<At> {
        match tick {
            At::NOW => self.tick(Tick::Before),
            At::Near(n) if n > 0 => Some(At::Near(n - 1)),
            At::Last => (self.after == Some(Position::Last)).then_some(At::NOW),
            At::Near(_) | At::First => None,
        }
    }

    /// The tick after; none if there is none, or if nothing is known about it.
    pub(crate) fn next(self, tick: At) -> Option<At> {
        match tick {
            At::NOW => self.tick(Tick::After),
            At::Near(n) if n < 0 => Some(At::NOW),
            At::Near(n) => (n.unsigned_abs() < self.sight).then_some(At::Near(n + 1)),
            At::First => (self.before == Some(Position::First)).then_some(At::NOW),
            At::Last => None,
        }
    }
}
