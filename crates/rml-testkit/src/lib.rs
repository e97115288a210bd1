//! Tools for tests of the whole column, from source text to cells.
//!
//! [`conformance`]: vectors are programs with inputs and the cells that the semantics gives them; they are run through the
//! event-driven simulator and through the fixpoint oracle. The binary `conformance DIR` does that for all vectors of a folder.

pub mod conformance;
