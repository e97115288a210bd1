//! Codes of automatic differentiation.

codes! {
    NO_OPTIMISER = "no-optimiser", "No node `diff_param` accepts a trained parameter of this type.";
    GRADIENT_CLOCK = "gradient-clock", "A node has outputs on different clocks, and its caller cannot know when its gradient is present.";
    OPTIMISER_SHAPE = "optimiser-shape", "An optimiser does not store its parameter in a `fby`, so it cannot be saved.";
    INITIAL_VALUE = "initial-value", "The initial value of a parameter changes from cycle to cycle.";
    INLINED_TOO_LARGE = "inlined-too-large", "The program has too many equations when all calls are inlined.";
}
