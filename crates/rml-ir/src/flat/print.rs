//! Text form of the flat form; [`parse`](super::parse) reads it back. One line an entry, as in the normal
//! form, and:
//!
//! ```text
//! flat f32 "main"                       precision and name of the root
//! input v0 when v1
//! claim v2 when v1                     a declared clock that is to be proved
//! const k2 num [3] = apply mul (k0, k1)  a constant that is computed from others
//! random k0 "lstm_0.kernel.random0"     the key that a random constant is drawn by
//! window w1 end v1 in w0                the end of a window and the window around it
//! v2 = fby k0 v3 in w1                  a delay in a window
//! state "lstm_0.kernel" eq7 parameter   a state's key and equation
//! ```

use std::fmt::{self, Write};

use super::{ConstKind, Equation, Flat, Rhs, Window};
use crate::normal::print::{ClaimText, InitText, InputText, Names, VarText};
use crate::text::{Commas, ValueText};

/// The flat as text.
pub fn print(flat: &Flat) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = write_flat(&mut out, flat);
    out
}

fn write_flat(out: &mut String, flat: &Flat) -> fmt::Result {
    writeln!(out, "flat {} {:?}", flat.precision, flat.name)?;
    for input in &flat.inputs {
        writeln!(out, "input {}", InputText(input))?;
    }
    for output in &flat.outputs {
        writeln!(out, "output {output}")?;
    }
    for claim in &flat.claims {
        writeln!(out, "claim {}", ClaimText(claim))?;
    }
    for (var, data) in flat.vars.iter_enumerated() {
        writeln!(out, "var {var} {}", VarText(data))?;
    }
    for (id, constant) in flat.consts.iter_enumerated() {
        write!(out, "const {id} {} = ", constant.ty)?;
        match &constant.kind {
            ConstKind::Value(value) => write!(out, "{}", ValueText(value))?,
            ConstKind::Random(distribution) => write!(out, "random {distribution}")?,
            ConstKind::Apply { op, args } => write!(out, "apply {op} ({})", Commas(args))?,
        }
        match &constant.text {
            Some(text) => writeln!(out, " as {text:?}")?,
            None => writeln!(out)?,
        }
    }
    for (id, key) in &flat.random_keys {
        writeln!(out, "random {id} {key:?}")?;
    }
    for (id, window) in flat.windows.iter_enumerated() {
        writeln!(out, "window {id} end {}{}", window.end, In(window.parent))?;
    }
    for (eq, equation) in flat.equations.iter_enumerated() {
        write_equation(out, equation)?;
        writeln!(out, "  # {eq}{}", Names(&[equation.lhs], &flat.vars))?;
    }
    for (key, state) in &flat.states {
        let parameter = if state.parameter { " parameter" } else { "" };
        writeln!(out, "state {key:?} {}{parameter}", state.equation)?;
    }
    Ok(())
}

fn write_equation(out: &mut String, equation: &Equation) -> fmt::Result {
    write!(out, "{} = ", equation.lhs)?;
    match &equation.rhs {
        Rhs::Const(k) => write!(out, "const {k}"),
        Rhs::Apply { op, args } => write!(out, "apply {op} ({})", Commas(args)),
        Rhs::If { cond, then, other } => write!(out, "if {cond} {then} {other}"),
        Rhs::When { value, cond } => write!(out, "when {value} {cond}"),
        Rhs::Merge { cond, on_true, on_false } => write!(out, "merge {cond} {on_true} {on_false}"),
        Rhs::Fby { init, next, window } => write!(out, "fby {} {next}{}", InitText(init), In(*window)),
        Rhs::FbyBack { init, next, window } => {
            write!(out, "fby_back {} {next}{}", InitText(init), In(*window))
        }
        Rhs::Post { next, window } => write!(out, "post {next}{}", In(*window)),
        Rhs::Param { init } => write!(out, "param {init}"),
    }
}

/// The window around something, if there is one.
struct In(Option<Window>);

impl fmt::Display for In {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |w| write!(f, " in {w}"))
    }
}
