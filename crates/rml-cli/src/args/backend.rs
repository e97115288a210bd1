//! Flags that choose a backend, and those of `rml backends`.

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use rml::backend::Runner;

use crate::values;

/// The engine, the backend and their settings.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Backend")]
pub(crate) struct Computing {
    /// The engine that runs the program
    #[arg(long, value_enum, value_name = "NAME", default_value_t = EngineName::Auto)]
    pub(crate) engine: EngineName,
    /// The backend that computes tensors; `rml backends` lists those that load here
    #[arg(long, value_name = "NAME", default_value = rml::backend::NAMES[0],
        value_parser = PossibleValuesParser::new(rml::backend::NAMES))]
    pub(crate) backend: String,
    /// The device of the backend: cpu, or cuda:N for GPU number N
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    pub(crate) device: String,
    /// The most threads to use, where they pay off; by default one per core
    #[arg(long, value_name = "N", value_parser = values::positive)]
    pub(crate) threads: Option<usize>,
}

/// The engine that runs a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum EngineName {
    /// A plan if the program has one, else the simulator
    Auto,
    /// The simulator, cycle by cycle; it runs every program
    Sim,
    /// Whole windows at once; declines programs without a plan (`rml dump --after plan`)
    Plan,
}

impl EngineName {
    /// The runner of the library for this name.
    pub(crate) fn runner(self) -> Runner {
        match self {
            Self::Auto => Runner::Auto,
            Self::Sim => Runner::Simulator,
            Self::Plan => Runner::Plan,
        }
    }
}

/// `rml backends`.
#[derive(Args, Debug)]
pub(crate) struct Backends {
    /// How to print them
    #[arg(long, value_enum, default_value_t = ListFormat::Table)]
    pub(crate) format: ListFormat,
}

/// How to print the list of backends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum ListFormat {
    /// [{"name": .., "built_in": true, "loads": true, "version": .., "devices": [..]}, {.., "loads": false, "code": ..,
    /// "why": ..}]
    Json,
    /// An aligned table
    Table,
}
