//! Variables, conditions and clocks as text.

use rml_base::IndexVec;
use rml_ir::flat::{ConstKind, Eq, Flat, Init, Rhs, Var};
use rml_ir::op::{Binary, Compare, Op};

use super::{ClockData, ClockId, Clocks};

/// The maximum depth to which the expression of a variable without a name is written.
const DEPTH: usize = 4;

impl Clocks {
    /// A clock as text: `base on end on not c`. A condition without a name is written as an expression.
    pub fn text(&self, flat: &Flat, clock: ClockId) -> String {
        let names = Names::new(flat);
        let mut text = match self.clocks[self.root(clock)] {
            ClockData::Unknown => "unknown".to_owned(),
            ClockData::Base | ClockData::On { .. } => "base".to_owned(),
        };
        for (cond, positive) in self.samplings(clock) {
            text.push_str(&names.sampling(cond, positive));
        }
        text
    }
}

/// A variable by its name, or else by its expression, with full paths.
pub(crate) fn expression(flat: &Flat, v: Var) -> String {
    Names::new(flat).of(v)
}

/// Writes variables.
pub(super) struct Names<'a> {
    flat: &'a Flat,
    definition: IndexVec<Var, Option<Eq>>,
    /// The instance whose variables are written without its path; empty for the root.
    instance: String,
}

impl<'a> Names<'a> {
    /// Writes full paths.
    pub(super) fn new(flat: &'a Flat) -> Self {
        Self::within(flat, "")
    }

    /// Writes the variables of an instance as in its source.
    pub(super) fn within(flat: &'a Flat, instance: &str) -> Self {
        let mut definition = IndexVec::filled(None, flat.vars.len());
        for (eq, equation) in flat.equations.iter_enumerated() {
            definition[equation.lhs] = Some(eq);
        }
        Self { flat, definition, instance: instance.to_owned() }
    }

    /// The name without the path, if the variable belongs to the instance.
    fn is_own<'n>(&self, name: &'n str) -> Option<&'n str> {
        let (path, own) = name.rsplit_once('.').unwrap_or(("", name));
        (path == self.instance).then_some(own)
    }

    /// The most readable of several equal variables: one of the instance, or else the first one with a name.
    pub(super) fn best(&self, equal: &[Var]) -> Option<Var> {
        let name = |v: &Var| self.flat.vars[*v].name.as_deref();
        let own = equal.iter().find(|v| name(v).is_some_and(|n| self.is_own(n).is_some()));
        own.or_else(|| equal.iter().find(|v| name(v).is_some())).copied()
    }

    /// ` on c` or ` on not c`.
    pub(super) fn sampling(&self, mut cond: Var, mut positive: bool) -> String {
        while self.flat.vars[cond].name.is_none()
            && let Some(eq) = self.definition[cond]
            && let Rhs::Apply { op: Op::Not, args } = &self.flat.equations[eq].rhs
            && let Some(inner) = args.first().filter(|x| **x < cond)
        {
            (cond, positive) = (*inner, !positive);
        }
        format!(" on {}{}", if positive { "" } else { "not " }, self.operand(cond, DEPTH))
    }

    /// A variable by its name, or else by its expression.
    pub(super) fn of(&self, v: Var) -> String {
        self.text(v, DEPTH)
    }

    /// A variable as an operand: its name or expression, in parentheses if it has several parts.
    pub(super) fn operand_of(&self, v: Var) -> String {
        self.operand(v, DEPTH)
    }

    fn text(&self, v: Var, depth: usize) -> String {
        if let Some(name) = &self.flat.vars[v].name {
            return self.is_own(name).unwrap_or(name).to_owned();
        }
        match self.definition[v] {
            Some(eq) if depth > 0 => self.rhs(&self.flat.equations[eq].rhs, depth - 1),
            _ => "..".to_owned(),
        }
    }

    /// A variable as an operand: its name or expression, in parentheses if it has several parts.
    fn operand(&self, v: Var, depth: usize) -> String {
        let text = self.text(v, depth);
        let is_call =
            text.ends_with(')') && text.split('(').next().is_some_and(|f| !f.contains(' ') && !f.is_empty());
        if text.contains(' ') && !is_call { format!("({text})") } else { text }
    }

    fn rhs(&self, rhs: &Rhs, depth: usize) -> String {
        let of = |v: &Var| self.operand(*v, depth);
        let init = |i: &Init| match i {
            Init::Const(k) => self.constant(*k),
            Init::Stream(v) => of(v),
        };
        match rhs {
            Rhs::Const(k) => self.constant(*k),
            Rhs::Apply { op, args } => self.apply(op, args, depth),
            Rhs::If { cond, then, other } => format!("if {} then {} else {}", of(cond), of(then), of(other)),
            Rhs::When { value, cond } => format!("{} when {}", of(value), of(cond)),
            Rhs::Merge { cond, on_true, on_false } => {
                format!("merge {} {} {}", of(cond), of(on_true), of(on_false))
            }
            Rhs::Fby { init: i, next, .. } => format!("{} fby {}", init(i), of(next)),
            Rhs::FbyBack { init: i, next, .. } => format!("{} fby back {}", init(i), of(next)),
            Rhs::Post { next, .. } => format!("post {}", of(next)),
            Rhs::Param { init } => format!("param({})", self.text(*init, depth)),
        }
    }

    fn apply(&self, op: &Op, args: &[Var], depth: usize) -> String {
        if let (Some(sign), [a, b]) = (infix(op), args) {
            return format!("{} {sign} {}", self.operand(*a, depth), self.operand(*b, depth));
        }
        match (op, args) {
            (Op::Copy, [x]) => self.text(*x, depth),
            (Op::Not, [x]) => format!("not {}", self.operand(*x, depth)),
            _ => {
                let args: Vec<String> = args.iter().map(|x| self.text(*x, depth)).collect();
                format!("{}({})", op.surface().unwrap_or(op.name()), args.join(", "))
            }
        }
    }

    fn constant(&self, k: rml_ir::flat::ConstId) -> String {
        let constant = &self.flat.consts[k];
        match (&constant.text, &constant.kind) {
            (Some(text), _) => text.to_string(),
            (None, ConstKind::Value(value)) if value.shape().is_scalar() => {
                let data = value.to_data();
                match data {
                    rml_ir::Data::Bool(v) => format!("{:?}", v[0]),
                    rml_ir::Data::Int(v) => format!("{:?}", v[0]),
                    rml_ir::Data::F32(v) => format!("{:?}", v[0]),
                    rml_ir::Data::F64(v) => format!("{:?}", v[0]),
                }
            }
            (None, _) => "..".to_owned(),
        }
    }
}

/// The sign of an infix operator.
pub(super) fn infix(op: &Op) -> Option<&'static str> {
    Some(match op {
        Op::Binary(Binary::Add) => "+",
        Op::Binary(Binary::Sub) => "-",
        Op::Binary(Binary::Mul) => "*",
        Op::Binary(Binary::Div) => "/",
        Op::And => "and",
        Op::Or => "or",
        Op::Compare(Compare::Eq) => "==",
        Op::Compare(Compare::Ne) => "!=",
        Op::Compare(Compare::Lt) => "<",
        Op::Compare(Compare::Le) => "<=",
        Op::Compare(Compare::Gt) => ">",
        Op::Compare(Compare::Ge) => ">=",
        _ => return None,
    })
}
