//! The values of a window as a graph: what is computed once, and the bodies of loops.

use std::collections::BTreeMap;

use rml_base::{IndexVec, Span, entity_id};
use rml_ir::op::{AxisIndex, Op, result_type};
use rml_ir::{Precision, Shape, Type, Value};

entity_id!(
    /// A value.
    Node,
    "v"
);

/// Where a value comes from.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// An input of the routine.
    Input,
    /// A constant.
    Const(Value),
    /// An operator.
    Apply { op: Op, args: Vec<Node> },
    /// In the body of a loop: the element of a tensor, so far from the row of the pass.
    Row { of: Node, offset: usize },
    /// In the body of a loop: what is carried.
    Carried(usize),
    /// Behind a loop: what it carried, in the end.
    Final(usize),
    /// Behind a loop: a value of its body, a row for each pass.
    Kept(Node),
}

/// A value.
#[derive(Clone, Debug)]
pub(crate) struct Def {
    pub(crate) kind: Kind,
    pub(crate) ty: Type,
    pub(crate) span: Span,
    /// The loop in whose body it stands; behind loops, the loop that makes it.
    pub(crate) body: Option<usize>,
    /// How many loops stand before it.
    pub(crate) behind: usize,
}

/// A loop around some values.
#[derive(Clone, Debug)]
pub(crate) struct Loop {
    pub(crate) count: usize,
    pub(crate) backward: bool,
    pub(crate) carried: Vec<Carried>,
}

/// A value that a loop carries from pass to pass.
#[derive(Clone, Debug)]
pub(crate) struct Carried {
    pub(crate) inside: Node,
    pub(crate) start: Node,
    pub(crate) next: Node,
}

/// All values, in an order in which they can be computed. Equal ones are one.
#[derive(Debug)]
pub(crate) struct Graph {
    pub(crate) precision: Precision,
    pub(crate) defs: IndexVec<Node, Def>,
    pub(crate) loops: Vec<Loop>,
    /// The loop whose body is open.
    open: Option<usize>,
    known: BTreeMap<(Op, Vec<Node>), Node>,
    rows: BTreeMap<(Node, usize), Node>,
}

impl Graph {
    pub(crate) fn new(precision: Precision) -> Self {
        let (defs, loops, known, rows) = (IndexVec::new(), Vec::new(), BTreeMap::new(), BTreeMap::new());
        Self { precision, defs, loops, open: None, known, rows }
    }

    pub(crate) fn ty(&self, node: Node) -> &Type {
        &self.defs[node].ty
    }

    /// Whether a value may have none.
    pub(crate) fn may_fail(&self, node: Node) -> bool {
        match &self.defs[node].kind {
            Kind::Apply { op, args } => op.may_fail(args.iter().map(|arg| self.ty(*arg).dtype)),
            _ => false,
        }
    }

    /// All values that may have none.
    pub(crate) fn failing(&self) -> Vec<Node> {
        self.defs.ids().filter(|node| self.may_fail(*node)).collect()
    }

    pub(crate) fn dims(&self, node: Node) -> &[usize] {
        self.defs[node].ty.shape.dims()
    }

    fn push(&mut self, kind: Kind, ty: Type, span: Span, body: Option<usize>) -> Node {
        let behind = self.loops.len() - usize::from(self.open.is_some());
        self.defs.push(Def { kind, ty, span, body, behind })
    }

    pub(crate) fn input(&mut self, ty: Type) -> Node {
        self.push(Kind::Input, ty, rml_backend::Function::nowhere(), None)
    }

    pub(crate) fn constant(&mut self, value: &Value) -> Node {
        let value = value.to_precision(self.precision);
        self.push(Kind::Const(value.clone()), value.ty(), rml_backend::Function::nowhere(), None)
    }

    pub(crate) fn truth(&mut self, truth: bool) -> Node {
        self.constant(&Value::Bool(truth))
    }

    pub(crate) fn zeros(&mut self, ty: &Type) -> Node {
        let value = Value::zeros(ty, self.precision);
        self.constant(&value)
    }

    /// Applies an operator; in the open body, if an operand is there, else before the loop. The operands fit it (P2).
    pub(crate) fn apply(&mut self, op: Op, args: &[Node], span: Span) -> Node {
        let types: Vec<Type> = args.iter().map(|a| self.ty(*a).clone()).collect();
        if let Some(same) = unchanged(&op, &types) {
            return args[same];
        }
        let key = (op, args.to_vec());
        if let Some(node) = self.known.get(&key) {
            return *node;
        }
        let (op, args) = key;
        let ty = match result_type(&op, &types) {
            Ok(ty) => ty,
            Err(why) => {
                unreachable!("operands of a plan have the types that its operators ask for: {op}: {why}")
            }
        };
        let inside = |a: &Node| {
            let def = &self.defs[*a];
            def.body.filter(|_| !matches!(def.kind, Kind::Final(_) | Kind::Kept(_)))
        };
        let body = args.iter().find_map(inside);
        let node = self.push(Kind::Apply { op: op.clone(), args: args.clone() }, ty, span, body);
        self.known.insert((op, args), node);
        node
    }

    /// Whether it stands in the body of a loop.
    pub(crate) fn is_inside(&self, node: Node) -> bool {
        let def = &self.defs[node];
        def.body.is_some() && !matches!(def.kind, Kind::Final(_) | Kind::Kept(_))
    }

    pub(crate) fn reshape(&mut self, x: Node, dims: &[usize], span: Span) -> Node {
        self.apply(Op::Reshape { shape: Shape::new(dims) }, &[x], span)
    }

    /// The elements `from..to` of the first axis.
    pub(crate) fn slice(&mut self, x: Node, from: usize, to: usize) -> Node {
        let rest: Vec<usize> = self.dims(x)[1..].to_vec();
        let items = std::iter::once(AxisIndex::Slice { start: from, len: to - from, step: 1 });
        let items = items.chain(rest.into_iter().map(AxisIndex::whole)).collect();
        self.apply(Op::Index { items }, &[x], rml_backend::Function::nowhere())
    }

    /// The element `i` of the first axis.
    pub(crate) fn element(&mut self, x: Node, i: usize) -> Node {
        let rest: Vec<usize> = self.dims(x)[1..].to_vec();
        let items = std::iter::once(AxisIndex::At(i)).chain(rest.into_iter().map(AxisIndex::whole)).collect();
        self.apply(Op::Index { items }, &[x], rml_backend::Function::nowhere())
    }

    /// The value whose transpose by that permutation a value is.
    pub(crate) fn transposed(&self, x: Node, by: &[usize]) -> Option<Node> {
        match &self.defs[x].kind {
            Kind::Apply { op: Op::Transpose { perm }, args } if perm == by => Some(args[0]),
            _ => None,
        }
    }

    /// `n` times the same value along a new first axis.
    pub(crate) fn repeat(&mut self, x: Node, n: usize) -> Node {
        let shape = rml_backend::routine::stacked(self.ty(x), n).shape;
        self.apply(Op::Broadcast { shape }, &[x], rml_backend::Function::nowhere())
    }

    /// Opens the body of a loop.
    pub(crate) fn open(&mut self, count: usize, backward: bool) {
        self.loops.push(Loop { count, backward, carried: Vec::new() });
        self.open = Some(self.loops.len() - 1);
    }

    /// The row of a tensor in the open body.
    pub(crate) fn row(&mut self, of: Node, offset: usize) -> Node {
        if let Some(row) = self.rows.get(&(of, offset)) {
            return *row;
        }
        let ty = self.ty(of);
        let ty = Type::new(ty.dtype, &ty.shape.dims()[1..]);
        let row = self.push(Kind::Row { of, offset }, ty, rml_backend::Function::nowhere(), self.open);
        self.rows.insert((of, offset), row);
        row
    }

    /// A value that the open body carries; what it is next is said later.
    pub(crate) fn carry(&mut self, start: Node) -> Node {
        let at = self.loops.last().map_or(0, |l| l.carried.len());
        let ty = self.ty(start).clone();
        let inside = self.push(Kind::Carried(at), ty, rml_backend::Function::nowhere(), self.open);
        if let Some(l) = self.loops.last_mut() {
            l.carried.push(Carried { inside, start, next: inside });
        }
        inside
    }

    /// The value that a carried value of the open body starts with.
    pub(crate) fn start_of(&self, inside: Node) -> Option<Node> {
        self.loops.last()?.carried.iter().find(|c| c.inside == inside).map(|c| c.start)
    }

    /// Sets the next value of a carried value of the open body.
    pub(crate) fn set_next(&mut self, inside: Node, next: Node) {
        let carried = self.loops.last_mut().and_then(|l| l.carried.iter_mut().find(|c| c.inside == inside));
        if let Some(carried) = carried {
            carried.next = next;
        }
    }

    /// Closes the body.
    pub(crate) fn close(&mut self) {
        self.open = None;
        self.rows.clear();
    }

    /// A carried value at the end of the last loop, which is closed.
    pub(crate) fn last_of(&mut self, inside: Node) -> Node {
        let Kind::Carried(at) = self.defs[inside].kind else { return inside };
        let ty = self.ty(inside).clone();
        self.push(Kind::Final(at), ty, rml_backend::Function::nowhere(), self.loops.len().checked_sub(1))
    }

    /// The rows of a value of the body of the last loop, which is closed.
    pub(crate) fn keep(&mut self, node: Node) -> Node {
        let count = self.loops.last().map_or(1, |l| l.count);
        let ty = rml_backend::routine::stacked(self.ty(node), count);
        self.push(Kind::Kept(node), ty, rml_backend::Function::nowhere(), self.loops.len().checked_sub(1))
    }
}

/// The operand that an operator gives back as it is.
fn unchanged(op: &Op, args: &[Type]) -> Option<usize> {
    let whole = |items: &[AxisIndex], ty: &Type| {
        items.iter().zip(ty.shape.dims()).all(|(item, n)| *item == AxisIndex::whole(*n))
    };
    let same = match op {
        Op::Copy | Op::StopGradient => true,
        Op::Reshape { shape } | Op::Broadcast { shape } | Op::SumTo { shape } => args[0].shape == *shape,
        Op::Index { items } => whole(items, &args[0]),
        Op::Transpose { perm } => perm.iter().copied().eq(0..perm.len()),
        Op::Concat { .. } => args.len() == 1,
        _ => false,
    };
    same.then_some(0)
}
