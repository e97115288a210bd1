//! Notes about nodes that are not analysed although they have no errors.

use rml_elab::{FormalKind, NodeSignature};

use super::Placed;
use crate::front::Front;
use crate::options::root;

/// A node that `check` accepts as far as it can be looked at, and why it is not analysed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unchecked {
    /// Its name.
    pub node: String,
    /// Why it is not analysed.
    pub why: String,
    /// How it can be.
    pub help: String,
}

impl Unchecked {
    pub(super) fn new(front: &Front, node: &NodeSignature, placed: &Placed) -> Self {
        let (why, help) = match node.is_extern {
            true => {
                let why = "it is declared only, and nothing implements it: a program cannot use it";
                (why.to_owned(), "add its equations".to_owned())
            }
            false => open(front, node, placed),
        };
        Self { node: node.name.clone(), why, help }
    }
}

/// What is said about a node that is wrong for the values that are assumed.
fn open(front: &Front, node: &NodeSignature, placed: &Placed) -> (String, String) {
    let found = front.elaborate_alone(&placed.options, root(&placed.options)).err().unwrap_or_default();
    let message = found.iter().find(|d| d.is_error()).map(|d| d.message.clone());
    let assumed = placed.assumed.iter().map(|(name, value)| format!("`{name}` = {value}"));
    let mut given: Vec<String> = assumed.collect();
    let inputs = node.formals.iter().filter(|f| matches!(f.kind, FormalKind::Stream { dtype: None, .. }));
    let inputs: Vec<String> = inputs.map(|f| format!("`{}`", f.name)).collect();
    given.extend((!inputs.is_empty()).then(|| format!("scalars for {}", inputs.join(", "))));
    let says = message.map_or(String::new(), |m| format!(": with {}, {m}", given.join(" and ")));
    let values: Vec<String> = placed.assumed.iter().map(|(name, _)| format!("`{name}`")).collect();
    let mut open = Vec::new();
    open.extend((!values.is_empty()).then(|| format!("the value of {}", values.join(", "))));
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
