//! The stages' text forms, verifiers and the passes between them.

mod cone;
mod cut;
mod flat;
mod fold;
mod forget;
mod inline;
mod normal;
mod normalize;
mod support;
mod typed;
mod update;
