//! Evaluation of static expressions before shapes are known.

use std::cell::Cell;

use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, Span};
use rml_ir::typed::StaticValue;
use rml_syntax::ast::Literal;

use crate::builtins::Builtin;
use crate::hir::Structure;
use crate::hir::{ExprId, ExprKind, Index, Item, Local, LocalKind, Node};
use crate::statics::{self, Failure, arith};

/// The maximum depth of nested expressions, including those of names that are followed.
const MAX_DEPTH: usize = 512;
/// The maximum number of expressions that are evaluated to find one value.
const MAX_STEPS: usize = 1 << 20;

/// The reason why an expression has no value yet.
#[derive(Clone, Debug)]
pub(super) enum Why {
    /// The expression depends on a value that is not set, or on something in error.
    Unknown,
    /// The expression is a stream, or depends on the shape of a stream, at this place.
    Stream(Span),
    /// The expression is in error.
    Bad(Box<Diagnostic>),
}

impl From<Failure> for Why {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Unknown => Why::Unknown,
            Failure::Bad(d) => Why::Bad(d),
        }
    }
}

pub(super) type Early<T> = Result<T, Why>;

/// Evaluates the expressions of a node.
pub(super) struct Evaluator<'a> {
    pub(super) node: &'a Node,
    /// Returns the values of names that no equation defines.
    pub(super) read: &'a dyn Fn(Local, Span) -> Early<StaticValue>,
    /// The number of expressions evaluated so far.
    pub(super) steps: Cell<usize>,
}

impl Evaluator<'_> {
    pub(super) fn eval(&self, expr: ExprId) -> Early<StaticValue> {
        self.at(expr, 0)
    }

    fn at(&self, expr: ExprId, depth: usize) -> Early<StaticValue> {
        let node = self.node;
        let span = node.exprs[expr].span;
        self.steps.set(self.steps.get() + 1);
        if depth > MAX_DEPTH || self.steps.get() > MAX_STEPS {
            return Err(Why::Stream(span));
        }
        let depth = depth + 1;
        let eval = |e: ExprId| self.at(e, depth);
        match &node.exprs[expr].kind {
            ExprKind::Literal(Literal::Bool(b)) => Ok(StaticValue::Bool(*b)),
            ExprKind::Literal(Literal::Int(i)) => Ok(StaticValue::Int(*i)),
            ExprKind::Literal(Literal::Num(x)) => Ok(StaticValue::Num(*x)),
            ExprKind::Local(local) => self.name(*local, span, depth),
            ExprKind::Array(items) => self.array(items, depth),
            ExprKind::Index { base, indices } => match indices[..] {
                [index] => self.index(eval(*base)?, index, span, depth),
                _ => Err(Why::Stream(span)),
            },
            ExprKind::Unary(op, a) => Ok(arith::unary(*op, &eval(*a)?, span)?),
            ExprKind::Binary(op, a, b) => Ok(arith::binary(*op, &eval(*a)?, &eval(*b)?, span)?),
            ExprKind::If { cond, then, other }
            | ExprKind::Structure(Structure::Choose { cond, then, other }) => match eval(*cond)? {
                StaticValue::Bool(c) => eval(if c { *then } else { *other }),
                found => Err(bad(statics::expected("a bool", &found, node.exprs[*cond].span))),
            },
            ExprKind::Builtin { which: Builtin::Range, args } => {
                let n = int(&eval(args[0])?, span)?;
                let size = usize::try_from(n).ok().filter(|n| *n <= super::MAX_COPIES);
                match size {
                    Some(_) => Ok(StaticValue::Array((0..n).map(StaticValue::Int).collect())),
                    None => Err(Why::Stream(span)),
                }
            }
            ExprKind::Builtin { which, args } if which.computes_ints() => {
                let values = args.iter().map(|arg| eval(*arg)).collect::<Early<Vec<_>>>()?;
                match arith::function(*which, &values, span) {
                    Some(value) => Ok(value?),
                    None => Err(Why::Stream(span)),
                }
            }
            ExprKind::Builtin { which: Builtin::Shape, args } => match node.exprs[args[0]].kind {
                ExprKind::Local(local) => {
                    let shape = arith::shape_of(&self.name(local, span, depth)?, span)?;
                    let size = |d: &usize| StaticValue::Int(i64::try_from(*d).unwrap_or(i64::MAX));
                    Ok(StaticValue::Array(shape.dims().iter().map(size).collect()))
                }
                _ => Err(Why::Stream(span)),
            },
            ExprKind::Error(_) => Err(Why::Unknown),
            _ => Err(Why::Stream(span)),
        }
    }

    fn name(&self, local: Local, span: Span, depth: usize) -> Early<StaticValue> {
        match self.node.locals[local].kind {
            LocalKind::Defined { equation } => {
                let equation = &self.node.equations[equation];
                match equation.lhs.len() {
                    1 => self.at(equation.rhs, depth),
                    _ => Err(Why::Stream(span)),
                }
            }
            LocalKind::Undefined => Err(Why::Unknown),
            LocalKind::Family | LocalKind::Node => Err(Why::Stream(span)),
            LocalKind::Formal | LocalKind::Dim | LocalKind::Index | LocalKind::Constant(_) => {
                (self.read)(local, span)
            }
        }
    }

    fn array(&self, items: &[Item], depth: usize) -> Early<StaticValue> {
        let mut values = Vec::with_capacity(items.len());
        for item in items {
            match *item {
                Item::Expr(e) => values.push(self.at(e, depth)?),
                Item::Splice(local, span) => match self.name(local, span, depth)? {
                    StaticValue::Array(items) => values.extend(items),
                    found => return Err(bad(statics::expected("an array to splice", &found, span))),
                },
            }
        }
        Ok(StaticValue::Array(values))
    }

    fn index(&self, value: StaticValue, index: Index, span: Span, depth: usize) -> Early<StaticValue> {
        let StaticValue::Array(items) = value else {
            return Err(bad(statics::expected("an array to index", &value, span)));
        };
        let int_at = |e: ExprId| int(&self.at(e, depth)?, self.node.exprs[e].span);
        let part = |e: Option<ExprId>| e.map(int_at).transpose();
        let resolved = match index {
            Index::At(e) => arith::position(int_at(e)?, items.len(), self.node.exprs[e].span)?,
            Index::Slice { lo, hi, step, span } => {
                arith::slice(part(lo)?, part(hi)?, part(step)?, items.len(), span)?
            }
            Index::Ellipsis(span) => arith::slice(None, None, None, items.len(), span)?,
        };
        let mut picked: Vec<StaticValue> =
            resolved.positions().filter_map(|i| items.get(i).cloned()).collect();
        match index {
            Index::At(_) => picked.pop().ok_or(Why::Unknown),
            Index::Slice { .. } | Index::Ellipsis(_) => Ok(StaticValue::Array(picked)),
        }
    }
}

/// The value as an int; an error if it is not an int.
pub(super) fn int(value: &StaticValue, span: Span) -> Early<i64> {
    match value {
        StaticValue::Int(i) => Ok(*i),
        found => Err(bad(statics::expected("an int", found, span))),
    }
}

fn bad(d: Diagnostic) -> Why {
    Why::Bad(Box::new(d))
}

/// The error that a value is not known when copies are made. `typed` is an input that would be static without its type;
/// `size` is a named dimension of the root node.
pub(super) fn not_known(
    what: &str,
    place: Span,
    at: Span,
    typed: Option<(&str, Span)>,
    size: Option<&str>,
) -> Diagnostic {
    let d = Diagnostic::error(codes::NOT_STATIC, format!("{what} must be known before shapes are"))
        .label(place, "decides which copies are made");
    let d = d.note("expected literals, constants, static parameters and arithmetic on them");
    if let Some((name, declared)) = typed {
        return d
            .label(declared, "this is a stream")
            .help(format!("an input with a type is a stream; write `{name}` without one to make it static"));
    }
    let d = if at == place { d } else { d.label(at, "this is a stream, or the shape of one") };
    let d = match size {
        Some(size) => d.help(format!("give the size on the command line: `--set {size}=3`")),
        None => d,
    };
    d.help("pass the number as a static parameter, `node f(n, x)`, or make it a constant: `const n = 3;`")
}

/// An input in an expression that would be static without its declared type: its name and declaration.
pub(super) fn typed_input(template: &Node, expr: ExprId) -> Option<(&str, Span)> {
    match template.exprs[expr].kind {
        ExprKind::Local(local) => {
            let data = &template.locals[local];
            let typed = data.kind == LocalKind::Formal && !data.types.is_empty();
            typed.then_some((&*data.name, data.span))
        }
        ref kind => kind.children().into_iter().find_map(|part| typed_input(template, part)),
    }
}
