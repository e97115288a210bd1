//! A function as it is written: its lines, and the pointers that it declares.

use std::cell::RefCell;
use std::collections::BTreeSet;

use rml_ir::Value;
use rml_plan::{Tape, Write};

use crate::lines::Lines;
use crate::operand::{Operand, c_type};
use crate::scope::{Scope, alike};
use crate::store::{Home, array_name};

/// A function as it is written.
#[derive(Debug)]
pub(crate) struct Function<'a> {
    pub(crate) scope: &'a Scope<'a>,
    pub(crate) lines: Lines,
    /// Tapes that it has pointers to.
    pub(crate) used: RefCell<BTreeSet<Tape>>,
}

impl<'a> Function<'a> {
    pub(crate) fn new(scope: &'a Scope<'a>) -> Self {
        Self { scope, lines: Lines::default(), used: RefCell::default() }
    }

    pub(crate) fn atom(&self, atom: rml_plan::Atom, t: &str) -> Operand {
        self.scope.atom(atom, t, &self.used)
    }

    /// Stops the window where an operator has no result.
    pub(crate) fn check(&mut self, text: &str) {
        let prefix = self.scope.name.to_uppercase();
        for (flag, code) in [("&bad", "OVERFLOW"), ("&outside", "OUTSIDE")] {
            if text.contains(flag) {
                self.lines.open(format!("if ({})", &flag[1..]));
                self.lines.line(format!("return {prefix}_{code};"));
                self.lines.close();
            }
        }
    }

    /// Copies values to registers, all of them after all are read.
    pub(crate) fn writes(&mut self, writes: &[Write], t: &str, suffix: &str) {
        for write in writes {
            let unless: Vec<String> = write.unless.iter().map(|end| self.atom(*end, t).at("0")).collect();
            let ahead = self.scope.plan.ahead();
            let there = self.scope.condition(write.at, &[], ahead, t, &self.used);
            if there.as_deref() == Some("false") {
                continue;
            }
            let guards: Vec<String> =
                write.when.iter().map(|guard| self.scope.holds(guard, t, &self.used)).collect();
            let all: Vec<&str> = match unless.is_empty() {
                true => there.iter().chain(&guards).map(String::as_str).collect(),
                false => there.iter().map(String::as_str).collect(),
            };
            self.lines.open(if all.is_empty() {
                String::new()
            } else {
                format!("if ({})", all.join(" && "))
            });
            if !unless.is_empty() {
                self.lines.open(format!("if ({})", unless.join(" || ")));
                self.unset(write.register, suffix);
                self.lines.turn(&match guards.is_empty() {
                    true => "} else".to_owned(),
                    false => format!("}} else if ({})", guards.join(" && ")),
                });
            }
            let to = self.scope.register(write.register, suffix);
            let from = self.atom(write.value, t);
            self.copy(&from, &to);
            self.flag(write.register, suffix, true);
            if !unless.is_empty() {
                self.lines.close();
            }
            self.lines.close();
        }
    }

    pub(crate) fn flag(&mut self, register: rml_plan::Reg, suffix: &str, value: bool) {
        if self.scope.registers[register].flagged {
            let flag = self.scope.flag(register, suffix);
            self.lines.line(format!("{flag} = {value};"));
        }
    }

    /// Takes a register back to what it starts with.
    pub(crate) fn unset(&mut self, register: rml_plan::Reg, suffix: &str) {
        if self.scope.registers[register].flagged {
            self.flag(register, suffix, false);
            return;
        }
        let to = self.scope.register(register, suffix);
        if let Some(value) = &self.scope.registers[register].start {
            self.fill(&to, value, &self.scope.table("first", register));
        }
    }

    /// A value as it is; a table of that name, if elements differ.
    pub(crate) fn fill(&mut self, to: &Operand, value: &Value, table: &str) {
        let from = match alike(value) {
            Some(text) => Operand::alike(text, to.dtype, to.shape.clone()),
            None => Operand::array(table, "", to.dtype, to.shape.clone()),
        };
        self.copy(&from, to);
    }

    pub(crate) fn copy(&mut self, from: &Operand, to: &Operand) {
        let n = to.len();
        if n == 0 {
            return;
        }
        let looped = self.lines.over("i", n);
        let i = if looped { "i" } else { "0" };
        self.lines.line(format!("{} = {};", to.at(i), from.each(i)));
        if looped {
            self.lines.close();
        }
    }

    /// The text, between its head and its end.
    pub(crate) fn text(self, head: &str, locals: &[&str]) -> String {
        let mut text = Lines::default();
        let body = self.lines.into_text();
        text.open(head);
        for local in locals {
            text.line(local);
        }
        for (flag, name) in [("&bad", "bad"), ("&outside", "outside")] {
            if body.contains(flag) {
                text.line(format!("bool {name} = false;"));
            }
        }
        let words: BTreeSet<&str> = body.split(|c| !is_part(c)).collect();
        let used = self.used.borrow();
        for tape in used.iter().filter(|tape| words.contains(self.scope.tapes[**tape].as_str())) {
            let ty = &self.scope.plan.tapes[*tape].ty;
            let Home::Slot { offset, .. } = self.scope.homes[*tape] else { continue };
            let array = array_name(ty.dtype);
            let name = &self.scope.tapes[*tape];
            let plus = if offset == 0 { String::new() } else { format!(" + {offset}") };
            let of = if ty.shape.is_scalar() { String::new() } else { format!(" /* {} */", ty.shape) };
            text.line(format!("{} *const restrict {name} = work->{array}{plus};{of}", num(ty.dtype)));
        }
        let mut all = text;
        let mut inner = Lines::default();
        body.lines().for_each(|line| inner.line(line));
        all.paste(&inner);
        all.close();
        all.into_text()
    }
}

/// The type of elements within the source file.
pub(crate) fn num(dtype: rml_ir::DType) -> &'static str {
    if dtype == rml_ir::DType::Num { "num" } else { c_type(dtype, rml_ir::Precision::F64) }
}

/// The variables of a tick that its text mentions.
pub(crate) fn declare_tick(lines: &mut Lines, cycles: usize, text: &str, last: &str) {
    if cycles == 1 && mentions(text, "t") {
        lines.line("const long t = 0;");
    }
    if mentions(text, "last") {
        lines.line(last);
    }
}

/// Whether a character belongs to a name.
pub(crate) fn is_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Whether a text has a variable of that name: fields of structs and what stands in comments are none.
pub(crate) fn mentions(text: &str, name: &str) -> bool {
    let code = text.split("/*").map(|piece| piece.split_once("*/").map_or(piece, |(_, code)| code));
    code.flat_map(|code| code.match_indices(name).map(move |(at, _)| code.split_at(at))).any(
        |(before, rest)| {
            let is_field = before.ends_with("->") || before.ends_with('.');
            !is_field && !before.ends_with(is_part) && !rest[name.len()..].starts_with(is_part)
        },
    )
}

#[cfg(test)]
mod tests {
    use super::mentions;

    #[test]
    fn variables_are_told_from_fields_and_comments() {
        assert!(mentions("in[t].x = t_[0];", "t") && mentions("/* a */ t", "t"));
        assert!(!mentions("state->t = in[0].t + t_[0]; /* t = matmul */", "t"));
    }
}
