//! The flags of `rml params`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::Program;

/// `rml params`.
#[derive(Subcommand, Debug)]
pub(crate) enum Params {
    /// List the parameters of a program, or the tensors of a file
    List(ListParams),
    /// Make a checkpoint from the weights of another library
    Import(ImportParams),
    /// Write the parameters of a checkpoint as the weights of another library
    Export(ExportParams),
    /// List the layouts that mapping files can use, or print one
    Layouts {
        /// The layout, e.g. torch.lstm; without it, all are listed
        #[arg(value_name = "NAME")]
        name: Option<String>,
    },
}

/// `rml params list`.
#[derive(Args, Debug)]
#[command(mut_arg("file", |file| file.value_parser(clap::value_parser!(PathBuf))))]
pub(crate) struct ListParams {
    /// The program, or a file of tensors: .safetensors or .npz
    #[command(flatten)]
    pub(crate) program: Program,
    /// The node to run; by default the only one that no other node calls
    #[arg(long, value_name = "NAME")]
    pub(crate) node: Option<String>,
    /// A checkpoint, whose values are summarised
    #[arg(long, value_name = "FILE[:PREFIX]")]
    pub(crate) params: Option<PathBuf>,
    /// How to print it
    #[arg(long, value_enum, default_value_t = ParamsFormat::Table)]
    pub(crate) format: ParamsFormat,
}

/// How to print parameters and tensors.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum ParamsFormat {
    /// {"node": .., "params": [{"path", "type", "shape", "declared", "from", "values"}]}
    Json,
    /// An aligned table
    Table,
}

/// `rml params import`.
#[derive(Args, Debug)]
pub(crate) struct ImportParams {
    #[command(flatten)]
    pub(crate) program: Program,
    /// The node whose parameters are made; by default the only one that no other node calls
    #[arg(long, value_name = "NAME")]
    pub(crate) node: Option<String>,
    /// The weights: .safetensors, .npz or .json
    #[arg(long, value_name = "FILE")]
    pub(crate) from: PathBuf,
    /// The mapping: which tensors each parameter is made of
    #[arg(long, value_name = "FILE")]
    pub(crate) map: PathBuf,
    /// Write the checkpoint to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) save: PathBuf,
}

/// `rml params export`.
#[derive(Args, Debug)]
pub(crate) struct ExportParams {
    #[command(flatten)]
    pub(crate) program: Program,
    /// The node whose parameters are written; by default the only one that no other node calls
    #[arg(long, value_name = "NAME")]
    pub(crate) node: Option<String>,
    /// The checkpoint with the parameters
    #[arg(long, value_name = "FILE[:PREFIX]")]
    pub(crate) params: PathBuf,
    /// The mapping, as for import
    #[arg(long, value_name = "FILE")]
    pub(crate) map: PathBuf,
    /// Write the weights to this file: .safetensors or .npz
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Weights of the same net from the other library: shapes, types, and tensors that are no parameters are taken from
    /// this file
    #[arg(long, value_name = "FILE")]
    pub(crate) like: Option<PathBuf>,
    /// The type of numbers; by default that of --like, else that of the checkpoint
    #[arg(long, value_enum, value_name = "TYPE")]
    pub(crate) numbers: Option<NumberType>,
}

/// A type of numbers in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum NumberType {
    /// Single precision
    F32,
    /// Double precision
    F64,
    /// Half precision
    F16,
    /// Half precision with the range of f32
    Bf16,
}
