//! Changing one place of a text form, and what the verifiers then find.

use indexmap::IndexMap;
use rml_base::{FileId, IndexVec, Span};
use rml_ir::flat::{self, Flat};
use rml_ir::normal;
use rml_ir::op::Op;
use rml_ir::typed::{
    self, Callee, ConstKind, Constant, Equation, Expr, ExprId, ExprKind, Formal, Input, NodeId, Var, VarData,
};
use rml_ir::{DType, Precision, Type, Value};

/// `text` with the one occurrence of `from` replaced.
pub(crate) fn edited(text: &str, from: &str, to: &str) -> String {
    assert_eq!(text.matches(from).count(), 1, "`{from}` must occur once in\n{text}");
    text.replace(from, to)
}

/// That the lines of `found` all begin with `rule`, and that there is one.
#[track_caller]
pub(crate) fn assert_only(found: Result<(), Vec<String>>, rule: &str) {
    let found = found.expect_err("a broken form must not verify");
    assert!(!found.is_empty());
    for line in found {
        assert!(line.starts_with(&format!("{rule}: ")), "not {rule}: {line}");
    }
}

pub(crate) fn normal(text: &str) -> normal::Module {
    normal::parse(text).unwrap_or_else(|e| panic!("{e}\nin\n{text}"))
}

/// The normal form of a text that calls no adjoint by name, verified.
pub(crate) fn differentiated(text: &str) -> normal::Differentiated {
    normal::Differentiated::new(normal(text)).unwrap_or_else(|e| panic!("{e:#?}"))
}

pub(crate) fn flat(text: &str) -> Flat {
    flat::parse(text).unwrap_or_else(|e| panic!("{e}\nin\n{text}"))
}

/// The flat form of a normal module's text, verified.
pub(crate) fn inlined(text: &str) -> Flat {
    let module = differentiated(text);
    let flat = rml_ir::pass::inline(&module).unwrap_or_else(|e| panic!("{e}"));
    flat::verify(&flat).unwrap_or_else(|e| panic!("{e:#?}"));
    flat
}

/// The equation that defines the variable of that name, as printed.
#[track_caller]
pub(crate) fn equation_of(flat: &Flat, name: &str) -> String {
    let named = flat.vars.iter_enumerated().find(|(_, d)| d.name.as_deref() == Some(name));
    let (var, _) = named.unwrap_or_else(|| panic!("no variable {name}"));
    let text = flat::print(flat);
    let start = format!("{var} = ");
    let line =
        text.lines().find(|l| l.starts_with(&start)).unwrap_or_else(|| panic!("{name} has no equation"));
    named_line(flat, line)
}

/// A printed equation with names in place of ids, where there are names.
pub(crate) fn named_line(flat: &Flat, line: &str) -> String {
    let code = line.split("  #").next().unwrap_or_default();
    let mut out = String::new();
    for part in code.split_inclusive(|c: char| !c.is_alphanumeric()) {
        let word = part.trim_end_matches(|c: char| !c.is_alphanumeric());
        let var = word.strip_prefix('v').and_then(|n| n.parse::<u32>().ok()).map(flat::Var);
        match var.and_then(|v| flat.vars.get(v)?.name.as_deref()) {
            Some(name) => out.push_str(name),
            None => out.push_str(word),
        }
        out.push_str(&part[word.len()..]);
    }
    out
}

/// Builds one typed node by hand.
pub(crate) struct TypedNode(pub(crate) typed::Node);

impl TypedNode {
    pub(crate) fn new(name: &str) -> Self {
        Self(typed::Node {
            held: 0,
            name: name.into(),
            formals: Vec::new(),
            outputs: Vec::new(),
            claims: Vec::new(),
            statics: Vec::new(),
            vars: IndexVec::new(),
            exprs: IndexVec::new(),
            equations: Vec::new(),
            span: span(),
        })
    }

    pub(crate) fn var(&mut self, name: &str, ty: &Type) -> Var {
        self.0.vars.push(VarData {
            name: Some(name.into()),
            ty: ty.clone(),
            span: span(),
            asserts: None,
            cases: None,
        })
    }

    pub(crate) fn input(&mut self, name: &str, ty: &Type) -> Var {
        let var = self.var(name, ty);
        self.0.formals.push(Formal::Stream(Input { var, clock: None }));
        var
    }

    pub(crate) fn output(&mut self, name: &str, ty: &Type) -> Var {
        let var = self.var(name, ty);
        self.0.outputs.push(var);
        var
    }

    pub(crate) fn expr(&mut self, kind: ExprKind, ty: &Type) -> ExprId {
        self.0.exprs.push(Expr { kind, ty: ty.clone(), span: span() })
    }

    /// A scalar literal.
    pub(crate) fn literal(&mut self, value: Value) -> ExprId {
        let ty = value.ty();
        let constant = Constant { kind: ConstKind::Value(value), ty: ty.clone(), text: None };
        self.expr(ExprKind::Const(constant), &ty)
    }

    pub(crate) fn read(&mut self, var: Var) -> ExprId {
        let ty = self.0.vars[var].ty.clone();
        self.expr(ExprKind::Var(var), &ty)
    }

    pub(crate) fn apply(&mut self, op: Op, args: Vec<ExprId>, ty: &Type) -> ExprId {
        self.expr(ExprKind::Apply { op, args, statics: Vec::new() }, ty)
    }

    pub(crate) fn call(&mut self, callee: Callee, args: Vec<ExprId>, ty: &Type) -> ExprId {
        self.expr(
            ExprKind::Call { callee, args, every: None, statics: Vec::new(), member: None, instance: None },
            ty,
        )
    }

    pub(crate) fn equation(&mut self, lhs: &[Option<Var>], rhs: ExprId) {
        self.0.equations.push(Equation { lhs: lhs.to_vec(), rhs, span: span() });
    }
}

/// A module whose root is the last node.
pub(crate) fn typed_module(nodes: Vec<TypedNode>) -> typed::Module {
    let root = NodeId(u32::try_from(nodes.len()).expect("few nodes") - 1);
    typed::Module {
        precision: Precision::F32,
        nodes: nodes.into_iter().map(|n| n.0).collect(),
        root,
        overrides: IndexMap::new(),
        optimisers: IndexMap::new(),
    }
}

pub(crate) fn span() -> Span {
    Span::new(FileId(0), 0, 0)
}

pub(crate) fn num() -> Type {
    Type::scalar(DType::Num)
}
