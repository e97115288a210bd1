//! Text form of functions, for the boundary of a loaded library; [`parse`] reads the form that [`print`] writes.
//!
//! ```text
//! function f32 "lstm"
//! x0 input num [8]
//! x1 const num [2] = [1.0, 2.0]
//! x2 num [8] = tanh (x0)
//! result x2
//! ```
//!
//! Spans are not part of the text: all values of a parsed function have the span [nowhere](Function::nowhere).

use std::fmt::{self, Write};

use rml_base::EntityId;
use rml_ir::text::{Commas, Cursor, ReadResult, ValueText};

use crate::function::{Def, DefKind, Function, Val};

/// The function as text.
pub fn print(function: &Function) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = write_function(&mut out, function);
    out
}

fn write_function(out: &mut String, function: &Function) -> fmt::Result {
    writeln!(out, "function {} {:?}", function.precision, function.name)?;
    for (x, def) in function.values.iter_enumerated() {
        match &def.kind {
            DefKind::Input => writeln!(out, "{x} input {}", def.ty)?,
            DefKind::Const(value) => writeln!(out, "{x} const {} = {}", def.ty, ValueText(value))?,
            DefKind::Apply { op, args } => writeln!(out, "{x} {} = {op} ({})", def.ty, Commas(args))?,
        }
    }
    for result in &function.results {
        writeln!(out, "result {result}")?;
    }
    Ok(())
}

/// Reads the form that [`print()`] writes. The result need not satisfy B1 to B3.
///
/// # Errors
/// The text is not valid; the error names the line and the expectation.
pub fn parse(text: &str) -> Result<Function, String> {
    let mut lines = text.lines().enumerate().map(|(i, l)| Cursor::new(i + 1, l)).filter(|c| !c.at_end());
    let mut head = lines.next().ok_or("the text is empty")?;
    head.expect("function")?;
    let precision = head.precision()?;
    let mut function = Function::new(head.string()?, precision);
    head.end()?;
    for mut c in lines {
        line(&mut c, &mut function)?;
        c.end()?;
    }
    Ok(function)
}

fn line(c: &mut Cursor<'_>, function: &mut Function) -> ReadResult<()> {
    if c.eat("result") {
        function.results.push(c.id("x")?);
    } else {
        c.next_id::<Val>("x", function.values.len())?;
        let def = def(c, function)?;
        function.values.push(def);
    }
    Ok(())
}

fn def(c: &mut Cursor<'_>, function: &Function) -> ReadResult<Def> {
    let span = Function::nowhere();
    if c.eat("input") {
        return Ok(Def { kind: DefKind::Input, ty: c.ty()?, span });
    }
    if c.eat("const") {
        let ty = c.ty()?;
        c.expect("=")?;
        let value = c.value(&ty, function.precision)?;
        return Ok(Def { kind: DefKind::Const(value), ty, span });
    }
    let ty = c.ty()?;
    c.expect("=")?;
    let op = c.op()?;
    let args = c.list("(", ")", |c| {
        let error = c.error("a value defined above");
        c.id::<Val>("x").and_then(|x| if x.index() < function.values.len() { Ok(x) } else { Err(error) })
    })?;
    Ok(Def { kind: DefKind::Apply { op, args }, ty, span })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify;

    const TEXT: &str = "function f32 \"f\"
x0 input num [2]
x1 input num []
x2 const num [2] = [0.1, -0.0]
x3 const num [3] = fill NaN
x4 num [2] = add (x0, x2)
x5 num [2] = mul (x4, x1)
x6 num [] = sum{axis=0} (x5)
result x6
result x5
";

    #[test]
    fn functions_read_back_as_written() {
        let function = parse(TEXT).unwrap();
        assert_eq!(verify(&function), Ok(()));
        assert_eq!(print(&function), TEXT);
    }

    #[test]
    fn every_sample_operator_reads_back() {
        for (op, types) in rml_ir::op::samples() {
            let mut f = Function::new("f", rml_ir::Precision::F64);
            let args = types.into_iter().map(|ty| f.input(ty, Function::nowhere())).collect();
            let x = f.apply(op, args, Function::nowhere()).unwrap();
            f.results.push(x);
            assert_eq!(print(&parse(&print(&f)).unwrap()), print(&f));
        }
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let broken = |from: &str, to: &str| parse(&TEXT.replace(from, to)).map(|f| verify(&f));
        assert!(broken("(x4, x1)", "(x4, x9)").unwrap_err().contains("line 7"));
        assert!(broken("num [2] = add", "num [3] = add").unwrap().unwrap_err()[0].starts_with("B2"));
        assert!(broken("result x5", "result x50").unwrap().unwrap_err()[0].starts_with("B3"));
        assert!(broken("x1 input num []", "x1 const num [] = 1.0").unwrap().is_ok());
    }
}
