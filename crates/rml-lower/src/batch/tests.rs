//! Every operator over several ticks gives at each tick what it gives alone.

use std::sync::Arc;

use rml_backend::routine::ByCalls;
use rml_backend::{Executable, Function, Held, Outcome};
use rml_backend_cpu::Cpu;
use rml_ir::op::{Binary, Op, eval, result_type, samples};
use rml_ir::{DType, Data, Precision, Shape, Type, Value};

use super::{Batch, Val};
use crate::emit::routine;
use crate::graph::{Graph, Node};

const N: usize = 3;

/// Small numbers that differ from place to place; positions are 0 or 1.
fn value(ty: &Type, salt: usize) -> Value {
    let at = |i: usize| (i * 7 + salt * 13 + i * i % 5) % 17;
    let n = ty.shape.len();
    let data = match ty.dtype {
        DType::Bool => Data::Bool((0..n).map(|i| at(i) % 3 == 0).collect()),
        DType::Int => Data::Int((0..n).map(|i| (at(i) % 2) as i64).collect()),
        DType::Num => Data::F64((0..n).map(|i| at(i) as f64 / 8.0 + 0.1).collect()),
    };
    Value::new(ty.shape.clone(), data)
}

fn element(stack: &Value, ty: &Type, t: usize) -> Value {
    let n = ty.shape.len();
    let data = match stack.to_data() {
        Data::Bool(v) => Data::Bool(v[t * n..(t + 1) * n].to_vec()),
        Data::Int(v) => Data::Int(v[t * n..(t + 1) * n].to_vec()),
        Data::F32(v) => Data::F32(v[t * n..(t + 1) * n].to_vec()),
        Data::F64(v) => Data::F64(v[t * n..(t + 1) * n].to_vec()),
    };
    Value::new(ty.shape.clone(), data)
}

/// Operands, some of which have a value for each tick.
struct Case {
    op: Op,
    types: Vec<Type>,
    stacked: Vec<bool>,
    ty: Type,
}

impl Case {
    fn argument(&self, i: usize, t: usize) -> Value {
        value(&self.types[i], i + if self.stacked[i] { 10 * (t + 1) } else { 0 })
    }

    /// The results tick by tick; none if one fails.
    fn wanted(&self) -> Option<Vec<Value>> {
        let at = |t: usize| {
            let args: Vec<Value> = (0..self.types.len()).map(|i| self.argument(i, t)).collect();
            eval(&self.op, &args.iter().collect::<Vec<_>>(), Precision::F64).ok()
        };
        (0..N).map(at).collect()
    }

    /// The result of `make` on the operands, on the embedded backend.
    fn run(&self, make: impl FnOnce(&mut Graph, &[Val]) -> Option<Node>) -> Option<Value> {
        let mut g = Graph::new(Precision::F64);
        let (mut vals, mut values) = (Vec::new(), Vec::new());
        for (i, ty) in self.types.iter().enumerate() {
            if self.stacked[i] {
                let rows: Vec<Value> = (0..N).map(|t| self.argument(i, t)).collect();
                let stack = eval(&Op::Stack { axis: 0 }, &rows.iter().collect::<Vec<_>>(), Precision::F64);
                vals.push(Val::stack(g.input(rml_backend::routine::stacked(ty, N))));
                values.push(stack.expect("values of one type"));
            } else {
                vals.push(Val::same(g.input(ty.clone())));
                values.push(self.argument(i, 0));
            }
        }
        let wanted = make(&mut g, &vals)?;
        let inputs: Vec<Node> = vals.iter().map(|v| v.node).collect();
        let (routine, taken) = routine(&Arc::from("test"), &g, &inputs, &[wanted], &[]);
        assert_eq!(rml_backend::routine::verify(&routine), Ok(()), "{}", self.op);
        let calls = ByCalls::new(&Cpu, &routine).expect("it prepares everything");
        let args = taken.into_iter().map(|i| Held::Host(values[i].clone())).collect();
        match calls.run(args).expect("it runs") {
            Outcome::Done(results) => Some(results[0].to_host().expect("on the host")),
            Outcome::Suspect => panic!("{}: suspect", self.op),
        }
    }
}

fn near(a: &Value, b: &Value) -> bool {
    match (a.to_data(), b.to_data()) {
        (Data::F64(x), Data::F64(y)) => {
            a.shape() == b.shape()
                && x.iter()
                    .zip(&y)
                    .all(|(x, y)| (x - y).abs() <= 1e-9 * (1.0 + y.abs()) || x.is_nan() && y.is_nan())
        }
        _ => a.same(b),
    }
}

/// All samples with all choices of operands that have a value for each tick, at least one.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (op, types) in samples() {
        let Ok(ty) = result_type(&op, &types) else { panic!("{op}: a sample that has no type") };
        for choice in 1..1_usize << types.len().min(4) {
            let stacked = (0..types.len()).map(|i| choice >> i & 1 == 1).collect();
            cases.push(Case { op: op.clone(), types: types.clone(), stacked, ty: ty.clone() });
        }
    }
    cases
}

#[test]
fn operators_over_ticks_are_those_of_each_tick() {
    let (mut compared, mut looped) = (0, Vec::new());
    for case in cases() {
        let Some(wanted) = case.wanted() else { continue };
        let mut stacked = false;
        let found = case.run(|g, args| {
            let all = Batch { g, n: N, span: Function::nowhere() }.op(&case.op, args, &case.ty)?;
            stacked = all.stacked;
            Some(all.node)
        });
        let Some(found) = found else {
            looped.push(case.op.to_string());
            continue;
        };
        assert!(stacked, "{}", case.op);
        assert_eq!(found.shape(), rml_backend::routine::stacked(&case.ty, N).shape, "{}", case.op);
        for (t, wanted) in wanted.iter().enumerate() {
            let found = element(&found, &case.ty, t);
            assert!(
                near(&found, wanted),
                "{} of {:?}, tick {t}: {found:?}, not {wanted:?}",
                case.op,
                case.stacked
            );
        }
        compared += 1;
    }
    assert!(compared > 100, "{compared}");
    looped.dedup();
    assert!(looped.len() < 20, "computed tick by tick: {looped:?}");
}

#[test]
fn sums_over_ticks_are_those_of_each_tick() {
    let mut compared = 0;
    for case in cases().into_iter().filter(|case| case.ty.dtype != DType::Bool) {
        let Some(rows) = case.wanted() else { continue };
        let add =
            |a: Value, b: &Value| eval(&Op::Binary(Binary::Add), &[&a, b], Precision::F64).expect("one type");
        let wanted = rows[1..].iter().fold(rows[0].clone(), add);
        let found =
            case.run(|g, args| Batch { g, n: N, span: Function::nowhere() }.sum(&case.op, args, &case.ty));
        let Some(found) = found else { continue };
        let found = Value::new(Shape::new(case.ty.shape.dims()), found.to_data());
        assert!(near(&found, &wanted), "{} of {:?}: {found:?}, not {wanted:?}", case.op, case.stacked);
        compared += 1;
    }
    assert!(compared > 80, "{compared}");
}
