//! Calls of nodes, and the text of the calls of their adjoints.

use rml_ir::normal::{Callee, Eq, Formal, Node, NodeId, Rhs, Var};

use super::Program;
use super::seeds::LOSS;
use super::view::{View, formal_name};

/// A call of a node.
pub(super) struct Call<'v> {
    view: &'v View<'v>,
    pub(super) eq: Eq,
    pub(super) id: NodeId,
    callee: &'v Node,
    args: Vec<Var>,
    statics: Vec<&'v str>,
}

impl<'v> Call<'v> {
    /// The call of a node, if an equation is one.
    pub(super) fn of(program: &'v Program<'_>, view: &'v View<'v>, eq: Eq) -> Option<Self> {
        match &view.node.equations[eq].rhs {
            Rhs::Call { callee: Callee::Node(_), .. } => Self::of_primal(program, view, eq),
            _ => None,
        }
    }

    /// The call of a node or of its adjoint, as a call of the node.
    pub(super) fn of_primal(program: &'v Program<'_>, view: &'v View<'v>, eq: Eq) -> Option<Self> {
        let Rhs::Call { callee, args, statics, .. } = &view.node.equations[eq].rhs else { return None };
        let (Callee::Node(id) | Callee::Diff { node: id, order: 1 }) = callee else { return None };
        let statics = statics.iter().map(|s| &**s).collect();
        Some(Self { view, eq, id: *id, callee: &program.module.nodes[*id], args: args.clone(), statics })
    }

    pub(super) fn node(&self) -> &'v Node {
        self.callee
    }

    /// The values of the call's inputs.
    pub(super) fn args(&self) -> &[Var] {
        let inputs = self.callee.inputs().count();
        &self.args[..inputs.min(self.args.len())]
    }

    /// Whether the result of the call is a loss.
    pub(super) fn is_loss(&self) -> bool {
        matches!(&self.callee.outputs[..], [one] if self.callee.vars[*one].name.as_deref() == Some(LOSS))
    }

    /// The names of the variables that the call defines; an unnamed variable gets the name of the output.
    pub(super) fn results(&self) -> impl Iterator<Item = String> + use<'_, 'v> {
        let lhs = &self.view.node.equations[self.eq].lhs;
        lhs.iter().zip(&self.callee.outputs).map(|(v, output)| {
            let name = self.view.node.vars[*v].name.as_ref().or(self.callee.vars[*output].name.as_ref());
            name.map_or_else(|| "_".to_owned(), |name| name.to_string())
        })
    }

    /// The same call with two of its inputs exchanged.
    pub(super) fn exchanged(mut self, a: Var, b: Var) -> Self {
        let other = |v: &Var| match *v {
            v if v == a => b,
            v if v == b => a,
            v => v,
        };
        self.args = self.args.iter().map(other).collect();
        self
    }

    /// The text of the call of the node.
    pub(super) fn primal(&self) -> String {
        let left: Vec<String> = self.results().collect();
        format!("{} = {}({});", left.join(", "), self.callee.name, self.actuals().join(", "))
    }

    /// The text of the call of the adjoint in its place. The gradient of the argument `named` gets a name.
    pub(super) fn adjoint(&self, seed: &str, named: Option<&str>) -> String {
        let d = named.map(|name| format!("d{name}"));
        self.adjoint_with(("true", seed), named.zip(d.as_deref()))
    }

    /// The text of the call of the adjoint, with `bp` and the entering gradient `seed`. `named` contains an argument
    /// and the name for its gradient.
    pub(super) fn adjoint_with(&self, (bp, seed): (&str, &str), named: Option<(&str, &str)>) -> String {
        let mut left: Vec<String> = self.results().collect();
        let num = |v: Var| self.callee.vars[v].ty.is_num();
        let inputs = self.callee.inputs().zip(self.args.iter().copied()).filter(|(input, _)| num(input.var));
        left.extend(inputs.map(|(_, arg)| match named {
            Some((name, d)) if self.argument(arg) == name => d.to_owned(),
            _ => "_".to_owned(),
        }));
        let outputs = self.callee.outputs.iter().filter(|o| num(**o)).count();
        let seeds = vec![seed; outputs].into_iter().map(str::to_owned);
        let actuals: Vec<String> = self.actuals().into_iter().chain([bp.to_owned()]).chain(seeds).collect();
        format!("{} = diff_{}({});", left.join(", "), self.callee.name, actuals.join(", "))
    }

    /// The static parameters and inputs as text.
    fn actuals(&self) -> Vec<String> {
        let (mut statics, mut args) = (self.statics.iter(), self.args.iter());
        let actual = |formal: &Formal| {
            let argument = match formal {
                Formal::Static { .. } => statics.next().map(|s| (*s).to_owned()),
                Formal::Stream(_) => args.next().map(|arg| self.argument(*arg)),
            };
            let name = || formal_name(self.callee, formal).map(|name| name.to_string());
            argument.or_else(name).unwrap_or_default()
        };
        self.callee.formals.iter().map(actual).collect()
    }

    /// The text of an argument: a name, a literal, or a placeholder for another expression.
    pub(super) fn argument(&self, arg: Var) -> String {
        if let Some(name) = &self.view.node.vars[arg].name {
            return name.to_string();
        }
        match self.view.definition(arg) {
            Some(Rhs::Const(k)) => self.view.node.consts[*k].text.as_deref().unwrap_or("..").to_owned(),
            Some(Rhs::Call { callee: Callee::Node(_), .. }) => self.nested(arg),
            _ => "..".to_owned(),
        }
    }

    /// The name that the result of a nested call gets.
    fn nested(&self, arg: Var) -> String {
        let calls =
            self.view.node.equations.ids().filter(|eq| self.view.node.equations[*eq].lhs.contains(&arg));
        let call = calls.filter_map(|eq| Call::of(self.view.program(), self.view, eq)).next();
        call.and_then(|call| call.results().next()).unwrap_or_else(|| "..".to_owned())
    }
}
