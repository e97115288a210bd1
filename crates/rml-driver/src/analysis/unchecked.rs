//! What is said of nodes that are not analysed although nothing is wrong with them.

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

/// What is said of a node that is wrong for the values that are assumed.
fn open(front: &Front, node: &NodeSignature, placed: &Placed) -> (String, String) {
    let found = front.elaborate_alone(&placed.options, root(&placed.options)).err().unwrap_or_default();
    let message = found.iter().find(|d| d.is_error()).map(|d| d.message.clone());
    let assumed: Vec<String> =
        placed.assumed.iter().map(|(name, value)| format!("`{name}` = {value}")).collect();
    let untyped = node.formals.iter().filter(|f| matches!(f.kind, FormalKind::Stream { dtype: None, .. }));
    let untyped: Vec<String> = untyped.map(|f| format!("`{}`", f.name)).collect();
    let says = |found: &str| message.map_or(String::new(), |m| format!(": {found}{m}"));
    if assumed.is_empty() {
        let why =
            format!("its types depend on those of {}", untyped.join(", ")) + &says("if they are scalars, ");
        return (why, "declare types, as in `x: num [8]`".to_owned());
    }
    let names: Vec<String> = placed.assumed.iter().map(|(name, _)| format!("`{name}`")).collect();
    let why = format!("its types depend on the value of {}", names.join(", "))
        + &says(&format!("with {}, ", assumed.join(", ")));
    let set: Vec<String> = placed.assumed.iter().map(|(name, _)| format!("--set {name}=..")).collect();
    (why, format!("give values: `rml check FILE --node {} {}`", node.name, set.join(" ")))
}
