//! Reverse-mode differentiation, normal form to normal form.
