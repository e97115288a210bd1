//! Help texts: what to write so that the analysis can determine when values are known.

/// For a value that waits for more than one of several windows side by side.
pub(super) const BESIDE: &str = "put one window inside the other: call both nodes from one node, and that node with `every` and the condition that holds less often";

/// For values that need each other within a cycle, under conditions.
pub(super) const EXCLUSIVE: &str = "first name the values that need no other value, then choose: `first = x; second = first + 1.0; a = if c then second else first`";

/// For a recurrence that looks ahead and that no condition cuts.
pub(super) const CUT: &str = "let one window end all of it: call the node whose values look ahead, or its gradient, with `every end`, where `end` is true when all windows in it have ended";

/// For an unknown clock.
pub(super) const CLOCK: &str =
    "declare the clock where it enters: `x: num [] when c`, with `c` an input or output";

/// For a `post` in the last cycle of a window.
pub(super) const LAST: &str =
    "write `k fby back x` in place of `post x`: it is `k` in the last cycle of a window";
