//! Flags of `rml run` and `rml trace`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{Computing, Cutting, Profiling, Program, Table};

/// The program to run and its inputs.
#[derive(Args, Clone, Debug)]
pub(crate) struct Over {
    #[command(flatten)]
    pub(crate) program: Program,
    /// The node to run; by default the only one that no other node calls
    #[arg(long, value_name = "NAME")]
    pub(crate) node: Option<String>,
    /// Inputs by name, one row per cycle: .json, .jsonl, .csv, .tsv or .npz
    #[arg(long, value_name = "FILE")]
    pub(crate) inputs: Option<PathBuf>,
    /// A checkpoint with the parameters; by default their initial values
    #[arg(long, value_name = "FILE[:PREFIX]")]
    pub(crate) params: Option<PathBuf>,
    /// How many cycles to run; by default those of the inputs
    #[arg(long, value_name = "N")]
    pub(crate) cycles: Option<usize>,
    /// Seed of the random initialisers
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Accept NaN in the inputs
    #[arg(long)]
    pub(crate) allow_nan: bool,
    #[command(flatten)]
    pub(crate) table: Table,
}

/// The options of a run whose cells are shown.
#[derive(Args, Debug)]
pub(crate) struct Execution {
    #[command(flatten)]
    pub(crate) over: Over,
    #[command(flatten)]
    pub(crate) cutting: Cutting,
    /// Restore only parameters from the checkpoint; all other states start from their initial values
    #[arg(long, requires = "params")]
    pub(crate) fresh: bool,
    /// The trace is the beginning of an endless one: `fby back` gets no initial value at its end
    #[arg(long)]
    pub(crate) open: bool,
    /// Also show this inner variable, by its instance path, e.g. lstm_0.h; may be given several times
    #[arg(long, value_name = "INSTANCE.VAR")]
    pub(crate) probe: Vec<String>,
}

/// `rml run`.
#[derive(Args, Debug)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) execution: Execution,
    /// Which variables to print
    #[arg(long, value_enum, default_value_t = Vars::Outputs, value_name = "WHICH")]
    pub(crate) vars: Vars,
    /// How to print them
    #[arg(long, value_enum, default_value_t = Format::Json)]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) profiling: Profiling,
    #[command(flatten)]
    pub(crate) computing: Computing,
}

/// The variables to print.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Vars {
    /// All named variables, those of inner instances by their paths
    All,
    /// The outputs of the run node
    Outputs,
}

/// The variables that a chronogram shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Rows {
    /// All named variables, those of inner instances by their paths
    All,
    /// The inputs, outputs and named variables of the run node itself
    Node,
    /// The same, and the parts of their equations that delay, sample, merge or choose
    Expressions,
    /// The outputs of the run node
    Outputs,
}

/// The semantics by which a program is traced.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Semantics {
    /// Values in cycles; the semantics of the language
    Synchronous,
    /// Sequences without cycles, in which a later element never comes before an earlier one
    Kahn,
}

/// How to print a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Format {
    /// {"cycles": N, "values": {"var": [..]}}, null = absent, "?" = undetermined
    Json,
    /// An aligned table
    Table,
    /// A row per cycle under a header of names, empty = absent
    Csv,
}

/// `rml trace`.
#[derive(Args, Debug)]
pub(crate) struct Trace {
    #[command(flatten)]
    pub(crate) execution: Execution,
    /// Which variables to draw: by default `node`, and on a page all, with instances folded
    #[arg(long, value_enum, value_name = "WHICH")]
    pub(crate) vars: Option<Rows>,
    /// By which semantics to run: synchronous, or Kahn's sequences, for comparison
    #[arg(long, value_enum, default_value_t = Semantics::Synchronous, value_name = "WHICH", conflicts_with = "stages")]
    pub(crate) semantics: Semantics,
    /// Show how the table fills: a slab for the first cycle, for the first two, and so on
    #[arg(long)]
    pub(crate) stages: bool,
    /// Write the chronogram with its dependences in time as an SVG file, instead of drawing it here
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// Write a page for a browser instead of drawing the chronogram here: the table beside the source, arrows and a
    /// sentence for the chosen cell, pictures of tensors, of the network and of the plan
    #[arg(long, value_name = "FILE", conflicts_with_all = ["stages", "semantics"])]
    pub(crate) html: Option<PathBuf>,
    /// Write the scalar variables as a value change dump for waveform viewers, instead of drawing the chronogram here
    #[arg(long, value_name = "FILE", conflicts_with_all = ["stages", "semantics"])]
    pub(crate) vcd: Option<PathBuf>,
}

/// `rml view`.
#[derive(Args, Debug)]
#[command(mut_arg("file", |file| file.help("The program, or a folder of runs to compare, as `rml train --runs` and `--log` write it")))]
pub(crate) struct View {
    #[command(flatten)]
    pub(crate) execution: Execution,
    /// Which variables to draw; by default all
    #[arg(long, value_enum, value_name = "WHICH")]
    pub(crate) vars: Option<Rows>,
}

impl View {
    /// Whether flags about a program are given, for `refuse_unused`.
    pub(crate) fn given(&self) -> Vec<(&'static str, bool)> {
        let Execution { over, cutting, fresh, open, probe } = &self.execution;
        let Over { program, node, inputs, params, cycles, seed, allow_nan, table } = over;
        let own = [
            ("set", !program.set.is_empty()),
            ("batch", program.batch.is_some()),
            ("f64", program.f64),
            ("node", node.is_some()),
            ("inputs", inputs.is_some()),
            ("params", params.is_some()),
            ("cycles", cycles.is_some()),
            ("seed", *seed != 0),
            ("allow-nan", *allow_nan),
            ("fresh", *fresh),
            ("open", *open),
            ("probe", !probe.is_empty()),
            ("vars", self.vars.is_some()),
        ];
        own.into_iter().chain(table.given()).chain(cutting.given()).collect()
    }
}
