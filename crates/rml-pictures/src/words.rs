//! Why a cell has its value, in a sentence: "`end` is false here, so `last` is the next `last`."

use std::collections::{BTreeMap, BTreeSet};

use rml_ir::flat::{ConstId, Eq, Flat, Init, Rhs, Var};
use rml_ir::op::Op;
use rml_ir::surface;

use crate::dependences::{CellStatus, Cells};
use crate::rows::StreamNames;

/// A sentence for each cell of a chronogram.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Reasons {
    /// The sentences, each once.
    pub texts: Vec<String>,
    /// For each row and cycle, the index of its sentence.
    pub of: Vec<Vec<usize>>,
}

/// How many delays and choices within an operator's operands a sentence explains.
const DETAILS: usize = 2;

/// Sentences that explain the cells of the variables `rows`, from the equations and a finished trace. `status` is as in
/// [`dependences`](crate::dependences()).
pub fn reasons(
    flat: &Flat,
    rows: &[(Var, String)],
    cycles: usize,
    status: &dyn Fn(Var, usize) -> CellStatus,
) -> Reasons {
    let names = StreamNames::new(flat);
    let cells = Cells { flat, names: &names, cycles, status };
    let mut writer = Writer { cells, expressions: BTreeMap::new() };
    let mut reasons = Reasons::default();
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    for (v, label) in rows {
        let of = (0..cycles).map(|n| {
            let text = writer.sentence(*v, label, n);
            *known.entry(text).or_insert_with_key(|text| {
                reasons.texts.push(text.clone());
                reasons.texts.len() - 1
            })
        });
        reasons.of.push(of.collect());
    }
    reasons
}

struct Writer<'a> {
    cells: Cells<'a>,
    /// Equations as text.
    expressions: BTreeMap<Eq, String>,
}

/// What a sentence says: conditions that hold here, what the value is, and what parts of that are.
#[derive(Default)]
struct Told {
    since: Vec<String>,
    details: Vec<String>,
}

impl Writer<'_> {
    fn sentence(&mut self, v: Var, label: &str, n: usize) -> String {
        let mut told = Told::default();
        match (self.cells.status)(v, n) {
            CellStatus::Unknown => format!("`{label}` is not determined here."),
            CellStatus::Absent => match self.absence(v, n, &mut BTreeSet::new()) {
                Some(why) => format!("{}, so `{label}` is absent.", capital(&why)),
                None => format!("`{label}` is absent here."),
            },
            CellStatus::Value(_) => {
                let what = self.value(v, label, n, &mut told);
                let mut text = match told.since.as_slice() {
                    [] => format!("`{label}` is {what}"),
                    since => format!("{}, so `{label}` is {what}", capital(&since.join(" and "))),
                };
                if !told.details.is_empty() {
                    text += &format!("; here {}", told.details.join(" and "));
                }
                text + "."
            }
        }
    }

    /// What the value of a variable is: the branch that was taken, the value that was delayed.
    fn value(&mut self, v: Var, label: &str, n: usize, told: &mut Told) -> String {
        let name = self.cells.names.short(v).filter(|name| name != label);
        if let Some(name) = name {
            return format!("`{name}`");
        }
        let Some(rhs) = self.cells.rhs(v).cloned() else { return "an input".to_owned() };
        match rhs {
            Rhs::Apply { op: Op::Copy, args } if args.len() == 1 => self.value(args[0], label, n, told),
            Rhs::Const(_) => format!("the constant `{}`", self.expression(v)),
            Rhs::Apply { args, .. } => {
                for arg in args {
                    self.detail(arg, n, told);
                }
                format!("`{}`", self.expression(v))
            }
            Rhs::If { cond, then: a, other: b } | Rhs::Merge { cond, on_true: a, on_false: b } => {
                let holds = self.cells.is_true(cond, n);
                told.since.push(self.condition(cond, n));
                self.value(if holds { a } else { b }, label, n, told)
            }
            Rhs::When { value, .. } => self.value(value, label, n, told),
            Rhs::Param { .. } => "a parameter".to_owned(),
            Rhs::Fby { .. } | Rhs::FbyBack { .. } | Rhs::Post { .. } => self.delay(v, &rhs, n, told),
        }
    }

    /// What a delay reads.
    fn delay(&mut self, v: Var, rhs: &Rhs, n: usize, told: &mut Told) -> String {
        let (neighbour, word, next, init) = match rhs {
            Rhs::Fby { init, next, window, .. } => {
                (self.cells.previous(v, n, *window), "previous", *next, Some(*init))
            }
            Rhs::FbyBack { init, next, window, .. } => {
                (self.cells.next(v, n, *window), "next", *next, Some(*init))
            }
            Rhs::Post { next, window } => (self.cells.next(v, n, *window), "next", *next, None),
            _ => return String::new(), // no delay
        };
        match (neighbour, init) {
            (None, Some(init)) => {
                told.since.push(self.edge(v, rhs, n));
                let which = if word == "previous" { "initial" } else { "final" };
                let text = match init {
                    Init::Const(k) => self.constant(k),
                    Init::Stream(v) => self.name(v),
                };
                format!("the {which} value `{text}`")
            }
            _ => format!("the {word} `{}`", self.name(next)),
        }
    }

    /// Why a delay has no neighbour.
    fn edge(&self, v: Var, rhs: &Rhs, n: usize) -> String {
        let (cells, window) = (&self.cells, rhs.window());
        if matches!(rhs, Rhs::Fby { .. }) {
            let begins = n > 0 && cells.ends(window, n - 1);
            let is_first = (0..n).all(|m| cells.is_absent(v, m));
            match (begins, is_first) {
                (true, _) => "a window begins here",
                (false, true) => "this is the first value",
                (false, false) => "this is the first value of a window",
            }
        } else {
            match (cells.ends(window, n), (n + 1..cells.cycles).all(|m| cells.is_absent(v, m))) {
                (true, _) => "the window ends here",
                (false, true) => "this is the last value",
                (false, false) => "this is the last value of a window",
            }
        }
        .to_owned()
    }

    /// Explains a delay or a choice without a name that an operator reads.
    fn detail(&mut self, v: Var, n: usize, told: &mut Told) {
        if told.details.len() >= DETAILS || self.cells.names.short(v).is_some() {
            return;
        }
        let Some(rhs) = self.cells.rhs(v).cloned() else { return };
        match &rhs {
            Rhs::Apply { args, .. } => args.iter().for_each(|arg| self.detail(*arg, n, told)),
            Rhs::Const(_) | Rhs::Param { .. } => {}
            Rhs::When { value, .. } => self.detail(*value, n, told),
            Rhs::If { .. } | Rhs::Merge { .. } | Rhs::Fby { .. } | Rhs::FbyBack { .. } | Rhs::Post { .. } => {
                let mut inner = Told::default();
                let what = self.value(v, "", n, &mut inner);
                let since = inner.since.first().map(|since| format!(", since {since}")).unwrap_or_default();
                told.details.push(format!("`{}` is {what}{since}", self.expression(v)));
            }
        }
    }

    /// Why a variable is absent: the condition that samples it.
    fn absence(&mut self, v: Var, n: usize, seen: &mut BTreeSet<Var>) -> Option<String> {
        if !seen.insert(v) {
            return None;
        }
        let clock = self.cells.flat.inputs.iter().find(|input| input.var == v).and_then(|input| input.clock);
        let by = |writer: &mut Self, cond: Var, seen: &mut BTreeSet<Var>| {
            if writer.cells.is_absent(cond, n) {
                writer.absence(cond, n, seen)
            } else {
                Some(writer.condition(cond, n))
            }
        };
        if let Some((cond, _)) = clock {
            return by(self, cond, seen);
        }
        match self.cells.rhs(v)?.clone() {
            Rhs::When { value, cond } if !self.cells.is_absent(value, n) => by(self, cond, seen),
            rhs => {
                let mut absent = Vec::new();
                rhs.for_each_operand(|x| absent.push(x));
                absent.retain(|x| self.cells.is_absent(*x, n));
                absent.into_iter().find_map(|x| self.absence(x, n, seen))
            }
        }
    }

    /// That a condition holds or not.
    fn condition(&mut self, cond: Var, n: usize) -> String {
        format!("`{}` is {} here", self.name(cond), self.cells.is_true(cond, n))
    }

    /// The name of a stream, or its equation.
    fn name(&mut self, v: Var) -> String {
        self.cells.names.short(v).unwrap_or_else(|| self.expression(v))
    }

    fn constant(&self, k: ConstId) -> String {
        surface::literal(self.cells.flat, k)
    }

    fn expression(&mut self, v: Var) -> String {
        let Some(eq) = self.cells.names.definition(v) else { return String::new() };
        let cells = self.cells;
        let text = || surface::expression(cells.flat, eq, &|v| cells.names.short(v));
        self.expressions.entry(eq).or_insert_with(text).clone()
    }
}

fn capital(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map_or_else(String::new, |first| first.to_uppercase().chain(rest).collect())
}

#[cfg(test)]
mod tests {
    use rml_base::EntityId as _;

    use super::*;

    const BACKFILL: &str = "flat f32 \"main\"
input v0
input v1
output v2
var v0 num [] \"i\"
var v1 bool [] \"end\"
var v2 num [] \"last\"
var v3 num []
var v4 num []
var v5 num []
var v6 bool []
v3 = when v0 v1
v5 = post v2
v6 = apply not (v1)
v4 = when v5 v6
v2 = merge v1 v3 v4
";

    const SUM: &str = "flat f32 \"main\"
input v0
output v1
var v0 num [] \"x\"
var v1 num [] \"sum\"
var v2 num []
const k0 num [] = 0.0 as \"0.0\"
v2 = fby k0 v1
v1 = apply add (v2, v0)
";

    /// The sentences of one row. One text a variable: `.` absent, `?` unknown, `t` and `f` truth values, anything else
    /// a number.
    fn told(text: &str, row: u32, label: &str, cells: &[&str]) -> Vec<String> {
        let flat = rml_ir::flat::parse(text).expect("a flat program");
        let status = |var: Var, cycle: usize| match cells[var.index()].as_bytes()[cycle] {
            b'.' => CellStatus::Absent,
            b'?' => CellStatus::Unknown,
            b't' => CellStatus::Value(Some(true)),
            b'f' => CellStatus::Value(Some(false)),
            _ => CellStatus::Value(None),
        };
        let found = reasons(&flat, &[(Var(row), label.to_owned())], cells[0].len(), &status);
        found.of[0].iter().map(|i| found.texts[*i].clone()).collect()
    }

    #[test]
    fn a_sentence_says_which_branch_was_taken() {
        let cells = ["1.23", "f.tf", "2.2?", "..2.", "2.??", "t.ft", "2..?"];
        assert_eq!(
            told(BACKFILL, 2, "last", &cells),
            [
                "`end` is false here, so `last` is the next `last`.",
                "`last` is absent here.",
                "`end` is true here, so `last` is `i`.",
                "`last` is not determined here.",
            ]
        );
        assert_eq!(told(BACKFILL, 0, "i", &cells)[0], "`i` is an input.");
    }

    #[test]
    fn a_sentence_says_why_a_value_is_absent() {
        let cells = ["1123", "ftff", "2222", ".2..", "2222", "tftt", "2..2"];
        assert_eq!(told(BACKFILL, 3, "s", &cells)[0], "`end` is false here, so `s` is absent.");
    }

    #[test]
    fn a_sentence_explains_a_delay_within_an_operator() {
        assert_eq!(
            told(SUM, 1, "sum", &["11", "12", "01"]),
            [
                "`sum` is `(0.0 fby sum) + x`; here `0.0 fby sum` is the initial value `0.0`, since this is the first value.",
                "`sum` is `(0.0 fby sum) + x`; here `0.0 fby sum` is the previous `sum`.",
            ]
        );
    }
}
