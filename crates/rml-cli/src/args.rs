//! The command line. Its doc comments are the help texts.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use rml::StaticValue;

use crate::values;

/// The R(ML)² toolchain: check, run, trace, differentiate, train.
#[derive(Parser, Debug)]
#[command(name = "rml", version, max_term_width = 100, after_help = AFTER_HELP)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const AFTER_HELP: &str = "\
Results go to standard output, diagnostics and progress to standard error.

Exit codes: 0 done; 1 errors were found; 2 the command line was wrong; 130 interrupted.
Environment: RML_LOG=debug logs each pass with its duration; NO_COLOR turns colours off.";

/// Flags of every command.
#[derive(Args, Debug)]
pub(crate) struct Global {
    /// How diagnostics are written: for people, or one JSON object a line
    #[arg(long, global = true, value_enum, default_value_t = MessageFormat::Human, value_name = "FORMAT")]
    pub(crate) message_format: MessageFormat,
    /// When to use colours; auto = on a terminal
    #[arg(long, global = true, value_enum, default_value_t = Colour::Auto, value_name = "WHEN")]
    pub(crate) color: Colour,
}

/// How diagnostics are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum MessageFormat {
    /// Drawn into the source text.
    Human,
    /// One JSON object a line.
    Json,
}

/// When to use colours.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Colour {
    /// On a terminal.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What to do.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Check programs: names, types, shapes, clocks, and how long outputs have to be waited for
    Check(Check),
    /// Run a node over a table of inputs and print the trace
    Run(Run),
    /// Draw the chronogram of a run: □ = absent, ? = undetermined
    Trace(Trace),
    /// Print the adjoint of a node, and of those it calls, as source
    Diff(Diff),
    /// Print the program as it is after one of the compiler's stages
    Dump(Dump),
    /// Print the gradient of the sum of an output over a trace
    Grad(Grad),
    /// Compare the gradient of the sum of an output with finite differences
    Gradcheck(Gradcheck),
    /// Format programs in place
    Fmt(Fmt),
    /// Train: run a node over windows of data, epoch after epoch
    Train(Train),
    /// Run a node with trained parameters, over data or as a stream
    Infer(Infer),
    /// Show what is known of a node, module or operator: comment, interface, static parameters
    Doc(Doc),
    /// Say what a diagnostic code means
    Explain(Explain),
}

/// Which program, and what to make of it.
#[derive(Args, Debug)]
pub(crate) struct Program {
    /// The program
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Value of a static parameter or named dimension of the run node, e.g. units=64 or shape=[2,3]
    #[arg(long, value_name = "NAME=VALUE", value_parser = values::setting)]
    pub(crate) set: Vec<(String, StaticValue)>,
    /// Value of the run node's dimension `batch`
    #[arg(long, value_name = "N", value_parser = values::positive)]
    pub(crate) batch: Option<usize>,
    /// Compute numbers in double precision
    #[arg(long)]
    pub(crate) f64: bool,
}

/// `rml check`.
#[derive(Args, Debug)]
pub(crate) struct Check {
    /// The programs
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Check that node as one that is run; without it, every node is checked
    #[arg(long, value_name = "NAME")]
    pub(crate) node: Option<String>,
    /// Value of a static parameter or named dimension of the run node
    #[arg(long, value_name = "NAME=VALUE", value_parser = values::setting)]
    pub(crate) set: Vec<(String, StaticValue)>,
    /// Compute numbers in double precision
    #[arg(long)]
    pub(crate) f64: bool,
    /// Print the type, shape and clock of every named variable of the run node
    #[arg(long)]
    pub(crate) types: bool,
    /// With --types: those of instances too
    #[arg(long, requires = "types")]
    pub(crate) instances: bool,
    /// Value of the run node's dimension `batch`
    #[arg(long, value_name = "N", value_parser = values::positive)]
    pub(crate) batch: Option<usize>,
    /// Say of each output on which clock it is, how long it has to be waited for, and why
    #[arg(long)]
    pub(crate) explain: bool,
    /// How the verdict is written: for people, or as one JSON object
    #[arg(long, value_enum, default_value_t = VerdictFormat::Text, value_name = "FORMAT", conflicts_with = "explain")]
    pub(crate) format: VerdictFormat,
}

/// How a verdict is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum VerdictFormat {
    /// For people
    Text,
    /// One JSON object
    Json,
}

/// What to run, and on what.
#[derive(Args, Debug)]
pub(crate) struct Over {
    #[command(flatten)]
    pub(crate) program: Program,
    /// The node to run; by default the only one that no other node calls
    #[arg(long, value_name = "NAME")]
    pub(crate) node: Option<String>,
    /// Inputs by name, one row a cycle: .json, .jsonl, .csv or .npz
    #[arg(long, value_name = "FILE")]
    pub(crate) inputs: Option<PathBuf>,
    /// How many cycles to run; by default as many as there are inputs for
    #[arg(long, value_name = "N")]
    pub(crate) cycles: Option<usize>,
    /// Seed of the random initialisers
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Let NaN in the inputs through
    #[arg(long)]
    pub(crate) allow_nan: bool,
}

/// A run whose cells are shown.
#[derive(Args, Debug)]
pub(crate) struct Execution {
    #[command(flatten)]
    pub(crate) over: Over,
    /// The trace is the beginning of an endless one: `fby back` gets no initial value at its end
    #[arg(long)]
    pub(crate) open: bool,
    /// Show that inner variable too, by its instance path, e.g. lstm_0.h; may be given several times
    #[arg(long, value_name = "INSTANCE.VAR")]
    pub(crate) probe: Vec<String>,
}

/// What to differentiate.
#[derive(Args, Debug)]
pub(crate) struct Differentiation {
    #[command(flatten)]
    pub(crate) over: Over,
    /// The output whose sum over the trace is differentiated; by default the only num output
    #[arg(long, value_name = "NAME")]
    pub(crate) loss: Option<String>,
    /// A checkpoint with the parameters; by default their initial values
    #[arg(long, value_name = "FILE")]
    pub(crate) params: Option<PathBuf>,
}

/// `rml grad`.
#[derive(Args, Debug)]
pub(crate) struct Grad {
    #[command(flatten)]
    pub(crate) of: Differentiation,
    /// How to print it
    #[arg(long, value_enum, default_value_t = GradFormat::Table)]
    pub(crate) format: GradFormat,
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
    /// The step of the differences, for numbers up to 1; in proportion for larger ones
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
}

/// How to print the check of gradients.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum CheckFormat {
    /// {"ok": true, "loss": .., "tolerance": .., "params": {"path": {"error": .., ..}}, "inputs": {..}}
    Json,
    /// An aligned table
    Table,
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
}

/// Which variables.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Vars {
    /// All named variables, those of inner instances by their paths
    All,
    /// The outputs of the run node
    Outputs,
}

/// Which variables a chronogram shows.
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

/// By which semantics a program is traced.
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
    /// A row a cycle under a header of names, empty = absent
    Csv,
}

/// `rml trace`.
#[derive(Args, Debug)]
pub(crate) struct Trace {
    #[command(flatten)]
    pub(crate) execution: Execution,
    /// Which variables to draw
    #[arg(long, value_enum, default_value_t = Rows::Node, value_name = "WHICH")]
    pub(crate) vars: Rows,
    /// By which semantics to run: synchronous, or Kahn's sequences, for comparison
    #[arg(long, value_enum, default_value_t = Semantics::Synchronous, value_name = "WHICH", conflicts_with = "stages")]
    pub(crate) semantics: Semantics,
    /// Show how the table fills: a slab for the first cycle, for the first two, and so on
    #[arg(long)]
    pub(crate) stages: bool,
    /// Draw it with its dependences in time into an SVG file instead
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// Write the scalar variables into a value change dump instead, for waveform viewers
    #[arg(long, value_name = "FILE", conflicts_with_all = ["svg", "stages", "semantics"])]
    pub(crate) vcd: Option<PathBuf>,
}

/// `rml diff`.
#[derive(Args, Debug)]
pub(crate) struct Diff {
    #[command(flatten)]
    pub(crate) program: Program,
    /// The node to differentiate
    #[arg(long, value_name = "NAME")]
    pub(crate) node: String,
}

/// `rml dump`.
#[derive(Args, Debug)]
pub(crate) struct Dump {
    #[command(flatten)]
    pub(crate) program: Program,
    /// The node to run; by default the only one that no other node calls
    #[arg(long, value_name = "NAME")]
    pub(crate) node: Option<String>,
    /// The stage to print
    #[arg(long, value_enum, value_name = "STAGE")]
    pub(crate) after: Stage,
    /// Seed of the random initialisers
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
}

/// A stage of the compiler.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Stage {
    /// The syntax tree
    Parse,
    /// Names resolved, types and shapes known
    Elab,
    /// One primitive an equation
    Normalize,
    /// With the adjoint nodes
    Diff,
    /// The run node with every call inlined
    Inline,
    /// Initialised, folded, restricted to what the outputs need: what runs
    Fold,
    /// The same, with clocks, recurrences, windows and what is constant in them
    Analyse,
}

/// `rml fmt`.
#[derive(Args, Debug)]
pub(crate) struct Fmt {
    /// The programs; - formats standard input to standard output
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Change nothing; name the files that are not formatted and fail if there are any
    #[arg(long)]
    pub(crate) check: bool,
}

/// `rml train`.
#[derive(Args, Debug)]
pub(crate) struct Train {
    #[command(flatten)]
    pub(crate) program: Program,
    /// Columns by input name: arrays [N, T, ..] are N windows of T cycles, [N, ..] one value a window
    #[arg(long, value_name = "FILE")]
    pub(crate) data: PathBuf,
    /// The node to train
    #[arg(long, value_name = "NAME", default_value = "train")]
    pub(crate) node: String,
    /// The node to run over the test windows after each epoch, if the program has it
    #[arg(long, value_name = "NAME", default_value = "infer")]
    pub(crate) evaluate: String,
    /// How many epochs in all; a resumed run counts those done before
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) epochs: u64,
    /// Seed of initialisers, split and shuffling; a resumed run has that of its checkpoint
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Windows kept for testing: a share such as 0.2, or a count such as 297
    #[arg(long, value_name = "SHARE|COUNT", value_parser = values::split)]
    pub(crate) test: Option<rml::TestSplit>,
    /// Take the windows in the order of the data in every epoch
    #[arg(long)]
    pub(crate) no_shuffle: bool,
    /// Write a checkpoint there, at the end, on interruption and after epochs
    #[arg(long, value_name = "FILE")]
    pub(crate) save: Option<PathBuf>,
    /// How often to save, in epochs; 0 = at the end only
    #[arg(long, value_name = "EPOCHS", default_value_t = 1)]
    pub(crate) save_every: u64,
    /// Go on from that checkpoint
    #[arg(long, value_name = "FILE")]
    pub(crate) resume: Option<PathBuf>,
    /// Let NaN in the data through
    #[arg(long)]
    pub(crate) allow_nan: bool,
}

/// `rml infer`.
#[derive(Args, Debug)]
#[command(group(clap::ArgGroup::new("source").required(true).args(["data", "stream"])))]
pub(crate) struct Infer {
    #[command(flatten)]
    pub(crate) program: Program,
    /// The checkpoint with the parameters
    #[arg(long, value_name = "FILE")]
    pub(crate) params: PathBuf,
    /// Columns by input name, as for training
    #[arg(long, value_name = "FILE")]
    pub(crate) data: Option<PathBuf>,
    /// Read one JSON object a cycle from standard input, answer each as soon as it is determined
    #[arg(long)]
    pub(crate) stream: bool,
    /// The node to run
    #[arg(long, value_name = "NAME", default_value = "infer")]
    pub(crate) node: String,
    /// Which windows of the data; by default those kept for testing if the data is that of the training, else all
    #[arg(long, value_enum, value_name = "WHICH", conflicts_with = "stream")]
    pub(crate) split: Option<SplitArg>,
    /// Take parameters alone from the checkpoint; all other states begin anew
    #[arg(long)]
    pub(crate) fresh: bool,
    /// Write the outputs there: .npz or .json
    #[arg(long, value_name = "FILE", conflicts_with = "stream")]
    pub(crate) out: Option<PathBuf>,
    /// Let NaN in the data through
    #[arg(long)]
    pub(crate) allow_nan: bool,
}

/// Which windows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum SplitArg {
    /// Those that training kept for testing
    Test,
    /// Those that were trained on
    Train,
    /// All
    All,
}

/// `rml doc`.
#[derive(Args, Debug)]
pub(crate) struct Doc {
    /// A node (lstm), module (std.layers), operator (matmul) or FILE.rml; without it, all modules are listed
    #[arg(value_name = "NAME|FILE")]
    pub(crate) name: Option<String>,
    /// A node of the file or module; without it, all its nodes are listed
    #[arg(value_name = "NODE", requires = "name")]
    pub(crate) node: Option<String>,
}

/// `rml explain`.
#[derive(Args, Debug)]
pub(crate) struct Explain {
    /// The code, e.g. type-mismatch; without it, all codes are listed
    #[arg(value_name = "CODE")]
    pub(crate) code: Option<String>,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }
}
