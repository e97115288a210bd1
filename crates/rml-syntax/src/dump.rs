//! The tree as text: one parenthesised prefix form for every construct, without positions. Two texts have the same
//! meaning for the later stages if and only if their dumps are equal; parentheses, layout and comments are not shown.

use crate::ast::{
    ClockExpr, ColumnList, ColumnPart, DTypeName, Decl, Dim, Equation, Expr, ExprKind, File, Ident, Import,
    ImportKind, ImportPath, IndexExpr, Item, Lhs, Literal, Node, StateDef, StateItem, Suffix, Symbol,
    Transition, TypeExpr, UnaryOp,
};
use lasso::Rodeo;
use std::fmt::Write;

/// The dump of a whole file, with one line per item and equation.
pub fn dump(file: &File<'_>, names: &Rodeo) -> String {
    let mut out = Dump { names, out: String::new() };
    for item in file.items {
        match item {
            Item::Import(import) => out.import(import),
            Item::Columns(columns) => out.columns(columns),
            Item::Node(node) => out.node(node, "node"),
            Item::Const(node) => out.node(node, "const"),
            Item::Record(node) => out.node(node, "record"),
            Item::Enum(of) => {
                out.node(&of.node, "enum");
                of.cases.iter().for_each(|case| out.node(case, "case"));
            }
        }
    }
    out.out
}

/// The dump of one expression.
pub fn dump_expr(expr: &Expr<'_>, names: &Rodeo) -> String {
    let mut out = Dump { names, out: String::new() };
    out.expr(expr);
    out.out
}

struct Dump<'n> {
    names: &'n Rodeo,
    out: String,
}

impl Dump<'_> {
    fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn symbol(&mut self, symbol: Symbol) {
        let text = self.names.try_resolve(&symbol).unwrap_or("?");
        self.out.push_str(text);
    }

    fn name(&mut self, ident: Ident) {
        self.symbol(ident.name);
    }

    fn list<T>(&mut self, separator: &str, items: &[T], mut each: impl FnMut(&mut Self, &T)) {
        for (i, item) in items.iter().enumerate() {
            if i > 0 {
                self.put(separator);
            }
            each(self, item);
        }
    }

    fn columns(&mut self, columns: &ColumnList<'_>) {
        self.put("(columns ");
        self.name(columns.input);
        for part in columns.parts {
            let (form, names): (_, &[Ident]) = match part {
                ColumnPart::One(name) => ("", &[*name]),
                ColumnPart::Range(first, last) => (".. ", &[*first, *last]),
                ColumnPart::Date(property, of) => ("date ", &[*property, *of]),
            };
            self.put(if names.len() > 1 { " (" } else { " " });
            self.put(form);
            self.list(" ", names, |d, name| {
                let text = d.names.try_resolve(&name.name).unwrap_or("?");
                let _ = write!(d.out, "{text:?}");
            });
            self.put(if names.len() > 1 { ")" } else { "" });
        }
        self.put(")\n");
    }

    fn import(&mut self, import: &Import<'_>) {
        self.put("(import ");
        match import.path {
            ImportPath::Library(path) => self.list(".", path, |d, i| d.name(*i)),
            ImportPath::File { path, .. } => {
                let _ = write!(self.out, "{path:?}");
            }
        }
        match import.kind {
            ImportKind::Whole => {}
            ImportKind::Names(names) => {
                self.put(" (");
                self.list(" ", names, |d, i| {
                    d.name(i.name);
                    if let Some(alias) = i.alias {
                        d.put("=");
                        d.name(alias);
                    }
                });
                self.put(")");
            }
            ImportKind::Qualified(name) => {
                self.put(" ");
                self.name(name);
            }
        }
        self.put(")\n");
    }

    fn node(&mut self, node: &Node<'_>, form: &str) {
        self.put(if node.private.is_some() { "(private-" } else { "(" });
        self.put(form);
        self.put(" ");
        self.name(node.name);
        self.put(" (");
        self.list(" ", node.inputs, Self::decl);
        self.put(") (");
        self.list(" ", node.outputs, Self::decl);
        self.put(")");
        for equation in node.equations {
            self.put("\n  ");
            self.equation(equation);
        }
        self.put(")\n");
    }

    fn equation(&mut self, equation: &Equation<'_>) {
        if let ExprKind::Automaton(states) = equation.rhs.kind {
            return self.automaton(states);
        }
        self.put("(= (");
        self.list(" ", equation.lhs, |d, lhs| match lhs {
            Lhs::Var(decl) => d.decl(decl),
            Lhs::Discard(_) => d.put("_"),
        });
        self.put(") ");
        self.expr(equation.rhs);
        if let Some(range) = equation.range {
            self.put(" (for ");
            self.name(range.index);
            for bound in range.first.into_iter().chain([range.end]) {
                self.put(" ");
                self.expr(bound);
            }
            self.put(")");
        }
        self.put(")");
    }

    fn automaton(&mut self, states: &[StateDef<'_>]) {
        self.put("(automaton");
        for state in states {
            self.put(" (state ");
            self.name(state.name);
            for param in state.params {
                self.put(" (");
                self.decl(&param.decl);
                self.put(" ");
                self.expr(param.first);
                self.put(")");
            }
            for item in state.body {
                self.put(" ");
                match item {
                    StateItem::Equation(equation) => self.equation(equation),
                    StateItem::Transition(transition) => self.transition(transition),
                }
            }
            self.put(")");
        }
        self.put(")");
    }

    fn transition(&mut self, transition: &Transition<'_>) {
        self.put(if transition.strong { "(unless " } else { "(until " });
        self.expr(transition.cond);
        self.put(if transition.resume { " continue " } else { " then " });
        self.name(transition.target);
        if let Some(args) = transition.args {
            self.put(" (");
            self.list(" ", args, Self::expr);
            self.put(")");
        }
        self.put(")");
    }

    fn decl(&mut self, decl: &Decl<'_>) {
        self.name(decl.name);
        if let Some(member) = decl.member {
            self.put("[");
            self.expr(member);
            self.put("]");
        }
        if decl.node.is_some() {
            self.put(":node");
        }
        if let Some(ty) = decl.ty {
            self.ty(&ty);
        }
        if let Some(ClockExpr { cond, positive, .. }) = decl.clock {
            self.put(if positive { "@" } else { "@!" });
            self.name(cond);
        }
    }

    fn ty(&mut self, ty: &TypeExpr<'_>) {
        self.put(":");
        match ty.dtype {
            DTypeName::Bool => self.put("bool"),
            DTypeName::Int => self.put("int"),
            DTypeName::Num => self.put("num"),
            DTypeName::Named(name) => self.name(name),
        }
        self.put("[");
        self.list(" ", ty.dims, Self::dim);
        self.put("]");
    }

    fn dim(&mut self, dim: &Dim<'_>) {
        match dim {
            Dim::Expr(e) => self.expr(e),
            Dim::Splice(name) => {
                self.name(*name);
                self.put("..");
            }
        }
    }

    fn form(&mut self, head: &str, parts: &[&Expr<'_>]) {
        self.put("(");
        self.put(head);
        for part in parts {
            self.put(" ");
            self.expr(part);
        }
        self.put(")");
    }

    fn indices(&mut self, indices: &[IndexExpr<'_>]) {
        self.list(" ", indices, Self::index);
    }

    fn index(&mut self, index: &IndexExpr<'_>) {
        match index {
            IndexExpr::At(e) => self.expr(e),
            IndexExpr::Ellipsis(_) => self.put(".."),
            IndexExpr::Slice { lo, hi, step, .. } => {
                self.put("(:");
                for part in [lo, hi, step] {
                    self.put(" ");
                    match part {
                        Some(e) => self.expr(e),
                        None => self.put("_"),
                    }
                }
                self.put(")");
            }
        }
    }

    fn expr(&mut self, expr: &Expr<'_>) {
        match &expr.kind {
            ExprKind::Literal(Literal::Bool(v)) => self.put(if *v { "true" } else { "false" }),
            ExprKind::Literal(Literal::Int(v)) => {
                let _ = write!(self.out, "{v}");
            }
            ExprKind::Literal(Literal::Num(v)) => {
                let _ = write!(self.out, "{v:?}");
            }
            ExprKind::Entry(index) => self.index(index),
            ExprKind::Text(text) => {
                self.put("\"");
                self.symbol(*text);
                self.put("\"");
            }
            ExprKind::Var(name) => self.symbol(*name),
            ExprKind::Call { callee, args } => {
                self.put("(call ");
                self.name(*callee);
                for arg in *args {
                    self.put(" ");
                    self.expr(arg);
                }
                self.put(")");
            }
            ExprKind::Array(dims) => {
                self.put("[");
                self.list(" ", dims, Self::dim);
                self.put("]");
            }
            ExprKind::Index { base, indices } => {
                self.put("(index ");
                self.expr(base);
                self.put(" ");
                self.indices(indices);
                self.put(")");
            }
            ExprKind::Field { base, field } => {
                self.put("(field ");
                self.expr(base);
                self.put(" ");
                self.name(*field);
                self.put(")");
            }
            ExprKind::Match { value, cases } => {
                self.put("(match ");
                self.expr(value);
                for case in *cases {
                    self.put(" ");
                    self.name(case.case);
                    self.put("=");
                    self.expr(&case.value);
                }
                self.put(")");
            }
            ExprKind::Unary(UnaryOp::Neg, e) => self.form("neg", &[e]),
            ExprKind::Unary(UnaryOp::Not, e) => self.form("not", &[e]),
            ExprKind::Binary(op, a, b) => self.form(op.text(), &[a, b]),
            ExprKind::If { cond, then, other } => self.form("if", &[cond, then, other]),
            ExprKind::Fby { init, next } => self.form("fby", &[init, next]),
            ExprKind::FbyBack { init, next } => self.form("fby-back", &[init, next]),
            ExprKind::Post(e) => self.form("post", &[e]),
            ExprKind::When { value, cond } => self.form("when", &[value, cond]),
            ExprKind::Merge { cond, on_true, on_false } => self.form("merge", &[cond, on_true, on_false]),
            ExprKind::Every { call, end } => self.form("every", &[call, end]),
            ExprKind::Restart { call, cond } => self.form("restart", &[call, cond]),
            ExprKind::By { call, rule } => self.form("by", &[call, rule]),
            ExprKind::Along { call, back, axes } => {
                let parts: Vec<&Expr<'_>> = std::iter::once(*call).chain(*axes).collect();
                self.form(if *back { "along-back" } else { "along" }, &parts);
            }
            ExprKind::Juxtaposed { name, args, suffixes, .. } => {
                self.put("(juxtaposed ");
                self.name(*name);
                for arg in *args {
                    self.put(" ");
                    self.expr(arg);
                }
                for suffix in *suffixes {
                    match suffix {
                        Suffix::Index(list) => {
                            self.put(" [");
                            self.indices(list);
                            self.put("]");
                        }
                        Suffix::Field(field) => {
                            self.put(" .");
                            self.name(*field);
                        }
                    }
                }
                self.put(")");
            }
            ExprKind::MergeOperands(operands) => {
                self.put("(merge?");
                for operand in *operands {
                    self.put(" ");
                    self.expr(operand);
                }
                self.put(")");
            }
            ExprKind::Share(node) => {
                self.put("(share ");
                self.expr(node);
                self.put(")");
            }
            ExprKind::Assert { name, cond } => {
                self.put("(assert \"");
                self.name(*name);
                self.put("\" ");
                self.expr(cond);
                self.put(")");
            }
            ExprKind::Automaton(states) => self.automaton(states),
            ExprKind::Hole => self.put("_"),
            ExprKind::Error => self.put("(error)"),
        }
    }
}
