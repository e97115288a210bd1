//! The places and meanings of names, for tools that navigate between definitions and uses. The index also exists for
//! texts with errors, for the parts that parse.

use indexmap::IndexMap;
use rml_base::{FileId, Span};
use rml_syntax::ast::{self, Ident, IndexExpr, Symbol};
use rml_syntax::operands::{MergeOperand, group_merge};

use crate::hir::SourceId;
use crate::load::{Loaded, LoadedFile};
use crate::lower::Headers;
use crate::scope::{Callable, Program, Scopes};

/// The names of a program.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// let source = rml::Source::text("f.rml", "node f(x: num [n]) -> (o)  o = sum(x);");
/// let survey = rml::survey(&source)?;
/// let names: Vec<&str> = survey.index.nodes.iter().map(|node| &*node.name).collect();
/// assert!(names.contains(&"f"));
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Index {
    /// All names with a meaning in the program's own texts; text by text, in textual order.
    pub names: Vec<NamePlace>,
    /// All nodes, including those of the imported library.
    pub nodes: Vec<NodePlace>,
    /// The names that calls in the main text can use, besides functions: `lstm`, `cells.step`; each with its index in
    /// `nodes`.
    pub callable: Vec<(String, usize)>,
    /// The constants that the main text can name, each with its index in `nodes`.
    pub constants: Vec<(String, usize)>,
    /// The place of the last import of the main text.
    pub last_import: Option<Span>,
    /// The lists of columns in the program's own texts: the input, and the place of the list.
    pub columns: Vec<(String, Span)>,
}

/// A name in a text.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// let source = rml::Source::text("f.rml", "node f(x: num [n]) -> (o)  o = sum(x);");
/// let survey = rml::survey(&source)?;
/// let words: Vec<&str> =
///     survey.index.names.iter().map(|place| survey.sources.snippet(place.word)).collect();
/// assert!(words.contains(&"sum"));
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NamePlace {
    /// The name itself, without `diff_` and without the module before it.
    pub span: Span,
    /// The whole word in the text.
    pub word: Span,
    /// The meaning of the name.
    pub meaning: Meaning,
}

/// The meaning of a name.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// let source = rml::Source::text("f.rml", "node f(x: num [n]) -> (o)  o = sum(x);");
/// let survey = rml::survey(&source)?;
/// let place = |word| {
///     survey.index.names.iter().find(|place| survey.sources.snippet(place.word) == word)
/// };
/// let sum = place("sum").map(|place| place.meaning);
/// assert_eq!(sum, Some(rml::Meaning::Function("sum")));
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Meaning {
    /// The variable, static parameter or named dimension that is defined at this place.
    Variable(Span),
    /// The node whose name is at this place, and the order to which it is differentiated.
    Node(Span, u8),
    /// A function of the language.
    Function(&'static str),
    /// The import with this name.
    Module(Span),
}

/// A node of a text.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// let source = rml::Source::text("f.rml", "node f(x: num [n]) -> (o)  o = sum(x);");
/// let survey = rml::survey(&source)?;
/// let f = survey.index.nodes.iter().find(|node| !node.library).expect("the program has a node");
/// assert_eq!((&*f.name, &f.inputs[..]), ("f", &["x".to_owned()][..]));
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct NodePlace {
    /// The name.
    pub name: String,
    /// The place of the name.
    pub name_span: Span,
    /// The place of the interface.
    pub header: Span,
    /// The whole node.
    pub span: Span,
    /// The names of the node's inputs.
    pub inputs: Vec<String>,
    /// The names of those inputs that are static parameters.
    pub statics: Vec<String>,
    /// The names of the node's variables, in the order of their definitions.
    pub variables: Vec<Variable>,
    /// Whether the node belongs to the library.
    pub library: bool,
    /// Whether other texts cannot name the node.
    pub private: bool,
    /// Whether differentiation uses the node: it updates parameters, or replaces the adjoint of another node.
    pub overrides: bool,
    /// Whether the node is a constant, `const rate = 0.001;`, or a case of an enumeration: a node without inputs.
    pub constant: bool,
    /// Whether the node is an enumeration or record, whose name is a type.
    pub is_type: bool,
}

/// A name of a node.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// let source = rml::Source::text("f.rml", "node f(x: num [n]) -> (o)  o = sum(x);");
/// let survey = rml::survey(&source)?;
/// let f = survey.index.nodes.iter().find(|node| !node.library).expect("the program has a node");
/// let mut names: Vec<&str> = f.variables.iter().map(|variable| &*variable.name).collect();
/// names.sort();
/// assert_eq!(names, ["n", "o", "x"]);
/// # Ok(()) }
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Variable {
    /// The name.
    pub name: String,
    /// The place of the definition: in the list of inputs, on the left of an equation, or in the shape of an input.
    pub span: Span,
    /// The kind of name.
    pub kind: VariableKind,
}

/// The kind of a name of a node.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// let source = rml::Source::text("f.rml", "node f(x: num [n]) -> (o)  o = sum(x);");
/// let survey = rml::survey(&source)?;
/// let f = survey.index.nodes.iter().find(|node| !node.library).expect("the program has a node");
/// let n = f.variables.iter().find(|variable| variable.name == "n").expect("a dimension");
/// assert_eq!(n.kind, rml::VariableKind::Dimension);
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VariableKind {
    /// An input or static parameter.
    Input,
    /// A name in the list of outputs.
    Output,
    /// A name defined by an equation.
    Inner,
    /// A named dimension.
    Dimension,
}

/// Builds the index of all loaded texts.
pub(crate) fn index(
    loaded: &Loaded<'_>,
    names: &lasso::Rodeo,
    headers: &Headers<'_>,
    program: &Program,
) -> Index {
    let scopes = &program.scopes;
    let mut index = Index::default();
    for (id, header) in headers.iter_enumerated() {
        let library = scopes.is_library(header.file);
        let overrides = scopes.overrides(header.file, &header.name);
        let statics = program.nodes[id].statics().map(str::to_owned).collect();
        let constant = header.form.is_constant();
        index.nodes.push(NodePlace {
            overrides,
            statics,
            constant,
            is_type: matches!(header.form, ast::DefinitionForm::Enum | ast::DefinitionForm::Record),
            ..node_place(header.ast, names, library)
        });
    }
    for file in loaded.files.iter().filter(|file| file.library.is_none()) {
        let mut walk = Walk {
            names,
            scopes,
            headers,
            file: file.id,
            own: IndexMap::new(),
            nodes: Vec::new(),
            found: Vec::new(),
        };
        walk.imports(file);
        index.columns.extend(file.columns(names));
        for ast::Definition { node, form } in file.ast.definitions() {
            if form.is_constant() { walk.constant(node) } else { walk.node(node) }
        }
        walk.found.sort_by_key(|place| (place.span.start, place.span.end));
        index.names.append(&mut walk.found);
    }
    let is_enum =
        |id: usize| headers.iter().nth(id).is_some_and(|header| header.form == ast::DefinitionForm::Enum);
    let (constants, callable) = callable(loaded.main, scopes)
        .into_iter()
        .filter(|(_, node)| !is_enum(*node))
        .partition(|(_, node)| index.nodes[*node].constant);
    (index.constants, index.callable) = (constants, callable);
    index.last_import = scopes.files.get(&loaded.main).and_then(|scope| scope.last_import);
    index
}

/// The names that calls in a text can use, and the names of its constants.
fn callable(file: FileId, scopes: &Scopes) -> Vec<(String, usize)> {
    let Some(scope) = scopes.files.get(&file) else { return Vec::new() };
    let place = |id: SourceId| id.0 as usize;
    let own = scope.own.iter().map(|(name, id)| (name.clone(), place(*id)));
    let selective = scope.selective.iter().map(|(name, (id, _))| (name.clone(), place(*id)));
    let whole = scope.whole.iter().filter_map(|(name, all)| match all[..] {
        [(id, _)] => Some((name.clone(), place(id))),
        _ => None,
    });
    let prelude = scopes.prelude.iter().map(|(name, id)| (name.clone(), place(*id)));
    let modules =
        scope.modules.iter().filter_map(|(name, (target, _))| Some((name, scopes.files.get(target)?)));
    let qualified = modules.flat_map(|(module, target)| {
        target.exports().map(move |(name, id)| (format!("{module}.{name}"), place(id)))
    });
    let mut all: IndexMap<String, usize> = IndexMap::new();
    for (name, node) in own.chain(selective).chain(whole).chain(qualified).chain(prelude) {
        all.entry(name).or_insert(node);
    }
    all.into_iter().collect()
}

fn node_place(node: &ast::Node<'_>, names: &lasso::Rodeo, library: bool) -> NodePlace {
    let outputs: Vec<Symbol> = node.outputs.iter().map(|d| d.name.name).collect();
    let variables = definitions(node).into_iter().map(|(symbol, (span, kind))| {
        let kind = match kind {
            VariableKind::Inner if outputs.contains(&symbol) => VariableKind::Output,
            kind => kind,
        };
        Variable { name: names.resolve(&symbol).to_owned(), span, kind }
    });
    NodePlace {
        name: names.resolve(&node.name.name).to_owned(),
        name_span: node.name.span,
        header: node.header_span,
        span: node.span,
        inputs: node.inputs.iter().map(|d| names.resolve(&d.name.name).to_owned()).collect(),
        statics: Vec::new(),
        variables: variables.collect(),
        library,
        private: node.private.is_some(),
        overrides: false,
        constant: false,
        is_type: false,
    }
}

/// The names of a node, each with the place of its first definition.
fn definitions(node: &ast::Node<'_>) -> IndexMap<Symbol, (Span, VariableKind)> {
    let mut own = IndexMap::new();
    for decl in node.inputs {
        own.entry(decl.name.name).or_insert((decl.name.span, VariableKind::Input));
    }
    equations(&mut node.equations.iter(), &mut own);
    for dim in node.inputs.iter().filter_map(|decl| decl.ty).flat_map(|ty| ty.dims) {
        let (name, span) = match dim {
            ast::Dim::Splice(ident) => (ident.name, ident.span),
            ast::Dim::Expr(e) => match e.kind {
                ast::ExprKind::Var(name) => (name, e.span),
                _ => continue,
            },
        };
        own.entry(name).or_insert((span, VariableKind::Dimension));
    }
    own
}

/// The names that equations define, also in states of automata.
fn equations<'a>(
    all: &mut dyn Iterator<Item = &'a ast::Equation<'a>>,
    own: &mut IndexMap<Symbol, (Span, VariableKind)>,
) {
    for equation in all {
        for side in equation.lhs {
            if let ast::Lhs::Var(decl) = side {
                own.entry(decl.name.name).or_insert((decl.name.span, VariableKind::Inner));
            }
        }
        let ast::ExprKind::Automaton(states) = equation.rhs.kind else { continue };
        for state in states {
            for param in state.params {
                let name = param.decl.name;
                own.entry(name.name).or_insert((name.span, VariableKind::Inner));
            }
            equations(&mut state.equations(), own);
        }
    }
}

/// The shared instances among equations, also in states of automata.
fn shares<'a>(all: &mut dyn Iterator<Item = &'a ast::Equation<'a>>, names: &mut Vec<Symbol>) {
    for equation in all {
        match equation.rhs.kind {
            ast::ExprKind::Share(_) => names.extend(equation.lhs.iter().filter_map(|side| match side {
                ast::Lhs::Var(decl) => Some(decl.name.name),
                ast::Lhs::Discard(_) => None,
            })),
            ast::ExprKind::Automaton(states) => {
                states.iter().for_each(|state| shares(&mut state.equations(), names));
            }
            _ => {} // No other form has equations.
        }
    }
}

/// Collects the names in one text.
struct Walk<'a, 'b> {
    names: &'b lasso::Rodeo,
    scopes: &'b Scopes,
    headers: &'b Headers<'a>,
    file: FileId,
    /// The names of the current node.
    own: IndexMap<Symbol, (Span, VariableKind)>,
    /// The inputs of the current node that are nodes, and its shared instances.
    nodes: Vec<Symbol>,
    found: Vec<NamePlace>,
}

impl Walk<'_, '_> {
    fn add(&mut self, span: Span, meaning: Meaning) {
        self.found.push(NamePlace { span, word: span, meaning });
    }

    fn imports(&mut self, file: &LoadedFile<'_>) {
        for (import, target) in &file.imports {
            match import.kind {
                ast::ImportKind::Whole => {}
                ast::ImportKind::Qualified(alias) => self.add(alias.span, Meaning::Module(alias.span)),
                ast::ImportKind::Names(wanted) => {
                    for name in wanted {
                        let target = self.scopes.files.get(target);
                        let id = target.and_then(|t| t.export(self.names.resolve(&name.name.name)));
                        let Some(id) = id else { continue };
                        let meaning = Meaning::Node(self.headers[id].ast.name.span, 0);
                        self.add(name.name.span, meaning);
                        name.alias.into_iter().for_each(|alias| self.add(alias.span, meaning));
                    }
                }
            }
        }
    }

    fn node(&mut self, node: &ast::Node<'_>) {
        self.own = definitions(node);
        let inputs = node.inputs.iter().filter(|d| d.node.is_some());
        self.nodes = inputs.map(|decl| decl.name.name).collect();
        shares(&mut node.equations.iter(), &mut self.nodes);
        self.add(node.name.span, Meaning::Node(node.name.span, 0));
        node.inputs.iter().chain(node.outputs).for_each(|decl| self.decl(decl));
        node.equations.iter().for_each(|equation| self.equation(equation));
    }

    /// Handles a constant, which is named like a node.
    fn constant(&mut self, node: &ast::Node<'_>) {
        (self.own, self.nodes) = (IndexMap::new(), Vec::new());
        self.add(node.name.span, Meaning::Node(node.name.span, 0));
        node.equations.iter().for_each(|equation| self.expr(equation.rhs));
    }

    /// Handles an equation; its index is in scope within it.
    fn equation(&mut self, equation: &ast::Equation<'_>) {
        let mut hidden = None;
        if let Some(range) = equation.range {
            range.first.into_iter().chain([range.end]).for_each(|bound| self.expr(bound));
            let own = (range.index.span, VariableKind::Inner);
            hidden = Some((range.index.name, self.own.insert(range.index.name, own)));
            self.variable(range.index);
        }
        for side in equation.lhs {
            if let ast::Lhs::Var(decl) = side {
                self.decl(decl);
            }
        }
        self.expr(equation.rhs);
        match hidden {
            Some((name, Some(outer))) => {
                self.own.insert(name, outer);
            }
            Some((name, None)) => {
                self.own.swap_remove(&name);
            }
            None => {}
        }
    }

    fn decl(&mut self, decl: &ast::Decl<'_>) {
        self.variable(decl.name);
        decl.member.into_iter().for_each(|member| self.expr(member));
        if let Some(ty) = decl.ty {
            if let ast::DTypeName::Named(name) = ty.dtype {
                self.named_type(name);
            }
            self.dims(ty.dims);
        }
        decl.clock.into_iter().for_each(|clock| self.variable(clock.cond));
    }

    /// Handles the name of an enumeration or record.
    fn named_type(&mut self, name: Ident) {
        if let Some(id) = self.scopes.named_type(self.file, self.names.resolve(&name.name)) {
            self.add(name.span, Meaning::Node(self.headers[id].ast.name.span, 0));
        }
    }

    fn variable(&mut self, name: Ident) {
        if let Some((definition, _)) = self.own.get(&name.name) {
            return self.add(name.span, Meaning::Variable(*definition));
        }
        let text = self.names.resolve(&name.name);
        match self.scopes.constant(self.file, text) {
            Some(id) => self.add(name.span, Meaning::Node(self.headers[id].ast.name.span, 0)),
            // A node as an argument.
            None => self.callee(name),
        }
    }

    /// The node input that a callee names, and the length of the `diff_` and `grad_` before its name.
    fn node_input(&self, name: &str) -> Option<(usize, Span)> {
        let (mut inner, mut from) = (name, 0);
        loop {
            let symbol = self.nodes.iter().find(|symbol| self.names.resolve(symbol) == inner);
            if let Some(symbol) = symbol {
                return self.own.get(symbol).map(|(definition, _)| (from, *definition));
            }
            inner = inner.strip_prefix("diff_").or_else(|| inner.strip_prefix("grad_"))?;
            from += "diff_".len();
        }
    }

    fn dims(&mut self, dims: &[ast::Dim<'_>]) {
        for dim in dims {
            match dim {
                ast::Dim::Expr(e) => self.expr(e),
                ast::Dim::Splice(name) => self.variable(*name),
            }
        }
    }

    fn callee(&mut self, callee: Ident) {
        let name = self.names.resolve(&callee.name);
        let word = callee.span;
        if let Some((from, definition)) = self.node_input(name) {
            let span = Span { start: word.start.saturating_add(u32::try_from(from).unwrap_or(0)), ..word };
            return self.found.push(NamePlace { span, word, meaning: Meaning::Variable(definition) });
        }
        let dot = name.find('.').map_or(0, |dot| dot + 1);
        let part = |from: usize, to: usize| {
            Span::new(word.file, word.start as usize + from, word.start as usize + to)
        };
        if dot > 0
            && let Some((_, import)) =
                self.scopes.files.get(&self.file).and_then(|s| s.modules.get(&name[..dot - 1]))
        {
            let place = self.found.iter().find(|p| {
                p.meaning == Meaning::Module(p.span)
                    && p.word.file == import.file
                    && import.range().contains(&(p.span.start as usize))
            });
            if let Some(meaning) = place.map(|place| place.meaning) {
                self.add(part(0, dot - 1), meaning);
            }
        }
        let (span, meaning) = match self.scopes.callable(self.file, name) {
            Some(Callable::Node(id, order)) => {
                let from = dot + order.prefix().len();
                (part(from, name.len()), Meaning::Node(self.headers[id].ast.name.span, order.times))
            }
            Some(Callable::Builtin(which)) => (word, Meaning::Function(which.name())),
            Some(Callable::Ambiguous(_)) | None => return,
        };
        self.found.push(NamePlace { span, word: part(dot, name.len()), meaning });
    }

    fn call(&mut self, callee: Ident, args: &[ast::Expr<'_>]) {
        self.callee(callee);
        args.iter().for_each(|arg| self.expr(arg));
    }

    fn indices(&mut self, indices: &[IndexExpr<'_>]) {
        for index in indices {
            match index {
                IndexExpr::At(e) => self.expr(e),
                IndexExpr::Slice { lo, hi, step, .. } => {
                    [lo, hi, step].into_iter().flatten().for_each(|e| self.expr(e));
                }
                IndexExpr::Ellipsis(_) => {}
            }
        }
    }

    fn expr(&mut self, expr: &ast::Expr<'_>) {
        use ast::ExprKind as A;
        match expr.kind {
            A::Literal(_) | A::Text(_) | A::Hole | A::Error => {}
            A::Var(name) => self.variable(Ident { name, span: expr.span }),
            A::Call { callee, args } => self.call(callee, args),
            A::Array(dims) => self.dims(dims),
            A::Entry(index) => self.indices(std::slice::from_ref(index)),
            A::Index { base, indices } => {
                self.expr(base);
                self.indices(indices);
            }
            A::Unary(_, a) | A::Post(a) | A::Share(a) | A::Assert { cond: a, .. } => self.expr(a),
            A::Binary(_, a, b)
            | A::Fby { init: a, next: b }
            | A::FbyBack { init: a, next: b }
            | A::When { value: a, cond: b }
            | A::Every { call: a, end: b }
            | A::Restart { call: a, cond: b }
            | A::By { call: a, rule: b } => [a, b].into_iter().for_each(|e| self.expr(e)),
            A::Along { call, axes, .. } => {
                self.expr(call);
                axes.iter().for_each(|axis| self.expr(axis));
            }
            A::If { cond: a, then: b, other: c } | A::Merge { cond: a, on_true: b, on_false: c } => {
                [a, b, c].into_iter().for_each(|e| self.expr(e));
            }
            A::Juxtaposed { name, args, suffixes, .. } => {
                self.call(name, args);
                self.suffixes(suffixes);
            }
            A::MergeOperands(operands) => self.operands(operands),
            A::Field { base, .. } => self.expr(base),
            A::Automaton(states) => self.automaton(states),
            A::Match { value, cases } => {
                self.expr(value);
                for case in cases {
                    self.variable(case.case);
                    self.expr(&case.value);
                }
            }
        }
    }

    /// Handles the states of an automaton; their names occur at their definitions and in transitions.
    fn automaton(&mut self, states: &[ast::StateDef<'_>]) {
        for state in states {
            self.add(state.name.span, Meaning::Variable(state.name.span));
            for param in state.params {
                self.decl(&param.decl);
                self.expr(param.first);
            }
            state.equations().for_each(|equation| self.equation(equation));
            for transition in state.transitions(true).chain(state.transitions(false)) {
                self.expr(transition.cond);
                if let Some(to) = states.iter().find(|to| to.name.name == transition.target.name) {
                    self.add(transition.target.span, Meaning::Variable(to.name.span));
                }
                transition.args.into_iter().flatten().for_each(|arg| self.expr(arg));
            }
        }
    }

    fn operands(&mut self, operands: &[ast::Expr<'_>]) {
        let (scopes, file, names) = (self.scopes, self.file, self.names);
        for operand in group_merge(operands, |name| scopes.callable(file, names.resolve(&name)).is_some()) {
            match operand {
                MergeOperand::Expr(e) => self.expr(e),
                MergeOperand::Name(name) => self.variable(name),
                MergeOperand::Call { callee, args, suffixes, .. } => {
                    self.call(callee, args);
                    self.suffixes(suffixes);
                }
                MergeOperand::Parenthesised { inner, suffixes } => {
                    self.expr(inner);
                    self.suffixes(suffixes);
                }
            }
        }
    }
    fn suffixes(&mut self, suffixes: &[ast::Suffix<'_>]) {
        for suffix in suffixes {
            if let ast::Suffix::Index(list) = suffix {
                self.indices(list);
            }
        }
    }
}
