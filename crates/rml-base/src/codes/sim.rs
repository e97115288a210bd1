//! Codes of the simulator.

codes! {
}
