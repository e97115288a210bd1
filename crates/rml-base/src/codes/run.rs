//! Codes of the runtime: data, checkpoints, training, flags.

codes! {
}
