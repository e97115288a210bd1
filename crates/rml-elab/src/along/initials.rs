//! The expressions that compute the initial values of parameters. A variant keeps them unchanged, because they are
//! copied to the node that defines the parameters.

use indexmap::{IndexMap, IndexSet};
use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, Span};
use rml_ir::typed::{Callee, Equation, ExprId, ExprKind, Node, NodeId, Var};

/// The expressions from which initial values are computed.
pub(super) struct Initials {
    pub(super) exprs: IndexSet<ExprId>,
    /// The variables that initial values read, with the right sides of their equations.
    vars: IndexMap<Var, ExprId>,
}

impl Initials {
    pub(super) fn of(node: &Node) -> Self {
        let inits = node.exprs.iter().filter_map(|expr| {
            let ExprKind::Param { init, .. } = expr.kind else { return None };
            Some(init)
        });
        let mut todo: Vec<ExprId> = inits.collect();
        let (mut exprs, mut vars) = (IndexSet::new(), IndexMap::new());
        while let Some(expr) = todo.pop() {
            if !exprs.insert(expr) {
                continue;
            }
            todo.extend(node.exprs[expr].kind.operands());
            if let ExprKind::Var(var) = node.exprs[expr].kind {
                let defines = |equation: &&Equation| equation.lhs.contains(&Some(var));
                if let Some(equation) = node.equations.iter().find(defines) {
                    vars.insert(var, equation.rhs);
                    todo.push(equation.rhs);
                }
            }
        }
        Self { exprs, vars }
    }

    /// Refuses an expression outside of initial values that reads a random constant of an initial value: the constant
    /// would be drawn again for each entry. `hands_on` returns whether a node has random constants or states.
    pub(super) fn check(
        &self,
        node: &Node,
        expr: ExprId,
        hands_on: &mut dyn FnMut(NodeId) -> Result<bool, Diagnostic>,
    ) -> Result<(), Diagnostic> {
        let ExprKind::Var(var) = node.exprs[expr].kind else { return Ok(()) };
        let (mut todo, mut seen) = (Vec::from_iter(self.vars.get(&var).copied()), IndexSet::new());
        while let Some(at) = todo.pop() {
            if !seen.insert(at) {
                continue;
            }
            todo.extend(node.exprs[at].kind.operands());
            let is_random = match &node.exprs[at].kind {
                ExprKind::Const(constant) => constant.value().is_none(),
                ExprKind::Call { callee: Callee::Node(callee), .. } => hands_on(*callee)?,
                ExprKind::Var(var) => {
                    todo.extend(self.vars.get(var));
                    false
                }
                ExprKind::Call { callee: Callee::Diff { .. }, .. } => false,
                ExprKind::Apply { .. } | ExprKind::If { .. } | ExprKind::When { .. } => false,
                ExprKind::Merge { .. } | ExprKind::Fby { .. } | ExprKind::FbyBack { .. } => false,
                ExprKind::Post { .. } | ExprKind::Param { .. } => false,
            };
            if is_random {
                return Err(twice(node.exprs[at].span, node.exprs[expr].span));
            }
        }
        Ok(())
    }
}

/// The error that a random constant is used both as an initial value of a parameter and elsewhere.
fn twice(drawn: Span, read: Span) -> Diagnostic {
    let message = "a random constant is the initial value of a parameter and is read beside it";
    Diagnostic::error(codes::ALONG_AXIS, message)
        .label(read, "read here")
        .label(drawn, "drawn here")
        .help("write the constant twice, once as the first value of the parameter")
}
