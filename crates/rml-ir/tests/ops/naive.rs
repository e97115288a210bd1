//! A second evaluator, as plain as can be: everything is a double precision array, and every result element
//! is computed by itself from its index. It decides what the operators mean; the tests compare.

use rml_ir::DType;
use rml_ir::op::{AxisIndex, Binary, Compare, Einsum, Op, Reduction, Unary};
use rml_ir::random::Random;

mod sliding;

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
        Op::Unary(Unary::Neg) => each(&|x| -x),
        Op::Not => each(&|x| 1.0 - x),
        Op::Unary(Unary::Abs) => each(&f64::abs),
        Op::Unary(Unary::Sign) => each(&|x| if x == 0.0 { 0.0 } else { x.signum() }),
        Op::Unary(Unary::Exp) => each(&f64::exp),
        Op::Unary(Unary::Expm1) => each(&|x| x.exp() - 1.0),
        Op::Unary(Unary::Log1p) => each(&|x| (1.0 + x).ln()),
        Op::Unary(Unary::Sin) => each(&f64::sin),
        Op::Unary(Unary::Cos) => each(&|x| (x + std::f64::consts::FRAC_PI_2).sin()),
        Op::Unary(Unary::Erf) => each(&erf),
        Op::Unary(Unary::Gelu) => each(&|x| 0.5 * x * (1.0 + erf(x / 2.0_f64.sqrt()))),
        Op::Unary(Unary::Softplus) => each(&|x| (1.0 + x.exp()).ln()),
        Op::Unary(Unary::Floor) => each(&|x| -(-x).ceil()),
        Op::Unary(Unary::Ceil) => each(&|x| -(-x).floor()),
        Op::Unary(Unary::Round) => each(&|x| {
            let below = x.floor();
            let up = x - below > 0.5 || (x - below == 0.5 && below % 2.0 != 0.0);
            below + truth(up)
        }),
        Op::Unary(Unary::Log) => each(&f64::ln),
        Op::Unary(Unary::Sqrt) => each(&f64::sqrt),
        Op::Unary(Unary::Sigmoid) => each(&|x| 1.0 / (1.0 + (-x).exp())),
        Op::Unary(Unary::Tanh) => each(&f64::tanh),
        Op::Unary(Unary::Relu) => each(&|x| x.max(0.0)),
        Op::Unary(Unary::Flush) => each(&|x| if x.abs().log2() < -970.0 { 0.0 } else { x }),
        Op::Convert(DType::Num) => x.clone(),
        Op::Convert(DType::Int) => each(&f64::trunc),
        Op::Convert(DType::Bool) => each(&|x| truth(x != 0.0)),
        Op::Binary(Binary::Add) => both(&|a, b| a + b),
        Op::Binary(Binary::Sub) => both(&|a, b| a - b),
        Op::Binary(Binary::Mul) => both(&|a, b| a * b),
        Op::Binary(Binary::Div) if int => both(&|a, b| if b == 0.0 { 0.0 } else { (a / b).trunc() }),
        Op::Binary(Binary::Div) => both(&|a, b| a / b),
        Op::Binary(Binary::Mod) if !int => both(&|a, b| a - b * (a / b).floor()),
        Op::Binary(Binary::Mod) => both(&|a, b| if b == 0.0 { a } else { a - b * (a / b).floor() }),
        Op::Binary(Binary::Pow) => both(&|a, b| if a >= 0.0 { a.powf(b) } else { f64::NAN }),
        Op::Binary(Binary::Atan2) => both(&|y, x| {
            // By the half of the angle.
            let r = (x * x + y * y).sqrt();
            if x < 0.0 && y == 0.0 { std::f64::consts::PI } else { 2.0 * (y / (r + x)).atan() }
        }),
        Op::Binary(Binary::LogAddExp) => both(&|a, b| (a.exp() + b.exp()).ln()),
        Op::Binary(Binary::Minimum) => both(&|a, b| if a < b { a } else { b }),
        Op::Binary(Binary::Maximum) => both(&|a, b| if a > b { a } else { b }),
        Op::Clip => Nd::from(result, |i| {
            let [x, lo, hi] = [0, 1, 2].map(|k| args[k].spread(i));
            if hi < lo.max(x) { hi } else { lo.max(x) }
        }),
        Op::Where => {
            Nd::from(result, |i| if x.spread(i) == 0.0 { args[2].spread(i) } else { args[1].spread(i) })
        }
        Op::And => both(&|a, b| a * b),
        Op::Or => both(&f64::max),
        Op::Compare(Compare::Eq) => both(&|a, b| truth(a == b)),
        Op::Compare(Compare::Ne) => both(&|a, b| truth(a != b)),
        Op::Compare(Compare::Lt) => both(&|a, b| truth(a < b)),
        Op::Compare(Compare::Le) => both(&|a, b| truth(a <= b)),
        Op::Compare(Compare::Gt) => both(&|a, b| truth(a > b)),
        Op::Compare(Compare::Ge) => both(&|a, b| truth(a >= b)),
        Op::MatMul => matmul(x, &args[1], result),
        Op::Rfft => Nd::from(result, |i| {
            let (row, k, part) = (&i[..i.len() - 2], i[i.len() - 2], i[i.len() - 1]);
            let n = x.dims[x.dims.len() - 1];
            let wave = if part == 0 { |a: f64| a.cos() } else { |a: f64| -a.sin() };
            let angle = |j: usize| std::f64::consts::TAU * ((j * k % n) as f64) / n as f64;
            (0..n).map(|j| x.at(&[row, &[j]].concat()) * wave(angle(j))).sum()
        }),
        Op::Irfft { n } => Nd::from(result, |i| {
            let (row, j) = (&i[..i.len() - 1], i[i.len() - 1]);
            // Waves of the frequencies, of which those between the ends stand for two.
            let wave = |k: usize| {
                let angle = std::f64::consts::TAU * ((j * k % n) as f64) / *n as f64;
                let part = |part: usize| x.at(&[row, &[k, part]].concat());
                let once = k == 0 || 2 * k == *n;
                if once {
                    part(0) * angle.cos()
                } else {
                    2.0 * (part(0) * angle.cos() - part(1) * angle.sin())
                }
            };
            (0..=n / 2).map(wave).sum::<f64>() / *n as f64
        }),
        Op::Cholesky => Nd::from(result, |i| {
            let (stack, row, column) = (&i[..i.len() - 2], i[i.len() - 2], i[i.len() - 1]);
            // The upper triangle of the operand does not count.
            let a = |r: usize, c: usize| x.at(&[stack, &[r.max(c), r.min(c)]].concat());
            // By minors: those of the first rows and columns, the last row exchanged.
            let minor =
                |n: usize, last: usize| determinant(n, &|r, c| a(if r + 1 == n { last } else { r }, c));
            let scale = (determinant(column, &a) * minor(column + 1, column)).sqrt();
            if row < column { 0.0 } else { minor(column + 1, row) / scale }
        }),
        Op::Solve => Nd::from(result, |i| {
            let stack = x.dims.len() - 2;
            let (n, b) = (x.dims[stack], &args[1]);
            let (rows, column) = (&i[..stack], &i[stack + 1..]);
            let a = |r: usize, c: usize| x.at(&[rows, &[r, c]].concat());
            // By Cramer's rule.
            let replaced = |r: usize, c: usize| {
                if c == i[stack] { b.at(&[rows, &[r], column].concat()) } else { a(r, c) }
            };
            determinant(n, &replaced) / determinant(n, &a)
        }),
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
        Op::Stack { axis } => Nd::from(result, |i| {
            let mut i = i.to_vec();
            let which = i.remove(*axis);
            args[which].at(&i)
        }),
        Op::Einsum(labels) => einsum(labels, args, result),
        Op::Conv(conv) => sliding::conv(conv, x, &args[1], result),
        Op::ConvTranspose { conv, .. } => sliding::conv_transpose(conv, x, &args[1], result),
        Op::ConvKernel { conv, .. } => sliding::conv_kernel(conv, x, &args[1], result),
        Op::MaxPool(pool) => {
            sliding::pool(pool, x, result, &|xs| xs.iter().copied().fold(f64::NEG_INFINITY, f64::max))
        }
        Op::AvgPool(pool) => {
            let n: usize = pool.axes.iter().map(|axis| axis.size).product();
            sliding::pool(pool, x, result, &|xs| xs.iter().sum::<f64>() / n as f64)
        }
        Op::Patches(pool) => sliding::patches(pool, x, result),
        Op::Unpatches { pool, .. } => sliding::unpatches(pool, x, result),
        Op::Gather { axis } => Nd::from(result, |i| {
            let (at, rest) = i[*axis..].split_at(args[1].dims.len());
            x.at(&[&i[..*axis], &[args[1].at(at) as usize], rest].concat())
        }),
        Op::ScatterAdd { axis, .. } => {
            let d = &args[1];
            Nd::from(result, |to| {
                let lands = |from: &&Vec<usize>| {
                    let (at, rest) = from[*axis..].split_at(x.dims.len());
                    [&from[..*axis], &[x.at(at) as usize], rest].concat() == to
                };
                indices(&d.dims).iter().filter(lands).map(|from| d.at(from)).sum()
            })
        }
        Op::Pick => Nd::from(result, |i| x.at(&[i, &[args[1].at(i) as usize]].concat())),
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
        Op::Reduce(Reduction::Sum, axis) => fold(*axis, &|xs| xs.iter().sum()),
        Op::Reduce(Reduction::Mean, axis) => fold(*axis, &|xs| xs.iter().sum::<f64>() / xs.len() as f64),
        Op::Reduce(Reduction::Prod, axis) => fold(*axis, &|xs| xs.iter().product()),
        Op::Reduce(Reduction::LogSumExp, axis) => {
            fold(*axis, &|xs| xs.iter().map(|x| x.exp()).sum::<f64>().ln())
        }
        Op::Reduce(Reduction::Max, axis) => {
            fold(*axis, &|xs| xs.iter().copied().fold(f64::NEG_INFINITY, f64::max))
        }
        Op::Reduce(Reduction::ArgMax, axis) => fold(*axis, &argmax),
        Op::Reduce(Reduction::Min, axis) => {
            fold(*axis, &|xs| xs.iter().copied().fold(f64::INFINITY, f64::min))
        }
        Op::Reduce(Reduction::ArgMin, axis) => {
            fold(*axis, &|xs| argmax(&xs.iter().map(|x| -x).collect::<Vec<_>>()))
        }
        Op::Reduce(Reduction::Any, axis) => fold(*axis, &|xs| truth(xs.contains(&1.0))),
        Op::Reduce(Reduction::All, axis) => fold(*axis, &|xs| truth(xs.iter().all(|x| *x == 1.0))),
        Op::CumSum { axis, reverse } => Nd::from(result, |i| {
            let reached = |k: usize| if *reverse { k >= i[*axis] } else { k <= i[*axis] };
            let mut rest = i.to_vec();
            rest.remove(*axis);
            let line = x.along(Some(*axis), &rest);
            line.iter().enumerate().filter(|(k, _)| reached(*k)).map(|(_, x)| x).sum()
        }),
        Op::Sort { axis, descending }
        | Op::ArgSort { axis, descending }
        | Op::SortBy { axis, descending } => Nd::from(result, |i| {
            let mut rest = i.to_vec();
            let rank = rest.remove(*axis);
            let keys = x.along(Some(*axis), &rest);
            let at = (0..keys.len()).find(|&k| before(&keys, k, *descending) == rank).expect("a rank");
            match op {
                Op::ArgSort { .. } => at as f64,
                _ => args.last().expect("an operand").along(Some(*axis), &rest)[at],
            }
        }),
        Op::RandomUniform { .. } | Op::RandomNormal { .. } => {
            let tick = args.get(1).map_or(0, |tick| tick.xs[0] as i64);
            let random = Random::keyed(x.xs[0] as i64, tick as u64);
            let number =
                if matches!(op, Op::RandomUniform { .. }) { Random::uniform } else { Random::normal };
            let n: usize = result.iter().product();
            Nd { dims: result.to_vec(), xs: (0..n as u64).map(|i| number(&random, i)).collect() }
        }
        Op::Softmax => Nd::from(result, |i| softmax(x, last, i)),
        Op::LogSoftmax => Nd::from(result, |i| softmax(x, last, i).ln()),
        Op::OneHot { .. } => {
            let rank = x.dims.len();
            Nd::from(result, |i| truth(x.at(&i[..rank]) == i[rank] as f64))
        }
    }
}

/// How many keys come before key `k`: those that are smaller (or larger), and equal ones on its left. NaN comes last.
fn before(keys: &[f64], k: usize, descending: bool) -> usize {
    let rank = |x: f64| {
        if x.is_nan() {
            f64::INFINITY
        } else if descending {
            -x
        } else {
            x
        }
    };
    let nan = |x: f64| truth(x.is_nan());
    let key = |i: usize| (nan(keys[i]), rank(keys[i]));
    (0..keys.len()).filter(|&i| key(i) < key(k) || (i < k && key(i) == key(k))).count()
}

/// By the first row.
fn determinant(n: usize, a: &dyn Fn(usize, usize) -> f64) -> f64 {
    if n == 0 {
        return 1.0;
    }
    let without = |k: usize| determinant(n - 1, &|r, c| a(r + 1, c + usize::from(c >= k)));
    (0..n).map(|k| if k % 2 == 0 { a(0, k) * without(k) } else { -a(0, k) * without(k) }).sum()
}

fn argmax(xs: &[f64]) -> f64 {
    let max = xs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    xs.iter().position(|x| *x == max).map_or(f64::NAN, |i| i as f64)
}

fn softmax(x: &Nd, last: Option<usize>, index: &[usize]) -> f64 {
    let row = x.along(last, &index[..index.len() - 1]);
    x.at(index).exp() / row.iter().map(|x| x.exp()).sum::<f64>()
}

/// A vector becomes a matrix; then every element is the product of a row and a column of the matrices that
/// broadcasting pairs.
fn matmul(a: &Nd, b: &Nd, result: &[usize]) -> Nd {
    let (row, column) = (a.dims.len() == 1, b.dims.len() == 1);
    let wide = |x: &Nd, at: usize, insert: bool| {
        let mut dims = x.dims.clone();
        if insert {
            dims.insert(at, 1);
        }
        Nd { dims, xs: x.xs.clone() }
    };
    let (a, b) = (wide(a, 0, row), wide(b, 1, column));
    let depth = b.dims[b.dims.len() - 2];
    let part = |x: &Nd, stack: &[usize], i: usize, j: usize| {
        let own = x.dims.len() - 2;
        let stack = &stack[stack.len().saturating_sub(own)..];
        let skip = own - stack.len();
        let at = stack.iter().zip(&x.dims[skip..]).map(|(&i, &d)| if d == 1 { 0 } else { i });
        x.at(&std::iter::repeat_n(0, skip).chain(at).chain([i, j]).collect::<Vec<_>>())
    };
    Nd::from(result, |i| {
        let mut i = i.to_vec();
        let n = if column { 0 } else { i.pop().expect("columns") };
        let m = if row { 0 } else { i.pop().expect("rows") };
        (0..depth).map(|k| part(&a, &i, m, k) * part(&b, &i, k, n)).sum()
    })
}

/// Every product of elements whose labels agree, added to where the result's labels say.
fn einsum(labels: &Einsum, args: &[Nd], result: &[usize]) -> Nd {
    let mut names: Vec<(char, usize)> = Vec::new();
    for (own, arg) in labels.operands().iter().zip(args) {
        for (&label, &size) in own.iter().zip(&arg.dims) {
            if !names.contains(&(label, size)) {
                names.push((label, size));
            }
        }
    }
    let sizes: Vec<usize> = names.iter().map(|(_, size)| *size).collect();
    let mut out = Nd::from(result, |_| 0.0);
    for all in indices(&sizes) {
        let at = |own: &[char]| -> Vec<usize> {
            own.iter().map(|l| all[names.iter().position(|(name, _)| name == l).expect("a label")]).collect()
        };
        let to = at(labels.result()).iter().zip(result).fold(0, |n, (i, d)| n * d + i);
        out.xs[to] += labels.operands().iter().zip(args).map(|(own, arg)| arg.at(&at(own))).product::<f64>();
    }
    out
}

/// The series at 0, with terms until they vanish.
fn erf(x: f64) -> f64 {
    let (mut term, mut sum) = (x, x);
    for n in 1..200 {
        term *= -x * x / f64::from(n);
        sum += term / f64::from(2 * n + 1);
    }
    sum * std::f64::consts::FRAC_2_SQRT_PI
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
            AxisIndex::Slice { start, step, .. } if step < 0 => start - step.unsigned_abs() * next(),
            AxisIndex::Slice { start, step, .. } => start + step.unsigned_abs() * next(),
        })
        .collect()
}
