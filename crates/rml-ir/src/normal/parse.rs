//! Parser of the text form of the normal form. Source positions are not part of the text: all are the start
//! of text 0.

use rml_base::{FileId, IndexVec, Span};

use super::{
    Callee, ClockClaim, Equation, Formal, Init, Input, Module, Node, NodeId, Rhs, Rule, Var, VarData,
};
use crate::text::{Cursor, ReadResult};
use crate::types::Precision;

/// Reads what [`print`](super::print) writes; an error names line and expectation. The result need not
/// verify.
pub fn parse(text: &str) -> Result<Module, String> {
    let mut lines = text.lines().enumerate().map(|(i, l)| Cursor::new(i + 1, l)).filter(|c| !c.at_end());
    let mut head = lines.next().ok_or("the text is empty")?;
    head.expect("normal")?;
    let precision = head.precision()?;
    head.expect("root")?;
    let root = head.id("n")?;
    head.end()?;
    let nodes = IndexVec::new();
    let mut module =
        Module { precision, nodes, root, overrides: Default::default(), optimisers: Default::default() };
    let mut node: Option<Node> = None;
    for mut c in lines {
        if c.eat("node") {
            close(&mut module, node.take());
            c.next_id::<NodeId>("n", module.nodes.len())?;
            let mut made = empty_node(c.string()?);
            made.held = if c.eat("held") { c.parse("a number of adjoints")? } else { 0 };
            node = Some(made);
        } else if let Some(node) = &mut node {
            line(&mut c, node, precision)?;
        } else if c.eat("override") {
            module.overrides.insert(c.id("n")?, c.id("n")?);
        } else {
            c.expect("optimiser")?;
            let (ty, node) = (c.ty()?, c.id("n")?);
            module.optimisers.insert((rule(&mut c)?, ty), node);
        }
        c.end()?;
    }
    close(&mut module, node);
    Ok(module)
}

fn close(module: &mut Module, node: Option<Node>) {
    if let Some(node) = node {
        module.nodes.push(node);
    }
}

/// The position that everything read from a text form has.
pub(crate) fn no_span() -> Span {
    Span::new(FileId(0), 0, 0)
}

fn empty_node(name: std::sync::Arc<str>) -> Node {
    Node {
        name,
        formals: Vec::new(),
        outputs: Vec::new(),
        claims: Vec::new(),
        statics: Vec::new(),
        vars: IndexVec::new(),
        consts: IndexVec::new(),
        equations: IndexVec::new(),
        held: 0,
        span: no_span(),
    }
}

fn line(c: &mut Cursor<'_>, node: &mut Node, precision: Precision) -> ReadResult<()> {
    if c.eat("formal") {
        let formal = if c.eat("static") {
            let name = c.string()?;
            c.expect("=")?;
            Formal::Static { name, value: c.static_value()? }
        } else {
            Formal::Stream(input(c)?)
        };
        node.formals.push(formal);
    } else if c.eat("output") {
        node.outputs.push(c.id("v")?);
    } else if c.eat("claim") {
        node.claims.push(claim(c)?);
    } else if c.eat("static") {
        let name = c.string()?;
        c.expect("=")?;
        node.statics.push((name, c.string()?));
    } else if c.eat("var") {
        c.next_id::<Var>("v", node.vars.len())?;
        node.vars.push(var_data(c)?);
    } else if c.eat("const") {
        c.next_id::<super::ConstId>("k", node.consts.len())?;
        let ty = c.ty()?;
        c.expect("=")?;
        node.consts.push(c.constant(ty, precision)?);
    } else {
        node.equations.push(equation(c)?);
    }
    Ok(())
}

/// An input with its clock.
pub(crate) fn input(c: &mut Cursor<'_>) -> ReadResult<Input> {
    let var = c.id("v")?;
    let clock = if c.eat("when") {
        let flag = !c.eat("not");
        Some((c.id("v")?, flag))
    } else {
        None
    };
    Ok(Input { var, clock })
}

/// A declared clock.
pub(crate) fn claim(c: &mut Cursor<'_>) -> ReadResult<ClockClaim> {
    let var = c.id("v")?;
    c.expect("when")?;
    let positive = !c.eat("not");
    Ok(ClockClaim { var, cond: c.id("v")?, positive, span: no_span(), call: None })
}

/// A variable's type and name.
pub(crate) fn var_data(c: &mut Cursor<'_>) -> ReadResult<VarData> {
    let (ty, name) = (c.ty()?, c.maybe_string()?);
    let asserts = if c.eat("asserts") { Some(c.string()?) } else { None };
    let mut cases = Vec::new();
    if c.eat("cases") {
        while let Some(case) = c.maybe_string()? {
            cases.push(case);
        }
    }
    let cases = (!cases.is_empty()).then(|| cases.into());
    Ok(VarData { name, ty, span: no_span(), asserts, cases })
}

/// A delay's initialiser.
pub(crate) fn init(c: &mut Cursor<'_>) -> ReadResult<Init> {
    match c.maybe_id("k") {
        Some(k) => Ok(Init::Const(k)),
        None => c.id("v").map(Init::Stream),
    }
}

fn equation(c: &mut Cursor<'_>) -> ReadResult<Equation> {
    let lhs = c.list_until("=", |c| c.id("v"))?;
    let rhs = rhs(c)?;
    Ok(Equation { lhs, rhs, span: no_span() })
}

fn rhs(c: &mut Cursor<'_>) -> ReadResult<Rhs> {
    let form = c.word("a primitive")?;
    Ok(match form {
        "const" => Rhs::Const(c.id("k")?),
        "apply" => {
            let op = c.op()?;
            let args = c.list("(", ")", |c| c.id("v"))?;
            Rhs::Apply { op, args, statics: c.statics()? }
        }
        "if" => Rhs::If { cond: c.id("v")?, then: c.id("v")?, other: c.id("v")? },
        "when" => Rhs::When { value: c.id("v")?, cond: c.id("v")? },
        "merge" => Rhs::Merge { cond: c.id("v")?, on_true: c.id("v")?, on_false: c.id("v")? },
        "fby" => Rhs::Fby { init: init(c)?, next: c.id("v")? },
        "fby_back" => Rhs::FbyBack { init: init(c)?, next: c.id("v")? },
        "post" => Rhs::Post { next: c.id("v")? },
        "param" => Rhs::Param { init: c.id("v")?, by: rule(c)? },
        "param_update" => {
            let (init, bp, d) = (c.id("v")?, c.id("v")?, c.id("v")?);
            c.expect("by")?;
            Rhs::ParamUpdate { init, bp, d, optimiser: c.id("n")?, instance: c.maybe_string()? }
        }
        "call" => call(c, false)?,
        "diff" => call(c, true)?,
        _ => return Err(c.error(format_args!("a primitive instead of `{form}` before this"))),
    })
}

/// ` by r1`, or nothing for `diff_param`.
fn rule(c: &mut Cursor<'_>) -> ReadResult<Rule> {
    if c.eat("by") { c.id("r") } else { Ok(Rule::DEFAULT) }
}

fn call(c: &mut Cursor<'_>, is_diff: bool) -> ReadResult<Rhs> {
    let node = c.id("n")?;
    let callee =
        if is_diff { Callee::Diff { node, order: c.parse("an order")? } } else { Callee::Node(node) };
    let instance = c.string()?;
    let args = c.list("(", ")", |c| c.id("v"))?;
    let every = if c.eat("every") { Some(c.id("v")?) } else { None };
    Ok(Rhs::Call { callee, args, every, instance, statics: c.statics()? })
}
