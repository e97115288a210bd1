//! Codes of automatic differentiation.

codes! {
    NO_OPTIMISER = "no-optimiser", "A parameter is to be trained, but no node `diff_param` takes parameters of its type.";
    GRADIENT_CLOCK = "gradient-clock", "A node has outputs on different clocks, and its caller cannot tell when its gradient is present.";
    OPTIMISER_SHAPE = "optimiser-shape", "An optimiser does not hold its parameter in a `fby`, so that it cannot be saved.";
    INITIAL_VALUE = "initial-value", "The initial value of a parameter changes from cycle to cycle.";
    INLINED_TOO_LARGE = "inlined-too-large", "The program has too many equations when all calls are inlined.";
}
