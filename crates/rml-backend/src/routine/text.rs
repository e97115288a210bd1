//! Text form of routines, for the boundary of a loaded library; [`parse`] reads the form that [`print`] writes.
//!
//! ```text
//! routine f32 "count"
//! s0 input num [3, 2]
//! s1 input num [2]
//! loop 3 forward carried (s1) rows (s0 at 0) whole () {
//! function f32 "body"
//! x0 input num [2]
//! x1 input num [2]
//! x2 num [2] = add (x0, x1)
//! result x2
//! }
//! result s2
//! ```
//!
//! The results of a step are the next slots. The body of a loop may be a routine instead of a function.

use std::fmt::{self, Write};

use rml_base::EntityId;
use rml_ir::text::{Commas, Cursor, ReadResult};

use super::{Body, Loop, Routine, Slot, Step};

/// The routine as text.
pub fn print(routine: &Routine) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = write_routine(&mut out, routine);
    out
}

fn write_routine(out: &mut String, routine: &Routine) -> fmt::Result {
    writeln!(out, "routine {} {:?}", routine.precision, routine.name)?;
    for (i, ty) in routine.input_types().iter().enumerate() {
        writeln!(out, "{} input {ty}", Slot::from_index(i))?;
    }
    for step in &routine.steps {
        match step {
            Step::Call { function, args, .. } => {
                writeln!(out, "call ({}) {{\n{}}}", Commas(args), crate::print(function))?;
            }
            Step::Loop(l) => {
                let rows: Vec<String> =
                    l.rows.iter().map(|(slot, offset)| format!("{slot} at {offset}")).collect();
                let direction = if l.backward { "backward" } else { "forward" };
                writeln!(
                    out,
                    "loop {} {direction} carried ({}) rows ({}) whole ({}) {{\n{}}}",
                    l.count,
                    Commas(&l.carried),
                    rows.join(", "),
                    Commas(&l.whole),
                    match &l.body {
                        Body::Function(function) => crate::print(function),
                        Body::Routine(inner) => print(inner),
                    }
                )?;
            }
        }
    }
    routine.results.iter().try_for_each(|result| writeln!(out, "result {result}"))
}

/// Reads the form that [`print()`] writes. The result need not satisfy R1 to R4.
///
/// # Errors
/// The text is not valid; the error names the line and the expectation.
pub fn parse(text: &str) -> Result<Routine, String> {
    let mut lines = text.lines().enumerate();
    let (_, head) = lines.next().ok_or("the text is empty")?;
    let mut c = Cursor::new(1, head);
    c.expect("routine")?;
    let precision = c.precision()?;
    let mut routine = Routine::new(c.string()?, precision);
    c.end()?;
    while let Some((i, line)) = lines.next() {
        let mut c = Cursor::new(i + 1, line);
        if c.at_end() {
        } else if c.eat("result") {
            routine.results.push(c.id("s")?);
        } else if c.eat("call") {
            let args = c.list("(", ")", |c| c.id("s"))?;
            c.expect("{")?;
            routine.call(crate::parse(&block(&mut lines)?)?, args);
        } else if c.eat("loop") {
            let l = head_of_loop(&mut c, &mut lines)?;
            routine.repeat(l);
        } else {
            c.next_id::<Slot>("s", routine.slots.len())?;
            c.expect("input")?;
            routine.input(c.ty()?);
        }
        c.end()?;
    }
    Ok(routine)
}

fn head_of_loop<'a>(
    c: &mut Cursor<'_>,
    lines: &mut impl Iterator<Item = (usize, &'a str)>,
) -> Result<Loop, String> {
    let count = c.parse("a number of passes")?;
    let backward = !c.eat("forward");
    if backward {
        c.expect("backward")?;
    }
    c.expect("carried")?;
    let carried = c.list("(", ")", |c| c.id("s"))?;
    c.expect("rows")?;
    let rows = c.list("(", ")", row)?;
    c.expect("whole")?;
    let whole = c.list("(", ")", |c| c.id("s"))?;
    c.expect("{")?;
    let text = block(lines)?;
    let body = if text.starts_with("routine") {
        Body::Routine(Box::new(parse(&text)?))
    } else {
        Body::Function(crate::parse(&text)?)
    };
    Ok(Loop { body, count, backward, carried, rows, whole, out: Slot::from_index(0) })
}

fn row(c: &mut Cursor<'_>) -> ReadResult<(Slot, usize)> {
    let slot = c.id("s")?;
    c.expect("at")?;
    Ok((slot, c.parse("an offset")?))
}

/// The lines before the line `}` that closes the braces.
fn block<'a>(lines: &mut impl Iterator<Item = (usize, &'a str)>) -> Result<String, String> {
    let (mut text, mut open) = (String::new(), 0);
    for (_, line) in lines {
        match line {
            "}" if open == 0 => return Ok(text),
            "}" => open -= 1,
            _ if line.ends_with('{') => open += 1,
            _ => {}
        }
        text.push_str(line);
        text.push('\n');
    }
    Err("a function in the text has no end".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routine::verify;

    const TEXT: &str = "routine f32 \"f\"
s0 input num [4, 2]
s1 input num [2]
call (s1) {
function f32 \"f\"
x0 input num [2]
x1 num [2] = tanh (x0)
result x1
}
loop 3 backward carried (s2) rows (s0 at 1) whole (s1) {
function f32 \"f\"
x0 input num [2]
x1 input num [2]
x2 input num [2]
x3 num [2] = add (x0, x1)
x4 num [2] = mul (x3, x2)
result x3
result x4
}
result s3
result s4
";

    #[test]
    fn routines_read_back_as_written() {
        let routine = parse(TEXT).unwrap();
        assert_eq!(verify(&routine), Ok(()));
        assert_eq!(print(&routine), TEXT);
        let types: Vec<String> = routine.slots.iter().map(ToString::to_string).collect();
        assert_eq!(types, ["num [4, 2]", "num [2]", "num [2]", "num [2]", "num [3, 2]"]);
    }

    const AGAIN: &str = "routine f32 \"f\"
s0 input num [2]
s1 input num [5, 4, 2]
loop 5 forward carried (s0) rows (s1 at 0) whole () {
routine f32 \"f\"
s0 input num [2]
s1 input num [4, 2]
loop 4 forward carried (s0) rows (s1 at 0) whole () {
function f32 \"f\"
x0 input num [2]
x1 input num [2]
x2 num [2] = add (x0, x1)
result x2
}
result s2
result s1
}
result s2
result s3
";

    #[test]
    fn a_routine_stands_in_a_loop() {
        let routine = parse(AGAIN).unwrap();
        assert_eq!(verify(&routine), Ok(()));
        assert_eq!(print(&routine), AGAIN);
        assert_eq!(routine.functions().len(), 1);
        let types: Vec<String> = routine.result_types().iter().map(ToString::to_string).collect();
        assert_eq!(types, ["num [2]", "num [5, 4, 2]"]);
        let broken = |from: &str, to: &str| verify(&parse(&AGAIN.replace(from, to)).unwrap()).unwrap_err();
        assert!(broken("result s2\nresult s1", "result s1\nresult s2")[0].starts_with("R2"));
        assert!(broken("s1 input num [4, 2]", "s1 input num [3, 2]")[0].starts_with("R4"));
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let broken = |from: &str, to: &str| parse(&TEXT.replace(from, to)).map(|r| verify(&r));
        for (from, to, rule) in [
            ("call (s1)", "call (s7)", "R1"),
            ("carried (s2)", "carried (s0)", "R2"),
            ("s0 at 1", "s0 at 2", "R3"),
            ("result s4", "result s5", "R4"),
            ("tanh (x0)", "tanh (x9)", "R4"),
        ] {
            match broken(from, to) {
                Ok(verified) => assert!(verified.unwrap_err()[0].starts_with(rule), "{from} as {to}"),
                Err(why) => assert!(why.contains("line"), "{why}"),
            }
        }
        assert!(broken("backward", "sideways").unwrap_err().starts_with("line "));
    }
}
