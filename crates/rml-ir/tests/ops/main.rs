//! The operator table and the random draws, through their public interface.

mod documentation;
mod edges;
mod extremes;
mod matmul;
mod naive;
mod random;
mod result_types;
mod samples;
mod support;
mod text;
