//! Codes of the static analyses.

codes! {
    CLOCK_MISMATCH = "clock-mismatch", "An equation combines streams that are not always present in the same cycles.";
    CLOCK_DYNAMIC = "clock-dynamic", "Before a run it is unknown whether two streams are always present in the same cycles.";
    INSTANTANEOUS_CYCLE = "instantaneous-cycle", "A value depends on itself, in the same cycle or by steps forward and backward in time.";
    UPDATE_CAUSALITY = "update-causality", "The update of a parameter depends on results of the next cycle, and so on itself.";
    UNCUT_RECURRENCE = "uncut-recurrence", "Nothing cuts a recurrence that runs backward in time by `post`.";
    NO_LAST_VALUE = "no-last-value", "An output is a `post`, which has no value in the last cycle of a window.";
    CLOSED_ONLY = "closed-only", "A value is known only at the end of a closed trace.";
    UNDECLARED_CLOCK = "undeclared-clock", "An input is declared for every cycle, but the program uses it only in some cycles.";
    FEW_WINDOWS = "few-windows", "A condition that ends windows is computed from a counter and is true at most once.";
    NO_UPDATE = "no-update", "Some or all parameters that a training uses are not updated, so they learn nothing.";
    GRADIENT_SIGN = "gradient-sign", "The gradient of a loss has the sign that increases the loss.";
    LEARNING_RATE = "learning-rate", "A learning rate is 0, or so large that each update overshoots.";
    NOT_LOGITS = "not-logits", "A node that expects logits gets a softmax or sigmoid of them.";
    OWN_LABEL = "own-label", "A loss compares a value with a result computed from that value.";
    TARGET_IS_INPUT = "target-is-input", "A node with memory has its own target as an input.";
    LINEAR_LAYERS = "linear-layers", "Without a nonlinear function between them, two layers compute the same as one.";
    ACTIVE_DROPOUT = "active-dropout", "Dropout is active in a node that trains nothing.";
    EVALUATION_LEARNS = "evaluation-learns", "A node that evaluates another node updates parameters itself.";
    GRADIENT_UPDATES = "gradient-updates", "A call computes the gradient of an input and also updates parameters.";
    LOSS_AS_GRADIENT = "loss-as-gradient", "A loss is passed as a gradient instead of its derivative.";
    FOREIGN_GRADIENT = "foreign-gradient", "The gradient passed for a value is the gradient of another value.";
    BATCH_TWICE = "batch-twice", "An operator combines all pairs of elements along a named dimension.";
    NO_METRIC = "no-metric", "A training has no scalar output, so it reports no number.";
}
