//! Codes of the static analyses.

codes! {
    CLOCK_MISMATCH = "clock-mismatch", "An equation puts streams together that are not always present in the same cycles.";
    CLOCK_DYNAMIC = "clock-dynamic", "It is not known before the run whether two streams are always present in the same cycles.";
}
