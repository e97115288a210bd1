//! Output for front ends: diagnostics as text with source lines or as JSON, [verdicts](verdict) in both forms, and the
//! page of a [training]. This crate does not print.

mod human;
mod json;
pub mod training;
pub mod verdict;

pub use human::human;
pub use json::{json, json_object, json_objects};

use rml::{Sources, Span};

/// The bytes of a span, within its text and on character boundaries.
fn clamped(span: Span, sources: &Sources) -> (usize, usize) {
    let text = sources.text(span.file);
    let floor = |at: u32| {
        let mut at = (at as usize).min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let (start, end) = (floor(span.start), floor(span.end));
    (start, end.max(start))
}
