//! Help about undefined names: an index without a range, a cycle as an index, a parameter of a state read outside the
//! state, an input read by a constant, the adjoint of a function.

use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, Span};
use rml_syntax::ast::{self, BinaryOp, Expr, ExprKind as A, IndexExpr, Lhs, Literal, Symbol};

use super::node::Lower;
use super::written::{brief, rewritten, written};
use crate::builtins;
use crate::hir::Order;
use crate::scope::{Callable, derivative};

/// Functions of other libraries that apply a function to each entry of an array.
const SCANS: &[&str] = &["scan", "map", "fold", "foldl", "reduce", "vmap"];

/// The maximum number of previous cycles that are written as nested delays.
const MAX_BACK: i64 = 3;

impl<'a> Lower<'a, '_> {
    /// The error that a name is not a variable at this place, if the reason is known.
    pub(super) fn misplaced(&self, name: Symbol, span: Span) -> Option<Diagnostic> {
        if self.header.form == ast::DefinitionForm::Constant {
            return self.read_by_constant(name, span);
        }
        self.parameter_outside(name, span).or_else(|| self.index_without_range(name, span))
    }

    /// The error that a constant reads a variable of a node.
    fn read_by_constant(&self, name: Symbol, span: Span) -> Option<Diagnostic> {
        let defines = |node: &ast::Node<'_>| {
            let mut sides = node.equations.iter().flat_map(|equation| equation.lhs);
            sides.any(|side| matches!(side, Lhs::Var(decl) if decl.name.name == name))
        };
        let mut nodes = self
            .headers
            .iter()
            .filter(|header| header.file == self.header.file && header.form == ast::DefinitionForm::Node);
        let (node, is_input) = nodes.find_map(|header| {
            let is_input = header.ast.inputs.iter().any(|input| input.name.name == name);
            (is_input || defines(header.ast)).then_some((header, is_input))
        })?;
        let (text, what) = (self.names.resolve(&name), if is_input { "an input" } else { "a variable" });
        let value = self.header.ast.equations.first().map(|equation| brief(self.names, equation.rhs));
        let own = &self.header.name;
        Some(
            Diagnostic::error(codes::UNKNOWN_NAME, format!("the constant `{own}` cannot read `{text}`"))
                .label(span, "not a constant")
                .note(format!(
                    "`{text}` is {what} of `{}`, and a constant stands outside of all nodes",
                    node.name
                ))
                .help(format!(
                    "put the equation into the node: `{own} = {};` in `{}`",
                    value.as_deref().unwrap_or(".."),
                    node.name
                )),
        )
    }

    /// The error that a parameter of a state is read outside the state.
    fn parameter_outside(&self, name: Symbol, span: Span) -> Option<Diagnostic> {
        let mut todo: Vec<&ast::Equation<'_>> = self.header.ast.equations.iter().collect();
        while let Some(equation) = todo.pop() {
            let A::Automaton(states) = equation.rhs.kind else { continue };
            for state in states {
                let Some(param) = state.params.iter().find(|param| param.decl.name.name == name) else {
                    todo.extend(state.equations());
                    continue;
                };
                let (text, of) = (self.names.resolve(&name), self.names.resolve(&state.name.name));
                let message = format!("`{text}` is a parameter of the state `{of}`");
                let d = Diagnostic::error(codes::STATE_VARIABLE, message)
                    .label(span, format!("read outside of the state `{of}`"))
                    .label(param.decl.span, "the parameter")
                    .note("a parameter is known in its state only; a variable that each state defines can be read outside");
                return Some(d.help(format!(
                    "define one variable in each state, `now_{text} = {text};` in `{of}`, and read `now_{text}` here"
                )));
            }
        }
        None
    }

    /// The error about an index, of a family or of time, in an equation without a range.
    fn index_without_range(&self, name: Symbol, span: Span) -> Option<Diagnostic> {
        let ast: &'a ast::Node<'a> = self.header.ast;
        let is_here = |e: &Expr<'_>| e.span.to(span) == e.span;
        let (equation, decl, member) = ast.equations.iter().find_map(|equation| {
            let [Lhs::Var(decl)] = equation.lhs else { return None };
            let member = decl.member.filter(|member| equation.range.is_none() && is_here(member))?;
            Some((equation, decl, member))
        })?;
        let same = |side: &Lhs<'_>| matches!(side, Lhs::Var(other) if other.name.name == decl.name.name);
        let others = ast.equations.iter().flat_map(|equation| equation.lhs).filter(|side| same(side)).count();
        let (index, family) = (self.names.resolve(&name), self.names.resolve(&decl.name.name));
        let d = Diagnostic::error(codes::UNKNOWN_NAME, format!("nothing defines the index `{index}`"))
            .label(span, "not found in this node");
        let in_time = others == 1 && matches!(member.kind, A::Var(_)) && self.entries(equation.rhs).is_none();
        if let Some(value) = self.over_cycles(name, equation.rhs).filter(|_| in_time) {
            let help = format!("write `{family} = {value};`");
            let note = "a stream has no index for the cycle: `x` is its value now, and `0.0 fby x` that of the cycle before";
            return Some(d.note(note).fix(help, equation.span, format!("{family} = {value};")));
        }
        let known = self.bound(name, decl.name.name, member).or_else(|| self.entries(equation.rhs).flatten());
        let free = if index == "n" { "m" } else { "n" };
        let bound = known.map_or(free.to_owned(), |bound| bound.to_string());
        let range = format!("for {index} < {bound}");
        let left = format!("{family}[{}]", brief(self.names, member));
        let help = format!(
            "say for which indices the equation stands: `{left} = {} {range};`",
            brief(self.names, equation.rhs)
        );
        let end = Span { start: equation.rhs.span.end, end: equation.rhs.span.end, ..equation.span };
        Some(if known.is_none() { d.help(help) } else { d.fix(help, end, format!(" {range}")) })
    }

    /// Whether an equation reads entries of an input that is declared with an axis; if so, the length of the axis, if
    /// known.
    fn entries(&self, rhs: &'a Expr<'a>) -> Option<Option<i64>> {
        let inputs = self.header.ast.inputs;
        let mut found = None;
        rhs.any(&mut |e| {
            let A::Index { base, .. } = e.kind else { return false };
            let A::Var(name) = base.kind else { return false };
            let input = inputs.iter().find(|input| input.name.name == name);
            let Some(dim) = input.and_then(|input| input.ty).and_then(|ty| ty.dims.first()) else {
                return false;
            };
            found = Some(match dim {
                ast::Dim::Expr(Expr { kind: A::Literal(Literal::Int(size)), .. }) => Some(*size),
                ast::Dim::Expr(_) | ast::Dim::Splice(_) => None,
            });
            true
        });
        found
    }

    /// The right side of an equation whose index `t` means the cycle: `x` for `x[t]`, `0.0 fby x` for `x[t - 1]`.
    fn over_cycles(&self, t: Symbol, rhs: &Expr<'_>) -> Option<String> {
        let is_t = |e: &Expr<'_>| matches!(e.kind, A::Var(name) if name == t);
        rewritten(self.names, rhs, &|e| {
            let A::Index { base, indices: [IndexExpr::At(index)] } = e.kind else { return None };
            let A::Var(name) = base.kind else { return None };
            let name = self.names.resolve(&name);
            match index.kind {
                _ if is_t(index) => Some(name.to_owned()),
                A::Binary(
                    BinaryOp::Sub,
                    of,
                    Expr { kind: A::Literal(Literal::Int(k @ 1..=MAX_BACK)), .. },
                ) if is_t(of) => Some((0..*k).fold(name.to_owned(), |inner, _| format!("(0.0 fby {inner})"))),
                _ => None, // Any position other than this cycle or a recent one.
            }
        })
        .filter(|text| !mentions(text, self.names.resolve(&t)))
    }

    /// The number of indices with which an equation of `family` defines all members that are read with literal indices.
    fn bound(&self, index: Symbol, family: Symbol, member: &Expr<'_>) -> Option<i64> {
        let is_index = |e: &Expr<'_>| matches!(e.kind, A::Var(name) if name == index);
        let before = match member.kind {
            A::Var(_) if is_index(member) => 0,
            A::Binary(BinaryOp::Add, of, Expr { kind: A::Literal(Literal::Int(k)), .. }) if is_index(of) => {
                *k
            }
            _ => return None, // An index of another form.
        };
        let ast: &'a ast::Node<'a> = self.header.ast;
        let mut last = None;
        for equation in ast.equations {
            equation.rhs.any(&mut |e| {
                if let A::Index { base, indices: [IndexExpr::At(at), ..] } = e.kind
                    && let (A::Var(name), A::Literal(Literal::Int(at))) = (base.kind, at.kind)
                    && name == family
                {
                    last = last.max(Some(at));
                }
                false
            });
        }
        last?.checked_sub(before)?.checked_add(1).filter(|bound| *bound > 0)
    }

    /// The help if an equation without an index defines a variable at `first`, and equations at `again` define members
    /// of a family with the same name.
    pub(super) fn first_member(&self, first: Span, again: &[Span]) -> Option<String> {
        let ast: &'a ast::Node<'a> = self.header.ast;
        let at = |span: Span| {
            let mut sides = ast.equations.iter().flat_map(|equation| {
                equation.lhs.iter().filter_map(move |side| match side {
                    Lhs::Var(decl) => Some((equation, decl)),
                    Lhs::Discard(_) => None,
                })
            });
            sides.find(|(_, decl)| decl.name.span == span)
        };
        let (equation, decl) = at(first)?;
        let are_members = again.iter().all(|span| at(*span).is_some_and(|(_, decl)| decl.member.is_some()));
        if decl.member.is_some() || equation.lhs.len() != 1 || !are_members {
            return None;
        }
        let (name, value) = (self.names.resolve(&decl.name.name), brief(self.names, equation.rhs));
        Some(format!("the first member of a family has an index, too: write `{name}[0] = {value};`"))
    }

    /// The help for `diff_tanh`: functions have no adjoint that can be called.
    pub(super) fn adjoint_of_function(&self, name: &str) -> Option<String> {
        let (inner, order) = derivative(name, Order::NONE)?;
        let which = builtins::find(inner)?;
        let usage = which.arity().2;
        let form = usage.split([')', '[']).next().unwrap_or_default().trim_start_matches('(');
        let operands: Vec<&str> = form.split(", ").filter(|operand| !operand.is_empty()).collect();
        let operands = if operands.is_empty() { "x".to_owned() } else { operands.join(", ") };
        let prefix = order.prefix();
        Some(format!(
            "a function has no `{prefix}` of its own, a node that calls it has: `node f({operands}) -> (o)  o = {inner}({operands});`, and `{prefix}f` here"
        ))
    }

    /// The correct form for `scan(total, x)`: the call of the node along an axis.
    pub(super) fn scanned(&self, name: &str, args: &[Expr<'_>]) -> Option<String> {
        let [Expr { kind: A::Var(node), .. }, operands @ ..] = args else { return None };
        let node = self.names.resolve(node);
        if !SCANS.contains(&name) || operands.is_empty() {
            return None;
        }
        let operands: Vec<String> = operands.iter().map(|arg| brief(self.names, arg)).collect();
        match self.scopes.callable(self.header.file, node)? {
            Callable::Node(id, Order::NONE) if self.headers[id].ast.inputs.len() == operands.len() => {
                Some(format!(
                    "`along` runs a node over the entries of an axis: write `{node}({}) along 0`; its delays go from one entry to the next",
                    operands.join(", ")
                ))
            }
            Callable::Builtin(_) if name == "map" && operands.len() == 1 => {
                Some(format!("functions work element by element: write `{node}({})`", operands[0]))
            }
            Callable::Node(..) | Callable::Builtin(_) | Callable::Ambiguous(_) => None,
        }
    }

    /// Whether a node calls its input of that name. Then that call is an error, which says that the input must be a
    /// node.
    pub(super) fn calls_input(node: &ast::Node<'_>, input: Symbol) -> bool {
        let is_call = &mut |e: &Expr<'_>| matches!(e.kind, A::Call { callee, .. } if callee.name == input);
        node.equations.iter().any(|equation| equation.rhs.any(is_call))
    }

    /// The node of a shared instance as text, with open stream inputs, for a call that was written instead.
    pub(super) fn open_form(&self, node: &Expr<'_>) -> Option<String> {
        let A::Call { callee, args } = node.kind else { return None };
        let open = |arg: &Expr<'_>| {
            let given = self.is_static_form(arg, 0).then(|| written(self.names, arg)).flatten();
            given.unwrap_or_else(|| "_".to_owned())
        };
        let mut given: Vec<String> = args.iter().map(open).collect();
        let callee = self.names.resolve(&callee.name);
        if given.iter().all(|arg| arg != "_") {
            match given.last_mut() {
                Some(last) => "_".clone_into(last),
                None => return Some(callee.to_owned()),
            }
        }
        let all = given.iter().all(|arg| arg == "_");
        Some(if all { callee.to_owned() } else { format!("{callee}({})", given.join(", ")) })
    }
}

/// Whether a text contains that name as a word.
fn mentions(text: &str, name: &str) -> bool {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|word| word == name)
}
