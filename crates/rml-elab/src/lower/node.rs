//! Interfaces and variables of one node: declarations, uniqueness of definitions, outputs, declared clocks.

use std::collections::BTreeSet;

use indexmap::IndexMap;
use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, IndexVec, Span, suggest};
use rml_ir::DType;
use rml_syntax::ast;

use super::Header;
use super::states::Automata;
use crate::builtins::Builtin;
use crate::hir::{
    Clock, Element, Equation, Expr, ExprId, ExprKind, Family, Item, Local, LocalData, LocalKind, Node,
    SourceId, TypeDecl,
};
use crate::report::Report;
use crate::scope::Scopes;

/// A node during name resolution.
pub(super) struct Lower<'a, 'b> {
    pub(super) header: &'b Header<'a>,
    pub(super) headers: &'b IndexVec<SourceId, Header<'a>>,
    pub(super) scopes: &'b Scopes,
    pub(super) names: &'b lasso::Rodeo,
    pub(super) report: &'b mut Report,
    pub(super) locals: IndexVec<Local, LocalData>,
    pub(super) by_name: IndexMap<ast::Symbol, Local>,
    pub(super) exprs: IndexVec<ExprId, Expr>,
    /// Names of dimensions that are also names of variables, which is reported.
    shared: BTreeSet<ast::Symbol>,
    /// The nodes that calls refer to.
    pub(super) called: Vec<SourceId>,
    /// The index of the current equation.
    pub(super) index: Option<(ast::Symbol, Local)>,
    /// The shared instances.
    pub(super) shares: Vec<Local>,
    /// Called names that are not nodes, and names of nodes that are not shared instances; both are reported.
    pub(super) uncalled: BTreeSet<ast::Symbol>,
    /// The automata.
    pub(super) automata: Automata<'a>,
    /// Names that several equations define: the first definition, and the places of the others.
    pub(super) doubled: IndexMap<ast::Symbol, (Local, Vec<Span>)>,
}

/// Resolves node `id`.
pub(super) fn lower<'a>(
    id: SourceId,
    headers: &IndexVec<SourceId, Header<'a>>,
    scopes: &Scopes,
    names: &lasso::Rodeo,
    report: &mut Report,
) -> Node {
    let header = &headers[id];
    let ast = header.ast;
    let mut lower = Lower {
        header,
        headers,
        scopes,
        names,
        report,
        locals: IndexVec::new(),
        by_name: IndexMap::new(),
        exprs: IndexVec::new(),
        shared: BTreeSet::new(),
        called: Vec::new(),
        index: None,
        shares: Vec::new(),
        uncalled: BTreeSet::new(),
        automata: Automata::default(),
        doubled: IndexMap::new(),
    };
    let formals: Vec<Local> = ast.inputs.iter().map(|d| lower.formal(d)).collect();
    lower.declare(&mut ast.equations.iter(), None);
    lower.dimensions();
    let outputs = lower.outputs();
    for (decl, &local) in ast.inputs.iter().zip(&formals).chain(ast.outputs.iter().zip(&outputs)) {
        lower.declared(decl, local);
    }
    let (equations, states) = lower.bodies();
    lower.unused_shares();
    lower.report_doubled();
    lower.locals.shrink_to_fit();
    lower.exprs.shrink_to_fit();
    let is_input = |local: &Local| lower.locals[*local].kind == LocalKind::Formal;
    let is_extern = ast.equations.is_empty() && !outputs.iter().all(is_input);
    Node {
        name: header.name.clone(),
        file: header.file,
        span: ast.header_span,
        name_span: ast.name.span,
        formals,
        outputs,
        is_extern,
        roles: IndexVec::new(),
        static_order: Vec::new(),
        names: lower.called,
        form: header.form,
        template: false,
        held: 0,
        members: Vec::new(),
        cases: None,
        rules: None,
        restarts: None,
        numbered: lower.automata.numbered,
        shares: Vec::new(),
        states,
        locals: lower.locals,
        exprs: lower.exprs,
        equations,
    }
}

/// The number of names that are followed to find out whether a definition may be static.
const MAX_CHAIN: usize = 64;

/// Assigns the members of a family to the equations that a `split` adds.
fn split(family: &mut Option<Family>, parts: &mut [Equation]) {
    let Some(family) = family else { return };
    let range = family.range;
    let members = family.members.drain(1..);
    for (part, member) in parts.iter_mut().zip(members) {
        part.family = Some(Box::new(Family { members: vec![member], range }));
    }
}

/// The name, if a dimension consists of one.
fn dimension_name(dim: &ast::Dim<'_>) -> Option<(ast::Symbol, Span)> {
    match dim {
        ast::Dim::Splice(ident) => Some((ident.name, ident.span)),
        ast::Dim::Expr(e) => match e.kind {
            ast::ExprKind::Var(name) => Some((name, e.span)),
            _ => None,
        },
    }
}

impl Lower<'_, '_> {
    pub(super) fn local(&mut self, name: ast::Symbol, span: Span, kind: LocalKind) -> Local {
        let text = self.names.resolve(&name).into();
        let data = LocalData { name: text, span, kind, types: Vec::new(), clock: None, element: None };
        let local = self.locals.push(data);
        self.by_name.entry(name).or_insert(local);
        local
    }

    fn formal(&mut self, decl: &ast::Decl<'_>) -> Local {
        if let Some(&first) = self.by_name.get(&decl.name.name) {
            self.duplicate("input", decl.name.span, first);
        }
        let kind = if decl.node.is_some() { LocalKind::Node } else { LocalKind::Formal };
        self.local(decl.name.name, decl.name.span, kind)
    }

    /// Lowers an equation. The equations that a `split` adds go to `parts` and are numbered from `at` on.
    pub(super) fn equation(
        &mut self,
        ast: &ast::Equation<'_>,
        lhs: Vec<(Option<Local>, Span)>,
        (at, parts): (usize, &mut Vec<Equation>),
    ) -> Equation {
        if let ast::ExprKind::Share(node) = ast.rhs.kind {
            return self.share(ast, node);
        }
        if self.is_open_call(ast) {
            self.node_as_variable(ast);
            return self.share(ast, ast.rhs);
        }
        let family = self.family(ast);
        for (side, (local, _)) in ast.lhs.iter().zip(&lhs) {
            if let (ast::Lhs::Var(decl), Some(local)) = (side, local)
                && decl.member.is_none()
            {
                self.declared(decl, *local);
            }
        }
        let first = self.exprs.len();
        let rhs = self.expr(ast.rhs);
        self.index = None;
        let before = parts.len();
        let all = lhs.len();
        let lhs = self.split(lhs, rhs, ast.span, (at, parts));
        let mut family = family;
        if lhs.len() < all {
            split(&mut family, &mut parts[before..]);
        }
        self.results(&lhs, first, rhs, ast.span);
        Equation { lhs, rhs, span: ast.span, family: family.map(Box::new) }
    }

    pub(super) fn duplicate(&mut self, what: &str, span: Span, first: Local) {
        let first = &self.locals[first];
        let message = format!("{what} `{}` is defined twice", first.name);
        self.report.push(
            Diagnostic::error(codes::DUPLICATE_DEFINITION, message)
                .label(span, "defined again here")
                .label(first.span, "first defined here")
                .help("each name has exactly one definition"),
        );
    }

    /// Reports each variable that several equations define.
    fn report_doubled(&mut self) {
        for (first, again) in std::mem::take(&mut self.doubled).into_values() {
            let first = &self.locals[first];
            let free = |name: &String| self.locals.iter().all(|local| *local.name != **name);
            let numbered = (2..).map(|n| format!("{}{n}", first.name)).filter(free);
            let names: Vec<String> = numbered.take(again.len()).map(|name| format!("`{name}`")).collect();
            let why = match first.kind {
                LocalKind::Formal => "an input is defined by the caller:",
                _ => {
                    "each name has exactly one definition: leave one of them out (a first value is that of a delay, `n = 0 fby (n + 1);`), or"
                }
            };
            let update = self.updated_parameter(&first.name).filter(|_| again.len() == 1);
            let help = match &names[..] {
                _ if let Some(update) = update => update,
                _ if let Some(first) = self.first_member(first.span, &again) => first,
                [one] => format!("{why} call this one {one}, and what reads it after this"),
                several => format!(
                    "{why} call these {}, and let each equation after them read the last one before it",
                    several.join(", ")
                ),
            };
            let times =
                if again.len() == 1 { "twice".to_owned() } else { format!("{} times", again.len() + 1) };
            let d = Diagnostic::error(
                codes::DUPLICATE_DEFINITION,
                format!("variable `{}` is defined {times}", first.name),
            );
            let d = again.iter().fold(d, |d, span| d.label(*span, "defined again here"));
            self.report.push(d.label(first.span, "first defined here").help(help));
        }
    }

    /// Declares the variables that equation number `equation` defines.
    pub(super) fn sides(&mut self, ast: &ast::Equation<'_>, equation: usize) -> Vec<(Option<Local>, Span)> {
        let mut lhs = Vec::with_capacity(ast.lhs.len());
        for side in ast.lhs {
            lhs.push(match side {
                ast::Lhs::Discard(span) => (None, *span),
                ast::Lhs::Var(decl) => {
                    let name = decl.name;
                    let known = self.by_name.get(&name.name).copied();
                    let is_family = |local: &Local| self.locals[*local].kind == LocalKind::Family;
                    match known.filter(|local| decl.member.is_some() && is_family(local)) {
                        Some(family) => (Some(family), name.span),
                        None => {
                            if let Some(first) = known {
                                let again = self.doubled.entry(name.name).or_insert((first, Vec::new()));
                                again.1.push(name.span);
                            }
                            if matches!(ast.rhs.kind, ast::ExprKind::Share(_)) || self.is_open_call(ast) {
                                let local = self.local(name.name, name.span, LocalKind::Node);
                                self.shares.push(local);
                                lhs.push((None, name.span));
                                continue;
                            }
                            let kind = match decl.member {
                                Some(_) => LocalKind::Family,
                                None => LocalKind::Defined { equation },
                            };
                            (Some(self.local(name.name, name.span, kind)), name.span)
                        }
                    }
                }
            });
        }
        lhs
    }

    /// Declares the named dimensions: names in the shapes of inputs that have no other definition.
    fn dimensions(&mut self) {
        for decl in self.header.ast.inputs {
            let Some(ty) = &decl.ty else { continue };
            for (name, span) in ty.dims.iter().filter_map(dimension_name) {
                match self.by_name.get(&name).copied() {
                    None => {
                        if self.constant(name, span).is_none() {
                            self.local(name, span, LocalKind::Dim);
                        }
                    }
                    Some(known) => {
                        if !self.may_be_static(known, 0) && self.shared.insert(name) {
                            self.shared_name(decl.name, span, known);
                        }
                    }
                }
            }
        }
    }

    /// Whether a name may be a compile-time value, judged by its form.
    fn may_be_static(&self, local: Local, depth: usize) -> bool {
        let ast = self.header.ast;
        match self.locals[local].kind {
            LocalKind::Formal => {
                let named = |d: &&ast::Decl<'_>| d.name.span == self.locals[local].span;
                ast.inputs.iter().find(named).is_none_or(|d| d.ty.is_none())
            }
            LocalKind::Defined { equation } => {
                // An automaton does not define static names.
                let Some(equation) = self.automata.written.get(equation).map(|written| written.ast) else {
                    return false;
                };
                equation.lhs.len() == 1 && (depth > MAX_CHAIN || self.is_static_form(equation.rhs, depth + 1))
            }
            LocalKind::Family | LocalKind::Node => false,
            LocalKind::Dim | LocalKind::Undefined | LocalKind::Index | LocalKind::Constant(_) => true,
        }
    }

    pub(super) fn is_static_form(&self, expr: &ast::Expr<'_>, depth: usize) -> bool {
        let name =
            |name: &ast::Symbol| self.by_name.get(name).is_none_or(|local| self.may_be_static(*local, depth));
        match &expr.kind {
            ast::ExprKind::Var(symbol) => name(symbol),
            ast::ExprKind::Call { callee, .. } => {
                matches!(self.names.resolve(&callee.name), "shape" | "range")
            }
            ast::ExprKind::Unary(_, a) => self.is_static_form(a, depth),
            ast::ExprKind::Binary(_, a, b) => self.is_static_form(a, depth) && self.is_static_form(b, depth),
            ast::ExprKind::Fby { .. }
            | ast::ExprKind::FbyBack { .. }
            | ast::ExprKind::Post(_)
            | ast::ExprKind::When { .. }
            | ast::ExprKind::Merge { .. }
            | ast::ExprKind::MergeOperands(_)
            | ast::ExprKind::Every { .. } => false,
            _ => true,
        }
    }

    /// Reports that a dimension of an input has the name of a stream.
    fn shared_name(&mut self, input: ast::Ident, span: Span, known: Local) {
        let data = &self.locals[known];
        let (name, of) = (&data.name, self.names.resolve(&input.name));
        let is_input = data.kind == LocalKind::Formal;
        let (what, article) = if is_input { ("input", "an") } else { ("variable", "a") };
        let message = format!("`{name}` names a dimension and a stream");
        self.report.push(
            Diagnostic::error(codes::DUPLICATE_DEFINITION, message)
                .label(span, format!("a dimension of `{of}`"))
                .label(data.span, format!("{article} {what} of the same name"))
                .note(format!(
                    "a dimension is known when the program is compiled, this {what} only while it runs"
                ))
                .help(format!("give the dimension another name in all types, such as `n_{name}`")),
        );
    }

    fn outputs(&mut self) -> Vec<Local> {
        let mut outputs: Vec<Local> = Vec::new();
        let mut listed = BTreeSet::new();
        for decl in self.header.ast.outputs {
            let name = decl.name;
            self.no_node(decl);
            let known = self.by_name.get(&name.name).copied();
            let local = match known {
                Some(local) if self.locals[local].kind != LocalKind::Dim => {
                    self.automata.read.insert(local);
                    local
                }
                _ => {
                    let local = self.local(name.name, name.span, LocalKind::Undefined);
                    if !self.header.ast.equations.is_empty() {
                        self.undefined_output(decl);
                    }
                    local
                }
            };
            if !listed.insert(local) {
                let text = self.names.resolve(&name.name);
                self.report.push(
                    Diagnostic::error(
                        codes::DUPLICATE_DEFINITION,
                        format!("output `{text}` is listed twice"),
                    )
                    .label(name.span, "listed again here")
                    .help("define a copy under another name"),
                );
            }
            outputs.push(local);
        }
        outputs
    }

    fn undefined_output(&mut self, decl: &ast::Decl<'_>) {
        let name = self.names.resolve(&decl.name.name);
        if self.scopes.is_excused(self.header.file, name, false) {
            return;
        }
        if let Some(d) = self.defined_in_part(decl.name.name, decl.name.span) {
            return self.report.push(d);
        }
        let candidates = self.locals.iter().filter(|l| matches!(l.kind, LocalKind::Defined { .. }));
        let near = suggest(name, candidates.map(|l| l.name.as_ref())).map(str::to_owned);
        let mut d =
            Diagnostic::error(codes::UNDEFINED_OUTPUT, format!("no equation defines output `{name}`"))
                .label(decl.name.span, "this output")
                .label(self.header.ast.name.span, "of this node");
        d = match near {
            Some(near) => d.help(format!("there is an equation for `{near}`")),
            None => d.help(format!("add an equation `{name} = ..;`")),
        };
        self.report.push(d);
    }

    /// Whether one of the dimensions has a name that is reported as the name of a variable.
    fn has_shared_name(&self, dims: &[ast::Dim<'_>]) -> bool {
        dims.iter().filter_map(dimension_name).any(|(name, _)| self.shared.contains(&name))
    }

    /// The type written for a name.
    pub(super) fn type_decl(&mut self, decl: &ast::Decl<'_>) -> Option<TypeDecl> {
        let ty = decl.ty.as_ref().filter(|ty| !self.has_shared_name(ty.dims))?;
        let element = match ty.dtype {
            ast::DTypeName::Bool => Element::Plain(DType::Bool),
            ast::DTypeName::Int => Element::Plain(DType::Int),
            ast::DTypeName::Num => Element::Plain(DType::Num),
            ast::DTypeName::Named(name) => self.named_type(name, ty)?,
        };
        Some(TypeDecl { element, dims: self.items(ty.dims), span: ty.span })
    }

    /// Notes the type and clock written for a name.
    pub(super) fn declared(&mut self, decl: &ast::Decl<'_>, local: Local) {
        if let Some(ty) = self.type_decl(decl) {
            self.locals[local].types.push(ty);
        }
        if let Some(clock) = &decl.clock {
            self.clock(clock, local);
        }
    }

    fn clock(&mut self, clock: &ast::ClockExpr, local: Local) {
        let ast = self.header.ast;
        let (name, span) = (clock.cond.name, clock.cond.span);
        let is_interface = ast.inputs.iter().chain(ast.outputs).any(|d| d.name.name == name);
        let is_input = self.locals[local].kind == LocalKind::Formal;
        let known = self.by_name.get(&name).copied();
        match known {
            // The undefined condition is already reported.
            Some(cond) if self.locals[cond].kind == LocalKind::Undefined => {}
            Some(cond) if (is_interface || !is_input) && cond != local => {
                self.automata.read.insert(cond);
                self.locals[local].clock = Some(Clock { cond, positive: clock.positive, span: clock.span });
            }
            Some(_) | None => {
                let text = self.names.resolve(&name);
                if self.scopes.is_excused(self.header.file, text, false) {
                    return;
                }
                let (what, note) = if is_input {
                    ("input or output", "the clock of an input is given by a bool input or output")
                } else {
                    ("variable", "the clock of an output is given by a bool variable of the node")
                };
                let message = format!("`{text}` is not another {what} of this node");
                let d = Diagnostic::error(codes::DECLARED_CLOCK, message)
                    .label(span, "declared as the condition of a clock")
                    .label(ast.name.span, "of this node")
                    .note(note);
                self.report.push(match known {
                    Some(_) => d,
                    None => d.help(format!("make it an input: `{text}: bool []`")),
                });
                if known.is_none() {
                    // Expressions that read the output report no errors of their own.
                    self.local(name, span, LocalKind::Undefined);
                }
            }
        }
    }

    pub(super) fn items(&mut self, dims: &[ast::Dim<'_>]) -> Vec<Item> {
        dims.iter()
            .map(|dim| match dim {
                ast::Dim::Expr(e) => Item::Expr(self.expr(e)),
                ast::Dim::Splice(ident) => Item::Splice(self.variable(ident.name, ident.span), ident.span),
            })
            .collect()
    }

    /// Splits `a, b = split(x)` into one equation for each part; those after the first are numbered from `at` on.
    /// Returns the left side of the first part.
    fn split(
        &mut self,
        mut lhs: Vec<(Option<Local>, Span)>,
        rhs: ExprId,
        span: Span,
        (at, parts): (usize, &mut Vec<Equation>),
    ) -> Vec<(Option<Local>, Span)> {
        let of = lhs.len();
        let at_rhs = self.exprs[rhs].span;
        let ExprKind::Builtin { which: Builtin::Split { of: whole, .. }, args } = &mut self.exprs[rhs].kind
        else {
            return lhs;
        };
        *whole = of;
        let args = args.clone();
        for (part, (local, place)) in lhs.drain(1..).enumerate() {
            let which = Builtin::Split { part: part + 1, of };
            let rhs =
                self.exprs.push(Expr { kind: ExprKind::Builtin { which, args: args.clone() }, span: at_rhs });
            if let Some(local) = local
                && self.locals[local].kind != LocalKind::Family
            {
                self.locals[local].kind = LocalKind::Defined { equation: at + parts.len() };
            }
            parts.push(Equation { lhs: vec![(local, place)], rhs, span, family: None });
        }
        lhs
    }
}
