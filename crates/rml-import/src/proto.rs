//! The messages of the format that an import reads, by their numbers in `onnx.proto`. Fields that say nothing about
//! what a model computes are left out; the decoder skips them.

use bytes::Bytes;

/// A model: its graph, the versions of its operators, its functions.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ModelProto {
    /// The version of the format.
    #[prost(int64, tag = "1")]
    pub ir_version: i64,
    /// The tool that wrote it.
    #[prost(string, tag = "2")]
    pub producer_name: String,
    /// Which version of it.
    #[prost(string, tag = "3")]
    pub producer_version: String,
    /// What is computed.
    #[prost(message, optional, tag = "7")]
    pub graph: Option<GraphProto>,
    /// Which version of each domain's operators.
    #[prost(message, repeated, tag = "8")]
    pub opset_import: Vec<OperatorSetIdProto>,
    /// Functions that nodes call.
    #[prost(message, repeated, tag = "25")]
    pub functions: Vec<FunctionProto>,
}

/// The version of a domain's operators.
#[derive(Clone, PartialEq, prost::Message)]
pub struct OperatorSetIdProto {
    /// The domain; empty for the standard's own.
    #[prost(string, tag = "1")]
    pub domain: String,
    /// The version.
    #[prost(int64, tag = "2")]
    pub version: i64,
}

/// A graph of nodes.
#[derive(Clone, PartialEq, prost::Message)]
pub struct GraphProto {
    /// In an order in which each value is defined before it is used.
    #[prost(message, repeated, tag = "1")]
    pub node: Vec<NodeProto>,
    /// Its name.
    #[prost(string, tag = "2")]
    pub name: String,
    /// Constants.
    #[prost(message, repeated, tag = "5")]
    pub initializer: Vec<TensorProto>,
    /// What is given; an input that is also an initializer may be left out.
    #[prost(message, repeated, tag = "11")]
    pub input: Vec<ValueInfoProto>,
    /// What is computed.
    #[prost(message, repeated, tag = "12")]
    pub output: Vec<ValueInfoProto>,
    /// Constants of which most elements are zero.
    #[prost(message, repeated, tag = "15")]
    pub sparse_initializer: Vec<SparseTensorProto>,
}

/// A tensor of which only some elements are given.
#[derive(Clone, PartialEq, prost::Message)]
pub struct SparseTensorProto {
    /// The elements that are given; its name is that of the tensor.
    #[prost(message, optional, tag = "1")]
    pub values: Option<TensorProto>,
}

/// A node of a graph.
#[derive(Clone, PartialEq, prost::Message)]
pub struct NodeProto {
    /// The names of its operands; empty for one that is left out.
    #[prost(string, repeated, tag = "1")]
    pub input: Vec<String>,
    /// The names of its results; empty for one that nothing reads.
    #[prost(string, repeated, tag = "2")]
    pub output: Vec<String>,
    /// Its own name, which may be empty.
    #[prost(string, tag = "3")]
    pub name: String,
    /// The operator.
    #[prost(string, tag = "4")]
    pub op_type: String,
    /// Its attributes.
    #[prost(message, repeated, tag = "5")]
    pub attribute: Vec<AttributeProto>,
    /// The operator's domain.
    #[prost(string, tag = "7")]
    pub domain: String,
    /// Which of several functions of one name.
    #[prost(string, tag = "8")]
    pub overload: String,
}

/// An attribute of a node.
#[derive(Clone, PartialEq, prost::Message)]
pub struct AttributeProto {
    /// Its name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// A number.
    #[prost(float, tag = "2")]
    pub f: f32,
    /// An integer.
    #[prost(int64, tag = "3")]
    pub i: i64,
    /// A text.
    #[prost(bytes = "bytes", tag = "4")]
    pub s: Bytes,
    /// A tensor.
    #[prost(message, optional, tag = "5")]
    pub t: Option<TensorProto>,
    /// A graph.
    #[prost(message, optional, tag = "6")]
    pub g: Option<GraphProto>,
    /// Numbers.
    #[prost(float, repeated, tag = "7")]
    pub floats: Vec<f32>,
    /// Integers.
    #[prost(int64, repeated, tag = "8")]
    pub ints: Vec<i64>,
    /// Texts.
    #[prost(bytes = "bytes", repeated, tag = "9")]
    pub strings: Vec<Bytes>,
    /// Which of these it has.
    #[prost(int32, tag = "20")]
    pub r#type: i32,
    /// In a function: the name of the attribute of the call that gives its value.
    #[prost(string, tag = "21")]
    pub ref_attr_name: String,
}

/// A tensor with its elements.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TensorProto {
    /// Its dimensions.
    #[prost(int64, repeated, tag = "1")]
    pub dims: Vec<i64>,
    /// The type of its elements.
    #[prost(int32, tag = "2")]
    pub data_type: i32,
    /// Elements in single precision.
    #[prost(float, repeated, tag = "4")]
    pub float_data: Vec<f32>,
    /// Elements of at most 32 bits, and the bits of those in half precision.
    #[prost(int32, repeated, tag = "5")]
    pub int32_data: Vec<i32>,
    /// Elements of 64 bits.
    #[prost(int64, repeated, tag = "7")]
    pub int64_data: Vec<i64>,
    /// Its name.
    #[prost(string, tag = "8")]
    pub name: String,
    /// Elements of any type, little-endian.
    #[prost(bytes = "bytes", tag = "9")]
    pub raw_data: Bytes,
    /// Elements in double precision.
    #[prost(double, repeated, tag = "10")]
    pub double_data: Vec<f64>,
    /// Unsigned elements of 32 and 64 bits.
    #[prost(uint64, repeated, tag = "11")]
    pub uint64_data: Vec<u64>,
    /// Where its elements are, if they are in another file.
    #[prost(message, repeated, tag = "13")]
    pub external_data: Vec<StringStringEntryProto>,
    /// 1 if they are in another file.
    #[prost(int32, tag = "14")]
    pub data_location: i32,
}

/// A key and its value.
#[derive(Clone, PartialEq, prost::Message)]
pub struct StringStringEntryProto {
    /// The key.
    #[prost(string, tag = "1")]
    pub key: String,
    /// The value.
    #[prost(string, tag = "2")]
    pub value: String,
}

/// The name and type of an input or output.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ValueInfoProto {
    /// Its name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Its type.
    #[prost(message, optional, tag = "2")]
    pub r#type: Option<TypeProto>,
}

/// A type; only tensors have a [`TensorTypeProto`].
#[derive(Clone, PartialEq, prost::Message)]
pub struct TypeProto {
    /// That of a tensor.
    #[prost(message, optional, tag = "1")]
    pub tensor_type: Option<TensorTypeProto>,
}

/// The type of a tensor.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TensorTypeProto {
    /// The type of its elements.
    #[prost(int32, tag = "1")]
    pub elem_type: i32,
    /// Its dimensions, if their number is known.
    #[prost(message, optional, tag = "2")]
    pub shape: Option<TensorShapeProto>,
}

/// The dimensions of a tensor.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TensorShapeProto {
    /// One for each axis.
    #[prost(message, repeated, tag = "1")]
    pub dim: Vec<DimensionProto>,
}

/// A dimension: a number, a name, or nothing.
#[derive(Clone, PartialEq, prost::Message)]
pub struct DimensionProto {
    /// Its size, if it is a number.
    #[prost(int64, optional, tag = "1")]
    pub dim_value: Option<i64>,
    /// Its name, if it has one.
    #[prost(string, optional, tag = "2")]
    pub dim_param: Option<String>,
}

/// A function: an operator that is defined by a graph.
#[derive(Clone, PartialEq, prost::Message)]
pub struct FunctionProto {
    /// Its name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// The names of its operands.
    #[prost(string, repeated, tag = "4")]
    pub input: Vec<String>,
    /// The names of its results.
    #[prost(string, repeated, tag = "5")]
    pub output: Vec<String>,
    /// What it computes.
    #[prost(message, repeated, tag = "7")]
    pub node: Vec<NodeProto>,
    /// Which version of each domain's operators it uses.
    #[prost(message, repeated, tag = "9")]
    pub opset_import: Vec<OperatorSetIdProto>,
    /// Its domain.
    #[prost(string, tag = "10")]
    pub domain: String,
    /// Attributes with the values that they have if a call gives no others.
    #[prost(message, repeated, tag = "11")]
    pub attribute_proto: Vec<AttributeProto>,
    /// Which of several functions of one name.
    #[prost(string, tag = "13")]
    pub overload: String,
}
