//! A C function that is being written: its lines, and the memory that it needs besides that of slots.

use std::collections::{BTreeMap, BTreeSet};

use rml_ir::{DType, Positions, Value};
use rml_nest::{Access, Guard, Home, Slot, Write};
use rml_plan::Reg;

use crate::lines::Lines;
use crate::loops::{Base, LoadElements};
use crate::operand::c_type;
use crate::scope::{ONCE, Scope, Ticks, alike};
use crate::store::{DTYPES, array_name};

/// The most elements of an array on the stack.
const STACK: usize = 64;

/// A C function that is being written.
#[derive(Debug)]
pub(crate) struct Function<'a> {
    pub(crate) scope: &'a Scope<'a>,
    pub(crate) lines: Lines,
    pub(crate) ticks: Ticks,
    /// The code that runs before all ticks, if the function has a loop over them.
    pub(crate) once: Lines,
    /// Copies made before all ticks: the source, and the name of the copy.
    pub(crate) copies: Vec<(String, String)>,
    /// Registers that commits read with their value from before all commits: the copy, and whether it has a value.
    pub(crate) before: BTreeMap<Reg, (Base, String)>,
    /// The number of the assertion that the current stage checks.
    pub(crate) asserts: Option<usize>,
    room: Room,
}

/// The number of elements that a function needs, by type.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Room {
    /// The elements of the current stage.
    stage: [usize; 3],
    /// The most elements of a single stage.
    pub(crate) most: [usize; 3],
    /// The elements that last as long as the function.
    pub(crate) kept: [usize; 3],
}

/// The text of a function, with the addresses of values left open.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) says: String,
    pub(crate) head: String,
    pub(crate) locals: Vec<String>,
    pub(crate) body: String,
    pub(crate) room: Room,
}

impl<'a> Function<'a> {
    pub(crate) fn new(scope: &'a Scope<'a>, ticks: Ticks) -> Self {
        Self {
            scope,
            lines: Lines::default(),
            ticks,
            once: Lines::default(),
            copies: Vec::new(),
            before: BTreeMap::new(),
            asserts: None,
            room: Room::default(),
        }
    }

    /// Collects what `write` writes in separate lines.
    pub(crate) fn aside(&mut self, write: impl FnOnce(&mut Self)) -> Lines {
        let outer = std::mem::take(&mut self.lines);
        write(self);
        std::mem::replace(&mut self.lines, outer)
    }

    /// Stops the window if an operator fails.
    pub(crate) fn check(&mut self, text: &str) {
        let prefix = self.scope.name.to_uppercase();
        let outside = self.asserts.map_or_else(|| "OUTSIDE".to_owned(), |k| format!("ASSERT_{k}"));
        for (flag, code) in [("&bad", "OVERFLOW"), ("&outside", &*outside)] {
            if text.contains(flag) {
                self.lines.open(format!("if ({})", &flag[1..]));
                self.lines.line(format!("return {prefix}_{code};"));
                self.lines.close();
            }
        }
    }

    /// Releases the arrays of the last stage.
    pub(crate) fn begin_stage(&mut self) {
        self.room.stage = [0; 3];
    }

    /// Declares an array: on the stack, or in memory that the next stage may reuse.
    pub(crate) fn array(&mut self, name: &str, dtype: DType, n: usize) -> String {
        if n <= STACK {
            return format!("{} {name}[{}];", num(dtype), n.max(1));
        }
        let (i, ty) = (place_of(dtype), num(dtype));
        let at = self.room.stage[i];
        self.room.stage[i] += n;
        self.room.most[i] = self.room.most[i].max(self.room.stage[i]);
        let plus = if at == 0 { String::new() } else { format!(" + {at}") };
        format!("{ty} *const restrict {name} = own_{}{plus};", array_name(dtype))
    }

    /// Declares an array that lasts as long as the function.
    pub(crate) fn kept(&mut self, name: &str, dtype: DType, n: usize) -> String {
        let i = place_of(dtype);
        let at = self.room.kept[i];
        self.room.kept[i] += n;
        let plus = if at == 0 { String::new() } else { format!(" + {at}") };
        format!("{} *const restrict {name} = kept_{}{plus};", num(dtype), array_name(dtype))
    }

    /// The C condition under which something happens at a tick: at these positions, if all guards hold, and at no more
    /// than `ahead` ticks past the finished ones. None if it always happens.
    pub(crate) fn condition(&self, at: Positions, when: &[Guard], ahead: u32) -> Option<String> {
        let mut all: Vec<String> = self.scope.position(at, Positions::ALL).into_iter().collect();
        if all.iter().any(|position| position == "false") {
            return Some("false".to_owned());
        }
        // Values that are the same at all ticks are computed before the first one.
        if ahead < self.scope.program.ahead && self.ticks.now != ONCE.now {
            all.push(if ahead == 0 { "t < done".to_owned() } else { format!("t < done + {ahead}") });
        }
        all.extend(when.iter().map(|guard| self.holds(guard)));
        (!all.is_empty()).then(|| all.join(" && "))
    }

    pub(crate) fn holds(&self, guard: &Guard) -> String {
        let cond = self.truth(&guard.cond);
        if guard.value { cond } else { format!("!{cond}") }
    }

    /// The elements of a slot at the current tick.
    pub(crate) fn elements(&self, access: &Access) -> LoadElements {
        if matches!(self.scope.program.slots[access.slot].home, Home::Register { .. })
            && let Some((base, _)) = self.before.get(&self.scope.reg(access.slot))
        {
            return LoadElements::At(base.clone());
        }
        self.scope.elements(access, self.ticks)
    }

    /// Whether a register has a value.
    pub(crate) fn set_flag(&self, register: Reg) -> String {
        self.before.get(&register).map_or_else(|| self.scope.flag(register, ""), |(_, flag)| flag.clone())
    }

    pub(crate) fn truth(&self, cond: &Access) -> String {
        match self.elements(cond) {
            LoadElements::Same(text) => text,
            LoadElements::At(base) => base.at(&cond.offset.to_string()),
            LoadElements::Counted => unreachable!("a condition is a truth value"),
        }
    }

    /// Copies values to registers.
    pub(crate) fn writes(&mut self, writes: &[Write], suffix: &str) {
        for write in writes {
            let Some(there) = Some(self.scope.position(write.at, Positions::ALL))
                .filter(|there| there.as_deref() != Some("false"))
            else {
                continue;
            };
            let unless: Vec<String> = write.unless.iter().map(|end| self.truth(end)).collect();
            let guards: Vec<String> = write.when.iter().map(|guard| self.holds(guard)).collect();
            let register = self.scope.reg(write.register);
            if self.scope.rings[register].is_some() {
                continue; // it has its value, and its position moves when the call is done
            }
            let outer: Vec<&str> = match unless.is_empty() {
                true => there.iter().chain(&guards).map(String::as_str).collect(),
                false => there.iter().map(String::as_str).collect(),
            };
            self.lines.open(if outer.is_empty() {
                String::new()
            } else {
                format!("if ({})", outer.join(" && "))
            });
            if !unless.is_empty() {
                self.lines.open(format!("if ({})", unless.join(" || ")));
                self.unset(register, suffix);
                self.lines.turn(&match guards.is_empty() {
                    true => "} else".to_owned(),
                    false => format!("}} else if ({})", guards.join(" && ")),
                });
            }
            let to = self.scope.register(register, suffix);
            let ty = &self.scope.plan.registers[register].ty;
            self.copy_source(&write.value, &ty.shape, write.at, &to);
            self.flag(register, suffix, true);
            if !unless.is_empty() {
                self.lines.close();
            }
            self.lines.close();
        }
    }

    pub(crate) fn flag(&mut self, register: Reg, suffix: &str, value: bool) {
        if self.scope.registers[register].flagged {
            let flag = self.scope.flag(register, suffix);
            self.lines.line(format!("{flag} = {value};"));
        }
    }

    /// Resets a register to its start value.
    pub(crate) fn unset(&mut self, register: Reg, suffix: &str) {
        if self.scope.registers[register].flagged {
            self.flag(register, suffix, false);
            return;
        }
        let to = self.scope.register(register, suffix);
        if let Some(value) = &self.scope.registers[register].start {
            self.fill(&to, value, &self.scope.table("first", register));
        }
    }

    /// Stores a constant value; if its elements differ, they are in a table of this name.
    pub(crate) fn fill(&mut self, to: &Base, value: &Value, table: &str) {
        let from = match alike(value) {
            Some(text) => LoadElements::Same(text),
            None => LoadElements::At(Base::array(table)),
        };
        self.copy(&from, to, value.shape().len());
    }

    /// Copies consecutive elements.
    pub(crate) fn copy(&mut self, from: &LoadElements, to: &Base, n: usize) {
        if n == 0 {
            return;
        }
        let looped = self.lines.over("i", n);
        let i = if looped { "i" } else { "0" };
        let value = match from {
            LoadElements::Same(text) => text.clone(),
            LoadElements::Counted => format!("(int64_t){i}"),
            LoadElements::At(base) => base.at(i),
        };
        self.lines.line(format!("{} = {value};", to.at(i)));
        if looped {
            self.lines.close();
        }
    }

    /// The function, with the addresses of values left open.
    pub(crate) fn written(self, head: &str, locals: &[&str]) -> Written {
        Written {
            says: String::new(),
            head: head.to_owned(),
            locals: locals.iter().map(|local| (*local).to_owned()).collect(),
            body: self.lines.into_text(),
            room: self.room,
        }
    }
}

/// The addresses of the values that a function uses.
pub(crate) struct Places<'a> {
    /// The position of the first element of each slot.
    pub(crate) slots: &'a dyn Fn(Slot) -> Option<usize>,
    /// The positions of the memory for its stages, and of its own arrays, by type.
    pub(crate) own: [usize; 3],
    pub(crate) kept: [usize; 3],
}

impl Places<'static> {
    /// The addresses for functions without values of a window.
    pub(crate) fn nowhere() -> Self {
        Places { slots: &|_| None, own: [0; 3], kept: [0; 3] }
    }
}

/// The most pointers that a function has as parameters; further ones become variables. C99 guarantees 127 parameters.
const PARAMETERS: usize = 100;

impl Written {
    /// The text with the addresses filled in, and the arguments for its last parameters.
    ///
    /// Compilers make use of `restrict` on parameters, but hardly on variables.
    pub(crate) fn text(&self, scope: &Scope<'_>, places: &Places<'_>) -> (String, String) {
        // Pointers to no elements may be equal, so they do not become `restrict` parameters.
        let (mut pointers, mut variables): (Vec<Pointer>, Vec<Pointer>) =
            self.pointers(scope, places).into_iter().partition(|pointer| !pointer.is_empty);
        let most = if self.says.is_empty() { 0 } else { PARAMETERS.min(pointers.len()) };
        variables.extend(pointers.split_off(most));
        let mut text = Lines::default();
        if !self.says.is_empty() {
            text.line(&self.says);
        }
        match self.head.strip_suffix(')').filter(|_| !pointers.is_empty()) {
            None => text.open(&self.head),
            Some(head) => {
                text.line(format!("{head},"));
                for (i, Pointer { declared, says, .. }) in pointers.iter().enumerate() {
                    let end = if i + 1 == pointers.len() { ")" } else { "," };
                    text.line(format!("        {declared}{end}{says}"));
                }
                text.open("");
            }
        }
        self.locals.iter().for_each(|local| text.line(local));
        for (flag, name) in [("&bad", "bad"), ("&outside", "outside")] {
            if self.body.contains(flag) {
                text.line(format!("bool {name} = false;"));
            }
        }
        for Pointer { declared, at, says, .. } in variables {
            text.line(format!("{declared} = {at};{says}"));
        }
        self.body.lines().for_each(|line| text.line(line));
        text.close();
        let args: String = pointers.iter().map(|pointer| format!(", {}", pointer.at)).collect();
        (text.into_text(), args)
    }

    /// The pointers to the values that the body mentions.
    fn pointers(&self, scope: &Scope<'_>, places: &Places<'_>) -> Vec<Pointer> {
        let words: BTreeSet<&str> = self.body.split(|c| !is_part(c)).collect();
        let pointer = |name: &str, dtype: DType, offset: usize, says: String, is_empty: bool| {
            let array = array_name(dtype);
            let at = if offset == 0 { format!("work->{array}") } else { format!("work->{array} + {offset}") };
            Pointer { declared: format!("{} *const restrict {name}", num(dtype)), at, says, is_empty }
        };
        let mut all = Vec::new();
        for (slot, data) in scope.program.slots.iter_enumerated() {
            let name = &scope.slots[slot];
            let Some(offset) = (places.slots)(slot).filter(|_| words.contains(name.as_str())) else {
                continue;
            };
            let of =
                if data.ty.shape.is_scalar() { String::new() } else { format!(" /* {} */", data.ty.shape) };
            all.push(pointer(name, data.ty.dtype, offset, of, data.ty.shape.is_empty()));
        }
        for (kind, offsets) in [("own", places.own), ("kept", places.kept)] {
            for (dtype, offset) in DTYPES.into_iter().zip(offsets) {
                let name = format!("{kind}_{}", array_name(dtype));
                if words.contains(name.as_str()) {
                    all.push(pointer(&name, dtype, offset, String::new(), false));
                }
            }
        }
        all
    }
}

/// A pointer to values: its declaration, its target, a comment, and whether there are no elements.
struct Pointer {
    declared: String,
    at: String,
    says: String,
    is_empty: bool,
}

/// The index of a type among all types.
fn place_of(dtype: DType) -> usize {
    match dtype {
        DType::Num => 0,
        DType::Int => 1,
        DType::Bool => 2,
    }
}

/// The type of elements within the source file.
pub(crate) fn num(dtype: DType) -> &'static str {
    if dtype == DType::Num { "num" } else { c_type(dtype, rml_ir::Precision::F64) }
}

/// Declares the variables of a tick that its text mentions.
pub(crate) fn declare_tick(lines: &mut Lines, cycles: usize, text: &str, last: &str) {
    if cycles == 1 && mentions(text, "t") {
        lines.line("const long t = 0;");
    }
    if mentions(text, "last") {
        lines.line(format!("const bool last = t == {last};"));
    }
}

/// Whether a character belongs to a name.
pub(crate) fn is_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Whether a text uses a variable of this name. Fields of structs and words in comments do not count.
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
