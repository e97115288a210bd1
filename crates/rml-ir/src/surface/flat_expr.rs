//! Equations of a flat program as source text, for the rows of chronograms.

use super::expr::tighter;
use super::level::{Level, Piece};
use super::{constant, operator};
use crate::flat::{ConstId, ConstKind, Eq, Flat, Init, Rhs, Var};
use crate::op::Op;
use crate::types::Type;

/// How deeply variables without names are nested.
const DEPTH: usize = 24;

/// The right side of the equation `eq`, in which `name` says how variables are called; those without a name are written
/// out. What is nested too deeply is cut short with `..`.
pub fn expression(flat: &Flat, eq: Eq, name: &dyn Fn(Var) -> Option<String>) -> String {
    let mut definitions = rml_base::IndexVec::filled(None, flat.vars.len());
    for (eq, equation) in flat.equations.iter_enumerated() {
        definitions[equation.lhs] = Some(eq);
    }
    Printer { flat, definitions, name }.rhs(&flat.equations[eq].rhs, 0).text
}

/// A constant as source text.
pub fn literal(flat: &Flat, k: ConstId) -> String {
    Printer { flat, definitions: rml_base::IndexVec::default(), name: &|_| None }.constant(k).text
}

struct Printer<'a> {
    flat: &'a Flat,
    definitions: rml_base::IndexVec<Var, Option<Eq>>,
    name: &'a dyn Fn(Var) -> Option<String>,
}

impl Printer<'_> {
    fn var(&self, v: Var, depth: usize) -> Piece {
        match ((self.name)(v), self.definitions[v]) {
            (Some(name), _) => Piece::atom(name),
            (None, Some(eq)) if depth < DEPTH => self.rhs(&self.flat.equations[eq].rhs, depth + 1),
            (None, _) => Piece::atom(".."),
        }
    }

    fn rhs(&self, rhs: &Rhs, depth: usize) -> Piece {
        let var = |v: &Var| self.var(*v, depth);
        match rhs {
            Rhs::Const(k) => self.constant(*k),
            Rhs::Apply { op, args } => {
                let types: Vec<_> = args.iter().map(|&v| self.flat.vars[v].ty.clone()).collect();
                applied(op, args.iter().map(var).collect(), &types)
            }
            Rhs::If { cond, then, other } => {
                let [cond, then, other] = [cond, then, other].map(|v| var(v).text);
                Piece::new(format!("if {cond} then {then} else {other}"), Level::If)
            }
            Rhs::When { value, cond } => {
                let (value, cond) = (var(value), var(cond).at(Level::Unary));
                // `(post x) when c` needs no parentheses, but reads better with them.
                let least = if value.text.starts_with("post ") { Level::Postfix } else { Level::When };
                Piece::new(format!("{} when {cond}", value.at(least)), Level::When)
            }
            Rhs::Merge { cond, on_true, on_false } => {
                let operands = [cond, on_true, on_false].map(|v| var(v).operand()).join(" ");
                Piece::new(format!("merge {operands}"), Level::Merge)
            }
            Rhs::Fby { init, next, .. } => self.delay("fby", init, *next, depth),
            Rhs::FbyBack { init, next, .. } => self.delay("fby back", init, *next, depth),
            Rhs::Post { next, .. } => {
                Piece::new(format!("post {}", var(next).at(Level::Unary)), Level::Unary)
            }
            Rhs::Param { init } => Piece::atom(format!("param({})", var(init).text)),
        }
    }

    fn delay(&self, word: &str, init: &Init, next: Var, depth: usize) -> Piece {
        let init = match init {
            Init::Const(k) => self.constant(*k),
            Init::Stream(v) => self.var(*v, depth),
        };
        let next = self.var(next, depth);
        let next = if next.level == Level::Merge { next.parenthesised() } else { next.text };
        Piece::new(format!("{} {word} {next}", init.at(Level::Or)), Level::Fby)
    }

    fn constant(&self, k: ConstId) -> Piece {
        let data = &self.flat.consts[k];
        match (&data.text, &data.kind) {
            (Some(text), _) => constant::written(text),
            (None, ConstKind::Value(value)) => {
                constant::filled(value).unwrap_or_else(|| constant::value(value))
            }
            (None, ConstKind::Random(distribution)) => constant::random(*distribution, &data.ty.shape),
            (None, ConstKind::Apply { op, args }) => {
                let types: Vec<_> = args.iter().map(|&k| self.flat.consts[k].ty.clone()).collect();
                applied(op, args.iter().map(|k| self.constant(*k)).collect(), &types)
            }
        }
    }
}

/// An operator with its operands as source text; `types` are those of the operands.
pub fn applied(op: &Op, operands: Vec<Piece>, types: &[Type]) -> Piece {
    if let (Some((word, level)), [left, right]) = (operator::infix(op), operands.as_slice()) {
        let (left, right) = (left.clone().left(level), right.clone().right(tighter(level)));
        return Piece::new(format!("{left} {word} {right}"), level);
    }
    operator::application(op, operands, types, &[])
}
