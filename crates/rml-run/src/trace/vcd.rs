//! Traces as value change dumps (IEEE 1364) for waveform viewers.

use std::fmt::Write as _;

use indexmap::IndexMap;
use rml_ir::{DType, Value};

use super::{Cell, Trace};

impl Trace {
    /// The scalar variables as a value change dump: one time unit per cycle, one scope per instance; the outermost
    /// scope is called `module`. Truth values are one bit wide, integers 64; `z` = absent, `x` = not determined. A
    /// `num` is a real, which has neither in this format; a bit beside it, named `x__present`, is 1, `z` or `x`
    /// instead. Tensors, and variables without any value, are left out.
    pub fn to_vcd(&self, module: &str) -> String {
        let mut scope = Scope::default();
        let mut signals: Vec<Signal<'_>> = Vec::new();
        for (name, cells) in &self.values {
            let value = cells.iter().find_map(|c| if let Cell::Value(v) = c { Some(v) } else { None });
            let Some(value) = value.filter(|v| v.shape().is_scalar()) else { continue };
            let dtype = value.dtype();
            let (path, leaf) = name.rsplit_once('.').unwrap_or(("", name));
            let path = path.split('.').filter(|p| !p.is_empty());
            let inner = path.fold(&mut scope, |scope, part| scope.inner.entry(part.to_owned()).or_default());
            inner.declare(leaf, dtype, signals.len());
            signals.push(Signal { cells, dtype, part: Part::Value });
            if dtype == DType::Num {
                inner.declare(&format!("{leaf}__present"), DType::Bool, signals.len());
                signals.push(Signal { cells, dtype, part: Part::Presence });
            }
        }
        let mut out = String::from("$comment z = absent, x = not determined $end\n$timescale 1 ns $end\n");
        scope.print(module, &mut out);
        out.push_str("$enddefinitions $end\n");
        let mut before = vec![String::new(); signals.len()];
        for n in 0..self.cycles {
            let _ = writeln!(out, "#{n}");
            for (id, signal) in signals.iter().enumerate() {
                let change = signal.change(n, id);
                if !change.is_empty() && change != before[id] {
                    out.push_str(&change);
                    before[id] = change;
                }
            }
        }
        let _ = writeln!(out, "#{}", self.cycles);
        out
    }
}

/// The property of a variable that a signal shows.
#[derive(Clone, Copy)]
enum Part {
    Value,
    Presence,
}

struct Signal<'a> {
    cells: &'a [Cell],
    /// The type of the variable.
    dtype: DType,
    part: Part,
}

impl Signal<'_> {
    /// The line for cycle `n`; none for a real without a value.
    fn change(&self, n: usize, id: usize) -> String {
        let id = code(id);
        match (self.cells.get(n), self.part) {
            (Some(Cell::Value(Value::F32(x))), Part::Value) => format!("r{x} {id}\n"),
            (Some(Cell::Value(Value::F64(x))), Part::Value) => format!("r{x} {id}\n"),
            (Some(Cell::Value(Value::Int(i))), Part::Value) => format!("b{i:b} {id}\n"),
            (Some(Cell::Value(Value::Bool(b))), Part::Value) => format!("{}{id}\n", u8::from(*b)),
            (Some(Cell::Value(_)), _) => format!("1{id}\n"),
            (cell, part) => {
                let state = if matches!(cell, Some(Cell::Absent)) { 'z' } else { 'x' };
                match (part, self.dtype) {
                    (Part::Value, DType::Num) => String::new(),
                    (Part::Value, DType::Int) => format!("b{state} {id}\n"),
                    (Part::Value, DType::Bool) | (Part::Presence, _) => format!("{state}{id}\n"),
                }
            }
        }
    }
}

/// The variables of one instance and of those inside it.
#[derive(Default)]
struct Scope {
    vars: Vec<String>,
    inner: IndexMap<String, Scope>,
}

impl Scope {
    fn declare(&mut self, name: &str, dtype: DType, id: usize) {
        let kind = match dtype {
            DType::Bool => "wire 1",
            DType::Int => "wire 64",
            DType::Num => "real 64",
        };
        self.vars.push(format!("$var {kind} {} {name} $end\n", code(id)));
    }

    fn print(&self, name: &str, out: &mut String) {
        let _ = writeln!(out, "$scope module {name} $end");
        out.extend(self.vars.iter().map(String::as_str));
        for (name, scope) in &self.inner {
            scope.print(name, out);
        }
        out.push_str("$upscope $end\n");
    }
}

/// The short identifier of a signal: its number in printable characters.
fn code(mut id: usize) -> String {
    const FIRST: u8 = b'!';
    const COUNT: usize = 94;
    let mut text = String::new();
    loop {
        let digit = u8::try_from(id % COUNT).unwrap_or_default();
        text.push(char::from(FIRST + digit));
        if id < COUNT {
            return text;
        }
        id = id / COUNT - 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rml_base::Diagnostics;
    use rml_base::memory::Reservation;

    #[test]
    fn signals_change_where_values_do() {
        let value = |v: Value| Cell::Value(v);
        let values = IndexMap::from([
            ("c".to_owned(), vec![value(Value::Bool(true)), value(Value::Bool(true)), Cell::Absent]),
            ("n".to_owned(), vec![value(Value::Int(5)), Cell::Absent, value(Value::Int(-1))]),
            ("f_0.x".to_owned(), vec![value(Value::F32(0.1)), Cell::Absent, Cell::Unknown]),
            ("f_0.none".to_owned(), vec![Cell::Absent, Cell::Absent, Cell::Absent]),
        ]);
        let trace = Trace {
            cycles: 3,
            values,
            names: IndexMap::new(),
            error: None,
            warnings: Diagnostics::new(),
            reserved: Reservation::default(),
        };
        let ones = "1".repeat(64);
        let expected = format!(
            "$comment z = absent, x = not determined $end\n$timescale 1 ns $end\n$scope module main $end\n\
             $var wire 1 ! c $end\n$var wire 64 \" n $end\n$scope module f_0 $end\n$var real 64 # x $end\n\
             $var wire 1 $ x__present $end\n$upscope $end\n$upscope $end\n$enddefinitions $end\n\
             #0\n1!\nb101 \"\nr0.1 #\n1$\n#1\nbz \"\nz$\n#2\nz!\nb{ones} \"\nx$\n#3\n"
        );
        assert_eq!(trace.to_vcd("main"), expected);
    }

    /// The work for one cycle does not depend on the number of cycles: if each cycle took a pass over all cycles, this
    /// would take hours.
    #[test]
    fn a_long_trace_is_written_cycle_by_cycle() {
        const CYCLES: usize = 400_000;
        let values = IndexMap::from([("n".to_owned(), {
            let mut cells = vec![Cell::Absent; CYCLES - 1];
            cells.push(Cell::Value(Value::Int(1)));
            cells
        })]);
        let trace = Trace {
            cycles: CYCLES,
            values,
            names: IndexMap::new(),
            error: None,
            warnings: Diagnostics::new(),
            reserved: Reservation::default(),
        };
        let text = trace.to_vcd("main");
        assert_eq!(text.matches("bz !").count(), 1);
        assert!(text.ends_with("b1 !\n#400000\n"), "{}", &text[text.len() - 40..]);
    }

    #[test]
    fn every_signal_has_a_name_of_its_own() {
        let names: std::collections::BTreeSet<String> = (0..20_000).map(code).collect();
        assert_eq!(names.len(), 20_000);
        assert!(names.iter().all(|n| n.bytes().all(|b| (b'!'..=b'~').contains(&b))));
    }
}
