//! From syntax tree to typed stage.
