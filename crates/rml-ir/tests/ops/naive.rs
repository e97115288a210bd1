//! A second evaluator, as plain as can be: everything is a double precision array, and every result element
//! is computed by itself from its index. It decides what the operators mean; the tests compare.

use rml_ir::op::{AxisIndex, Op};

/// An array of any element type, as numbers.
#[derive(Clone, Debug)]
pub(crate) struct Nd {
    pub(crate) dims: Vec<usize>,
    pub(crate) xs: Vec<f64>,
}

impl Nd {
    fn from(dims: &[usize], f: impl Fn(&[usize]) -> f64) -> Nd {
        Nd { dims: dims.to_vec(), xs: indices(dims).iter().map(|i| f(i)).collect() }
    }

    fn at(&self, index: &[usize]) -> f64 {
        self.xs[index.iter().zip(&self.dims).fold(0, |n, (i, d)| n * d + i)]
    }

    /// The element that broadcasting puts at `index`.
    fn spread(&self, index: &[usize]) -> f64 {
        let skip = index.len() - self.dims.len();
        let own: Vec<usize> =
            index[skip..].iter().zip(&self.dims).map(|(&i, &d)| if d == 1 { 0 } else { i }).collect();
        self.at(&own)
    }

    /// Along an axis (or all, row-major) at the other indices.
    fn along(&self, axis: Option<usize>, index: &[usize]) -> Vec<f64> {
        match axis {
            None => self.xs.clone(),
            Some(axis) => (0..self.dims[axis])
                .map(|i| {
                    let mut index = index.to_vec();
                    index.insert(axis, i);
                    self.at(&index)
                })
                .collect(),
        }
    }
}

/// All indices of a shape, row-major.
fn indices(dims: &[usize]) -> Vec<Vec<usize>> {
    dims.iter().fold(vec![vec![]], |before, &d| {
        before.iter().flat_map(|i| (0..d).map(|k| [&i[..], &[k]].concat()).collect::<Vec<_>>()).collect()
    })
}

fn truth(b: bool) -> f64 {
    f64::from(u8::from(b))
}

/// What `op` means; `result` = the dimensions of its result.
pub(crate) fn eval(op: &Op, args: &[Nd], result: &[usize], int: bool) -> Nd {
    let x = &args[0];
    let each = |f: &dyn Fn(f64) -> f64| Nd::from(result, |i| f(x.at(i)));
    let both = |f: &dyn Fn(f64, f64) -> f64| Nd::from(result, |i| f(x.spread(i), args[1].spread(i)));
    let fold = |axis: Option<usize>, f: &dyn Fn(&[f64]) -> f64| Nd::from(result, |i| f(&x.along(axis, i)));
    let last = x.dims.len().checked_sub(1);
    match op {
        Op::Copy | Op::StopGradient => x.clone(),
        Op::Neg => each(&|x| -x),
        Op::Not => each(&|x| 1.0 - x),
        Op::Abs => each(&f64::abs),
        Op::Sign => each(&|x| if x == 0.0 { 0.0 } else { x.signum() }),
        Op::Exp => each(&f64::exp),
        Op::Log => each(&f64::ln),
        Op::Sqrt => each(&f64::sqrt),
        Op::Sigmoid => each(&|x| 1.0 / (1.0 + (-x).exp())),
        Op::Tanh => each(&f64::tanh),
        Op::Relu => each(&|x| x.max(0.0)),
        Op::ToNum => x.clone(),
        Op::ToInt => each(&f64::trunc),
        Op::ToBool => each(&|x| truth(x != 0.0)),
        Op::Add => both(&|a, b| a + b),
        Op::Sub => both(&|a, b| a - b),
        Op::Mul => both(&|a, b| a * b),
        Op::Div if int => both(&|a, b| if b == 0.0 { 0.0 } else { (a / b).trunc() }),
        Op::Div => both(&|a, b| a / b),
        Op::And => both(&|a, b| a * b),
        Op::Or => both(&f64::max),
        Op::Eq => both(&|a, b| truth(a == b)),
        Op::Ne => both(&|a, b| truth(a != b)),
        Op::Lt => both(&|a, b| truth(a < b)),
        Op::Le => both(&|a, b| truth(a <= b)),
        Op::Gt => both(&|a, b| truth(a > b)),
        Op::Ge => both(&|a, b| truth(a >= b)),
        Op::MatMul => matmul(x, &args[1], result),
        Op::Transpose { perm } => Nd::from(result, |i| {
            let mut from = vec![0; perm.len()];
            perm.iter().zip(i).for_each(|(&p, &i)| from[p] = i);
            x.at(&from)
        }),
        Op::Reshape { .. } => Nd { dims: result.to_vec(), xs: x.xs.clone() },
        Op::Broadcast { .. } => Nd::from(result, |i| x.spread(i)),
        Op::SumTo { .. } => sum_to(x, result),
        Op::Concat { axis } => Nd::from(result, |i| {
            let mut i = i.to_vec();
            let mut part = 0;
            while i[*axis] >= args[part].dims[*axis] {
                i[*axis] -= args[part].dims[*axis];
                part += 1;
            }
            args[part].at(&i)
        }),
        Op::Stack => Nd::from(result, |i| args[i[0]].at(&i[1..])),
        Op::Index { items } => Nd::from(result, |i| x.at(&place(items, i))),
        Op::Unindex { items, .. } => {
            let mut out = Nd::from(result, |_| 0.0);
            let all = indices(result);
            for i in indices(&x.dims) {
                let to = place(items, &i);
                let position = all.iter().position(|j| *j == to).expect("an index in range");
                out.xs[position] = x.at(&i);
            }
            out
        }
        Op::Sum { axis } => fold(*axis, &|xs| xs.iter().sum()),
        Op::Mean { axis } => fold(*axis, &|xs| xs.iter().sum::<f64>() / xs.len() as f64),
        Op::Max { axis } => fold(*axis, &|xs| xs.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
        Op::ArgMax { axis } => fold(*axis, &argmax),
        Op::Softmax => Nd::from(result, |i| softmax(x, last, i)),
        Op::LogSoftmax => Nd::from(result, |i| softmax(x, last, i).ln()),
        Op::OneHot { .. } => {
            let rank = x.dims.len();
            Nd::from(result, |i| truth(x.at(&i[..rank]) == i[rank] as f64))
        }
    }
}

fn argmax(xs: &[f64]) -> f64 {
    let max = xs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    xs.iter().position(|x| *x == max).map_or(f64::NAN, |i| i as f64)
}

fn softmax(x: &Nd, last: Option<usize>, index: &[usize]) -> f64 {
    let row = x.along(last, &index[..index.len() - 1]);
    x.at(index).exp() / row.iter().map(|x| x.exp()).sum::<f64>()
}

fn matmul(a: &Nd, b: &Nd, result: &[usize]) -> Nd {
    let rows = a.dims.len() - 1;
    Nd::from(result, |i| {
        let (row, column) = i.split_at(rows);
        (0..b.dims[0]).map(|k| a.at(&[row, &[k]].concat()) * b.at(&[&[k], column].concat())).sum()
    })
}

fn sum_to(x: &Nd, result: &[usize]) -> Nd {
    let skip = x.dims.len() - result.len();
    Nd::from(result, |to| {
        let reaches = |from: &[usize]| {
            from[skip..].iter().zip(result).zip(to).all(|((&from, &d), &to)| d == 1 || from == to)
        };
        indices(&x.dims).iter().filter(|from| reaches(from)).map(|from| x.at(from)).sum()
    })
}

/// Where the picked element `index` comes from.
fn place(items: &[AxisIndex], index: &[usize]) -> Vec<usize> {
    let mut index = index.iter();
    let mut next = || *index.next().expect("an index for each slice");
    items
        .iter()
        .map(|item| match *item {
            AxisIndex::At(i) => i,
            AxisIndex::Slice { start, step, .. } => start + step * next(),
        })
        .collect()
}
