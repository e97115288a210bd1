//! Codes of the simulator.

codes! {
    SYNC_ERROR = "sync-error", "A variable is both present and absent in one cycle.";
    DEADLOCK = "deadlock", "Cells stay undetermined because they wait for each other or for a cycle that never comes.";
    LOOK_AHEAD_LIMIT = "look-ahead-limit", "More cycles than allowed are open at once, waiting for later ones.";
    INTEGER_OVERFLOW = "integer-overflow", "The result of an integer operation does not fit into 64 bits.";
    POSITION_OUTSIDE = "position-outside", "A position from the data is outside the axis that it indexes.";
    ASSERTION_FAILED = "assertion-failed", "The condition of an assertion is false in a cycle.";
    INPUT_VALUE = "input-value", "A cycle does not have one entry for each input, or an entry has the wrong type.";
    INPUT_CLOCK = "input-clock", "The presence of an input contradicts its declared clock.";
    STATE_VALUE = "state-value", "A loaded state does not exist in the program, or has another type.";
    STATE_TIME = "state-time", "States are read or set while cycles are open.";
    TRACE_ENDED = "trace-ended", "A cycle is fed after the end of the trace.";
}
