//! Codes of the static analyses.

codes! {
    CLOCK_MISMATCH = "clock-mismatch", "An equation puts streams together that are not always present in the same cycles.";
    CLOCK_DYNAMIC = "clock-dynamic", "It is not known before the run whether two streams are always present in the same cycles.";
    INSTANTANEOUS_CYCLE = "instantaneous-cycle", "A value needs itself, in the same cycle or forward and backward in time at once.";
    UPDATE_CAUSALITY = "update-causality", "The update of a parameter waits for what the parameter does in the next cycle, and so for itself.";
    UNCUT_RECURRENCE = "uncut-recurrence", "A recurrence runs backward in time by `post` and nothing ever cuts it.";
    NO_LAST_VALUE = "no-last-value", "An output is a `post` in the last cycle of a window, where it has no value.";
    CLOSED_ONLY = "closed-only", "A value is known at the end of a closed trace and never before.";
    UNDECLARED_CLOCK = "undeclared-clock", "An input is declared for every cycle, and the program uses it in some only.";
    FEW_WINDOWS = "few-windows", "A condition that ends windows is computed from a counter, and is true in one cycle only, or never.";
    NO_UPDATE = "no-update", "Parameters that a training reads, or all of them, are not updated, so they learn nothing.";
    GRADIENT_SIGN = "gradient-sign", "The gradient of a loss enters with the sign that makes the loss grow.";
    LEARNING_RATE = "learning-rate", "A learning rate is so large that each update overshoots, or 0.";
    NOT_LOGITS = "not-logits", "A node that takes logits gets their softmax or sigmoid.";
    OWN_LABEL = "own-label", "A loss compares a value with what is computed from it.";
    TARGET_IS_INPUT = "target-is-input", "A node that keeps an input for later cycles is given the value that its result is compared with.";
    LINEAR_LAYERS = "linear-layers", "Two layers follow each other without a nonlinear function, so they compute what one does.";
    ACTIVE_DROPOUT = "active-dropout", "Dropout is active in a node that trains nothing.";
    EVALUATION_LEARNS = "evaluation-learns", "A node that evaluates what another one trains updates parameters itself.";
    GRADIENT_UPDATES = "gradient-updates", "The gradient of an input is taken, and the same call updates parameters.";
    LOSS_AS_GRADIENT = "loss-as-gradient", "A loss enters as a gradient, in the place of its derivative.";
    FOREIGN_GRADIENT = "foreign-gradient", "What enters as the gradient of a value is the gradient of another one.";
    BATCH_TWICE = "batch-twice", "An operator combines each element along a named dimension with every other one.";
    NO_METRIC = "no-metric", "A training has no scalar output, so it reports no number.";
}
