//! Parser of the text form of the flat form. Source positions are not part of the text: all are the start of
//! text 0.

use indexmap::IndexMap;
use rml_base::IndexVec;

use super::{ConstId, ConstKind, Constant, Equation, Flat, Rhs, State, Var, Window, WindowData};
use crate::normal::parse::{claim, init, input, no_span, var_data};
use crate::text::{Cursor, ReadResult};

/// Reads what [`print`](super::print) writes; an error names line and expectation. The result need not
/// verify.
pub fn parse(text: &str) -> Result<Flat, String> {
    let mut lines = text.lines().enumerate().map(|(i, l)| Cursor::new(i + 1, l)).filter(|c| !c.at_end());
    let mut head = lines.next().ok_or("the text is empty")?;
    head.expect("flat")?;
    let precision = head.precision()?;
    let mut flat = Flat {
        name: head.string()?,
        precision,
        inputs: Vec::new(),
        outputs: Vec::new(),
        claims: Vec::new(),
        vars: IndexVec::new(),
        consts: IndexVec::new(),
        random_keys: IndexMap::new(),
        windows: IndexVec::new(),
        equations: IndexVec::new(),
        states: IndexMap::new(),
    };
    head.end()?;
    for mut c in lines {
        line(&mut c, &mut flat)?;
        c.end()?;
    }
    Ok(flat)
}

fn line(c: &mut Cursor<'_>, flat: &mut Flat) -> ReadResult<()> {
    if c.eat("input") {
        flat.inputs.push(input(c)?);
    } else if c.eat("output") {
        flat.outputs.push(c.id("v")?);
    } else if c.eat("claim") {
        flat.claims.push(claim(c)?);
    } else if c.eat("var") {
        c.next_id::<Var>("v", flat.vars.len())?;
        flat.vars.push(var_data(c)?);
    } else if c.eat("const") {
        c.next_id::<ConstId>("k", flat.consts.len())?;
        let ty = c.ty()?;
        c.expect("=")?;
        flat.consts.push(if c.eat("apply") {
            let kind = ConstKind::Apply { op: c.op()?, args: c.list("(", ")", |c| c.id("k"))? };
            Constant { kind, ty, text: None }
        } else {
            c.constant(ty, flat.precision)?.into()
        });
    } else if c.eat("random") {
        flat.random_keys.insert(c.id("k")?, c.string()?);
    } else if c.eat("window") {
        c.next_id::<Window>("w", flat.windows.len())?;
        c.expect("end")?;
        flat.windows.push(WindowData { end: c.id("v")?, parent: window(c)? });
    } else if c.eat("state") {
        let key = c.string()?;
        let state = State { equation: c.id("eq")?, parameter: c.eat("parameter") };
        if flat.states.insert(key, state).is_some() {
            return Err(c.error("a key that no state before has"));
        }
    } else {
        let lhs = c.id("v")?;
        c.expect("=")?;
        flat.equations.push(Equation { lhs, rhs: rhs(c)?, span: no_span() });
    }
    Ok(())
}

fn window(c: &mut Cursor<'_>) -> ReadResult<Option<Window>> {
    if c.eat("in") { c.id("w").map(Some) } else { Ok(None) }
}

fn rhs(c: &mut Cursor<'_>) -> ReadResult<Rhs> {
    let form = c.word("a primitive")?;
    Ok(match form {
        "const" => Rhs::Const(c.id("k")?),
        "apply" => Rhs::Apply { op: c.op()?, args: c.list("(", ")", |c| c.id("v"))? },
        "if" => Rhs::If { cond: c.id("v")?, then: c.id("v")?, other: c.id("v")? },
        "when" => Rhs::When { value: c.id("v")?, cond: c.id("v")? },
        "merge" => Rhs::Merge { cond: c.id("v")?, on_true: c.id("v")?, on_false: c.id("v")? },
        "fby" => Rhs::Fby { init: init(c)?, next: c.id("v")?, window: window(c)? },
        "fby_back" => Rhs::FbyBack { init: init(c)?, next: c.id("v")?, window: window(c)? },
        "post" => Rhs::Post { next: c.id("v")?, window: window(c)? },
        "param" => Rhs::Param { init: c.id("v")? },
        _ => return Err(c.error(format_args!("a primitive instead of `{form}` before this"))),
    })
}
