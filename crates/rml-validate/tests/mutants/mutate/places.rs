//! What of a plan may be damaged.

use rml_ir::op::{Binary, Compare, Op, Unary};
use rml_ir::{Data, Position, Positions, Type, Value};
use rml_plan::{Atom, Guard, Part, Plan, Region, Rule, Term, Tick, Write};
use rml_testkit::Lcg;

pub(super) fn pick<'a, T>(places: &'a mut [T], r: &mut Lcg) -> Option<&'a mut T> {
    let i = r.below(places.len());
    places.get_mut(i)
}

pub(super) fn rules(plan: &mut Plan) -> impl Iterator<Item = &mut Rule> {
    plan.tapes.iter_mut().flat_map(|t| &mut t.cases).map(|c| &mut c.rule)
}

pub(super) fn sums(plan: &mut Plan) -> Vec<&mut Vec<Term>> {
    rules(plan)
        .filter_map(|rule| if let Rule::Sum { terms, .. } = rule { Some(terms) } else { None })
        .collect()
}

pub(super) fn operators(plan: &mut Plan) -> Vec<&mut Op> {
    let mut all = Vec::new();
    for rule in rules(plan) {
        match rule {
            Rule::Apply { op, .. } => all.push(op),
            Rule::Sum { terms, .. } => all.extend(terms.iter_mut().map(|t| &mut t.op)),
            _ => {}
        }
    }
    all
}

/// The operands of rules, writes and outputs.
pub(super) fn operands(plan: &mut Plan) -> Vec<&mut Atom> {
    let mut all = Vec::new();
    for rule in plan.tapes.iter_mut().flat_map(|t| &mut t.cases).map(|c| &mut c.rule) {
        match rule {
            Rule::Apply { args, .. } => all.extend(args),
            Rule::Product { start, args } => all.extend([start].into_iter().chain(args)),
            Rule::Copy(a) => all.push(a),
            Rule::Select { cond, then, other } => all.extend([cond, then, other]),
            Rule::Restart { ends, init, next } => all.extend(ends.iter_mut().chain([init, next])),
            Rule::Sum { init, terms, .. } => {
                all.extend(init.iter_mut().chain(terms.iter_mut().flat_map(|t| &mut t.args)));
            }
            Rule::Read { init, .. } => all.extend(init),
            Rule::Input(_) => {}
        }
    }
    for region in &mut plan.regions {
        if let Region::Loop { writes, .. } = region {
            all.extend(writes.iter_mut().map(|w| &mut w.value));
        }
    }
    all.extend(plan.commits.iter_mut().map(|w| &mut w.value));
    all.extend(plan.outputs.iter_mut().flat_map(|o| &mut o.cases).map(|(.., a)| a));
    all
}

pub(super) fn lists_of_writes(plan: &mut Plan) -> Vec<&mut Vec<Write>> {
    let mut all = vec![&mut plan.commits];
    for region in &mut plan.regions {
        if let Region::Loop { writes, .. } = region {
            all.push(writes);
        }
    }
    all
}

pub(super) fn writes(plan: &mut Plan) -> Vec<&mut Write> {
    lists_of_writes(plan).into_iter().flatten().collect()
}

pub(super) fn guards(plan: &mut Plan) -> Vec<&mut Vec<Guard>> {
    let mut all: Vec<&mut Vec<Guard>> = Vec::new();
    for case in plan.tapes.iter_mut().flat_map(|t| &mut t.cases) {
        all.push(&mut case.when);
        if let Rule::Sum { terms, .. } = &mut case.rule {
            all.extend(terms.iter_mut().map(|t| &mut t.when));
        }
    }
    for region in &mut plan.regions {
        if let Region::Loop { writes, .. } = region {
            all.extend(writes.iter_mut().map(|w| &mut w.when));
        }
    }
    all.extend(plan.commits.iter_mut().map(|w| &mut w.when));
    all.extend(plan.outputs.iter_mut().flat_map(|o| &mut o.cases).map(|(_, when, _)| when));
    all
}

pub(super) fn parts(plan: &mut Plan) -> Vec<&mut Vec<Part>> {
    let mut all = Vec::new();
    for region in &mut plan.regions {
        let parts = region.parts_mut();
        all.push(parts);
    }
    all
}

pub(super) fn change_atom(
    plan: &mut Plan,
    r: &mut Lcg,
    wanted: impl Fn(Atom) -> bool,
    change: impl Fn(Atom, &Plan, &mut Lcg) -> Option<Atom>,
) -> Option<()> {
    let old = plan.clone();
    let mut places: Vec<&mut Atom> = operands(plan).into_iter().filter(|a| wanted(**a)).collect();
    let place = pick(&mut places, r)?;
    **place = change(**place, &old, r)?;
    Some(())
}

pub(super) fn tick(plan: &mut Plan, r: &mut Lcg, change: fn(Tick) -> Option<Tick>) -> Option<()> {
    change_atom(
        plan,
        r,
        |a| matches!(a, Atom::Tape(_, t) if change(t).is_some()),
        |a, _, _| match a {
            Atom::Tape(tape, t) => Some(Atom::Tape(tape, change(t)?)),
            Atom::Const(_) => None,
        },
    )
}

pub(super) fn ty(plan: &Plan, atom: Atom) -> Type {
    match atom {
        Atom::Const(k) => plan.consts[k].ty(),
        Atom::Tape(t, _) => plan.tapes[t].ty.clone(),
    }
}

/// Another operand of the same type.
pub(super) fn other(plan: &Plan, atom: Atom, r: &mut Lcg) -> Option<Atom> {
    let wanted = ty(plan, atom);
    let tapes = plan.tapes.ids().map(|t| Atom::Tape(t, Tick::Now));
    let all = tapes.chain(plan.consts.ids().map(Atom::Const));
    let differs = |a: &Atom| match (*a, atom) {
        (Atom::Tape(a, _), Atom::Tape(b, _)) => a != b,
        (a, b) => a != b,
    };
    pick(&mut all.filter(|a| ty(plan, *a) == wanted).filter(differs).collect::<Vec<_>>(), r).copied()
}

pub(super) fn toggled(at: Positions, r: &mut Lcg) -> Positions {
    let p = *r.pick(&Position::ALL);
    if at.contains(p) { at.without(p) } else { at.with(p) }
}

/// A value that is nothing special.
pub(super) fn value_of(ty: &Type) -> Value {
    let n = ty.shape.len();
    let data = match ty.dtype {
        rml_ir::DType::Bool => Data::Bool(vec![false; n]),
        rml_ir::DType::Int => Data::Int(vec![0; n]),
        rml_ir::DType::Num => Data::F32(vec![0.0; n]),
    };
    Value::new(ty.shape.clone(), data)
}

pub(super) fn changed(value: &Value) -> Value {
    let data = match value.to_data() {
        Data::Bool(mut x) => {
            x.iter_mut().for_each(|x| *x = !*x);
            Data::Bool(x)
        }
        Data::Int(mut x) => {
            x.iter_mut().for_each(|x| *x = x.wrapping_add(1));
            Data::Int(x)
        }
        Data::F32(mut x) => {
            x.iter_mut().for_each(|x| *x = *x * 1.5 + 0.25);
            Data::F32(x)
        }
        Data::F64(mut x) => {
            x.iter_mut().for_each(|x| *x = *x * 1.5 + 0.25);
            Data::F64(x)
        }
    };
    Value::new(value.ty().shape, data)
}

pub(super) fn other_op(op: &Op) -> Option<Op> {
    Some(match op {
        Op::Binary(Binary::Add) => Op::Binary(Binary::Sub),
        Op::Binary(Binary::Sub) => Op::Binary(Binary::Add),
        Op::Binary(Binary::Mul) => Op::Binary(Binary::Minimum),
        Op::Binary(Binary::Minimum) => Op::Binary(Binary::Maximum),
        Op::Binary(Binary::Maximum | Binary::Div) => Op::Binary(Binary::Mul),
        Op::And => Op::Or,
        Op::Or => Op::And,
        Op::Compare(Compare::Eq) => Op::Compare(Compare::Ne),
        Op::Compare(Compare::Ne) => Op::Compare(Compare::Eq),
        Op::Compare(Compare::Lt) => Op::Compare(Compare::Le),
        Op::Compare(Compare::Le) => Op::Compare(Compare::Gt),
        Op::Compare(Compare::Gt) => Op::Compare(Compare::Ge),
        Op::Compare(Compare::Ge) => Op::Compare(Compare::Lt),
        Op::Unary(Unary::Tanh) => Op::Unary(Unary::Sigmoid),
        Op::Unary(Unary::Sigmoid) => Op::Unary(Unary::Tanh),
        Op::Unary(Unary::Exp | Unary::Sqrt | Unary::Abs) => Op::Unary(Unary::Neg),
        Op::Unary(Unary::Neg) => Op::Unary(Unary::Abs),
        Op::Unary(Unary::Relu) => Op::Unary(Unary::Gelu),
        _ => return None,
    })
}
