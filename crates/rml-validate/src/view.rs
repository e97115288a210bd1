//! A tick as a plan sees it: by its position, and by those of the ticks beside it.

use rml_ir::{Position, Positions};
use rml_plan::Tick;

/// A tick and its neighbours, by position. What is proved in all views from a position holds in windows of any length.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct View {
    pub(crate) at: Position,
    before: Option<Position>,
    after: Option<Position>,
}

impl View {
    /// All views from ticks at a position, where ticks may have the positions that are `possible`.
    pub(crate) fn all(at: Position, possible: Positions) -> impl Iterator<Item = View> {
        let or_none = move |neighbours: Positions| {
            let neighbours = neighbours.and(possible);
            let none = neighbours.is_empty().then_some(None);
            neighbours.iter().map(Some).chain(none)
        };
        or_none(at.before())
            .flat_map(move |before| or_none(at.after()).map(move |after| View { at, before, after }))
    }

    /// The one name of a tick that may have several; none if there is no such tick.
    pub(crate) fn tick(self, tick: Tick) -> Option<Tick> {
        match tick {
            Tick::Now => Some(Tick::Now),
            Tick::Before => {
                self.before.map(|p| if p == Position::First { Tick::First } else { Tick::Before })
            }
            Tick::After => self.after.map(|p| if p == Position::Last { Tick::Last } else { Tick::After }),
            Tick::First => Some(if self.at.is_start() { Tick::Now } else { Tick::First }),
            Tick::Last => Some(if self.at.is_end() { Tick::Now } else { Tick::Last }),
        }
    }

    /// The position of a tick, named by `tick`.
    pub(crate) fn position(self, tick: Tick) -> Position {
        match tick {
            Tick::Now => self.at,
            Tick::Before => self.before.unwrap_or(self.at),
            Tick::After => self.after.unwrap_or(self.at),
            Tick::First => self.at.start(),
            Tick::Last => self.at.end(),
        }
    }

    /// The position of a tick; none if there is no such tick.
    pub(crate) fn position_of(self, tick: Tick) -> Option<Position> {
        self.tick(tick).map(|tick| self.position(tick))
    }

    /// The tick before; none if there is none, or if nothing is known of it.
    pub(crate) fn previous(self, tick: Tick) -> Option<Tick> {
        match tick {
            Tick::Now => self.tick(Tick::Before),
            Tick::After => Some(Tick::Now),
            Tick::Last => (self.after == Some(Position::Last)).then_some(Tick::Now),
            Tick::Before | Tick::First => None,
        }
    }

    /// The tick behind; none if there is none, or if nothing is known of it.
    pub(crate) fn next(self, tick: Tick) -> Option<Tick> {
        match tick {
            Tick::Now => self.tick(Tick::After),
            Tick::Before => Some(Tick::Now),
            Tick::First => (self.before == Some(Position::First)).then_some(Tick::Now),
            Tick::After | Tick::Last => None,
        }
    }
}
