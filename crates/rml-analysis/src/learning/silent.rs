//! A training that updates no parameter.

use std::fmt::Write as _;

use rml_base::codes::analysis as codes;
use rml_base::{Diagnostic, IndexVec};
use rml_ir::normal::{Callee, Eq, Formal, Node, NodeId, Rhs, Var};

use super::seeds::LOSS;
use super::view::{View, formal_name};
use super::{Program, closure};

/// The finding about the root, if it has parameters and updates none.
pub(super) fn finding(program: &Program<'_>) -> Option<Diagnostic> {
    let module = program.module;
    if !program.parameters[module.root] || updates(program) {
        return None;
    }
    let view = View::new(program, module.root);
    let node = view.node;
    let d = Diagnostic::warning(
        codes::NO_UPDATE,
        format!("`{}` updates no parameter, so it learns nothing", node.name),
    );
    let calls = || node.equations.ids().filter_map(|eq| Call::of(program, &view, eq));
    let is_off =
        |eq: &Eq| view.adjoint(*eq).is_some_and(|call| program.parameters[call.of] && view.is_off(&call));
    if let Some(off) = node.equations.ids().find(is_off) {
        let what = "no gradient is propagated here: `bp` is `false`";
        return Some(
            d.label(node.equations[off].span, what)
                .help("pass `true`, or a condition that is true in some cycles"),
        );
    }
    let Some(net) = calls().find(|call| program.parameters[call.id]) else {
        return Some(
            d.label(node.span, "its parameters are only read")
                .help("put the part with the parameters into a node `net`, and call `diff_net`"),
        );
    };
    let span = |call: &Call<'_>| node.equations[call.eq].span;
    let name = &net.node().name;
    let d = d.label(span(&net), format!("`{name}` is called, and only `diff_{name}` updates its parameters"));
    let output = net.results().next().unwrap_or_default();
    let seed = if net.is_loss() { "-0.1".to_owned() } else { format!("d{output}") };
    let d = d.help(format!("write `{}`", net.adjoint(&seed, None)));
    Some(match calls().find(|call| call.is_loss() && !program.parameters[call.id]) {
        Some(loss) => d
            .label(span(&loss), format!("`diff_{}` gives the gradient that it needs", loss.node().name))
            .help(format!("write `{}`", loss.adjoint("-0.1", Some(&output))))
            .note("-0.1 is minus the learning rate"),
        None if net.is_loss() => d.note("-0.1 is minus the learning rate"),
        None => d.note(format!(
            "`d{output}` is minus the learning rate times the derivative of the loss by `{output}`"
        )),
    })
}

/// Whether anything that the root calls updates parameters by a gradient. What the library updates by itself, such as
/// moving averages, does not count.
fn updates(program: &Program<'_>) -> bool {
    let module = program.module;
    let own = module.nodes.ids().map(|id| {
        let view = View::new(program, id);
        let library = (program.library)(view.node.span);
        let called = |eq: Eq| match &view.node.equations[eq].rhs {
            Rhs::ParamUpdate { .. } => !library,
            Rhs::Call { callee: Callee::Diff { node, .. }, .. } => {
                program.parameters[*node] && !view.adjoint(eq).is_some_and(|call| view.is_off(&call))
            }
            _ => false,
        };
        view.node.equations.ids().any(called)
    });
    let own: IndexVec<NodeId, bool> = own.collect();
    let below = closure(
        module,
        |_| false,
        |known, callee| match callee {
            Callee::Node(node) => known[node] || own[node],
            Callee::Diff { .. } => false,
        },
    );
    own[module.root] || below[module.root]
}

/// A call of a node.
struct Call<'v> {
    view: &'v View<'v>,
    eq: Eq,
    id: NodeId,
    callee: &'v Node,
    args: &'v [Var],
    statics: Vec<&'v str>,
}

impl<'v> Call<'v> {
    fn of(program: &'v Program<'_>, view: &'v View<'v>, eq: Eq) -> Option<Self> {
        let Rhs::Call { callee: Callee::Node(id), args, statics, .. } = &view.node.equations[eq].rhs else {
            return None;
        };
        let statics = statics.iter().map(|s| &**s).collect();
        Some(Self { view, eq, id: *id, callee: &program.module.nodes[*id], args, statics })
    }

    fn node(&self) -> &'v Node {
        self.callee
    }

    /// Whether what it gives is a loss.
    fn is_loss(&self) -> bool {
        matches!(&self.callee.outputs[..], [one] if self.callee.vars[*one].name.as_deref() == Some(LOSS))
    }

    /// The names of what it defines; what has none has that of the output.
    fn results(&self) -> impl Iterator<Item = String> + use<'_, 'v> {
        let lhs = &self.view.node.equations[self.eq].lhs;
        lhs.iter().zip(&self.callee.outputs).map(|(v, output)| {
            let name = self.view.node.vars[*v].name.as_ref().or(self.callee.vars[*output].name.as_ref());
            name.map_or_else(|| "_".to_owned(), |name| name.to_string())
        })
    }

    /// The call of the adjoint in its place. The gradient of what is called `named` gets a name.
    fn adjoint(&self, seed: &str, named: Option<&str>) -> String {
        let mut left: Vec<String> = self.results().collect();
        let num = |v: Var| self.callee.vars[v].ty.is_num();
        let inputs = self.callee.inputs().zip(self.args).filter(|(input, _)| num(input.var));
        left.extend(inputs.map(|(_, arg)| match named {
            Some(name) if self.argument(*arg) == name => format!("d{name}"),
            _ => "_".to_owned(),
        }));
        let mut text = format!("{} = diff_{}(", left.join(", "), self.callee.name);
        let (mut statics, mut args) = (self.statics.iter(), self.args.iter());
        for formal in &self.callee.formals {
            let argument = match formal {
                Formal::Static { .. } => statics.next().map(|s| (*s).to_owned()),
                Formal::Stream(_) => args.next().map(|arg| self.argument(*arg)),
            };
            let name = || formal_name(self.callee, formal).map(|name| name.to_string());
            let _ = write!(text, "{}, ", argument.or_else(name).unwrap_or_default());
        }
        let outputs = self.callee.outputs.iter().filter(|o| num(**o)).count();
        text + "true, " + &vec![seed; outputs].join(", ") + ");"
    }

    /// An argument as it is written: a name, a literal, or what stands for another expression.
    fn argument(&self, arg: Var) -> String {
        if let Some(name) = &self.view.node.vars[arg].name {
            return name.to_string();
        }
        match self.view.definition(arg) {
            Some(Rhs::Const(k)) => self.view.node.consts[*k].text.as_deref().unwrap_or("..").to_owned(),
            Some(Rhs::Call { callee: Callee::Node(_), .. }) => self.nested(arg),
            _ => "..".to_owned(),
        }
    }

    /// The name that the result of a call within the arguments gets.
    fn nested(&self, arg: Var) -> String {
        let calls =
            self.view.node.equations.ids().filter(|eq| self.view.node.equations[*eq].lhs.contains(&arg));
        let call = calls.filter_map(|eq| Call::of(self.view.program(), self.view, eq)).next();
        call.and_then(|call| call.results().next()).unwrap_or_else(|| "..".to_owned())
    }
}
