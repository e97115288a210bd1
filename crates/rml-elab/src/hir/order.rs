//! The order to which a node is differentiated.

/// The order to which a node is differentiated, as in `diff_f`, `grad_f`, `diff_grad_f`.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Order {
    pub(crate) times: u8,
    /// The number of the first differentiations that read the node's parameters and do not update them.
    pub(crate) held: u8,
}

impl Order {
    /// The order of the node itself.
    pub(crate) const NONE: Self = Self { times: 0, held: 0 };

    /// The prefix of the name.
    pub(crate) fn prefix(self) -> String {
        let held = usize::from(self.held.min(self.times));
        "diff_".repeat(usize::from(self.times) - held) + &"grad_".repeat(held)
    }

    /// The order after another differentiation by `outer`. `None` if `outer` would hold parameters that an inner
    /// adjoint updates.
    pub(crate) fn then(self, outer: Self) -> Option<Self> {
        let times = self.times.saturating_add(outer.times);
        match outer.held {
            0 => Some(Self { times, held: self.held }),
            _ if self.held == self.times => Some(Self { times, held: self.held.saturating_add(outer.held) }),
            _ => None,
        }
    }
}
