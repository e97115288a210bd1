//! Models that are built node by node, imported, and run.

use std::collections::BTreeMap;

use prost::Message as _;
use rml::{Data, Error, Session, Shape, Source, Value};
use rml_import::proto::{
    AttributeProto, DimensionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto,
    TensorShapeProto, TensorTypeProto, TypeProto, ValueInfoProto,
};
use rml_import::{ModelProgram, Options};

/// A model while it is built.
#[derive(Clone, Default)]
pub(crate) struct Net {
    pub(crate) graph: GraphProto,
    opset: i64,
}

/// The value of an attribute.
pub(crate) enum Attr<'a> {
    Int(i64),
    Ints(&'a [i64]),
    Float(f32),
    Text(&'a str),
    Graph(&'a Net),
}

impl Net {
    pub(crate) fn new(opset: i64) -> Self {
        Self { opset, ..Self::default() }
    }

    /// An input of numbers; a dimension is a number or a name.
    #[must_use]
    pub(crate) fn input(mut self, name: &str, dims: &[&str]) -> Self {
        self.graph.input.push(info(name, 1, dims));
        self
    }

    /// An input of integers.
    #[must_use]
    pub(crate) fn ints(mut self, name: &str, dims: &[&str]) -> Self {
        self.graph.input.push(info(name, 7, dims));
        self
    }

    #[must_use]
    pub(crate) fn output(mut self, name: &str) -> Self {
        self.graph.output.push(info(name, 1, &[]));
        self
    }

    /// A tensor of numbers.
    #[must_use]
    pub(crate) fn tensor(mut self, name: &str, dims: &[i64], values: &[f32]) -> Self {
        self.graph.initializer.push(TensorProto {
            name: name.into(),
            dims: dims.to_vec(),
            data_type: 1,
            float_data: values.to_vec(),
            ..TensorProto::default()
        });
        self
    }

    /// A tensor of integers.
    #[must_use]
    pub(crate) fn integers(mut self, name: &str, dims: &[i64], values: &[i64]) -> Self {
        self.graph.initializer.push(TensorProto {
            name: name.into(),
            dims: dims.to_vec(),
            data_type: 7,
            int64_data: values.to_vec(),
            ..TensorProto::default()
        });
        self
    }

    /// A node; names are separated by blanks, and `-` stands for an operand that is left out.
    #[must_use]
    pub(crate) fn node(mut self, op: &str, inputs: &str, outputs: &str, attrs: &[(&str, Attr<'_>)]) -> Self {
        let names = |text: &str| {
            text.split_whitespace().map(|n| if n == "-" { String::new() } else { n.to_owned() }).collect()
        };
        self.graph.node.push(NodeProto {
            op_type: op.into(),
            name: format!("/{outputs}/{op}"),
            input: names(inputs),
            output: names(outputs),
            attribute: attrs.iter().map(|(name, value)| attribute(name, value)).collect(),
            ..NodeProto::default()
        });
        self
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let model = ModelProto {
            ir_version: 8,
            graph: Some(self.graph.clone()),
            opset_import: vec![OperatorSetIdProto { domain: String::new(), version: self.opset }],
            ..ModelProto::default()
        };
        model.encode_to_vec()
    }

    pub(crate) fn import(&self, options: &Options) -> Result<ModelProgram, Error> {
        import(self.bytes(), options)
    }

    /// The program of the model.
    #[track_caller]
    pub(crate) fn program(&self) -> ModelProgram {
        self.import(&Options::default()).unwrap_or_else(|e| panic!("{e}"))
    }

    /// The outputs of one cycle.
    #[track_caller]
    pub(crate) fn run(&self, inputs: &[(&str, Value)]) -> BTreeMap<String, Vec<f64>> {
        Running::of(&self.program()).step(inputs)
    }

    /// The output `y` of one cycle, where `x` is given.
    #[track_caller]
    pub(crate) fn y(&self, x: Value) -> Vec<f64> {
        self.run(&[("x", x)]).remove("y").expect("an output")
    }
}

/// Imports a model that has no other files.
pub(crate) fn import(bytes: Vec<u8>, options: &Options) -> Result<ModelProgram, Error> {
    rml_import::import(bytes, "net.onnx", &|_, _, _| panic!("no other file"), options)
}

/// A program at work, with the parameters of its model.
pub(crate) struct Running {
    session: Session,
    outputs: Vec<String>,
}

impl Running {
    #[track_caller]
    pub(crate) fn of(model: &ModelProgram) -> Self {
        let source = Source::text("model.rml", model.program.as_str());
        let options = rml::Options { node: Some("main".into()), ..rml::Options::default() };
        let imported = rml::import_params(&source, &options, &model.tensors, &model.mapping);
        let imported = imported.unwrap_or_else(|e| panic!("{e}\n{}\n{}", model.program, model.mapping_text));
        let program = rml::compile(&source, &options).unwrap_or_else(|e| panic!("{e}\n{}", model.program));
        assert!(program.warnings().is_empty(), "{:?}\n{}", program.warnings(), model.program);
        let mut session = Session::new(&program);
        for (key, value) in &imported.checkpoint.states {
            session.set_state(key, value).unwrap_or_else(|e| panic!("{e}"));
        }
        Self { session, outputs: model.outputs.iter().map(|(word, _)| word.clone()).collect() }
    }

    #[track_caller]
    pub(crate) fn step(&mut self, inputs: &[(&str, Value)]) -> BTreeMap<String, Vec<f64>> {
        let inputs = inputs.iter().map(|(name, value)| (*name, value.clone().into()));
        let made = self.session.step(inputs).unwrap_or_else(|e| panic!("{e}"));
        let [cycle] = made.as_slice() else { panic!("one cycle") };
        let elements = |name: &String| {
            let value = cycle.get(name).expect("a value");
            let data = match value.to_data() {
                Data::Bool(v) => v.into_iter().map(|b| f64::from(u8::from(b))).collect(),
                Data::Int(v) => v.into_iter().map(|i| i as f64).collect(),
                Data::F32(v) => v.into_iter().map(f64::from).collect(),
                Data::F64(v) => v,
            };
            (name.clone(), data)
        };
        self.outputs.iter().map(elements).collect()
    }
}

/// A value of numbers.
pub(crate) fn nums(dims: &[usize], values: &[f32]) -> Value {
    Value::new(Shape::new(dims), Data::F32(values.to_vec()))
}

/// The numbers 0, 1, .. times a step.
pub(crate) fn ramp(dims: &[usize], step: f32) -> Value {
    let n = dims.iter().product();
    nums(dims, &(0_u8..).map(|i| f32::from(i) * step).take(n).collect::<Vec<_>>())
}

#[track_caller]
pub(crate) fn close(found: &[f64], expected: &[f64]) {
    let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 2e-5 * b.abs().max(1.0);
    assert!(
        found.len() == expected.len() && found.iter().zip(expected).all(near),
        "{found:?} is not {expected:?}"
    );
}

fn info(name: &str, elem: i32, dims: &[&str]) -> ValueInfoProto {
    let dim = |d: &&str| match d.parse() {
        Ok(size) => DimensionProto { dim_value: Some(size), dim_param: None },
        Err(_) => DimensionProto { dim_value: None, dim_param: Some((*d).to_owned()) },
    };
    let shape = TensorShapeProto { dim: dims.iter().map(dim).collect() };
    let tensor = TensorTypeProto { elem_type: elem, shape: Some(shape) };
    ValueInfoProto { name: name.into(), r#type: Some(TypeProto { tensor_type: Some(tensor) }) }
}

fn attribute(name: &str, value: &Attr<'_>) -> AttributeProto {
    let empty = AttributeProto { name: name.into(), ..AttributeProto::default() };
    match value {
        Attr::Int(i) => AttributeProto { i: *i, r#type: 2, ..empty },
        Attr::Ints(v) => AttributeProto { ints: v.to_vec(), r#type: 7, ..empty },
        Attr::Float(x) => AttributeProto { f: *x, r#type: 1, ..empty },
        Attr::Text(t) => AttributeProto { s: t.as_bytes().to_vec().into(), r#type: 3, ..empty },
        Attr::Graph(net) => AttributeProto { g: Some(net.graph.clone()), r#type: 5, ..empty },
    }
}
