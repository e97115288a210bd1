//! The operators of the format: for each the function that makes equations of a node.

use crate::build::{Builder, Call, Val};
use crate::model::Node;
use crate::refuse::{Refusal, Res};

mod attention;
mod control;
mod convolution;
mod formula;
mod fourier;
mod functions;
mod indexing;
mod layout;
mod loss;
mod matrix;
mod normalisation;
mod pointwise;
mod pooling;
mod quantised;
mod recurrent;
mod reduction;
mod resize;
mod scan;
mod statics;

/// Makes the results of a node.
pub(crate) type Rule = fn(&mut Builder<'_>, &Call<'_>) -> Res<Vec<Val>>;

/// Operators of one topic by name.
pub(crate) type Table = &'static [(&'static str, Rule)];

const TABLES: &[Table] = &[
    pointwise::TABLE,
    functions::TABLE,
    layout::TABLE,
    indexing::TABLE,
    reduction::TABLE,
    matrix::TABLE,
    convolution::TABLE,
    pooling::TABLE,
    normalisation::TABLE,
    recurrent::TABLE,
    quantised::TABLE,
    resize::TABLE,
    fourier::TABLE,
    statics::TABLE,
    attention::TABLE,
    loss::TABLE,
    control::TABLE,
    scan::TABLE,
];

/// Operators of ONNX Runtime's own domain that have the meaning of a standard one.
const MICROSOFT: &[&str] = &[
    "Gelu",
    "QuickGelu",
    "BiasGelu",
    "FastGelu",
    "QLinearAdd",
    "QLinearMul",
    "QLinearConv",
    "QuantizeLinear",
    "DequantizeLinear",
    "FusedMatMul",
    "SkipLayerNormalization",
    "Inverse",
];

/// The function for an operator.
pub(crate) fn rule(domain: &str, op: &str) -> Option<Rule> {
    let known = match domain {
        "" => true,
        "com.microsoft" => MICROSOFT.contains(&op),
        _ => false,
    };
    let find = |table: &Table| table.iter().find(|(name, _)| *name == op).map(|(_, rule)| *rule);
    if known { TABLES.iter().find_map(find) } else { None }
}

/// All operators of the standard's own domain that have a function, sorted.
pub(crate) fn names() -> Vec<&'static str> {
    let mut names: Vec<&str> = TABLES.iter().flat_map(|t| t.iter().map(|(name, _)| *name)).collect();
    names.sort_unstable();
    names
}

/// Why a node without a function cannot be imported.
pub(crate) fn unknown(node: &Node) -> Refusal {
    let refusal = match node.domain.as_str() {
        "" => Refusal::new("the importer does not have it"),
        domain => Refusal::new(format!("the importer does not have the operators of domain `{domain}`")),
    };
    let all = names();
    match rml_base::suggest(&node.op, all.iter().copied()) {
        Some(near) if near != node.op => refusal.help(format!("it has `{near}`")),
        _ => refusal.help("export the model without it, or give it as a function of the model"),
    }
}
