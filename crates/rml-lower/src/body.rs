//! The body of a loop: what it fills, as far as it is filled.

use std::collections::BTreeMap;

use rml_plan::{Tape, Tick};

use crate::graph::Node;

/// The body of a loop over the ticks `from..to`.
#[derive(Debug, Default)]
pub(crate) struct Body {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) backward: bool,
    /// The tapes that it fills; their values at the tick, as soon as they are there.
    pub(crate) now: BTreeMap<Tape, Option<Node>>,
    /// The same at the tick that the loop was at before, where that is read.
    pub(crate) past: BTreeMap<Tape, Node>,
    /// Operands that differ from tick to tick, in the place of tapes behind those of the plan.
    pub(crate) varied: BTreeMap<Tape, Node>,
    /// Those of them that are carried, and the tape that is next in each.
    pub(crate) carried: Vec<(Node, Tape)>,
}

impl Body {
    /// A tape that the loop itself fills: its value, if it exists yet. None if it does not fill it.
    pub(crate) fn read(&self, tape: Tape, tick: Tick) -> Option<Option<Node>> {
        if let Some(varied) = self.varied.get(&tape) {
            return Some(Some(*varied));
        }
        let own = self.now.get(&tape)?;
        match (tick, self.backward) {
            (Tick::Now, _) => Some(*own),
            (Tick::Before, false) | (Tick::After, true) => Some(self.past.get(&tape).copied()),
            _ => None,
        }
    }
}
