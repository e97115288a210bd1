//! Flags of `rml grad` and `rml gradcheck`.

use clap::{Args, ValueEnum};

use super::{Computing, Over};
use crate::values;

/// The program to differentiate and its inputs.
#[derive(Args, Debug)]
pub(crate) struct Differentiation {
    #[command(flatten)]
    pub(crate) over: Over,
    /// The output whose sum over the trace is differentiated; by default the only num output
    #[arg(long, value_name = "NAME")]
    pub(crate) loss: Option<String>,
}

/// `rml grad`.
#[derive(Args, Debug)]
pub(crate) struct Grad {
    #[command(flatten)]
    pub(crate) of: Differentiation,
    /// How to print it
    #[arg(long, value_enum, default_value_t = GradFormat::Table)]
    pub(crate) format: GradFormat,
    #[command(flatten)]
    pub(crate) computing: Computing,
}

/// How to print gradients.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum GradFormat {
    /// {"loss": total, "params": {"path": [..]}, "inputs": {"name": [per cycle]}}, null = absent
    Json,
    /// Aligned tables
    Table,
}

/// `rml gradcheck`: always in double precision.
#[derive(Args, Debug)]
pub(crate) struct Gradcheck {
    #[command(flatten)]
    pub(crate) of: Differentiation,
    /// The step of the differences, for numbers up to 1; in proportion for larger ones; at most 1
    #[arg(long, value_name = "STEP", default_value_t = 1e-5, value_parser = values::above_zero)]
    pub(crate) eps: f64,
    /// The largest relative error that passes
    #[arg(long, value_name = "ERROR", default_value_t = 1e-5, value_parser = values::above_zero)]
    pub(crate) tolerance: f64,
    /// How many elements of each parameter and input are compared, spread evenly; 0 = all
    #[arg(long, value_name = "N", default_value_t = 32)]
    pub(crate) samples: usize,
    /// How to print it
    #[arg(long, value_enum, default_value_t = CheckFormat::Table)]
    pub(crate) format: CheckFormat,
    #[command(flatten)]
    pub(crate) computing: Computing,
}

/// How to print the check of gradients.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum CheckFormat {
    /// {"ok": true, "loss": .., "tolerance": .., "params": {"path": {"error": .., ..}}, "inputs": {..}}
    Json,
    /// An aligned table
    Table,
}
