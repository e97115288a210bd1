//! Instances of every operator: the samples of the operator table, and larger and more unusual ones. The match in
//! [`shapes`] is exhaustive: a new operator compiles only after instances were added for it.

use rml_ir::op::{AxisIndex, Conv, ConvAxis, Einsum, Op, Pool, PoolAxis, result_type, samples};
use rml_ir::{DType, Shape, Type};

use super::einsums;

/// An operator and the types of its operands.
pub(super) type Instance = (Op, Vec<Type>);

/// The names of all operators, in the order of the table.
pub(super) fn names() -> Vec<&'static str> {
    let mut names = Vec::new();
    for (op, _) in samples() {
        if !names.contains(&op.name()) {
            names.push(op.name());
        }
    }
    names
}

/// The samples of an operator.
pub(super) fn small(name: &str) -> Vec<Instance> {
    samples().into_iter().filter(|(op, _)| op.name() == name).collect()
}

/// The samples and further instances of an operator, each for all element types that the operator accepts.
pub(super) fn all(name: &str) -> Vec<Instance> {
    let samples = small(name);
    let mut found: Vec<Instance> = Vec::new();
    let larger = samples.first().map(|(op, _)| shapes(op)).unwrap_or_default();
    let sampled = samples.into_iter().map(|(op, types)| (op, types.into_iter().map(|t| t.shape).collect()));
    for (op, shapes) in sampled.chain(larger) {
        let before = found.len();
        for types in typed(&shapes) {
            let instance = (op.clone(), types);
            if result_type(&instance.0, &instance.1).is_ok() && !found.contains(&instance) {
                found.push(instance);
            }
        }
        let known = found.iter().any(|(o, types)| *o == op && types.iter().map(|t| &t.shape).eq(&shapes));
        assert!(found.len() > before || known, "`{op}` takes no operands of shapes {shapes:?}");
    }
    found
}

/// The types of operands of the given shapes: all combinations of element types, or one common type if there are many
/// operands.
fn typed(shapes: &[Shape]) -> Vec<Vec<Type>> {
    const ALL: [DType; 3] = [DType::Bool, DType::Int, DType::Num];
    let uniform = |dtype| shapes.iter().map(|s| Type { dtype, shape: s.clone() }).collect();
    if shapes.len() > 3 {
        return ALL.into_iter().map(uniform).collect();
    }
    let mut found = vec![Vec::new()];
    for shape in shapes {
        let extend = |types: &Vec<Type>| {
            let types = types.clone();
            ALL.map(|dtype| types.iter().cloned().chain([Type { dtype, shape: shape.clone() }]).collect())
        };
        found = found.iter().flat_map(extend).collect();
    }
    found
}

type Shaped = (Op, Vec<Shape>);

fn of(op: &Op, shapes: &[&[&[usize]]]) -> Vec<Shaped> {
    shapes.iter().map(|dims| (op.clone(), dims.iter().map(|d| Shape::new(d)).collect())).collect()
}

fn one(op: Op, shapes: &[&[usize]]) -> Shaped {
    (op, shapes.iter().map(|d| Shape::new(d)).collect())
}

const ONE: &[&[&[usize]]] =
    &[&[&[]], &[&[1]], &[&[0]], &[&[1, 1]], &[&[0, 3]], &[&[1037]], &[&[17, 65]], &[&[2, 3, 4, 5]]];

const TWO: &[&[&[usize]]] = &[
    &[&[], &[]],
    &[&[1], &[1]],
    &[&[0], &[0]],
    &[&[0], &[1]],
    &[&[0, 3], &[]],
    &[&[1], &[5]],
    &[&[2, 1], &[1, 3]],
    &[&[3, 1, 5], &[4, 1]],
    &[&[1037], &[1037]],
    &[&[1037], &[]],
    &[&[], &[1037]],
    &[&[33, 65], &[65]],
    &[&[33, 65], &[33, 1]],
    &[&[2, 3, 4, 5], &[3, 1, 5]],
];

const THREE: &[&[&[usize]]] = &[
    &[&[], &[], &[]],
    &[&[1], &[1, 1], &[]],
    &[&[0], &[0], &[1]],
    &[&[1037], &[1037], &[1037]],
    &[&[1037], &[], &[]],
    &[&[33, 1], &[65], &[33, 65]],
    &[&[2, 1, 4], &[3, 1], &[1, 1, 4]],
];

/// Further instances of the operators with the name of `op`, with the shapes of their operands.
fn shapes(op: &Op) -> Vec<Shaped> {
    match op {
        Op::Copy | Op::StopGradient | Op::Not | Op::Unary(_) | Op::Convert(_) => of(op, ONE),
        Op::Binary(_) | Op::Compare(_) | Op::And | Op::Or => of(op, TWO),
        Op::Clip | Op::Where => of(op, THREE),
        Op::MatMul => matmuls(),
        Op::Rfft => of(op, &[&[&[64]], &[&[17, 65]], &[&[2, 3, 8]], &[&[0, 4]], &[&[1, 1]]]),
        Op::Irfft { .. } => {
            let cases: [(usize, &[usize]); 4] =
                [(64, &[33, 2]), (65, &[17, 33, 2]), (8, &[2, 3, 5, 2]), (4, &[0, 3, 2])];
            cases.into_iter().map(|(n, y)| one(Op::Irfft { n }, &[y])).collect()
        }
        Op::Cholesky => of(op, &[&[&[1, 1]], &[&[17, 17]], &[&[3, 5, 5]], &[&[2, 0, 0]], &[&[0, 2, 2]]]),
        Op::Solve => of(
            op,
            &[
                &[&[1, 1], &[1]],
                &[&[17, 17], &[17, 9]],
                &[&[3, 5, 5], &[3, 5]],
                &[&[2, 1, 5, 5], &[2, 1, 5, 3]],
                &[&[0, 0], &[0, 3]],
                &[&[0, 2, 2], &[0, 2]],
            ],
        ),
        Op::Einsum(_) => einsums(),
        Op::Conv(conv) => convs(conv.axes.len()).into_iter().map(|c| c.forward()).collect(),
        Op::ConvTranspose { conv, .. } => convs(conv.axes.len()).into_iter().map(|c| c.transpose()).collect(),
        Op::ConvKernel { conv, .. } => convs(conv.axes.len()).into_iter().map(|c| c.kernel()).collect(),
        Op::MaxPool(p) => pools(p.axes.len()).into_iter().map(|(p, x)| (Op::MaxPool(p), vec![x])).collect(),
        Op::AvgPool(p) => pools(p.axes.len()).into_iter().map(|(p, x)| (Op::AvgPool(p), vec![x])).collect(),
        Op::Patches(p) => pools(p.axes.len()).into_iter().map(|(p, x)| (Op::Patches(p), vec![x])).collect(),
        Op::Unpatches { pool, .. } => pools(pool.axes.len()).into_iter().map(unpatches).collect(),
        Op::Transpose { .. } => transposes(),
        Op::Reshape { .. } => reshapes(),
        Op::Broadcast { .. } => {
            repeats().map(|(wide, own)| one(Op::Broadcast { shape: Shape::new(wide) }, &[own])).collect()
        }
        Op::SumTo { .. } => {
            repeats().map(|(wide, own)| one(Op::SumTo { shape: Shape::new(own) }, &[wide])).collect()
        }
        Op::Concat { .. } => concats(),
        Op::Stack { .. } => stacks(),
        Op::Index { .. } => picks().map(|(n, items)| one(Op::Index { items }, &[n])).collect(),
        Op::Unindex { .. } => picks().map(|(n, items)| unindex(n, items)).collect(),
        Op::Gather { .. } => gathers()
            .map(|(axis, x, i)| one(Op::Gather { axis }, &[x, i]))
            .chain([one(Op::Gather { axis: 0 }, &[&[0, 3], &[0]])])
            .collect(),
        Op::ScatterAdd { .. } => gathers().map(|(axis, x, i)| scatter(axis, x, i)).collect(),
        Op::Pick => of(op, &[&[&[1], &[]], &[&[33, 65], &[33]], &[&[0, 3], &[0]], &[&[0, 0], &[0]]]),
        Op::Reduce(by, _) => reduced(by.has_neutral(), |axis| Op::Reduce(*by, axis)),
        Op::CumSum { .. } => cumsums(),
        Op::Sort { .. } => sorts(1, |axis, descending| Op::Sort { axis, descending }),
        Op::ArgSort { .. } => sorts(1, |axis, descending| Op::ArgSort { axis, descending }),
        Op::SortBy { .. } => sorts(2, |axis, descending| Op::SortBy { axis, descending }),
        Op::RandomUniform { .. } => drawn(|shape| Op::RandomUniform { shape }),
        Op::RandomNormal { .. } => drawn(|shape| Op::RandomNormal { shape }),
        Op::Softmax | Op::LogSoftmax => {
            of(op, &[&[&[1]], &[&[0]], &[&[3, 0]], &[&[0, 3]], &[&[1037]], &[&[33, 65]], &[&[2, 3, 4, 5]]])
        }
        Op::OneHot { .. } => {
            let shapes: [&[usize]; 4] = [&[], &[0], &[257], &[5, 7]];
            let op = |classes| Op::OneHot { classes };
            shapes.into_iter().flat_map(|s| [0, 1, 10].map(|n| one(op(n), &[s]))).collect()
        }
    }
}

fn matmuls() -> Vec<Shaped> {
    of(
        &Op::MatMul,
        &[
            &[&[64], &[64]],
            &[&[300], &[300, 7]],
            &[&[33, 65], &[65, 17]],
            &[&[33, 3], &[3, 65]],
            &[&[1, 128], &[128, 1]],
            &[&[65, 300], &[300]],
            &[&[0, 3], &[3, 2]],
            &[&[2, 3], &[3, 0]],
            &[&[0], &[0]],
            &[&[3, 17, 33], &[33, 9]],
            &[&[2, 3, 4, 5], &[5, 6]],
            &[&[2, 3, 4, 5], &[3, 5, 6]],
            &[&[3, 1, 4, 5], &[2, 5, 6]],
            &[&[2, 0, 5], &[2, 5, 3]],
            &[&[2, 4, 0], &[2, 0, 3]],
        ],
    )
}

fn einsums() -> Vec<Shaped> {
    let cases: [(&str, &[&[usize]]); 18] = [
        ("ij,jk->ik", &[&[33, 65], &[65, 17]]),
        ("ji,kj->ik", &[&[9, 5], &[7, 9]]),
        ("bhqd,bhkd->bhqk", &[&[2, 3, 9, 8], &[2, 3, 7, 8]]),
        ("i,i->i", &[&[65], &[65]]),
        ("ij,ij->", &[&[17, 33], &[17, 33]]),
        ("ij,ij->ij", &[&[3, 4], &[3, 4]]),
        ("ij,k->kj", &[&[3, 4], &[5]]),
        ("ijk->kji", &[&[2, 3, 4]]),
        ("tki,tkj->ij", &[&[5, 13, 9], &[5, 13, 70]]),
        ("tki,tkj->ij", &[&[5, 13, 70], &[5, 13, 9]]),
        ("tki,tkj->ij", &[&[5, 13, 70], &[5, 13, 1]]),
        ("itk,tkj->ij", &[&[1, 5, 13], &[5, 13, 70]]),
        ("ki,jk->ij", &[&[2, 70], &[9, 2]]),
        ("ij->", &[&[33, 65]]),
        ("ij->j", &[&[0, 3]]),
        ("ij->i", &[&[3, 0]]),
        ("ij,jk->ik", &[&[0, 3], &[3, 2]]),
        (",->", &[&[], &[]]),
    ];
    let cases = cases.into_iter().map(|(text, dims)| one(einsum(text), dims));
    cases.chain(einsums::drawn(60)).collect()
}

fn einsum(text: &str) -> Op {
    Op::Einsum(Einsum::parse(text).expect("labels of a contraction"))
}

/// A convolution with the shapes of operand, kernel and result.
struct Convolution {
    conv: Conv,
    x: Shape,
    kernel: Shape,
    result: Shape,
}

impl Convolution {
    fn forward(self) -> Shaped {
        (Op::Conv(self.conv), vec![self.x, self.kernel])
    }

    fn transpose(self) -> Shaped {
        (Op::ConvTranspose { shape: self.x, conv: self.conv }, vec![self.result, self.kernel])
    }

    fn kernel(self) -> Shaped {
        (Op::ConvKernel { shape: self.kernel, conv: self.conv }, vec![self.x, self.result])
    }
}

/// Convolutions over one or two axes: `stride, lo, hi, dilation` of each axis, groups, operand, kernel.
fn convs(rank: usize) -> Vec<Convolution> {
    type Case = (&'static [(usize, usize, usize, usize)], usize, &'static [usize], &'static [usize]);
    const CASES: [Case; 14] = [
        (&[(1, 0, 0, 1)], 1, &[2, 50, 8], &[5, 8, 16]),
        (&[(1, 2, 2, 1)], 1, &[50, 3], &[5, 3, 4]),
        (&[(3, 4, 1, 2)], 1, &[2, 3, 31, 2], &[3, 2, 5]),
        (&[(1, 1, 1, 1)], 4, &[3, 20, 4], &[3, 1, 8]),
        (&[(2, 0, 0, 1)], 1, &[2, 8, 3], &[1, 3, 2]),
        (&[(4, 0, 0, 1)], 1, &[1, 10, 2], &[2, 2, 3]),
        (&[(1, 5, 6, 1)], 1, &[1, 3, 1], &[4, 1, 1]),
        (&[(1, 1, 1, 1), (1, 1, 1, 1)], 1, &[2, 14, 15, 3], &[3, 3, 3, 8]),
        (&[(2, 0, 1, 1), (2, 1, 0, 1)], 1, &[2, 9, 8, 4], &[2, 3, 4, 5]),
        (&[(1, 1, 1, 1), (1, 1, 1, 1)], 4, &[1, 9, 9, 4], &[3, 3, 1, 8]),
        (&[(1, 0, 0, 1), (1, 0, 0, 1)], 1, &[3, 5, 5, 6], &[1, 1, 6, 7]),
        (&[(3, 2, 2, 2), (2, 3, 0, 3)], 2, &[2, 2, 8, 9, 4], &[3, 2, 2, 6]),
        (&[(1, 0, 0, 1), (1, 0, 0, 1)], 1, &[0, 4, 4, 2], &[3, 3, 2, 2]),
        (&[(1, 0, 0, 1), (1, 0, 0, 1)], 1, &[2, 4, 4, 2], &[2, 2, 2, 0]),
    ];
    let build = |&(axes, groups, x, kernel): &Case| {
        let axis = |&(stride, lo, hi, dilation): &_| ConvAxis { stride, lo, hi, dilation };
        let conv = Conv { axes: axes.iter().map(axis).collect(), groups };
        let types = [Type::new(DType::Num, x), Type::new(DType::Num, kernel)];
        let result = result_type(&Op::Conv(conv.clone()), &types).expect("a convolution").shape;
        Convolution { conv, x: Shape::new(x), kernel: Shape::new(kernel), result }
    };
    CASES.iter().filter(|case| case.0.len() == rank).map(build).collect()
}

/// Windows over one or two axes: `size, stride, lo, hi` of each, and the operand.
fn pools(rank: usize) -> Vec<(Pool, Shape)> {
    type Case = (&'static [(usize, usize, usize, usize)], &'static [usize]);
    const CASES: [Case; 9] = [
        (&[(2, 2, 0, 0)], &[3, 51, 8]),
        (&[(5, 1, 4, 4)], &[2, 7, 3]),
        (&[(3, 4, 2, 0)], &[2, 2, 11, 1]),
        (&[(1, 1, 0, 0)], &[4, 2]),
        (&[(2, 2, 0, 0), (2, 2, 0, 0)], &[2, 16, 15, 3]),
        (&[(3, 1, 1, 1), (3, 1, 1, 1)], &[2, 7, 6, 4]),
        (&[(3, 2, 2, 1), (2, 3, 0, 1)], &[1, 8, 9, 2]),
        (&[(4, 1, 0, 0), (1, 1, 0, 0)], &[4, 4, 2]),
        (&[(2, 2, 0, 0), (2, 2, 0, 0)], &[0, 4, 4, 2]),
    ];
    let axis = |&(size, stride, lo, hi): &_| PoolAxis { size, stride, lo, hi };
    let build = |&(axes, x): &Case| (Pool { axes: axes.iter().map(axis).collect() }, Shape::new(x));
    CASES.iter().filter(|case| case.0.len() == rank).map(build).collect()
}

fn unpatches((pool, x): (Pool, Shape)) -> Shaped {
    let ty = Type { dtype: DType::Num, shape: x.clone() };
    let windows = result_type(&Op::Patches(pool.clone()), &[ty]).expect("windows").shape;
    (Op::Unpatches { shape: x, pool }, vec![windows])
}

fn transposes() -> Vec<Shaped> {
    let cases: [(&[usize], &[usize]); 7] = [
        (&[1, 0], &[33, 65]),
        (&[1, 0], &[0, 3]),
        (&[0, 2, 1], &[3, 17, 9]),
        (&[3, 1, 0, 2], &[2, 3, 4, 5]),
        (&[0, 1], &[4, 5]),
        (&[1, 2, 0], &[1, 5, 1]),
        (&[4, 2, 0, 3, 1], &[2, 3, 2, 3, 2]),
    ];
    cases.into_iter().map(|(perm, x)| one(Op::Transpose { perm: perm.to_vec() }, &[x])).collect()
}

fn reshapes() -> Vec<Shaped> {
    let cases: [(&[usize], &[usize]); 6] = [
        (&[65, 33], &[33, 65]),
        (&[2145], &[33, 65]),
        (&[0, 7], &[3, 0]),
        (&[1, 1, 1], &[]),
        (&[], &[1]),
        (&[5, 4, 3, 2], &[2, 3, 4, 5]),
    ];
    cases.into_iter().map(|(shape, x)| one(Op::Reshape { shape: Shape::new(shape) }, &[x])).collect()
}

/// Pairs of a shape and a shape that broadcasts to it.
fn repeats() -> impl Iterator<Item = (&'static [usize], &'static [usize])> {
    const CASES: [(&[usize], &[usize]); 10] = [
        (&[1037], &[]),
        (&[1037], &[1]),
        (&[33, 65], &[65]),
        (&[33, 65], &[33, 1]),
        (&[0, 3], &[3]),
        (&[0, 3], &[1, 1]),
        (&[3, 0], &[3, 1]),
        (&[2, 3, 4, 5], &[3, 1, 5]),
        (&[2, 3, 4, 5], &[2, 1, 1, 5]),
        (&[1, 1], &[1]),
    ];
    CASES.into_iter()
}

fn concats() -> Vec<Shaped> {
    let cases: [(usize, &[&[usize]]); 5] = [
        (0, &[&[500], &[1], &[0], &[536]]),
        (1, &[&[33, 5], &[33, 60]]),
        (0, &[&[0, 3], &[0, 3]]),
        (2, &[&[2, 3, 1], &[2, 3, 4]]),
        (1, &[&[2, 1, 3], &[2, 2, 3], &[2, 1, 3], &[2, 5, 3]]),
    ];
    cases.into_iter().map(|(axis, dims)| one(Op::Concat { axis }, dims)).collect()
}

fn stacks() -> Vec<Shaped> {
    let cases: [(usize, &[&[usize]]); 4] = [
        (0, &[&[65], &[65], &[65]]),
        (1, &[&[33], &[33]]),
        (1, &[&[2, 3], &[2, 3], &[2, 3], &[2, 3], &[2, 3]]),
        (0, &[&[0, 2]]),
    ];
    cases.into_iter().map(|(axis, dims)| one(Op::Stack { axis }, dims)).collect()
}

/// Pairs of a shape and index entries that fit it.
fn picks() -> impl Iterator<Item = (&'static [usize], Vec<AxisIndex>)> {
    let slice = |start, len, step| AxisIndex::Slice { start, len, step };
    let cases: [(&[usize], Vec<AxisIndex>); 8] = [
        (&[1037], vec![slice(3, 500, 2)]),
        (&[1037], vec![slice(1036, 1037, -1)]),
        (&[1037], vec![slice(5, 0, 1)]),
        (&[33, 65], vec![slice(32, 11, -3), slice(1, 60, 1)]),
        (&[33, 65], vec![AxisIndex::At(32), slice(64, 33, -2)]),
        (&[2, 3, 4, 5], vec![AxisIndex::At(1), slice(0, 3, 1), AxisIndex::At(0), slice(4, 2, -4)]),
        (&[0, 3], vec![slice(0, 0, 1), AxisIndex::At(2)]),
        (&[2, 3], vec![AxisIndex::At(1), AxisIndex::At(2)]),
    ];
    cases.into_iter()
}

fn unindex(dims: &[usize], items: Vec<AxisIndex>) -> Shaped {
    let index = Op::Index { items: items.clone() };
    let picked = result_type(&index, &[Type::new(DType::Num, dims)]).expect("entries that fit").shape;
    (Op::Unindex { shape: Shape::new(dims), items }, vec![picked])
}

/// An axis, the shape of the operand, and the shape of the positions.
fn gathers() -> impl Iterator<Item = (usize, &'static [usize], &'static [usize])> {
    const CASES: [(usize, &[usize], &[usize]); 7] = [
        (0, &[65, 8], &[257]),
        (1, &[3, 17], &[40]),
        (2, &[2, 3, 9], &[4, 5]),
        (0, &[1], &[]),
        (1, &[2, 5, 3], &[]),
        (0, &[4, 0], &[3]),
        (0, &[5, 2], &[0]),
    ];
    CASES.into_iter()
}

fn scatter(axis: usize, x: &[usize], i: &[usize]) -> Shaped {
    let types = [Type::new(DType::Num, x), Type::new(DType::Int, i)];
    let d = result_type(&Op::Gather { axis }, &types).expect("positions").shape;
    (Op::ScatterAdd { shape: Shape::new(x), axis }, vec![Shape::new(i), d])
}

/// Reductions over each axis and over all axes; with `of_nothing`, also over axes of length 0.
fn reduced(of_nothing: bool, op: impl Fn(Option<usize>) -> Op) -> Vec<Shaped> {
    const SHAPES: [&[usize]; 8] = [&[], &[1], &[1037], &[33, 65], &[65, 70], &[2, 3, 4, 5], &[0, 3], &[3, 0]];
    let mut found = Vec::new();
    for dims in SHAPES {
        let empty = |axis: Option<usize>| axis.map_or(dims.contains(&0), |a| dims[a] == 0);
        for axis in std::iter::once(None).chain((0..dims.len()).map(Some)) {
            if of_nothing || !empty(axis) {
                found.push(one(op(axis), &[dims]));
            }
        }
    }
    found
}

fn cumsums() -> Vec<Shaped> {
    const CASES: [(usize, &[usize]); 6] =
        [(0, &[1037]), (0, &[33, 65]), (1, &[33, 65]), (2, &[2, 3, 4, 5]), (0, &[0, 3]), (0, &[1])];
    let both = |(axis, dims): (usize, &'static [usize])| {
        [false, true].map(|reverse| one(Op::CumSum { axis, reverse }, &[dims]))
    };
    CASES.into_iter().flat_map(both).collect()
}

/// Sorts of `operands` operands.
fn sorts(operands: usize, op: impl Fn(usize, bool) -> Op) -> Vec<Shaped> {
    const CASES: [(usize, &[usize]); 6] =
        [(0, &[1037]), (0, &[33, 65]), (1, &[33, 65]), (2, &[2, 3, 4, 5]), (0, &[0, 3]), (0, &[1])];
    let both = |(axis, dims): (usize, &'static [usize])| {
        [false, true].map(|descending| one(op(axis, descending), &vec![dims; operands]))
    };
    CASES.into_iter().flat_map(both).collect()
}

fn drawn(op: impl Fn(Shape) -> Op) -> Vec<Shaped> {
    const SHAPES: [&[usize]; 6] = [&[1], &[2], &[0, 3], &[1037], &[17, 33], &[2, 3, 4, 5]];
    SHAPES.into_iter().map(|dims| one(op(Shape::new(dims)), &[&[], &[]])).collect()
}
