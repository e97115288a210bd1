//! The flags of `rml import`.

use std::path::PathBuf;

use clap::Args;

use crate::values;

/// `rml import`.
#[derive(Args, Debug)]
pub(crate) struct Import {
    /// The ONNX model
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    /// The folder for the files; it is created if it does not exist
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    pub(crate) out: PathBuf,
    /// The name of the files; by default that of the model
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// The name of the node that runs
    #[arg(long, value_name = "NAME", default_value = "main", value_parser = values::node_name)]
    pub(crate) node: String,
    /// Size of a dimension that the model leaves open, by its name (batch=1) or by input and axis (x.0=1)
    #[arg(long, value_name = "NAME=N", value_parser = values::dimension)]
    pub(crate) dim: Vec<(String, usize)>,
    /// Value of an input that never changes, e.g. sr=16000; what depends on it alone is computed at import
    #[arg(long, value_name = "INPUT=VALUE", value_parser = values::fixed)]
    pub(crate) set: Vec<(String, Vec<f64>)>,
    /// An input that is a state, and the output that it keeps, e.g. h=hn; `none` for no states. By default names such
    /// as h and hn, state and stateN are paired
    #[arg(long, value_name = "INPUT=OUTPUT", value_parser = values::pair)]
    pub(crate) state: Vec<values::Pair>,
    /// Compute numbers in double precision
    #[arg(long)]
    pub(crate) f64: bool,
}
