//! The equations of a node as source text: which temporaries become names, and how expressions nest.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::level::{Level, Piece};
use super::{Line, Origins, callee_name, constant, operands, operator, static_names, words};
use crate::normal::{Callee, ConstId, ConstKind, Eq, Equation, Formal, Init, Module, Node, NodeId, Rhs, Var};
use crate::op::Op;
use crate::types::DType;
use crate::value::Value;

/// How deeply temporaries are nested before one gets a name.
const DEPTH: usize = 24;

/// The longest equation that a comment repeats.
const COMMENT: usize = 76;

/// The body of one node.
pub(super) struct Body<'m> {
    module: &'m Module,
    node: &'m Node,
    node_names: &'m BTreeMap<NodeId, Arc<str>>,
    known: BTreeSet<Arc<str>>,
    definition: BTreeMap<Var, Eq>,
    uses: BTreeMap<Var, usize>,
    names: BTreeMap<Var, Arc<str>>,
    /// How many names were made up.
    temporaries: u64,
    /// Names that are taken.
    taken: BTreeSet<Arc<str>>,
    /// Static names in texts that were printed.
    used_statics: BTreeSet<Arc<str>>,
    /// Streams whose shapes printed texts name.
    shaped: BTreeSet<String>,
    /// The equation that is being printed.
    current: Option<Eq>,
    /// For each equation the one whose line it is printed in.
    line_of: BTreeMap<Eq, Eq>,
    /// What is said about calls in comments.
    calls: BTreeMap<Eq, (Arc<str>, usize, usize)>,
    /// The right sides of the calls that they stand for.
    primal: BTreeMap<Eq, String>,
    /// Temporaries that got a name while they were to be nested.
    pending: Vec<Eq>,
    printed: BTreeSet<Eq>,
}

impl<'m> Body<'m> {
    pub(super) fn new(
        module: &'m Module,
        node: &'m Node,
        node_names: &'m BTreeMap<NodeId, Arc<str>>,
    ) -> Self {
        let mut definition = BTreeMap::new();
        let mut uses: BTreeMap<Var, usize> = BTreeMap::new();
        for (id, eq) in node.equations.iter_enumerated() {
            definition.extend(eq.lhs.iter().map(|&v| (v, id)));
            for v in operands(&eq.rhs) {
                *uses.entry(v).or_default() += 1;
            }
        }
        let known = static_names(node);
        let names = super::variable_names(node);
        Self {
            module,
            node,
            node_names,
            taken: known.iter().chain(names.values()).cloned().collect(),
            known,
            definition,
            uses,
            names,
            temporaries: 0,
            used_statics: BTreeSet::new(),
            shaped: BTreeSet::new(),
            current: None,
            line_of: BTreeMap::new(),
            calls: BTreeMap::new(),
            primal: BTreeMap::new(),
            pending: Vec::new(),
            printed: BTreeSet::new(),
        }
    }

    /// Whether an expression reads `v`.
    pub(super) fn is_read(&self, v: Var) -> bool {
        self.uses.contains_key(&v)
    }

    /// Whether a printed text uses the static name, be it through other static names.
    pub(super) fn is_static_used(&self, name: &str) -> bool {
        self.used_statics.contains(name)
    }

    /// The name of a variable; one that has none gets one.
    pub(super) fn name(&mut self, v: Var) -> Arc<str> {
        if let Some(name) = self.names.get(&v) {
            return name.clone();
        }
        let name = loop {
            self.temporaries += 1;
            let name: Arc<str> = Arc::from(format!("t{}", self.temporaries));
            if !self.taken.contains(&name) {
                break name;
            }
        };
        self.taken.insert(name.clone());
        self.names.insert(v, name.clone());
        name
    }

    /// All equations, one line each, with comments from `origins`: for equations, those that they transpose.
    pub(super) fn equations(&mut self, origins: Option<&Origins>) -> Vec<Line> {
        if let Some(origins) = origins {
            self.calls.clone_from(&origins.calls);
        }
        for &o in &self.node.outputs {
            self.name(o);
        }
        let mut lines: Vec<(Eq, String)> = Vec::new();
        for id in self.node.equations.ids() {
            let eq = &self.node.equations[id];
            let nested = matches!(eq.lhs.as_slice(), [v] if self.is_nested(*v));
            if !nested && !self.is_idle(eq) {
                self.line(id, &mut lines);
            }
        }
        // Temporaries that only read each other.
        for id in self.node.equations.ids() {
            let read = self.node.equations[id].lhs.iter().any(|v| self.uses.contains_key(v));
            if read && !self.printed.contains(&id) {
                self.line(id, &mut lines);
            }
        }
        lines.sort_by_key(|&(id, _)| id);
        let lines: Vec<(Eq, String, String)> =
            lines.into_iter().map(|(id, rhs)| (id, self.left_side(id), rhs)).collect();
        let Some(origins) = origins else {
            let line = |(id, left, rhs): (Eq, String, String)| Line {
                text: written(&left, &rhs),
                spans: vec![self.node.equations[id].span],
            };
            return lines.into_iter().map(line).collect();
        };
        self.commented(&lines, origins)
    }

    /// The lines, a comment before each that transposes other equations than the one before it.
    fn commented(&self, lines: &[(Eq, String, String)], origins: &Origins) -> Vec<Line> {
        let mut transposed: BTreeMap<Eq, BTreeSet<Eq>> = BTreeMap::new();
        for (eq, of) in &origins.transposed {
            let Some(line) = self.line_of.get(eq) else { continue };
            transposed.entry(*line).or_default().extend(of.iter().filter_map(|eq| self.line_of.get(eq)));
        }
        let written = |(id, left, rhs): &(Eq, String, String)| match (self.calls.get(id), self.primal.get(id))
        {
            (Some((_, outputs, _)), Some(rhs)) => {
                let left: Vec<&str> = left.split(", ").take(*outputs).collect();
                (*id, (left.join(", "), rhs.clone()))
            }
            _ => (*id, (left.clone(), rhs.clone())),
        };
        let texts: BTreeMap<Eq, (String, String)> = lines.iter().map(written).collect();
        let mut last = String::new();
        let mut out = Vec::new();
        for (id, left, rhs) in lines {
            let of =
                transposed.get(id).map(|of| of.iter().filter_map(|eq| texts.get(eq)).collect::<Vec<_>>());
            let comment = of.filter(|of| !of.is_empty()).map(|of| comment(&of));
            if let Some(comment) = comment.filter(|comment| *comment != last) {
                out.push(Line { text: comment.clone(), spans: Vec::new() });
                last = comment;
            }
            let span = |eq: &Eq| self.node.equations[*eq].span;
            let of = transposed.get(id).filter(|of| !of.is_empty());
            let spans = of.map_or_else(|| vec![span(id)], |of| of.iter().map(span).collect());
            out.push(Line { text: self::written(left, rhs), spans });
        }
        out
    }

    /// The names of an equation's results; `_` for a result among others that nothing reads. Requires: all right sides
    /// are printed.
    fn left_side(&mut self, id: Eq) -> String {
        let node = self.node;
        if self.asserted(id).is_some() {
            return String::new();
        }
        let results = &node.equations[id].lhs;
        let lhs: Vec<Arc<str>> = results
            .iter()
            .map(|v| {
                let read = self.uses.contains_key(v) || node.outputs.contains(v);
                let shaped = self.names.get(v).is_some_and(|name| self.shaped.contains(&**name));
                if read || shaped || results.len() == 1 { self.name(*v) } else { Arc::from("_") }
            })
            .collect();
        if lhs.is_empty() { "_".to_owned() } else { lhs.join(", ") }
    }

    /// Whether an equation is without name, reader, and state of others.
    fn is_idle(&self, eq: &Equation) -> bool {
        let lives = matches!(eq.rhs, Rhs::Call { .. } | Rhs::ParamUpdate { .. } | Rhs::Param { .. });
        let asserts = eq.lhs.iter().any(|v| self.node.vars[*v].asserts.is_some());
        !lives && !asserts && eq.lhs.iter().all(|v| !self.uses.contains_key(v) && !self.names.contains_key(v))
    }

    /// Whether `v` is printed where it is read.
    fn is_nested(&self, v: Var) -> bool {
        if self.names.contains_key(&v) {
            return false;
        }
        let Some(&id) = self.definition.get(&v) else { return false };
        let eq = &self.node.equations[id];
        let reads = self.uses.get(&v).copied().unwrap_or(0);
        eq.lhs.len() == 1 && (reads == 1 || self.is_short(&eq.rhs))
    }

    /// Whether repeating an expression is clearer than a name for it.
    fn is_short(&self, rhs: &Rhs) -> bool {
        let named = |v: &Var| self.names.contains_key(v);
        match rhs {
            Rhs::Const(_) => true,
            Rhs::When { value, cond } => named(value) && named(cond),
            Rhs::Apply { op: Op::Not, args, .. } => args.iter().all(named),
            _ => false,
        }
    }

    fn line(&mut self, id: Eq, lines: &mut Vec<(Eq, String)>) {
        self.pending.push(id);
        while let Some(id) = self.pending.pop() {
            if !self.printed.insert(id) {
                continue;
            }
            let node = self.node;
            let eq = &node.equations[id];
            self.current = Some(id);
            self.line_of.insert(id, id);
            let asserted = self.asserted(id);
            for &v in &eq.lhs {
                if (eq.lhs.len() == 1 && asserted.is_none()) || self.uses.contains_key(&v) {
                    self.name(v);
                }
            }
            let rhs = match asserted {
                Some(name) => self.assertion(&name, eq),
                None => self.rhs(eq, 0).text,
            };
            lines.push((id, rhs));
        }
    }

    /// The name of the property that an equation checks.
    fn asserted(&self, id: Eq) -> Option<Arc<str>> {
        match self.node.equations[id].lhs.as_slice() {
            [v] => self.node.vars[*v].asserts.clone(),
            _ => None,
        }
    }

    /// `assert "name" c`, of the equation that checks it: `gather([0], to_int(not c))`.
    fn assertion(&mut self, name: &str, eq: &Equation) -> String {
        let mut at = operands(&eq.rhs).get(1).copied();
        for op in [Op::Convert(DType::Int), Op::Not] {
            let id = at.and_then(|v| self.definition.get(&v).copied());
            at = id.and_then(|id| match &self.node.equations[id].rhs {
                Rhs::Apply { op: found, args, .. } if *found == op => {
                    self.print_here(id);
                    args.first().copied()
                }
                _ => None,
            });
        }
        let zero = operands(&eq.rhs).first().and_then(|v| self.definition.get(v).copied());
        zero.into_iter().for_each(|id| self.print_here(id));
        let cond = at.map_or_else(String::new, |v| self.var(v, 0).text);
        format!("assert \"{name}\" {cond}")
    }

    /// A variable where it is read.
    fn var(&mut self, v: Var, depth: usize) -> Piece {
        if !self.is_nested(v) {
            return Piece::atom(&*self.name(v));
        }
        let id = self.definition[&v];
        if depth >= DEPTH && !matches!(self.node.equations[id].rhs, Rhs::Const(_)) {
            self.pending.push(id);
            return Piece::atom(&*self.name(v));
        }
        self.print_here(id);
        let node = self.node;
        self.rhs(&node.equations[id], depth + 1)
    }

    /// Notes that an equation is printed within the current line.
    fn print_here(&mut self, id: Eq) {
        self.printed.insert(id);
        if let Some(line) = self.current {
            self.line_of.entry(id).or_insert(line);
        }
    }

    fn rhs(&mut self, eq: &Equation, depth: usize) -> Piece {
        match &eq.rhs {
            Rhs::Const(k) => self.constant(*k),
            Rhs::Apply { op, args, statics } => self.apply(op, args, statics, depth),
            Rhs::If { cond, then, other } => {
                let cond = self.var(*cond, depth).text;
                let (then, other) = self.branches(*then, *other, depth);
                Piece::new(format!("if {cond} then {} else {}", then.text, other.text), Level::If)
            }
            Rhs::When { value, cond } => {
                let (value, cond) = (self.var(*value, depth), self.var(*cond, depth));
                Piece::new(format!("{} when {}", value.at(Level::When), cond.at(Level::Unary)), Level::When)
            }
            Rhs::Merge { cond, on_true, on_false } => {
                let cond = self.var(*cond, depth);
                let (on_true, on_false) = self.branches(*on_true, *on_false, depth);
                let operands = [cond, on_true, on_false].map(|p| self.merge_operand(p)).join(" ");
                Piece::new(format!("merge {operands}"), Level::Merge)
            }
            Rhs::Fby { init, next } => self.delay("fby", init, *next, depth),
            Rhs::FbyBack { init, next } => self.delay("fby back", init, *next, depth),
            Rhs::Post { next } => {
                let next = self.var(*next, depth).at(Level::Unary);
                Piece::new(format!("post {next}"), Level::Unary)
            }
            Rhs::Param { init, .. } => Piece::atom(format!("param({})", self.var(*init, depth).text)),
            Rhs::ParamUpdate { init, bp, d, optimiser, .. } => {
                let args = [*init, *bp, *d].map(|v| self.var(v, depth).text).join(", ");
                Piece::atom(format!("{}({args})", self.node_names[optimiser]))
            }
            Rhs::Call { callee, args, every, statics, .. } => {
                let call = self.call(callee, args, statics, depth);
                match every {
                    None => Piece::atom(call),
                    Some(end) => {
                        let end = self.var(*end, depth).at(Level::Unary);
                        if let Some(own) = self.current.and_then(|id| self.primal.get_mut(&id)) {
                            own.push_str(&format!(" every {end}"));
                        }
                        Piece::new(format!("{call} every {end}"), Level::When)
                    }
                }
            }
        }
    }

    /// An operand of `merge`; a name that is also that of a node or function must not look like a call.
    fn merge_operand(&self, piece: Piece) -> String {
        let callable = crate::op::names().any(|name| name == piece.text)
            || self
                .module
                .nodes
                .iter()
                .any(|node| *node.name == *piece.text || piece.text == format!("diff_{}", node.name));
        if callable { piece.parenthesised() } else { piece.operand() }
    }

    /// The two branches of `if` or `merge`: a constant whose elements are all the same is repeated by the other one.
    fn branches(&mut self, a: Var, b: Var, depth: usize) -> (Piece, Piece) {
        match (self.filled(a), self.filled(b)) {
            (Some(fill), None) => {
                self.print_here(self.definition[&a]);
                return (fill, self.var(b, depth));
            }
            (None, Some(fill)) => {
                self.print_here(self.definition[&b]);
                return (self.var(a, depth), fill);
            }
            _ => {}
        }
        match (self.unbroadcast(a), self.unbroadcast(b)) {
            (Some(_), None) => (self.broadcasting(a, depth), self.var(b, depth)),
            (None, Some(_)) => (self.var(a, depth), self.broadcasting(b, depth)),
            _ => (self.var(a, depth), self.var(b, depth)),
        }
    }

    /// A variable in a context that broadcasts it. A broadcast that the source does not write is left out.
    fn broadcasting(&mut self, v: Var, depth: usize) -> Piece {
        match self.unbroadcast(v) {
            Some(inner) => {
                self.print_here(self.definition[&v]);
                self.var(inner, depth)
            }
            None => self.var(v, depth),
        }
    }

    /// The element of a constant that the source does not write and whose elements are all the same.
    fn filled(&self, v: Var) -> Option<Piece> {
        if self.names.contains_key(&v) {
            return None;
        }
        match &self.node.equations[*self.definition.get(&v)?].rhs {
            Rhs::Const(k) => self.filled_constant(*k),
            _ => None,
        }
    }

    fn filled_constant(&self, k: ConstId) -> Option<Piece> {
        let data = &self.node.consts[k];
        match &data.kind {
            ConstKind::Value(value @ Value::Tensor(_)) if data.text.is_none() => constant::filled(value),
            _ => None,
        }
    }

    /// The operand of a broadcast that the source does not write.
    fn unbroadcast(&self, v: Var) -> Option<Var> {
        if !self.is_nested(v) {
            return None;
        }
        match &self.node.equations[*self.definition.get(&v)?].rhs {
            Rhs::Apply { op: Op::Broadcast { .. }, args, statics } if statics.is_empty() => {
                args.first().copied()
            }
            _ => None,
        }
    }

    fn delay(&mut self, word: &str, init: &Init, next: Var, depth: usize) -> Piece {
        let init = match init {
            Init::Const(k) => match self.filled_constant(*k) {
                Some(fill) => fill,
                None => self.constant(*k),
            },
            Init::Stream(v) => self.broadcasting(*v, depth),
        };
        let next = self.var(next, depth);
        let next = if next.level == Level::Merge { next.parenthesised() } else { next.text };
        Piece::new(format!("{} {word} {next}", init.at(Level::Or)), Level::Fby)
    }

    fn apply(&mut self, op: &Op, args: &[Var], statics: &[Arc<str>], depth: usize) -> Piece {
        let pieces: Vec<Piece> = args.iter().map(|&v| self.var(v, depth)).collect();
        if let (Some((word, level)), [left, right]) = (operator::infix(op), pieces.as_slice()) {
            let (left, right) = (left.clone().left(level), right.clone().right(tighter(level)));
            return Piece::new(format!("{left} {word} {right}"), level);
        }
        let types: Vec<_> = args.iter().map(|&v| self.node.vars[v].ty.clone()).collect();
        let written = statics.iter().all(|text| self.is_known(text));
        let statics = if written { statics } else { &[] };
        statics.iter().for_each(|text| self.note_statics(text));
        operator::application(op, pieces, &types, statics)
    }

    fn call(&mut self, callee: &Callee, args: &[Var], statics: &[Arc<str>], depth: usize) -> String {
        let target = match callee {
            Callee::Node(id) | Callee::Diff { node: id, .. } => &self.module.nodes[*id],
        };
        let (mut args, mut statics) = (args.iter(), statics.iter());
        let mut texts: Vec<String> = Vec::new();
        for formal in &target.formals {
            match formal {
                Formal::Static { value, .. } => texts.push(match statics.next() {
                    Some(text) if self.is_known(text) => {
                        self.note_statics(text);
                        text.to_string()
                    }
                    _ => value.to_string(),
                }),
                Formal::Stream(_) => texts.extend(args.next().map(|&v| self.var(v, depth).text)),
            }
        }
        for &v in args {
            texts.push(self.var(v, depth).text);
        }
        if let Some((id, (name, _, inputs))) = self.current.and_then(|id| Some((id, self.calls.get(&id)?))) {
            let fixed = target.formals.iter().filter(|f| matches!(f, Formal::Static { .. })).count();
            let own: Vec<&str> = texts.iter().take(fixed + inputs).map(String::as_str).collect();
            let text = format!("{name}({})", own.join(", "));
            self.primal.insert(id, text);
        }
        format!("{}({})", callee_name(self.module, self.node_names, callee), texts.join(", "))
    }

    fn constant(&mut self, k: ConstId) -> Piece {
        let node = self.node;
        let data = &node.consts[k];
        match (&data.text, &data.kind) {
            (Some(text), _) if self.is_known(text) => {
                self.note_statics(text);
                constant::written(text)
            }
            (_, ConstKind::Value(value)) => constant::value(value),
            (_, ConstKind::Random(distribution)) => constant::random(*distribution, &data.ty.shape),
        }
    }

    /// Whether all names of a text exist here.
    fn is_known(&self, text: &str) -> bool {
        let mut known = true;
        let is_var = |name: &str| self.names.values().any(|n| **n == *name);
        let words = words(text, |name| known &= is_var(name));
        known && words.iter().all(|&word| self.known.contains(word))
    }

    /// Remembers the static names of a text, and those that they are made of.
    fn note_statics(&mut self, text: &str) {
        let shaped = &mut self.shaped;
        let mut note = |text: &str| -> Vec<String> {
            let found = words(text, |stream| {
                shaped.insert(stream.to_owned());
            });
            found.into_iter().map(str::to_owned).collect()
        };
        let mut todo = note(text);
        while let Some(word) = todo.pop() {
            if let Some((name, text)) = self.node.statics.iter().find(|(name, _)| **name == *word)
                && self.used_statics.insert(name.clone())
            {
                todo.extend(note(text));
            }
        }
    }
}

/// Which equations a line transposes: as they are if there is room, else what they define.
fn comment(of: &[&(String, String)]) -> String {
    let whole: Vec<String> = of.iter().map(|(left, rhs)| format!("{left} = {rhs}")).collect();
    let whole = whole.join("; ");
    if whole.chars().count() <= COMMENT {
        return format!("-- transposes {whole}");
    }
    let names: Vec<&str> = of.iter().flat_map(|(left, _)| left.split(", ")).filter(|n| *n != "_").collect();
    format!("-- transposes the equation{} of {}", if of.len() > 1 { "s" } else { "" }, names.join(", "))
}

/// An equation; an assertion has no left side.
fn written(left: &str, rhs: &str) -> String {
    if left.is_empty() { format!("{rhs};") } else { format!("{left} = {rhs};") }
}

/// The next tighter level.
pub(super) fn tighter(level: Level) -> Level {
    match level {
        Level::If => Level::Fby,
        Level::Fby => Level::Or,
        Level::Or => Level::And,
        Level::And => Level::Comparison,
        Level::Comparison => Level::Sum,
        Level::Sum => Level::Product,
        Level::Product => Level::When,
        Level::When => Level::Unary,
        Level::Unary => Level::Postfix,
        Level::Postfix | Level::Merge | Level::Atom => Level::Atom,
    }
}
