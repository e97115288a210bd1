//! Values and gradients of operators against those that JAX computes in double precision (`references/operators.py`).

mod support;

use indexmap::IndexMap;
use rml_autodiff::differentiate_node;
use rml_ir::normal::NodeId;
use rml_ir::op::{self, Op};
use rml_ir::{Data, Shape, Type, Value};
use rml_testkit::gradients::{P, run};
use serde_json::Value as Json;
use support::{NodeBuilder, flat, module};

fn tensor(json: &Json) -> Value {
    let list = |name: &str| json[name].as_array().expect("a list").iter();
    let dims: Vec<usize> = list("shape").map(|d| d.as_u64().expect("a size") as usize).collect();
    let data = list("data").map(|x| x.as_f64().expect("a number")).collect();
    Value::new(Shape::new(&dims), Data::F64(data))
}

#[track_caller]
fn close(found: &Value, expected: &Value, what: &str) {
    assert_eq!(found.ty(), expected.ty(), "{what}");
    let (Data::F64(a), Data::F64(b)) = (found.to_data(), expected.to_data()) else {
        panic!("{what}: no numbers")
    };
    for (a, b) in a.iter().zip(&b) {
        assert!((a - b).abs() <= 1e-12 * (1.0 + b.abs()), "{what}: {a}, by JAX {b}");
    }
}

/// The gradients of the operands.
fn gradients(op: &Op, args: &[Value], d: &Value) -> Vec<Value> {
    let types: Vec<Type> = args.iter().map(Value::ty).collect();
    let mut f = NodeBuilder::new("f");
    let inputs: Vec<_> =
        types.iter().enumerate().map(|(i, ty)| f.input(&format!("x{i}"), ty.clone())).collect();
    let o = f.var("o", d.ty());
    f.apply(o, op.clone(), &inputs);
    f.0.outputs.push(o);
    let made = differentiate_node(module(vec![f.0]), NodeId(0)).unwrap_or_else(|e| panic!("{op}: {e}"));
    let mut given: IndexMap<String, Vec<Option<Value>>> = IndexMap::new();
    for (i, value) in args.iter().enumerate() {
        given.insert(format!("x{i}"), vec![Some(value.clone())]);
    }
    given.insert("bp".into(), vec![Some(Value::Bool(true))]);
    given.insert("do".into(), vec![Some(d.clone())]);
    let table = run(flat(&made.module), &given, 1);
    (0..args.len()).map(|i| table[&format!("dx{i}")][0].value().expect("present").clone()).collect()
}

#[test]
fn operators_agree_with_jax() {
    let table: Json = serde_json::from_str(include_str!("references/operators.json")).expect("JSON");
    for entry in table.as_array().expect("a list") {
        let text = entry["op"].as_str().expect("an operator");
        let op = Op::parse(text).expect("an operator");
        let args: Vec<Value> = entry["args"].as_array().expect("operands").iter().map(tensor).collect();
        let found = op::eval(&op, &args.iter().collect::<Vec<_>>(), P).expect("a value");
        close(&found, &tensor(&entry["o"]), text);
        let found = gradients(&op, &args, &tensor(&entry["do"]));
        for (i, (found, expected)) in
            found.iter().zip(entry["grads"].as_array().expect("gradients")).enumerate()
        {
            close(found, &tensor(expected), &format!("{text}, operand {i}"));
        }
    }
}
