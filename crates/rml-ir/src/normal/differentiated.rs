//! The normal form in which every adjoint is a node.

use std::ops::Deref;

use super::{Callee, Module, NodeId, verify_differentiated};
use crate::check::checked;

/// A module with N7: no [`Callee::Diff`] is left. Differentiation makes it; [`pass::inline`](crate::pass::inline())
/// takes it.
#[derive(Clone, Debug)]
pub struct Differentiated(Module);

impl Differentiated {
    /// The module as a differentiated one, if it is: for modules that no pass makes, such as those that a text
    /// describes.
    ///
    /// # Errors
    /// What violates N1 to N7, one line for each violation.
    pub fn new(module: Module) -> Result<Differentiated, Vec<String>> {
        verify_differentiated(&module)?;
        Ok(Differentiated(module))
    }

    /// What a pass makes that ensures N1 to N7. As for [`checked`], a violation is a bug in the pass and stops it where
    /// stages are verified.
    pub fn made(pass: &str, module: Module) -> Differentiated {
        checked(pass, || verify_differentiated(&module));
        Differentiated(module)
    }

    /// The same module with another node to run.
    #[must_use]
    pub fn with_root(self, root: NodeId) -> Differentiated {
        Differentiated::made("with_root", Module { root, ..self.0 })
    }

    /// The node that a call is of.
    pub fn callee(&self, callee: Callee) -> NodeId {
        match callee {
            Callee::Node(node) => node,
            Callee::Diff { .. } => unreachable!("N7: no adjoint is called by name"),
        }
    }
}

impl Deref for Differentiated {
    type Target = Module;

    fn deref(&self) -> &Module {
        &self.0
    }
}
