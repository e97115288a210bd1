//! Compares the gradients of whole networks with those of JAX (`jax/make.py`), both in double precision.

use rml::{Columns, Data, Format, GradOptions, Options, Precision, Session, Shape, Source, Value};
use serde_json::Value as Json;

const NETWORKS: &str = include_str!("jax/networks.rml");
const CASES: &str = include_str!("jax/gradients.json");

/// The elements of nested arrays, row-major, and their shape.
fn flattened(json: &Json) -> (Vec<f64>, Vec<usize>) {
    match json {
        Json::Array(items) => {
            let parts: Vec<(Vec<f64>, Vec<usize>)> = items.iter().map(flattened).collect();
            let inner = parts.first().map_or(Vec::new(), |(_, shape)| shape.clone());
            let shape = std::iter::once(items.len()).chain(inner).collect();
            (parts.into_iter().flat_map(|(elements, _)| elements).collect(), shape)
        }
        _ => (vec![json.as_f64().expect("a number")], Vec::new()),
    }
}

fn value(json: &Json) -> Value {
    let (elements, shape) = flattened(json);
    Value::new(Shape::new(&shape), Data::F64(elements))
}

#[track_caller]
fn assert_near(found: &Json, expected: &Json, what: &str) {
    let ((found, shape), (expected, expected_shape)) = (flattened(found), flattened(expected));
    assert_eq!(shape, expected_shape, "{what}");
    for (k, (a, b)) in found.iter().zip(&expected).enumerate() {
        assert!((a - b).abs() <= 1e-11 * (1.0 + b.abs()), "{what}, element {k}: {a}, by JAX {b}");
    }
}

#[test]
fn gradients_agree_with_jax() {
    let source = Source::text("networks.rml", NETWORKS);
    let cases: Vec<Json> = serde_json::from_str(CASES).expect("JSON");
    assert_eq!(cases.len(), 7);
    let dir = tempfile::tempdir().expect("a folder");
    for case in &cases {
        let node = case["node"].as_str().expect("a name");
        let options = Options { node: Some(node.into()), precision: Precision::F64, ..Options::default() };
        let mut session = Session::new(&rml::compile(&source, &options).unwrap_or_else(|e| panic!("{e}")));
        for (key, given) in case["params"].as_object().expect("an object") {
            session.set_state(key, &value(given)).unwrap_or_else(|e| panic!("{node}: {e}"));
        }
        let params = dir.path().join(format!("{node}.safetensors"));
        session.save(&params).unwrap_or_else(|e| panic!("{node}: {e}"));
        let inputs =
            Columns::parse(case["inputs"].to_string().as_bytes(), Format::Json, "inputs").expect("rows");
        let grad = GradOptions { params: Some(params.into()), ..GradOptions::default() };
        let found = rml::grad(&source, &options, &inputs, &grad).unwrap_or_else(|e| panic!("{node}: {e}"));
        let found: Json = serde_json::from_str(&found.to_json()).expect("JSON");
        assert_near(&found["loss"], &case["loss"], &format!("{node}: loss"));
        for of in ["params", "inputs"] {
            let expected = case["gradients"][of].as_object().expect("an object");
            assert_eq!(found[of].as_object().map(serde_json::Map::len), Some(expected.len()), "{node}: {of}");
            for (name, expected) in expected {
                assert_near(&found[of][name], expected, &format!("{node}: {name}"));
            }
        }
    }
}
