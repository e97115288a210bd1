//! The flags of `rml export`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::Program;
use crate::values;

/// `rml export`.
#[derive(Args, Debug)]
pub(crate) struct Export {
    #[command(flatten)]
    pub(crate) program: Program,
    /// The node to export; by default the only one that no other node calls
    #[arg(long, value_name = "NAME")]
    pub(crate) node: Option<String>,
    /// The format of the export
    #[arg(long, value_enum, default_value_t = Target::C, value_name = "FORMAT")]
    pub(crate) format: Target,
    /// The checkpoint with the initial values of states; by default those of the program
    #[arg(long, value_name = "FILE[:PREFIX]")]
    pub(crate) params: Option<PathBuf>,
    /// The mapping file whose table `ports` names the inputs, outputs and states of a graph (`onnx`, `stablehlo`), as
    /// `rml import` writes it; by default they have their names in the program
    #[arg(long, value_name = "FILE")]
    pub(crate) map: Option<PathBuf>,
    /// The most cycles of a window, or of a call where there are no windows (by default as few as the program needs). A
    /// graph (`onnx`, `stablehlo`) has exactly that many
    #[arg(long, value_name = "N", value_parser = values::positive)]
    pub(crate) cycles: Option<usize>,
    /// The source of the elementary functions of C; by default `own`
    #[arg(long, value_enum, value_name = "MATH")]
    pub(crate) math: Option<Math>,
    /// The name of the files and the prefix of names in C; by default the name of the node
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// The folder for the files; it is created if it does not exist
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    pub(crate) out: PathBuf,
    /// Seed of the random initialisers; by default 0
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
}

/// The format of an export.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Target {
    /// One source file of C99, and its header
    C,
    /// An ONNX model of opset 18
    Onnx,
    /// A StableHLO module
    #[value(name = "stablehlo")]
    StableHlo,
}

/// The source of the elementary functions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Math {
    /// The program contains its own functions: they give the same bits as `rml` on every machine
    Own,
    /// From `math.h`, and the compiler may round products differently
    Library,
}
