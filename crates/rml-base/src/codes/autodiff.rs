//! Codes of automatic differentiation.

codes! {
}
