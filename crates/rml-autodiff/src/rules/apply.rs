//! Operators: the transposed derivative of each operator, applied to the gradient of its result.
//!
//! Forward operands are sampled by the result's condition, so that they are present together with its gradient.

use std::sync::Arc;

use rml_ir::normal::{Rhs, Var};
use rml_ir::op::{Binary, Op, Reduction, Unary};
use rml_ir::{Shape, Type};

use crate::build::Builder;

mod fourier;
mod layout;
mod linear;
mod matrices;
mod pointwise;
mod reduction;

/// One operand in one application of an operator.
pub(crate) struct Site<'a> {
    /// All operands.
    pub(crate) args: &'a [Var],
    /// The result.
    pub(crate) out: Var,
    /// The index of the operand.
    pub(crate) position: usize,
    /// The static arguments as written.
    pub(crate) statics: &'a [Arc<str>],
    /// The gradient of the result.
    pub(crate) d: Var,
    /// The condition under which that gradient is present.
    pub(crate) bp: Var,
}

/// Whether a gradient flows to the operand at `position`. A square counts as one use of its operand.
pub(crate) fn differentiable(op: &Op, args: &[Var], position: usize) -> bool {
    match op {
        Op::Unary(f) => function_has_slope(*f),
        Op::Binary(Binary::Mul) => position == 0 || args.first() != args.get(1),
        Op::Binary(_) | Op::Copy | Op::Clip | Op::Einsum(_) => true,
        Op::MatMul | Op::Conv(_) | Op::ConvTranspose { .. } | Op::ConvKernel { .. } => true,
        Op::Cholesky | Op::Solve | Op::Rfft | Op::Irfft { .. } => true,
        Op::MaxPool(_) | Op::AvgPool(_) | Op::Patches(_) | Op::Unpatches { .. } => true,
        Op::Transpose { .. } | Op::Reshape { .. } | Op::Broadcast { .. } | Op::SumTo { .. } => true,
        Op::Concat { .. } | Op::Stack { .. } | Op::Index { .. } | Op::Unindex { .. } => true,
        Op::Reduce(by, _) => match by {
            Reduction::Sum | Reduction::Mean | Reduction::Prod | Reduction::LogSumExp => true,
            Reduction::Max | Reduction::Min => true,
            Reduction::ArgMax | Reduction::ArgMin | Reduction::Any | Reduction::All => false,
        },
        Op::CumSum { .. } | Op::Softmax | Op::LogSoftmax | Op::Sort { .. } => true,
        Op::SortBy { .. } => position == 1,
        Op::Gather { .. } | Op::Pick => position == 0,
        Op::ScatterAdd { .. } => position == 1,
        Op::Where => position > 0,
        Op::StopGradient | Op::Not | Op::Convert(_) | Op::And | Op::Or | Op::Compare(_) => false,
        Op::ArgSort { .. } | Op::OneHot { .. } => false,
        Op::RandomUniform { .. } | Op::RandomNormal { .. } => false,
    }
}

/// Whether a gradient passes through a function of one number; it does not if the function is piecewise constant.
fn function_has_slope(f: Unary) -> bool {
    match f {
        Unary::Neg | Unary::Abs | Unary::Exp | Unary::Expm1 | Unary::Log | Unary::Log1p | Unary::Sqrt => true,
        Unary::Sin | Unary::Cos | Unary::Erf | Unary::Sigmoid | Unary::Tanh | Unary::Relu => true,
        Unary::Gelu | Unary::Softplus | Unary::Flush => true,
        Unary::Sign | Unary::Floor | Unary::Ceil | Unary::Round => false,
    }
}

/// The contribution to the gradient of the operand at the site; `None` if there is none.
pub(crate) fn pullback(b: &mut Builder, op: &Op, site: &Site<'_>) -> Option<Var> {
    let x = *site.args.get(site.position)?;
    let t = &mut Transposer { b, site, x };
    Some(match op {
        Op::Unary(f) => return t.elementary(*f),
        Op::Binary(f) => t.arithmetic(*f),
        Op::Clip | Op::Where => t.choice(op),
        Op::MatMul => t.matmul(),
        Op::Rfft => t.rfft(),
        Op::Irfft { n } => t.irfft(*n),
        Op::Cholesky => t.cholesky(),
        Op::Solve => t.solve(),
        Op::Einsum(labels) => t.einsum(labels),
        Op::Conv(_) | Op::ConvTranspose { .. } | Op::ConvKernel { .. } => t.convolution(op),
        Op::MaxPool(_) | Op::AvgPool(_) | Op::Patches(_) | Op::Unpatches { .. } => t.windows(op),
        Op::Copy | Op::Transpose { .. } | Op::Reshape { .. } | Op::Broadcast { .. } => t.layout(op),
        Op::SumTo { .. } | Op::Concat { .. } | Op::Stack { .. } | Op::Index { .. } => t.layout(op),
        Op::Unindex { .. } | Op::Gather { .. } | Op::ScatterAdd { .. } | Op::Pick => t.layout(op),
        Op::Reduce(by, axis) => return t.fold(*by, *axis),
        Op::CumSum { .. } | Op::Softmax | Op::LogSoftmax => t.along(op),
        Op::Sort { axis, descending } | Op::SortBy { axis, descending } => t.unsort(*axis, *descending),
        Op::StopGradient | Op::Not | Op::Convert(_) | Op::And | Op::Or | Op::Compare(_) => return None,
        Op::ArgSort { .. } | Op::OneHot { .. } => return None,
        Op::RandomUniform { .. } | Op::RandomNormal { .. } => return None,
    })
}

/// The builder at one site, with the equations that many rules need.
struct Transposer<'a, 'b> {
    b: &'a mut Builder,
    site: &'a Site<'b>,
    x: Var,
}

/// A dimension, and the text of a static expression for it.
#[derive(Clone)]
struct Dim {
    size: usize,
    text: Option<String>,
}

impl Dim {
    fn one() -> Self {
        Self { size: 1, text: Some("1".to_owned()) }
    }

    fn product(dims: &[Dim]) -> Self {
        Self { size: dims.iter().map(|d| d.size).product(), text: Self::joined(dims, " * ") }
    }

    fn sum(dims: &[Dim]) -> Self {
        Self { size: dims.iter().map(|d| d.size).sum(), text: Self::joined(dims, " + ") }
    }

    fn joined(dims: &[Dim], operator: &str) -> Option<String> {
        let texts: Option<Vec<&str>> = dims.iter().map(|d| d.text.as_deref()).collect();
        texts.map(|texts| texts.join(operator)).filter(|text| !text.is_empty())
    }
}

impl Transposer<'_, '_> {
    fn apply(&mut self, op: Op, args: &[Var]) -> Var {
        self.b.apply(op, args)
    }

    /// Applies an operator whose static argument is the shape of the operand.
    fn apply_shaped(&mut self, op: Op, d: Var) -> Var {
        let shape = match self.b.name(self.x) {
            Some(name) => Some(format!("shape({name})")),
            None => Dim::joined(&self.dims(self.x), ", ").map(|dims| format!("[{dims}]")),
        };
        let statics = shape.map(Arc::from);
        self.b.apply_written(op, &[d], statics.into_iter().collect())
    }

    fn literal(&mut self, x: f64) -> Var {
        self.b.constant(&Type::scalar(rml_ir::DType::Num), x)
    }

    fn x_when(&mut self) -> Var {
        self.b.sample(self.x, self.site.bp)
    }

    fn out_when(&mut self) -> Var {
        self.b.sample(self.site.out, self.site.bp)
    }

    fn arg_when(&mut self, i: usize) -> Var {
        self.b.sample(self.site.args[i], self.site.bp)
    }

    fn shape(&self, v: Var) -> Shape {
        self.b.ty(v).shape
    }

    /// Sums `d` over the axes that broadcasting repeated.
    fn sum_to_operand(&mut self, d: Var) -> Var {
        let shape = self.shape(self.x);
        if self.shape(d) == shape { d } else { self.apply_shaped(Op::SumTo { shape }, d) }
    }

    /// `v` in another shape; each dimension has the text of a static expression for it.
    fn reshape(&mut self, v: Var, dims: &[Dim]) -> Var {
        let shape: Shape = dims.iter().map(|d| d.size).collect();
        if self.shape(v) == shape {
            return v;
        }
        let texts: Option<Vec<&str>> = dims.iter().map(|d| d.text.as_deref()).collect();
        let statics = texts.map(|texts| Arc::from(format!("[{}]", texts.join(", "))));
        self.b.apply_written(Op::Reshape { shape }, &[v], statics.into_iter().collect())
    }

    /// The dimensions of a forward variable.
    fn dims(&self, v: Var) -> Vec<Dim> {
        let shape = self.shape(v);
        let text = |axis| self.dim_text(v, axis);
        shape.dims().iter().enumerate().map(|(axis, &size)| Dim { size, text: text(axis) }).collect()
    }

    /// The text of a static expression for a dimension of a forward variable. If the variable has no name, it refers to
    /// the operand from which the dimension comes.
    fn dim_text(&self, v: Var, axis: usize) -> Option<String> {
        if let Some(name) = self.b.name(v) {
            return Some(format!("shape({name})[{axis}]"));
        }
        let Rhs::Apply { op, args, .. } = self.b.rhs(v)? else { return None };
        let rank = |v: Var| self.shape(v).rank();
        match (op, args.as_slice()) {
            (Op::MatMul, &[_, b]) if rank(b) == 2 && axis + 1 == self.shape(v).rank() => self.dim_text(b, 1),
            (Op::MatMul, &[a, _]) if rank(a) == 2 && axis == 0 => self.dim_text(a, 0),
            (Op::Binary(Binary::Add | Binary::Sub | Binary::Mul | Binary::Div), &[a, b]) => {
                let from_end = self.shape(v).rank() - axis;
                let size = self.shape(v).dims()[axis];
                let here = |operand: &Var| {
                    let at = rank(*operand).checked_sub(from_end)?;
                    (self.shape(*operand).dims()[at] == size)
                        .then_some(at)
                        .and_then(|at| self.dim_text(*operand, at))
                };
                [a, b].iter().find_map(here)
            }
            (
                Op::Unary(
                    Unary::Neg
                    | Unary::Exp
                    | Unary::Log
                    | Unary::Sigmoid
                    | Unary::Tanh
                    | Unary::Relu
                    | Unary::Flush,
                ),
                &[a],
            ) => self.dim_text(a, axis),
            _ => None,
        }
    }

    /// Repeats `d` along `axis` of the operand (or all axes), which `d` lacks.
    fn spread(&mut self, axis: Option<usize>, d: Var) -> Var {
        let kept = self.keep(axis, d);
        let shape = self.shape(self.x);
        if self.shape(kept) == shape { kept } else { self.apply_shaped(Op::Broadcast { shape }, kept) }
    }

    /// Inserts `axis` of the operand into `v` with length 1, so that `v` broadcasts against the operand.
    fn keep(&mut self, axis: Option<usize>, v: Var) -> Var {
        let Some(axis) = axis else { return v };
        let mut dims = self.dims(self.x);
        if let Some(d) = dims.get_mut(axis) {
            *d = Dim::one();
        }
        // A leading axis of length 1 can be omitted, because broadcasting adds it.
        if axis == 0 { v } else { self.reshape(v, &dims) }
    }

    fn last_sum(&mut self, v: Var) -> Var {
        let axis = self.shape(self.x).rank().checked_sub(1);
        let sum = self.apply(Op::Reduce(Reduction::Sum, axis), &[v]);
        self.keep(axis, sum)
    }
}
