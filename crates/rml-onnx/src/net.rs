//! Nodes of a graph, appended one by one, and their constants.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use rml_ir::{DType, Data, Precision, Shape, Type, Value};

use crate::message::Message;

/// An element type.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Elem {
    Bool,
    I32,
    I64,
    F32,
    F64,
}

impl Elem {
    /// The element type of numbers.
    pub(crate) fn num(precision: Precision) -> Self {
        match precision {
            Precision::F32 => Elem::F32,
            Precision::F64 => Elem::F64,
        }
    }

    /// The element type of a type in a program.
    pub(crate) fn of(dtype: DType, precision: Precision) -> Self {
        match dtype {
            DType::Bool => Elem::Bool,
            DType::Int => Elem::I64,
            DType::Num => Self::num(precision),
        }
    }

    pub(crate) fn is_float(self) -> bool {
        matches!(self, Elem::F32 | Elem::F64)
    }

    /// The number of the type in `TensorProto.DataType`.
    pub(crate) fn code(self) -> i64 {
        match self {
            Elem::F32 => 1,
            Elem::I32 => 6,
            Elem::I64 => 7,
            Elem::Bool => 9,
            Elem::F64 => 11,
        }
    }

    /// The bytes of `x`, rounded to it.
    #[allow(clippy::cast_possible_truncation, reason = "rounding to the element type is meant")]
    fn bytes(self, x: f64) -> Vec<u8> {
        match self {
            Elem::Bool => vec![u8::from(x != 0.0)],
            Elem::I32 => (x as i32).to_le_bytes().to_vec(),
            Elem::I64 => (x as i64).to_le_bytes().to_vec(),
            Elem::F32 => (x as f32).to_le_bytes().to_vec(),
            Elem::F64 => x.to_le_bytes().to_vec(),
        }
    }
}

/// A value of the graph.
#[derive(Clone, Debug)]
pub(crate) struct V {
    pub(crate) name: Rc<str>,
    pub(crate) elem: Elem,
    pub(crate) dims: Vec<usize>,
}

impl V {
    /// Whether it has no elements.
    pub(crate) fn is_empty(&self) -> bool {
        self.dims.contains(&0)
    }

    pub(crate) fn len(&self) -> usize {
        self.dims.iter().product()
    }

    /// The name, type and shape of the tensor, as a `ValueInfoProto`.
    pub(crate) fn info(&self, doc: &str) -> Message {
        let dims: Vec<Message> = self.dims.iter().map(|d| Message::default().int(1, signed(*d))).collect();
        let shape = Message::default().messages(1, &dims);
        let tensor = Message::default().int(1, self.elem.code()).message(2, &shape);
        let info = Message::default().text(1, &self.name).message(2, &Message::default().message(1, &tensor));
        if doc.is_empty() { info } else { info.text(3, doc) }
    }
}

pub(crate) fn signed(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// An attribute of a node.
pub(crate) enum Attr<'a> {
    Int(&'a str, i64),
    Ints(&'a str, Vec<i64>),
    Text(&'a str, &'a str),
    Graph(&'a str, Message),
}

impl Attr<'_> {
    fn message(&self) -> Message {
        let named = |name: &str, kind: i64| Message::default().text(1, name).int(20, kind);
        match self {
            Attr::Int(name, x) => named(name, 2).int(3, *x),
            Attr::Text(name, x) => named(name, 3).text(4, x),
            Attr::Graph(name, x) => named(name, 5).message(6, x),
            Attr::Ints(name, all) => all.iter().fold(named(name, 7), |m, x| m.int(8, *x)),
        }
    }
}

/// The nodes of the graph that is being written, and the constants of all graphs.
#[derive(Debug, Default)]
pub(crate) struct Net {
    nodes: Vec<Message>,
    /// The names of the results of these nodes.
    made: BTreeSet<Rc<str>>,
    constants: Vec<(Rc<str>, Message)>,
    /// The names that some node reads.
    read: BTreeSet<Rc<str>>,
    known: BTreeMap<(Elem, Vec<usize>, Vec<u8>), Rc<str>>,
    next: usize,
}

impl Net {
    /// A new value that is not the result of a node.
    pub(crate) fn fresh(&mut self, elem: Elem, dims: &[usize]) -> V {
        self.next += 1;
        // Names of programs do not contain this character.
        V { name: format!("%{}", self.next).into(), elem, dims: dims.to_vec() }
    }

    /// Appends a node with one result.
    pub(crate) fn node(
        &mut self,
        op: &str,
        args: &[&V],
        attrs: &[Attr<'_>],
        elem: Elem,
        dims: &[usize],
    ) -> V {
        let args: Vec<Option<&V>> = args.iter().map(|a| Some(*a)).collect();
        let result = self.fresh(elem, dims);
        self.push(op, &args, attrs, std::slice::from_ref(&result));
        result
    }

    /// Appends a node; operands may be missing.
    pub(crate) fn push(&mut self, op: &str, args: &[Option<&V>], attrs: &[Attr<'_>], results: &[V]) {
        let node = args.iter().fold(Message::default(), |m, a| m.text(1, a.map_or("", |a| &a.name)));
        let node = results.iter().fold(node, |m, r| m.text(2, &r.name)).text(4, op);
        let attrs: Vec<Message> = attrs.iter().map(Attr::message).collect();
        self.nodes.push(node.messages(5, &attrs));
        self.read.extend(args.iter().flatten().map(|a| Rc::clone(&a.name)));
        self.made.extend(results.iter().map(|r| Rc::clone(&r.name)));
    }

    /// A node whose result has the type of its operand.
    pub(crate) fn map(&mut self, op: &str, x: &V) -> V {
        self.node(op, &[x], &[], x.elem, &x.dims)
    }

    /// A node with two operands that broadcast, and with the element type of the operands.
    pub(crate) fn zip(&mut self, op: &str, a: &V, b: &V) -> V {
        let dims = broadcast(&a.dims, &b.dims);
        self.node(op, &[a, b], &[], a.elem, &dims)
    }

    /// A comparison of two operands that broadcast.
    pub(crate) fn compare(&mut self, op: &str, a: &V, b: &V) -> V {
        let dims = broadcast(&a.dims, &b.dims);
        self.node(op, &[a, b], &[], Elem::Bool, &dims)
    }

    /// A predicate of one operand.
    pub(crate) fn compare_one(&mut self, op: &str, x: &V) -> V {
        self.node(op, &[x], &[], Elem::Bool, &x.dims)
    }

    /// For each element, `a` where the condition is true, else `b`.
    pub(crate) fn select(&mut self, cond: &V, a: &V, b: &V) -> V {
        if a.elem == Elem::Bool {
            // ONNX Runtime has no selection of truth values.
            let (is, not) = (self.zip("And", cond, a), self.map("Not", cond));
            let other = self.zip("And", &not, b);
            return self.zip("Or", &is, &other);
        }
        let dims = broadcast(&cond.dims, &broadcast(&a.dims, &b.dims));
        self.node("Where", &[cond, a, b], &[], a.elem, &dims)
    }

    pub(crate) fn cast(&mut self, x: &V, elem: Elem) -> V {
        if x.elem == elem {
            x.clone()
        } else {
            self.node("Cast", &[x], &[Attr::Int("to", elem.code())], elem, &x.dims)
        }
    }

    pub(crate) fn reshape(&mut self, x: &V, dims: &[usize]) -> V {
        if x.dims == dims {
            return x.clone();
        }
        let shape = self.ints(dims.iter().map(|d| signed(*d)));
        self.node("Reshape", &[x, &shape], &[], x.elem, dims)
    }

    pub(crate) fn expand(&mut self, x: &V, dims: &[usize]) -> V {
        if x.dims == dims {
            return x.clone();
        }
        let shape = self.ints(dims.iter().map(|d| signed(*d)));
        self.node("Expand", &[x, &shape], &[], x.elem, dims)
    }

    pub(crate) fn transpose(&mut self, x: &V, perm: &[usize]) -> V {
        if perm.iter().copied().eq(0..perm.len()) {
            return x.clone();
        }
        let dims: Vec<usize> = perm.iter().map(|i| x.dims[*i]).collect();
        let perm = Attr::Ints("perm", perm.iter().map(|i| signed(*i)).collect());
        self.node("Transpose", &[x], &[perm], x.elem, &dims)
    }

    /// A reduction over axes, which are dropped or become 1.
    pub(crate) fn reduce(&mut self, op: &str, x: &V, axes: &[usize], keep: bool) -> V {
        let kept = |i: usize| if axes.contains(&i) { keep.then_some(1) } else { Some(x.dims[i]) };
        let dims: Vec<usize> = (0..x.dims.len()).filter_map(kept).collect();
        if axes.is_empty() {
            return x.clone();
        }
        let axes = self.ints(axes.iter().map(|a| signed(*a)));
        self.node(op, &[x, &axes], &[Attr::Int("keepdims", i64::from(keep))], x.elem, &dims)
    }

    /// A vector of integers.
    pub(crate) fn ints(&mut self, all: impl IntoIterator<Item = i64>) -> V {
        let all: Vec<i64> = all.into_iter().collect();
        let n = all.len();
        self.constant(Elem::I64, &[n], all.iter().flat_map(|x| x.to_le_bytes()).collect())
    }

    /// One integer.
    pub(crate) fn int(&mut self, x: i64) -> V {
        self.constant(Elem::I64, &[], x.to_le_bytes().to_vec())
    }

    /// One element.
    pub(crate) fn scalar(&mut self, x: f64, elem: Elem) -> V {
        self.constant(elem, &[], elem.bytes(x))
    }

    /// A tensor with the same element everywhere.
    pub(crate) fn splat(&mut self, x: f64, elem: Elem, dims: &[usize]) -> V {
        if dims.contains(&0) {
            return self.constant(elem, dims, Vec::new());
        }
        let one = self.scalar(x, elem);
        self.expand(&one, dims)
    }

    /// A value of a program.
    pub(crate) fn value(&mut self, value: &Value) -> V {
        let (elem, bytes) = raw(value);
        let size = bytes.len() / value.shape().len().max(1);
        if value.shape().len() > 1 && bytes.chunks(size).all(|c| c == &bytes[..size]) {
            let one = self.constant(elem, &[], bytes[..size].to_vec());
            return self.expand(&one, value.shape().dims());
        }
        self.constant(elem, value.shape().dims(), bytes)
    }

    fn constant(&mut self, elem: Elem, dims: &[usize], bytes: Vec<u8>) -> V {
        let key = (elem, dims.to_vec(), bytes);
        if let Some(name) = self.known.get(&key) {
            return V { name: Rc::clone(name), elem, dims: dims.to_vec() };
        }
        let v = self.fresh(elem, dims);
        self.constants.push((Rc::clone(&v.name), tensor(&v, &key.2)));
        self.known.insert(key, Rc::clone(&v.name));
        v
    }

    /// A value that is a result of the nodes so far and none of `others`; otherwise a copy.
    pub(crate) fn own(&mut self, x: &V, others: &[V]) -> V {
        let is_free = self.made.contains(&x.name) && others.iter().all(|o| o.name != x.name);
        if is_free { x.clone() } else { self.map("Identity", x) }
    }

    /// Writes another graph, which may read all values so far.
    pub(crate) fn inside<T>(&mut self, write: impl FnOnce(&mut Self) -> T) -> (Vec<Message>, T) {
        let outside = (std::mem::take(&mut self.nodes), std::mem::take(&mut self.made));
        let result = write(self);
        let nodes = std::mem::replace(&mut self.nodes, outside.0);
        self.made = outside.1;
        (nodes, result)
    }

    /// The nodes, and the constants that they read.
    pub(crate) fn finish(self) -> (Vec<Message>, Vec<Message>) {
        let read = self.constants.into_iter().filter(|(name, _)| self.read.contains(name));
        (self.nodes, read.map(|(_, constant)| constant).collect())
    }
}

/// A `TensorProto` with the name of a value.
pub(crate) fn tensor(v: &V, bytes: &[u8]) -> Message {
    let tensor = v.dims.iter().fold(Message::default(), |m, d| m.int(1, signed(*d)));
    tensor.int(2, v.elem.code()).text(8, &v.name).bytes(9, bytes)
}

/// The elements of a value, and their type.
pub(crate) fn raw(value: &Value) -> (Elem, Vec<u8>) {
    match value.to_data() {
        Data::Bool(v) => (Elem::Bool, v.iter().map(|x| u8::from(*x)).collect()),
        Data::Int(v) => (Elem::I64, v.iter().flat_map(|x| x.to_le_bytes()).collect()),
        Data::F32(v) => (Elem::F32, v.iter().flat_map(|x| x.to_le_bytes()).collect()),
        Data::F64(v) => (Elem::F64, v.iter().flat_map(|x| x.to_le_bytes()).collect()),
    }
}

/// The shape of two operands that broadcast by NumPy's rule.
pub(crate) fn broadcast(a: &[usize], b: &[usize]) -> Vec<usize> {
    let shape = Shape::new(a).broadcast(&Shape::new(b));
    shape.map_or_else(|| a.to_vec(), |shape| shape.dims().to_vec())
}

/// The element type and the dimensions of a type in a program.
pub(crate) fn of(ty: &Type, precision: Precision) -> (Elem, &[usize]) {
    (Elem::of(ty.dtype, precision), ty.shape.dims())
}
