//! Codes of the simulator.

codes! {
    SYNC_ERROR = "sync-error", "A variable is found both present and absent in one cycle.";
    DEADLOCK = "deadlock", "Cells stay undetermined because they wait for each other or for a cycle that never comes.";
    LOOK_AHEAD_LIMIT = "look-ahead-limit", "More cycles than allowed are open at once, waiting for later ones.";
    INTEGER_OVERFLOW = "integer-overflow", "The result of an integer operation does not fit 64 bits.";
    POSITION_OUTSIDE = "position-outside", "A position that comes with the data is outside of the axis that it indexes.";
    ASSERTION_FAILED = "assertion-failed", "The condition of an assertion is false in a cycle.";
    INPUT_VALUE = "input-value", "A value given for an input has another type than the input, or a cycle has not one entry for each input.";
    INPUT_CLOCK = "input-clock", "An input is present or absent against its declared clock.";
    STATE_VALUE = "state-value", "A state is loaded that the program does not have, or with a value of another type.";
    STATE_TIME = "state-time", "States are read or set while cycles are open.";
    TRACE_ENDED = "trace-ended", "A cycle is fed after the end of the trace.";
}
