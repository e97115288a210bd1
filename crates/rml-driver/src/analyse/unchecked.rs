//! Notes about nodes that are not analysed although they have no errors.

use rml_base::Diagnostic;
use rml_elab::{FormalKind, NodeSignature};
use rml_ir::typed::StaticValue;

use super::Placed;
use crate::analysis::Analysis;
use crate::front::Front;
use crate::options::root;

/// A node without known errors that `check` could not analyse, and the reason.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unchecked {
    /// Its name.
    pub node: String,
    /// Why it is not analysed.
    pub why: String,
    /// How to have it analysed.
    pub help: String,
}

impl Unchecked {
    /// `fits` is the analysis for other values than those of `placed`, if the node is right for some values.
    pub(super) fn new(front: &Front, node: &NodeSignature, placed: &Placed, fits: Option<&Analysis>) -> Self {
        let (why, help) = match node.is_extern {
            true => {
                let why = "it is declared only, and nothing implements it: a program cannot use it";
                (why.to_owned(), "add its equations".to_owned())
            }
            false => open(front, node, placed, fits),
        };
        Self { node: node.name.clone(), why, help }
    }
}

/// The note about a node that is wrong for the assumed values.
fn open(front: &Front, node: &NodeSignature, placed: &Placed, fits: Option<&Analysis>) -> (String, String) {
    let found = front.elaborate_alone(&placed.options, root(&placed.options)).err().unwrap_or_default();
    let message = found.iter().find(|d| d.is_error()).map(|d| message(front, d));
    let mut given = values(&placed.assumed, &[]);
    let inputs = node.formals.iter().filter(|f| matches!(f.kind, FormalKind::Stream { dtype: None, .. }));
    let inputs: Vec<String> = inputs.map(|f| format!("`{}`", f.name)).collect();
    given.extend((!inputs.is_empty()).then(|| format!("scalars for {}", inputs.join(", "))));
    let mut says = message.map_or(String::new(), |m| format!(": with {}, {m}", given.join(" and ")));
    says.extend(fits.map(|fits| {
        let other = values(&fits.assumed, &placed.assumed);
        format!("; with {} it is right", other.join(" and "))
    }));
    let names: Vec<String> = placed.assumed.iter().map(|(name, _)| format!("`{name}`")).collect();
    let mut open = Vec::new();
    open.extend((!names.is_empty()).then(|| format!("the value of {}", names.join(", "))));
    open.extend((!inputs.is_empty()).then(|| format!("the type of {}", inputs.join(", "))));
    let set: Vec<String> = placed.assumed.iter().map(|(name, _)| format!("--set {name}=..")).collect();
    let mut help = Vec::new();
    help.extend(
        (!set.is_empty())
            .then(|| format!("give values: `rml check FILE --node {} {}`", node.name, set.join(" "))),
    );
    help.extend((!inputs.is_empty()).then(|| "declare types, as in `x: num [8]`".to_owned()));
    (format!("its types depend on {}{says}", open.join(" and ")), help.join("; "))
}

/// The values in `assumed` that are not in `but`.
fn values(assumed: &[(String, StaticValue)], but: &[(String, StaticValue)]) -> Vec<String> {
    let other = assumed.iter().filter(|value| !but.contains(value));
    other.map(|(name, value)| format!("`{name}` = {value}")).collect()
}

/// The message of a finding, with the line of the main text that it refers to.
fn message(front: &Front, found: &Diagnostic) -> String {
    let own = found.labels.iter().find(|label| label.span.file == front.main);
    let line = own.map(|label| front.sources.line_column(label.span.file, label.span.start).0);
    match line {
        Some(line) => format!("{} in line {line}", found.message),
        None => found.message.clone(),
    }
}
