//! Codes of elaboration: names, statics, types, shapes, clocks.

codes! {
}
