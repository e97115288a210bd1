//! The copy of one template: its names and equations.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};
use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, IndexVec, Label, Span};
use rml_ir::DType;
use rml_ir::typed::{Rule, StaticValue};
use rml_syntax::ast::DefinitionForm;

use super::branches::{Branches, Flag};
use super::early::{Early, Evaluator, Why, int, not_known, typed_input};
use super::kinds::{Kind, Value, declared};
use super::value::NodeValue;
use super::{Env, Expansion, Job, MAX_COPIES, MAX_EQUATIONS, too_many};
use crate::builtins::Builtin;
use crate::hir::{Clock, Equation, Expr, ExprId, ExprKind, Local, LocalData, LocalKind, Node, TypeDecl};
use crate::hir::{Element, Family, Member, SourceId, Structure};
use crate::report::Report;

/// A template that is being copied.
pub(super) struct Copy<'a, 'p> {
    pub(super) expansion: &'a mut Expansion<'p>,
    pub(super) report: &'a mut Report,
    pub(super) template: Arc<Node>,
    pub(super) env: Env,
    /// The id of the copy.
    pub(super) id: SourceId,
    pub(super) depth: usize,
    /// For a copy of a library node: the user's call that needs it, and the name of the callee there.
    pub(super) via: Option<(Span, Arc<str>)>,
    /// The node that is copied, and the place where another node calls it.
    pub(super) source: SourceId,
    pub(super) first: Option<Span>,
    /// The index of the current equation, and its value.
    pub(super) index: Option<(Local, i64)>,
    /// The member of a family that the current equation defines.
    pub(super) member: Option<Arc<str>>,
    /// The name of the member that was defined last.
    member_name: Arc<str>,
    pub(super) locals: IndexVec<Local, LocalData>,
    pub(super) exprs: IndexVec<ExprId, Expr>,
    /// The names of the copy, by the names of the template.
    pub(super) map: IndexMap<Local, Local>,
    /// The members of each family, by index.
    pub(super) members: IndexMap<Local, BTreeMap<i64, Value<Local>>>,
    /// The names of the template that are records.
    pub(super) kinds: IndexMap<Local, Kind>,
    /// The variables of these records.
    pub(super) fields: IndexMap<Local, Value<Local>>,
    /// The flags that restart the delays of the current equation: an input, and those of the states around it.
    pub(super) flags: Vec<Flag>,
    /// For each delay, the flags that restart it.
    pub(super) restarts: IndexMap<ExprId, Vec<Local>>,
    /// The branches of `match` in which expressions run.
    pub(super) branches: Branches,
    /// The literals that are cases of enumerations.
    pub(super) cases: IndexMap<ExprId, SourceId>,
    /// The update rules of parameters.
    pub(super) rules: IndexMap<ExprId, Rule>,
    /// The first variable of the current equation.
    pub(super) target: Arc<str>,
    /// Equations for expressions that got a name.
    pub(super) extra: Vec<Equation>,
    /// The names of variables; filled once a new name is needed.
    pub(super) taken: IndexSet<Arc<str>>,
    /// The shared instances.
    pub(super) shared: IndexMap<Local, NodeValue>,
    /// Whether parts are missing because a value is not known.
    pub(super) unknown: bool,
    /// The missing members that have been reported.
    pub(super) lacking: Vec<(Local, i64)>,
}

/// An equation of the copy whose expressions are not copied yet.
struct Planned {
    /// The position of the equation in the template.
    equation: usize,
    index: Option<(Local, i64)>,
    lhs: Vec<(Option<Value<Local>>, Span)>,
    member: Option<Arc<str>>,
}

impl<'a, 'p> Copy<'a, 'p> {
    pub(super) fn new(expansion: &'a mut Expansion<'p>, job: Job, report: &'a mut Report) -> Self {
        let template = Arc::clone(&expansion.program.nodes[job.template]);
        let template_name = template.name.clone();
        Self {
            expansion,
            report,
            template,
            env: job.env,
            id: job.id,
            depth: job.depth,
            via: job.via,
            source: job.template,
            first: job.first,
            index: None,
            member: None,
            member_name: template_name.clone(),
            locals: IndexVec::new(),
            exprs: IndexVec::new(),
            map: IndexMap::new(),
            members: IndexMap::new(),
            kinds: IndexMap::new(),
            fields: IndexMap::new(),
            flags: Vec::new(),
            restarts: IndexMap::new(),
            branches: Branches::default(),
            cases: IndexMap::new(),
            rules: IndexMap::new(),
            target: template_name,
            extra: Vec::new(),
            taken: IndexSet::new(),
            shared: IndexMap::new(),
            unknown: false,
            lacking: Vec::new(),
        }
    }

    /// The copy, and whether parts of it are missing because a value is not known.
    pub(super) fn make(mut self) -> (Node, bool) {
        let template = Arc::clone(&self.template);
        self.find_shares();
        self.find_kinds();
        self.undeclared_outputs();
        let formals = self.formals();
        let mut planned = Vec::new();
        for (at, equation) in template.equations.iter().enumerate() {
            if matches!(template.exprs[equation.rhs].kind, ExprKind::Structure(Structure::Share { .. })) {
                continue;
            }
            self.plan(at, equation, &mut planned);
        }
        let stacks = self.stacks(planned.len());
        self.remaining_names();
        self.declarations(&planned);
        let (mut members, mut equations) = (Vec::new(), Vec::new());
        self.checked_inputs(&formals, &mut equations);
        for planned in planned {
            self.equation(planned, &mut members, &mut equations);
        }
        for (family, names, span) in stacks {
            self.enter(self.family_state(family));
            self.stack_equations(family, &names, span, &mut equations);
        }
        equations.append(&mut self.extra);
        for (at, equation) in equations.iter().enumerate() {
            for local in equation.lhs.iter().filter_map(|(local, _)| *local) {
                self.locals[local].kind = LocalKind::Defined { equation: at };
            }
        }
        let outputs: Vec<Local> =
            template.outputs.iter().flat_map(|output| self.names(*output).leaves()).collect();
        let shares = self.share_names();
        if let Some(rule) = self.env.rule {
            self.updated(0, rule);
        }
        let numbered = template.numbered.iter();
        let numbered = numbered.filter_map(|(local, names)| Some((*self.map.get(local)?, Arc::clone(names))));
        let numbered = numbered.collect();
        let node = Node {
            name: template.name.clone(),
            file: template.file,
            span: template.span,
            name_span: template.name_span,
            formals,
            outputs,
            locals: self.locals,
            exprs: self.exprs,
            equations,
            is_extern: template.is_extern,
            names: template.names.clone(),
            roles: IndexVec::new(),
            static_order: Vec::new(),
            form: DefinitionForm::Node,
            template: false,
            held: self.env.held,
            members,
            cases: (!self.cases.is_empty()).then(|| Box::new(self.cases)),
            rules: (!self.rules.is_empty()).then(|| Box::new(self.rules)),
            restarts: (!self.restarts.is_empty()).then(|| Box::new(self.restarts)),
            shares,
            states: None,
            numbered,
        };
        (node, self.unknown)
    }

    /// Reports an error. An error in the library is shown at the user's call.
    pub(super) fn say(&mut self, mut d: Diagnostic) {
        let library = self.expansion.program.scopes.is_library(self.template.file);
        if let Some((span, name)) = self.via.as_ref().filter(|_| library) {
            let inside = |l: &Label| l.span.file == span.file && span.to(l.span) == *span;
            let message = format!("in this call of `{name}`");
            let at = d.labels.iter().position(inside).map_or(0, |argument| {
                d.labels.swap(0, argument);
                1
            });
            d.labels.insert(at, Label { span: *span, message });
        }
        self.report.push(d);
    }

    fn push_local(&mut self, from: Local, name: Arc<str>, kind: LocalKind) -> Local {
        let span = self.template.locals[from].span;
        self.locals.push(LocalData { name, span, kind, types: Vec::new(), clock: None, element: None })
    }

    /// The name in the copy for a name of the template that is not a member.
    pub(super) fn mapped(&mut self, local: Local) -> Local {
        if let Some(&known) = self.map.get(&local) {
            return known;
        }
        let name = self.template.name_of(local).clone();
        let made = self.push_local(local, name, LocalKind::Undefined);
        self.map.insert(local, made);
        made
    }

    /// The formals that are not nodes.
    fn formals(&mut self) -> Vec<Local> {
        let template = Arc::clone(&self.template);
        let values = template.formals.iter().filter(|l| template.locals[**l].kind == LocalKind::Formal);
        let mut made = Vec::new();
        for &formal in values {
            let (name, span) = (template.name_of(formal).clone(), template.locals[formal].span);
            let kind = declared(&template, formal);
            let names = self.variables((name, span), LocalKind::Formal, kind);
            made.extend(names.leaves());
            self.bind(formal, names);
        }
        if self.env.restarts {
            let flag = self.restart_input();
            self.flags.push((flag, 0));
            made.push(flag);
        }
        made
    }

    /// Adds the input by which the delays restart.
    fn restart_input(&mut self) -> Local {
        let name = self.fresh("restart");
        self.locals.push(LocalData {
            name,
            span: self.template.name_span,
            kind: LocalKind::Formal,
            types: Vec::new(),
            clock: None,
            element: Some((Element::Plain(DType::Bool), self.template.name_span)),
        })
    }

    /// Notes the variables for a name of the template.
    fn bind(&mut self, local: Local, names: Value<Local>) {
        match names {
            Value::One(made) => {
                self.map.insert(local, made);
            }
            record @ Value::Record(..) => {
                self.fields.insert(local, record);
            }
        }
    }

    /// The variables for a name of the template.
    pub(super) fn names(&mut self, local: Local) -> Value<Local> {
        match self.fields.get(&local) {
            Some(record) => record.clone(),
            None => Value::One(self.mapped(local)),
        }
    }

    /// Plans the equations that result from one equation of the template, with the variables that they define.
    fn plan(&mut self, at: usize, equation: &Equation, planned: &mut Vec<Planned>) {
        let template = Arc::clone(&self.template);
        let family = equation.family.as_deref();
        let Some(indices) = self.indices(family) else { return };
        for index in indices {
            self.index = index;
            let mut member = None;
            let lhs = equation.lhs.iter().enumerate().map(|(i, (local, span))| {
                let of = family.and_then(|family| family.members.get(i)?.as_ref());
                let defined = match (local, of) {
                    (Some(local), Some(of)) => self.define_member(*local, of, *span, planned.len()),
                    (Some(local), None) => Some(self.define(*local, planned.len())),
                    (None, _) => None,
                };
                if member.is_none() && of.is_some() {
                    member = defined.as_ref().map(|_| self.member_name.clone());
                }
                (defined, *span)
            });
            let lhs: Vec<(Option<Value<Local>>, Span)> = lhs.collect();
            let made = lhs.iter().filter_map(|(names, _)| names.as_ref()).flat_map(Value::leaves).collect();
            self.defined_in(template.state_of(at), made);
            planned.push(Planned { equation: at, index, lhs, member });
        }
        self.index = None;
    }

    /// The indices of an equation; an equation without an index is copied once.
    fn indices(&mut self, family: Option<&Family>) -> Option<Vec<Option<(Local, i64)>>> {
        let Some(range) = family.and_then(|family| family.range) else { return Some(vec![None]) };
        let what = "the number of equations";
        let first = range.first.map_or(Some(0), |first| self.needed_int(first, what));
        let end = self.needed_int(range.end, what);
        let (first, end) = (first?, end?);
        let count = end.saturating_sub(first);
        self.expansion.equations += usize::try_from(count).unwrap_or(0);
        if usize::try_from(count).is_ok_and(|count| count > MAX_COPIES)
            || self.expansion.equations > MAX_EQUATIONS
        {
            self.say(too_many(range.span, count));
            self.unknown = true;
            return None;
        }
        Some((first..end).map(|k| Some((range.index, k))).collect())
    }

    fn define(&mut self, local: Local, equation: usize) -> Value<Local> {
        let (name, span) = (self.template.name_of(local).clone(), self.template.locals[local].span);
        let mut kind = self.kinds.get(&local).copied();
        if self.template.locals[local].kind == LocalKind::Family {
            kind = kind.map(Kind::stack); // The family as a whole.
        }
        let names = self.variables((name, span), LocalKind::Defined { equation }, kind);
        self.bind(local, names.clone());
        names
    }

    fn define_member(
        &mut self,
        family: Local,
        of: &Member,
        span: Span,
        equation: usize,
    ) -> Option<Value<Local>> {
        let at = self.template.exprs[of.index].span;
        let index = self.needed_int(of.index, "the index of a variable")?;
        let name = self.template.name_of(family).clone();
        if index < 0 {
            self.say(
                Diagnostic::error(codes::STATIC_VALUE, format!("`{name}[{index}]` has a negative index"))
                    .label(at, format!("this is {index}"))
                    .note("on the right side, negative indices count from the end of the family")
                    .help("number the members from 0"),
            );
            self.unknown = true;
            return None;
        }
        self.member_name = format!("{name}[{index}]").into();
        let kind = self.kinds.get(&family).copied();
        let named = (self.member_name.clone(), span);
        let made = self.variables(named, LocalKind::Defined { equation }, kind);
        if let Some(first) = self.members.entry(family).or_default().insert(index, made.clone()) {
            let first = first.leaves().first().map_or(span, |first| self.locals[*first].span);
            let d =
                Diagnostic::error(codes::DUPLICATE_DEFINITION, format!("`{name}[{index}]` is defined twice"))
                    .label(span, "defined again here");
            let d = if first == span { d } else { d.label(first, "first defined here") };
            self.say(d.help("each variable has one equation: change the index or its range"));
        }
        Some(made)
    }

    /// The families that are used as a whole, each with the variable for its stack and the place of its use. The
    /// equations of the stacks come after the `planned` ones.
    fn stacks(&mut self, planned: usize) -> Vec<(Local, Value<Local>, Span)> {
        let template = Arc::clone(&self.template);
        let mut whole: IndexMap<Local, Span> = IndexMap::new();
        let mut note = |local: Local, span: Span| {
            if template.locals[local].kind == LocalKind::Family {
                whole.entry(local).or_insert(span);
            }
        };
        for expr in template.exprs.iter() {
            if let ExprKind::Local(local) = expr.kind {
                note(local, expr.span);
            }
        }
        template.outputs.iter().for_each(|output| note(*output, template.locals[*output].span));
        let stacks = whole.into_iter().enumerate().map(|(i, (family, span))| {
            let names = self.define(family, planned + i);
            self.defined_in(self.family_state(family), names.leaves());
            (family, names, span)
        });
        stacks.collect()
    }

    /// The state in which a family is defined.
    fn family_state(&self, family: Local) -> Option<usize> {
        let defines =
            |at: usize| self.template.equations[at].lhs.iter().any(|(local, _)| *local == Some(family));
        self.template.states().find(|(at, _)| defines(*at)).map(|(_, state)| state)
    }

    /// Adds the named dimensions, and the names that nothing defines.
    fn remaining_names(&mut self) {
        let template = Arc::clone(&self.template);
        for (local, data) in template.locals.iter_enumerated() {
            if matches!(data.kind, LocalKind::Dim | LocalKind::Undefined) {
                let made = self.push_local(local, data.name.clone(), data.kind);
                self.map.insert(local, made);
            }
        }
    }

    /// Copies the declared types and clocks.
    fn declarations(&mut self, planned: &[Planned]) {
        let template = Arc::clone(&self.template);
        for (local, made) in self.map.clone() {
            let data = &template.locals[local];
            self.locals[made].types = data.types.iter().map(|ty| self.type_decl(ty)).collect();
            self.locals[made].clock =
                data.clock.map(|clock| Clock { cond: self.mapped(clock.cond), ..clock });
        }
        for (local, names) in self.fields.clone() {
            let data = &template.locals[local];
            let clock = data.clock.map(|clock| Clock { cond: self.mapped(clock.cond), ..clock });
            for leaf in names.leaves() {
                self.locals[leaf].clock = clock;
            }
        }
        for planned in planned {
            let Some(family) = &template.equations[planned.equation].family else { continue };
            self.index = planned.index;
            for (member, (names, _)) in family.members.iter().zip(&planned.lhs) {
                if let (Some(member), Some(Value::One(local))) = (member, names) {
                    self.locals[*local].types = member.types.iter().map(|ty| self.type_decl(ty)).collect();
                }
            }
        }
        self.index = None;
    }

    fn type_decl(&mut self, ty: &TypeDecl) -> TypeDecl {
        TypeDecl { element: ty.element, dims: self.items(&ty.dims), span: ty.span }
    }

    fn equation(
        &mut self,
        planned: Planned,
        notes: &mut Vec<(ExprId, ExprId, Arc<str>)>,
        equations: &mut Vec<Equation>,
    ) {
        let template = Arc::clone(&self.template);
        let equation = &template.equations[planned.equation];
        self.enter(template.state_of(planned.equation));
        self.index = planned.index;
        self.member = planned.member.or(self.member.take());
        let first = planned.lhs.iter().find_map(|(names, _)| names.as_ref()?.leaves().first().copied());
        let leaf = |local: Local| self.locals[local].name.clone();
        self.target = first.map_or_else(|| template.name.clone(), leaf);
        let from = self.exprs.len();
        let made = self.top(equation.rhs, planned.lhs.len());
        self.define_by(made, &planned.lhs, equation, equations);
        if let (Some((index, k)), Some(member)) = (self.index, &self.member) {
            let index = template.name_of(index);
            let note = format!("in the equation of `{member}`, where {index} = {k}");
            let id = |i: usize| ExprId(u32::try_from(i).unwrap_or(u32::MAX));
            notes.push((id(from), id(self.exprs.len()), note.into()));
        }
        (self.index, self.member) = (None, None);
    }

    /// The stack of all members of a family, or of one field of them.
    pub(super) fn stack(&mut self, family: Local, part: usize, span: Span) -> ExprKind {
        let members = self.members.get(&family).cloned().unwrap_or_default();
        let count = i64::try_from(members.len()).unwrap_or(i64::MAX);
        if let Some(missing) = (0..count).find(|k| !members.contains_key(k)) {
            if !self.lacking.contains(&(family, missing)) && !self.unknown {
                self.missing(family, missing, span, "a family alone is the stack of its members, from 0 on");
            }
            return ExprKind::Error(Vec::new());
        }
        let parts = members.into_values().filter_map(|names| names.leaves().get(part).copied());
        self.stacked(&parts.collect::<Vec<_>>(), span)
    }

    /// The stack of variables along a new first axis.
    pub(super) fn stacked(&mut self, parts: &[Local], span: Span) -> ExprKind {
        if parts.is_empty() {
            if !self.unknown {
                let message = "a family without members has no stack";
                self.say(Diagnostic::error(codes::EMPTY_ARRAY, message).label(span, "no member"));
            }
            return ExprKind::Error(Vec::new());
        }
        let axis = ExprKind::Literal(rml_syntax::ast::Literal::Int(0));
        let axis = self.exprs.push(Expr { kind: axis, span });
        let parts: Vec<ExprId> = parts.iter().map(|part| self.sampled(*part, 0, span)).collect();
        let args = std::iter::once(axis).chain(parts).collect();
        ExprKind::Builtin { which: Builtin::Stack, args }
    }

    /// The value of an expression of the template, evaluated early.
    pub(super) fn early(&self, expr: ExprId) -> Early<StaticValue> {
        let template = &*self.template;
        let read = |local: Local, span: Span| match template.locals[local].kind {
            LocalKind::Index => match self.index {
                Some((index, k)) if index == local => Ok(StaticValue::Int(k)),
                _ => Err(Why::Unknown),
            },
            LocalKind::Constant(id) => {
                self.expansion.constants.get(&id).cloned().unwrap_or(Err(Why::Unknown))
            }
            LocalKind::Dim => {
                let given = self.env.dims.get(template.name_of(local).as_ref());
                given.cloned().ok_or(Why::Stream(span))
            }
            LocalKind::Formal
            | LocalKind::Defined { .. }
            | LocalKind::Undefined
            | LocalKind::Node
            | LocalKind::Family => {
                let position = template.position(local);
                let value = position.and_then(|position| self.env.values.get(&position));
                value.cloned().unwrap_or(Err(Why::Stream(span)))
            }
        };
        Evaluator { node: template, read: &read, steps: Cell::new(0) }.eval(expr)
    }

    /// An int that determines which copies are made; `None` if it is not known. An error in it is reported.
    pub(super) fn needed_int(&mut self, expr: ExprId, what: &str) -> Option<i64> {
        let span = self.template.exprs[expr].span;
        match self.early(expr).and_then(|value| int(&value, span)) {
            Ok(value) => Some(value),
            Err(why) => {
                match why {
                    Why::Unknown => {}
                    // An equation in error may look like a stream although it was meant to be static.
                    Why::Stream(_) if self.is_broken() => {}
                    // All such errors have the same cause, the declared type of an input.
                    Why::Stream(_) if self.unknown && typed_input(&self.template, expr).is_some() => {}
                    Why::Stream(at) => {
                        let typed = typed_input(&self.template, expr);
                        let d = not_known(what, span, at, typed, self.root_size(expr));
                        self.say(d);
                    }
                    Why::Bad(d) => self.say(*d),
                }
                self.unknown = true;
                None
            }
        }
    }

    /// A named dimension of the root node that an expression contains.
    fn root_size(&self, expr: ExprId) -> Option<&str> {
        match self.template.exprs[expr].kind {
            ExprKind::Local(local) => {
                let data = &self.template.locals[local];
                (data.kind == LocalKind::Dim && self.env.is_root).then_some(&*data.name)
            }
            ref kind => kind.children().into_iter().find_map(|part| self.root_size(part)),
        }
    }

    /// Whether part of the template is in error, which is reported.
    pub(super) fn is_broken(&self) -> bool {
        self.template.exprs.iter().any(|expr| matches!(expr.kind, ExprKind::Error(_)))
    }

    /// The selected branch of an `if` that is decided early; `None` if its condition is a stream.
    pub(super) fn choice(&mut self, structure: &Structure) -> Option<ExprId> {
        let Structure::Choose { cond, then, other } = *structure else { return None };
        match self.early(cond) {
            Ok(StaticValue::Bool(c)) => Some(if c { then } else { other }),
            Err(Why::Bad(d)) => {
                self.say(*d);
                None
            }
            Err(Why::Unknown) => {
                self.unknown = true;
                None
            }
            Ok(_) | Err(Why::Stream(_)) => None,
        }
    }
}
