//! Enumerations and records: their names as types, `match`, fields.

use indexmap::IndexMap;
use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, IndexVec, Span, suggest};
use rml_syntax::ast::{self, Ident};

use super::node::Lower;
use super::ordered;
use crate::hir::{Element, ExprId, ExprKind, LocalData, LocalKind, Node, SourceId, Structure};
use crate::report::Report;
use crate::scope::Scopes;

impl Lower<'_, '_> {
    /// The enumeration or record that a type names; `None` if there is none, which is reported.
    pub(super) fn named_type(&mut self, name: Ident, ty: &ast::TypeExpr<'_>) -> Option<Element> {
        let text = self.names.resolve(&name.name);
        let (scopes, file) = (self.scopes, self.header.file);
        if let Some(id) = scopes.named_type(file, text) {
            if !scopes.records.contains(&id) {
                return Some(Element::Case(id));
            }
            if !ty.dims.is_empty() {
                self.report.push(
                    Diagnostic::error(codes::RECORD_VALUE, format!("the record `{text}` has no shape"))
                        .label(ty.span, "a shape is given here")
                        .label(self.headers[id].ast.name.span, "its fields have shapes of their own")
                        .help(format!(
                            "write `{text}` alone; a family of records is written `s[k]: {text} = ..`"
                        )),
                );
            }
            return Some(Element::Record(id));
        }
        if scopes.is_excused(file, text, true) {
            return None;
        }
        let types = scopes.enums.keys().chain(&scopes.records);
        let known: Vec<&str> = types.map(|id| &*self.headers[*id].name).collect();
        let d = Diagnostic::error(codes::UNKNOWN_NAME, format!("there is no type `{text}`"))
            .label(name.span, "not in scope")
            .note("expected `bool [..]`, `int [..]`, `num [..]`, or the name of an enumeration or record");
        self.report.push(match suggest(text, known.into_iter().chain(["bool", "int", "num"])) {
            Some(near) => d.fix(format!("there is `{near}`"), name.span, near),
            None if ["str", "string", "String", "text", "char"].contains(&text) => {
                d.help("there are no texts; words are the cases of an enumeration: `enum color = red, green;`, with the input `c: color`")
            }
            None => d.help(format!(
                "define it: `enum {text} = A, B;` or `record {text} = (a: num [], b: num []);`"
            )),
        });
        None
    }

    /// Lowers `s.h`, or `m.rate` after `import .. as m;`.
    pub(super) fn field(&mut self, base: &ast::Expr<'_>, field: Ident) -> ExprKind {
        let text = self.names.resolve(&field.name);
        if let ast::ExprKind::Var(name) = base.kind
            && !self.by_name.contains_key(&name)
            && self.index.is_none_or(|(index, _)| index != name)
        {
            let module = self.names.resolve(&name);
            let scope = self.scopes.files.get(&self.header.file);
            if scope.is_some_and(|scope| scope.modules.contains_key(module)) {
                return self.imported(&format!("{module}.{text}"), base.span.to(field.span));
            }
        }
        if let Some(params) = self.params(base, field).or_else(|| self.variable_of_node(base, field)) {
            return params;
        }
        let base = self.expr(base);
        self.field_of(base, field)
    }

    /// The field `e.h` of a record.
    pub(super) fn field_of(&self, base: ExprId, field: Ident) -> ExprKind {
        let text = self.names.resolve(&field.name);
        ExprKind::Structure(Structure::Field { base, field: text.into(), span: field.span })
    }

    /// Lowers a constant of a qualified import.
    fn imported(&mut self, name: &str, span: Span) -> ExprKind {
        let Some(id) = self.scopes.constant(self.header.file, name) else {
            let d = Diagnostic::error(codes::UNKNOWN_NAME, format!("there is no constant `{name}`"))
                .label(span, "not found");
            let is_node = self.scopes.callable(self.header.file, name).is_some();
            self.report.push(match is_node {
                true => d.help(format!("`{name}` is a node: call it with `{name}(..)`")),
                false => d.help("a constant is defined by `const rate = 0.1;`, a case by an enumeration"),
            });
            return ExprKind::Error(Vec::new());
        };
        self.called.push(id);
        let kind = LocalKind::Constant(id);
        let data = LocalData { name: name.into(), span, kind, types: Vec::new(), clock: None, element: None };
        ExprKind::Local(self.locals.push(data))
    }

    /// Lowers `match p (Idle -> a, Heat -> b)`.
    pub(super) fn matched(
        &mut self,
        value: &ast::Expr<'_>,
        cases: &[ast::MatchCase<'_>],
        span: Span,
    ) -> ExprKind {
        let value = self.expr(value);
        let written: Vec<(Ident, ExprId)> =
            cases.iter().map(|case| (case.case, self.expr(&case.value))).collect();
        let parts = || std::iter::once(value).chain(written.iter().map(|(_, value)| *value)).collect();
        let Some((of, found)) = self.cases(&written, span) else { return ExprKind::Error(parts()) };
        let all = &self.scopes.enums[&of];
        let missing: Vec<String> = all
            .iter()
            .filter(|case| !found.contains_key(*case))
            .map(|c| self.headers[*c].name.to_string())
            .collect();
        if !missing.is_empty() {
            let arms: Vec<String> = missing.iter().map(|name| format!("{name} -> ..")).collect();
            let name = &self.headers[of].name;
            let more = missing.len().saturating_sub(4);
            let mut shown = missing.iter().take(4).map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
            if more > 0 {
                shown += &format!(" and {more} more");
            }
            self.report.push(
                Diagnostic::error(codes::MATCH_CASES, format!("this `match` lacks cases of `{name}`"))
                    .label(span, format!("{shown} missing"))
                    .label(self.headers[of].ast.name.span, "the enumeration")
                    .help(format!(
                        "add {}",
                        arms.iter().take(4).map(|a| format!("`{a}`")).collect::<Vec<_>>().join(", ")
                    )),
            );
            return ExprKind::Error(parts());
        }
        let cases = all.iter().filter_map(|case| Some((*case, *found.get(case)?))).collect();
        ExprKind::Structure(Structure::Match { value, cases })
    }

    /// The enumeration to which the cases of a `match` belong, and the cases; `None` if there is an error, which is
    /// reported.
    fn cases(
        &mut self,
        written: &[(Ident, ExprId)],
        span: Span,
    ) -> Option<(SourceId, IndexMap<SourceId, ExprId>)> {
        let known: Vec<Option<(SourceId, SourceId)>> =
            written.iter().map(|(case, _)| self.case(self.names.resolve(&case.name))).collect();
        let Some(of) = known.iter().flatten().map(|(_, of)| *of).next() else {
            match written.first() {
                Some(_) => written.iter().for_each(|(case, _)| self.no_case(*case, None)),
                None => self.report.push(
                    Diagnostic::error(codes::MATCH_CASES, "a `match` without cases has no value")
                        .label(span, "no case")
                        .help("name each case of the enumeration: `match p (Idle -> a, Heat -> b)`"),
                ),
            }
            return None;
        };
        let mut found: IndexMap<SourceId, ExprId> = IndexMap::new();
        let mut first: IndexMap<SourceId, Span> = IndexMap::new();
        let mut sound = true;
        for ((name, value), known) in written.iter().zip(known) {
            match known {
                Some((case, own)) if own == of => {
                    if let Some(first) = first.insert(case, name.span) {
                        sound = false;
                        let text = self.names.resolve(&name.name);
                        self.report.push(
                            Diagnostic::error(codes::MATCH_CASES, format!("the case `{text}` stands twice"))
                                .label(name.span, "again here")
                                .label(first, "first here")
                                .help("keep one of them"),
                        );
                    }
                    found.insert(case, *value);
                }
                Some(_) | None => {
                    sound = false;
                    self.no_case(*name, Some(of));
                }
            }
        }
        sound.then_some((of, found))
    }

    /// The case with that name, and its enumeration.
    fn case(&mut self, name: &str) -> Option<(SourceId, SourceId)> {
        let case = self.scopes.constant(self.header.file, name)?;
        let of = self.scopes.enum_of(case)?;
        self.called.push(case);
        Some((case, of))
    }

    /// Reports that a name before `->` is not a case of the enumeration.
    fn no_case(&mut self, name: Ident, of: Option<SourceId>) {
        let text = self.names.resolve(&name.name);
        if self.scopes.is_excused(self.header.file, text, false) {
            return;
        }
        let cases: Vec<&str> = match of {
            Some(of) => self.scopes.enums[&of].iter().map(|case| &*self.headers[*case].name).collect(),
            None => self.scopes.enums.values().flatten().map(|case| &*self.headers[*case].name).collect(),
        };
        let message = match of {
            Some(of) => format!("`{text}` is no case of `{}`", self.headers[of].name),
            None => format!("`{text}` is no case of an enumeration"),
        };
        let d = Diagnostic::error(codes::MATCH_CASES, message).label(name.span, "not a case");
        let d = match of {
            Some(of) => d.label(self.headers[of].ast.name.span, "the enumeration of the other cases"),
            None => d,
        };
        self.report.push(match suggest(text, cases.iter().copied()) {
            Some(near) => d.fix(format!("there is `{near}`"), name.span, near),
            None if cases.is_empty() => d.help(
                "`match` chooses by the cases of an enumeration, `enum phase = Idle, Heat;`; for a bool write `if`",
            ),
            None => d.help(format!("its cases are {}", cases[..cases.len().min(8)].join(", "))),
        });
    }
}

/// Reports records that contain themselves, and removes the fields that cause this.
pub(super) fn recursive_records(nodes: &mut IndexVec<SourceId, Node>, scopes: &Scopes, report: &mut Report) {
    let inner = |id: SourceId| -> Vec<(SourceId, Span, ExprId)> {
        let types = nodes[id].locals.iter().flat_map(|data| &data.types);
        let records = types.filter_map(|ty| match ty.element {
            Element::Record(record) => Some((record, ty.span, ExprId(0))),
            Element::Plain(_) | Element::Case(_) => None,
        });
        records.collect()
    };
    let (_, cycles) = ordered(scopes.records.iter().copied(), &inner);
    for cycle in cycles {
        let name = nodes[cycle.callee].name.clone();
        report.push(
            Diagnostic::error(codes::RECURSIVE_NODE, format!("the record `{name}` contains itself"))
                .label(cycle.span, "again in this field")
                .label(nodes[cycle.callee].name_span, "this record")
                .help("a value has finitely many parts: give the field another type"),
        );
        for data in nodes[cycle.call.0].locals.iter_mut() {
            data.types.retain(|ty| ty.element != Element::Record(cycle.callee));
        }
    }
}
