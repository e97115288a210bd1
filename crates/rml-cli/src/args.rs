//! The command line. Its doc comments are the help texts.

use std::path::PathBuf;

use clap::builder::{PathBufValueParser, TypedValueParser as _};
use clap::{Args, CommandFactory as _, Parser, Subcommand, ValueEnum};
use rml::StaticValue;

use crate::values;

pub(crate) use backend::{Backends, Computing, ListFormat};
pub(crate) use export::{Export, Math, Target};
pub(crate) use grad::{CheckFormat, Differentiation, Grad, GradFormat, Gradcheck};
pub(crate) use import::Import;
pub(crate) use params::{ExportParams, ImportParams, ListParams, NumberType, Params, ParamsFormat};
pub(crate) use profile::Profiling;
pub(crate) use table::{Cutting, Preparing, Table};
pub(crate) use trace::{Execution, Format, Over, Rows, Run, Semantics, Trace, Vars, View};
pub(crate) use train::{Infer, SplitArg, Train};

mod advice;
mod backend;
mod export;
mod grad;
mod import;
mod params;
mod profile;
mod table;
mod trace;
mod train;

/// The R(ML)² toolchain: check, run, trace, differentiate, train.
#[derive(Parser, Debug)]
#[command(name = "rml", version, long_version = VERSION, max_term_width = 100, after_help = AFTER_HELP)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Cli {
    /// Parses the command line of this process.
    pub(crate) fn read() -> Result<Self, clap::Error> {
        let cli = Self::try_parse().map_err(advice::advised)?;
        if let Command::Train(train) = &cli.command {
            train.check().map_err(|(kind, what)| Self::command().error(kind, what))?;
        }
        Ok(cli)
    }
}

/// The version, and the backends that this build contains or can open.
const VERSION: &str = match (cfg!(feature = "xla"), cfg!(feature = "torch")) {
    (false, false) => concat!(env!("CARGO_PKG_VERSION"), "\nbackends: auto, cpu, native, reference"),
    (true, false) => concat!(env!("CARGO_PKG_VERSION"), "\nbackends: auto, cpu, native, reference, xla"),
    (false, true) => concat!(env!("CARGO_PKG_VERSION"), "\nbackends: auto, cpu, native, reference, torch"),
    (true, true) => {
        concat!(env!("CARGO_PKG_VERSION"), "\nbackends: auto, cpu, native, reference, xla, torch")
    }
};

const AFTER_HELP: &str = "\
Results go to standard output, diagnostics and progress to standard error.

Exit codes: 0 done; 1 errors were found; 2 the command line was wrong;
130, 143, 129 interrupted (Ctrl-C, SIGTERM, SIGHUP).
Environment: RML_LOG=debug logs each pass with its duration; NO_COLOR turns colours off;
RML_BACKENDS is the folder of installed backends; RML_PROGRAMS is the folder for compiled
programs, or off for none.";

/// Flags that every command accepts.
#[derive(Args, Debug)]
pub(crate) struct Global {
    /// How diagnostics are written: for people, or one JSON object per line
    #[arg(long, global = true, value_enum, default_value_t = MessageFormat::Human, value_name = "FORMAT")]
    pub(crate) message_format: MessageFormat,
    /// When to use colours; auto = on a terminal
    #[arg(long, global = true, value_enum, default_value_t = Colour::Auto, value_name = "WHEN")]
    pub(crate) color: Colour,
    /// The most memory that values may take, e.g. 512M or 12G; by default half of what the machine grants
    #[arg(long, global = true, value_name = "SIZE", value_parser = values::bytes)]
    pub(crate) memory: Option<u64>,
}

/// How diagnostics are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum MessageFormat {
    /// Drawn into the source text.
    Human,
    /// One JSON object per line.
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

/// A command.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Check programs: names, types, shapes, clocks, and how many cycles outputs wait
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
    Train(Box<Train>),
    /// Run a node with the parameters of a checkpoint, over data or as a stream
    Infer(Infer),
    /// Export a node as C99 with static memory, as ONNX or as StableHLO
    Export(Export),
    /// Import an ONNX model: a program, its parameters, and the mapping back to its names
    Import(Import),
    /// List parameters, and move them from and to PyTorch, Keras and JAX
    #[command(subcommand)]
    Params(Params),
    /// Show the documentation of a node, module or operator: comment, interface, static parameters
    Doc(Doc),
    /// List the backends that compute tensors, whether they load, their versions and devices
    Backends(Backends),
    /// Explain a diagnostic code
    Explain(Explain),
    /// Serve the page of a run to a browser on this machine, and update it when a file changes
    View(View),
    /// Create a folder with a program that learns, data for it, and a page with the commands
    New(New),
    /// Print completions for a shell
    Completions(Completions),
    /// Write manual pages, one for each command
    Man(Man),
    /// Serve an editor: the Language Server Protocol on standard input and output
    Lsp(Lsp),
}

/// The program and its settings.
#[derive(Args, Clone, Debug)]
pub(crate) struct Program {
    /// The program
    #[arg(value_name = "FILE", value_parser = PathBufValueParser::new().try_map(values::program))]
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
    #[arg(value_name = "FILE", required = true, value_parser = PathBufValueParser::new().try_map(values::program))]
    pub(crate) files: Vec<PathBuf>,
    /// Check this node as one that is run; without it, every node is checked
    #[arg(long, value_name = "NAME")]
    pub(crate) node: Option<String>,
    /// Value of a static parameter or named dimension of the run node
    #[arg(long, value_name = "NAME=VALUE", value_parser = values::setting)]
    pub(crate) set: Vec<(String, StaticValue)>,
    /// Compute numbers in double precision
    #[arg(long)]
    pub(crate) f64: bool,
    /// Check again whenever a file changes, until Ctrl-C
    #[arg(long)]
    pub(crate) watch: bool,
    /// Print the type, shape and clock of every named variable of the run node
    #[arg(long)]
    pub(crate) types: bool,
    /// With --types: also those of variables of instances
    #[arg(long, requires = "types")]
    pub(crate) instances: bool,
    /// Value of the run node's dimension `batch`
    #[arg(long, value_name = "N", value_parser = values::positive)]
    pub(crate) batch: Option<usize>,
    /// Print the clock of each output, how long it waits, and why
    #[arg(long)]
    pub(crate) explain: bool,
    /// With --explain: print the memory of a window of this many cycles, within --memory and at least
    #[arg(long, value_name = "N", value_parser = values::positive, requires = "explain")]
    pub(crate) cycles: Option<usize>,
    /// How to print the verdict: for people, or as one JSON object
    #[arg(long, value_enum, default_value_t = VerdictFormat::Text, value_name = "FORMAT",
        conflicts_with_all = ["explain", "types"])]
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
    /// A checkpoint, whose values the states begin with: parameters and other states; by default the initial values
    /// of the program
    #[arg(long, value_name = "FILE[:PREFIX]")]
    pub(crate) params: Option<PathBuf>,
    /// Seed of the random initialisers; by default 0
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
}

/// A stage of the compiler.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Stage {
    /// The syntax tree
    Parse,
    /// Names resolved, types and shapes known
    Elab,
    /// One primitive operation per equation
    Normalize,
    /// With the adjoint nodes
    Diff,
    /// The run node with every call inlined
    Inline,
    /// Branches with constant conditions chosen
    Settle,
    /// Constants folded
    Fold,
    /// Restricted to what the outputs and trained parameters need
    Cone,
    /// In two parts, for a training with shards: gradients, and updates of parameters
    Cut,
    /// In one part, random initial values drawn: the program that runs
    Draw,
    /// The same, with clocks, recurrences, windows and the values that are constant in a window
    Analyse,
    /// The operations of a window, as sweeps over its ticks
    Plan,
    /// The same as loops over the elements of each tick
    Nests,
    /// The same with fewer loops: a loop that reads the results of another one is fused with it
    Fused,
}

/// `rml fmt`.
#[derive(Args, Debug)]
pub(crate) struct Fmt {
    /// The programs; - formats standard input to standard output
    #[arg(value_name = "FILE", required = true, value_parser = PathBufValueParser::new().try_map(values::program))]
    pub(crate) files: Vec<PathBuf>,
    /// Change nothing; name the files that are not formatted and fail if there are any
    #[arg(long)]
    pub(crate) check: bool,
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

/// `rml new`.
#[derive(Args, Debug)]
pub(crate) struct New {
    /// The folder; its name becomes the name of the program
    #[arg(value_name = "NAME")]
    pub(crate) path: PathBuf,
    /// What the program does
    #[arg(long, value_enum, default_value_t = Template::Lstm)]
    pub(crate) template: Template,
}

/// The task of a new program.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Template {
    /// Classify sequences by an LSTM
    Lstm,
    /// Predict a series from its previous values
    Forecast,
    /// Learn by reinforcement, in an environment that is a node
    Rl,
    /// Monitor a stream and learn from it meanwhile
    Stream,
}

/// `rml completions`.
#[derive(Args, Debug)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

/// `rml man`.
#[derive(Args, Debug)]
pub(crate) struct Man {
    /// The folder; it is created if it does not exist
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
}

/// `rml lsp`.
#[derive(Args, Debug)]
pub(crate) struct Lsp {
    /// Use standard input and output; this is the only transport, but editors pass the flag
    #[arg(long)]
    pub(crate) stdio: bool,
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
