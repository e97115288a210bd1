//! A model whose texts, attributes and tensors are read: the first stage after the bytes.
//!
//! Invariants: each tensor has as many elements as its dimensions say (`Tensor`), each attribute has a value of its
//! kind, graphs are nested at most as deeply as `scan` allows.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use indexmap::IndexMap;
use prost::Message as _;

use crate::elem::Elem;
use crate::proto::{AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, ValueInfoProto};
use crate::refuse::{Refusal, Res};
use crate::scan;
use crate::tensor::{External, Tensor};

/// The versions of operators by domain.
pub(crate) type Opsets = BTreeMap<String, i64>;

/// A model.
#[derive(Debug)]
pub(crate) struct Model {
    /// The tool that wrote it.
    pub(crate) producer: String,
    pub(crate) opsets: Opsets,
    pub(crate) graph: Graph,
    /// By domain and name.
    pub(crate) functions: BTreeMap<(String, String), Function>,
}

/// A graph.
#[derive(Debug)]
pub(crate) struct Graph {
    pub(crate) inputs: Vec<Info>,
    pub(crate) outputs: Vec<String>,
    pub(crate) initializers: IndexMap<String, Tensor>,
    pub(crate) nodes: Vec<Node>,
}

/// A function.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) inputs: Vec<String>,
    pub(crate) outputs: Vec<String>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) opsets: Opsets,
    /// The values of attributes that a call does not give.
    pub(crate) defaults: BTreeMap<String, Attr>,
}

/// An input of a graph.
#[derive(Debug)]
pub(crate) struct Info {
    pub(crate) name: String,
    /// `None` if the file does not say the type; an error for one that no tensor of the language has.
    pub(crate) elem: Option<Result<Elem, String>>,
    /// The dimensions, if their number is said.
    pub(crate) dims: Option<Vec<Dim>>,
}

/// A dimension of an input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Dim {
    /// A number.
    Size(usize),
    /// A name that stands for a number.
    Named(String),
    /// Nothing is known.
    Unknown,
}

/// A node.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) op: String,
    pub(crate) domain: String,
    pub(crate) name: String,
    /// Empty for an operand that is left out.
    pub(crate) inputs: Vec<String>,
    pub(crate) outputs: Vec<String>,
    pub(crate) attrs: BTreeMap<String, Attr>,
}

/// The value of an attribute.
#[derive(Clone, Debug)]
pub(crate) enum Attr {
    Float(f32),
    Int(i64),
    Text(String),
    Tensor(Tensor),
    Graph(Arc<Graph>),
    Floats(Vec<f32>),
    Ints(Vec<i64>),
    Texts(Vec<String>),
    /// In a function: that of the call.
    Of(String),
    /// Something that no operator that is imported has.
    Other,
}

impl Model {
    /// Decodes the bytes of a file.
    ///
    /// # Errors
    /// A file that is no model, or has parts that the format does not allow.
    pub(crate) fn decode(bytes: Bytes, external: &External<'_>) -> Res<Model> {
        let not = |why: String| {
            Refusal::malformed("this is no ONNX model, or it is damaged")
                .note(why)
                .help("a model is a file that `torch.onnx.export`, `tf2onnx` or another exporter has written")
        };
        scan::scan(&bytes).map_err(not)?;
        let proto = ModelProto::decode(bytes).map_err(|e| not(e.to_string()))?;
        let graph = proto.graph.as_ref().ok_or_else(|| not("it has no graph".into()))?;
        let mut functions = BTreeMap::new();
        for f in &proto.functions {
            functions.insert((domain(&f.domain), f.name.clone()), function(f, external)?);
        }
        let opsets = opsets(&proto.opset_import);
        let producer = [&proto.producer_name, &proto.producer_version];
        let producer = producer.into_iter().filter(|s| !s.is_empty()).cloned().collect::<Vec<_>>().join(" ");
        Ok(Model { producer, opsets, graph: self::graph(graph, external)?, functions })
    }
}

/// The name of a domain; the standard's own has two.
fn domain(name: &str) -> String {
    if name == "ai.onnx" { String::new() } else { name.to_owned() }
}

fn opsets(of: &[crate::proto::OperatorSetIdProto]) -> Opsets {
    of.iter().map(|o| (domain(&o.domain), o.version)).collect()
}

fn graph(proto: &GraphProto, external: &External<'_>) -> Res<Graph> {
    if let Some(sparse) = proto.sparse_initializer.first() {
        let name = sparse.values.as_ref().map_or("", |v| &v.name);
        return Err(Refusal::new(format!("tensor `{name}` is stored as a sparse one"))
            .help("write it as a dense tensor: `onnx.numpy_helper.from_array`"));
    }
    let mut initializers = IndexMap::new();
    for tensor in &proto.initializer {
        initializers.insert(tensor.name.clone(), Tensor::read(tensor, external)?);
    }
    let nodes: Res<Vec<Node>> = proto.node.iter().map(|n| node(n, external)).collect();
    let inputs = proto.input.iter().map(info).collect();
    let outputs = proto.output.iter().map(|o| o.name.clone()).collect();
    Ok(Graph { inputs, outputs, initializers, nodes: nodes? })
}

fn info(proto: &ValueInfoProto) -> Info {
    let tensor = proto.r#type.as_ref().map(|t| &t.tensor_type);
    let elem = tensor.map(|t| match t {
        Some(t) => Elem::of(t.elem_type),
        None => Err("sequences, maps or optional values".into()),
    });
    let shape = tensor.and_then(|t| t.as_ref()?.shape.as_ref());
    let dims = shape.map(|shape| {
        let dim = |d: &crate::proto::DimensionProto| match (d.dim_value, &d.dim_param) {
            // Some exporters write 0 or -1 for what they do not know.
            (Some(size), _) if size > 0 => usize::try_from(size).map_or(Dim::Unknown, Dim::Size),
            (_, Some(name)) if !name.is_empty() && name != "?" => Dim::Named(name.clone()),
            (Some(0), None) => Dim::Size(0),
            _ => Dim::Unknown,
        };
        shape.dim.iter().map(dim).collect()
    });
    Info { name: proto.name.clone(), elem, dims }
}

fn function(proto: &FunctionProto, external: &External<'_>) -> Res<Function> {
    let nodes: Res<Vec<Node>> = proto.node.iter().map(|n| node(n, external)).collect();
    let defaults: Res<Vec<_>> = proto.attribute_proto.iter().map(|a| attribute(a, external)).collect();
    Ok(Function {
        inputs: proto.input.clone(),
        outputs: proto.output.clone(),
        nodes: nodes?,
        opsets: opsets(&proto.opset_import),
        defaults: defaults?.into_iter().collect(),
    })
}

fn node(proto: &NodeProto, external: &External<'_>) -> Res<Node> {
    let attrs: Res<Vec<_>> = proto.attribute.iter().map(|a| attribute(a, external)).collect();
    Ok(Node {
        op: proto.op_type.clone(),
        domain: domain(&proto.domain),
        name: proto.name.clone(),
        inputs: proto.input.clone(),
        outputs: proto.output.clone(),
        attrs: attrs?.into_iter().collect(),
    })
}

fn attribute(proto: &AttributeProto, external: &External<'_>) -> Res<(String, Attr)> {
    let text = |bytes: &Bytes| String::from_utf8_lossy(bytes).into_owned();
    let lacking = || Refusal::malformed(format!("attribute `{}` has no value of its type", proto.name));
    let value = match proto.r#type {
        _ if !proto.ref_attr_name.is_empty() => Attr::Of(proto.ref_attr_name.clone()),
        1 => Attr::Float(proto.f),
        2 => Attr::Int(proto.i),
        3 => Attr::Text(text(&proto.s)),
        4 => Attr::Tensor(Tensor::read(proto.t.as_ref().ok_or_else(lacking)?, external)?),
        5 => Attr::Graph(Arc::new(graph(proto.g.as_ref().ok_or_else(lacking)?, external)?)),
        6 => Attr::Floats(proto.floats.clone()),
        7 => Attr::Ints(proto.ints.clone()),
        8 => Attr::Texts(proto.strings.iter().map(text).collect()),
        _ => Attr::Other,
    };
    Ok((proto.name.clone(), value))
}
