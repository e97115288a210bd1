//! Random functions, well typed and well conditioned: every chosen operator is evaluated on its operands, and kept if
//! its result is small and nearly the same in both precisions.

use rml_ir::op::{
    AxisIndex, Binary, Compare, Conv, ConvAxis, Op, Pool, PoolAxis, Reduction, Unary, conditioned, eval,
    result_type,
};
use rml_ir::{DType, Data, Precision, Shape, Type, Value};

use super::{Sample, distance};
use crate::function::{Function, Val};
use crate::suite::compare::numbers;
use crate::suite::dice::{Dice, Nums};
use crate::suite::einsums;
use crate::suite::operands::value;

/// A value of the function under construction.
struct Known {
    val: Val,
    ty: Type,
    single: Value,
    double: Value,
    /// Whether every backend computes the value without rounding.
    exact: bool,
}

struct Builder {
    function: Function,
    known: Vec<Known>,
    /// The number of values that are inputs or constants.
    given: usize,
    /// The index of the input that is a well-conditioned matrix.
    conditioned: usize,
    dice: Dice,
}

/// The maximum number of elements of a value.
const LARGEST: usize = 2000;

/// The random function with number `n`.
pub(super) fn sample(n: usize) -> Sample {
    let mut dice = Dice::new(&format!("function {n}"));
    let size = 20 + dice.below(41);
    let function = Function::new(format!("random_{n}"), Precision::F32);
    let mut b = Builder { function, known: Vec::new(), given: 0, conditioned: 0, dice };
    let args = b.inputs();
    b.constants();
    b.given = b.known.len();
    let wanted = b.given + size;
    for _ in 0..size * 40 {
        if b.known.len() >= wanted {
            break;
        }
        if let Some((op, args)) = b.choose() {
            b.append(op, &args);
        }
    }
    b.results();
    Sample { function: b.function, args }
}

impl Builder {
    fn inputs(&mut self) -> Vec<Value> {
        let num = |dims: &[usize]| Type::new(DType::Num, dims);
        let types = [
            num(&[6, 4]),
            num(&[6, 4]),
            num(&[4, 4]),
            num(&[4]),
            num(&[]),
            num(&[2, 4, 3]),
            num(&[2, 6, 4]),
            num(&[1, 33]),
            num(&[0, 4]),
            Type::new(DType::Int, &[6]),
            Type::scalar(DType::Int),
            Type::new(DType::Bool, &[6, 1]),
            Type::scalar(DType::Bool),
        ];
        let mut args = Vec::new();
        for ty in types {
            let arg = value(&ty, Precision::F32, &mut self.dice, Nums::Grid, (0, 4));
            let val = self.function.input(ty, Function::nowhere());
            self.know(val, arg.clone(), arg.to_precision(Precision::F64), true);
            args.push(arg);
        }
        let ty = num(&[4, 4]);
        let arg = value(&ty, Precision::F32, &mut self.dice, Nums::Unit, (0, 4));
        let arg = conditioned(&Op::Cholesky, 0, &arg);
        let val = self.function.input(ty, Function::nowhere());
        self.conditioned = self.known.len();
        self.know(val, arg.clone(), arg.to_precision(Precision::F64), true);
        args.push(arg);
        args
    }

    fn constants(&mut self) {
        for ty in [Type::new(DType::Num, &[4]), Type::scalar(DType::Num), Type::new(DType::Int, &[6])] {
            let constant = value(&ty, Precision::F32, &mut self.dice, Nums::Grid, (0, 4));
            let val = self.function.constant(&constant, Function::nowhere());
            self.know(val, constant.clone(), constant.to_precision(Precision::F64), true);
        }
    }

    fn know(&mut self, val: Val, single: Value, double: Value, exact: bool) {
        self.known.push(Known { val, ty: single.ty(), single, double, exact });
    }

    /// Chooses the results: the last value, about a third of the others, one value twice, and one that may be an input.
    fn results(&mut self) {
        let applied = self.known.len().saturating_sub(self.given);
        let mut results = vec![self.known[self.known.len() - 1].val];
        for _ in 0..applied / 3 {
            let at = self.given + self.dice.below(applied);
            results.push(self.known[at].val);
        }
        let at = self.dice.below(self.known.len());
        results.extend([self.known[at].val, results[0]]);
        self.function.results = results;
    }

    /// Appends an operator if its result is tame.
    fn append(&mut self, op: Op, args: &[usize]) {
        let types: Vec<Type> = args.iter().map(|&i| self.known[i].ty.clone()).collect();
        if !result_type(&op, &types).is_ok_and(|ty| ty.shape.len() <= LARGEST) {
            return;
        }
        let of = |pick: fn(&Known) -> &Value, precision| {
            let args: Vec<&Value> = args.iter().map(|&i| pick(&self.known[i])).collect();
            eval(&op, &args, precision).ok()
        };
        let (Some(single), Some(double)) =
            (of(|k| &k.single, Precision::F32), of(|k| &k.double, Precision::F64))
        else {
            return;
        };
        let exact = args.iter().all(|&i| self.known[i].exact);
        // The angle is discontinuous at zero, and backends differ in the sign of a zero.
        let turns = op == Op::Binary(Binary::Atan2) && numbers(&self.known[args[0]].double).contains(&0.0);
        if (jumps(&op) && !exact) || turns || !tame(&single, &double) {
            return;
        }
        let operands = args.iter().map(|&i| self.known[i].val).collect();
        if let Ok(val) = self.function.apply(op.clone(), operands, Function::nowhere()) {
            self.know(val, single, double, exact && !rounds(&op));
        }
    }

    /// An operator and operands that may fit it; later values have a higher probability.
    fn choose(&mut self) -> Option<(Op, Vec<usize>)> {
        let x = self.any();
        let y = self.any();
        let z = self.any();
        let rank = self.known[x].ty.shape.rank();
        let axis = self.dice.below(rank.max(1));
        let over = if self.dice.flag() { Some(axis) } else { None };
        let dims = self.known[x].ty.shape.dims().to_vec();
        Some(match self.dice.below(13) {
            0 => (self.pointwise()?, vec![x]),
            1 | 2 => (self.binary()?, vec![x, y]),
            3 => {
                let c = self.of(DType::Bool)?;
                (
                    if self.dice.flag() { Op::Where } else { Op::Clip },
                    vec![if self.dice.flag() { c } else { x }, y, z],
                )
            }
            4 => (self.reduction(axis, over)?, vec![x]),
            5 => (self.layout(axis, &dims)?, vec![x]),
            6 => (self.join(axis), vec![x, y]),
            7..=9 => self.product(x, y)?,
            10 => self.positions(x, axis)?,
            11 => self.solved(x, y, axis)?,
            _ => (self.window(&dims)?, vec![x]),
        })
    }

    fn any(&mut self) -> usize {
        let n = self.known.len();
        self.dice.below(n).max(self.dice.below(n))
    }

    /// A random value of the given element type.
    fn of(&mut self, dtype: DType) -> Option<usize> {
        let found: Vec<usize> = (0..self.known.len()).filter(|&i| self.known[i].ty.dtype == dtype).collect();
        self.one(&found)
    }

    fn one<T: Clone>(&mut self, items: &[T]) -> Option<T> {
        if items.is_empty() { None } else { Some(items[self.dice.below(items.len())].clone()) }
    }

    fn pointwise(&mut self) -> Option<Op> {
        if self.dice.below(4) > 0 {
            return self.one(Unary::ALL).map(Op::Unary);
        }
        let to = [DType::Int, DType::Bool, DType::Num].map(Op::Convert);
        let family = self.one(&[&to[..], &[Op::Not, Op::Copy]])?;
        self.one(family)
    }

    fn binary(&mut self) -> Option<Op> {
        match self.dice.below(3) {
            0 | 1 => self.one(Binary::ALL).map(Op::Binary),
            _ if self.dice.below(4) == 0 => self.one(&[Op::And, Op::Or]),
            _ => self.one(&Compare::ALL).map(Op::Compare),
        }
    }

    fn reduction(&mut self, axis: usize, over: Option<usize>) -> Option<Op> {
        let (reverse, descending) = (self.dice.flag(), self.dice.flag());
        if self.dice.flag() {
            return self.one(&Reduction::ALL).map(|by| Op::Reduce(by, over));
        }
        self.one(&[
            Op::CumSum { axis, reverse },
            Op::Sort { axis, descending },
            Op::ArgSort { axis, descending },
            Op::Softmax,
            Op::LogSoftmax,
            Op::SumTo { shape: Shape::new(&[4]) },
        ])
    }

    /// Chooses an operator on a well-conditioned matrix, an operator on keys and values, or a transform.
    fn solved(&mut self, x: usize, y: usize, axis: usize) -> Option<(Op, Vec<usize>)> {
        let (descending, matrix) = (self.dice.flag(), self.conditioned);
        let frequencies = self.known[x].ty.shape.dims().iter().rev().nth(1).copied().unwrap_or(1);
        let n = (2 * frequencies).saturating_sub(1 + usize::from(self.dice.flag()));
        self.one(&[
            (Op::Cholesky, vec![matrix]),
            (Op::Solve, vec![matrix, y]),
            (Op::Solve, vec![matrix, x]),
            (Op::SortBy { axis, descending }, vec![x, y]),
            (Op::SortBy { axis, descending }, vec![x, x]),
            (Op::Rfft, vec![x]),
            (Op::Irfft { n }, vec![x]),
        ])
    }

    fn layout(&mut self, axis: usize, dims: &[usize]) -> Option<Op> {
        let n = dims.get(axis).copied()?;
        let mut perm: Vec<usize> = (0..dims.len()).collect();
        perm.rotate_left(axis);
        let whole = |i: usize| AxisIndex::whole(dims[i]);
        let at = |item: AxisIndex| (0..dims.len()).map(|i| if i == axis { item } else { whole(i) }).collect();
        let reversed = AxisIndex::Slice { start: n.saturating_sub(1), len: n, step: -1 };
        let wide: Vec<usize> = [2].into_iter().chain(dims.iter().copied()).collect();
        let mut longer = dims.to_vec();
        longer[axis] = 2 * n;
        self.one(&[
            Op::Transpose { perm },
            Op::Reshape { shape: Shape::new(&[dims.iter().product()]) },
            Op::Broadcast { shape: Shape::new(&wide) },
            Op::Index { items: at(AxisIndex::At(n.checked_sub(1)?)) },
            Op::Index { items: at(reversed) },
            Op::Index { items: at(AxisIndex::Slice { start: 0, len: n.div_ceil(2), step: 2 }) },
            Op::Unindex {
                shape: Shape::new(&longer),
                items: at(AxisIndex::Slice { start: 1, len: n, step: 2 }),
            },
        ])
    }

    fn join(&mut self, axis: usize) -> Op {
        if self.dice.flag() { Op::Concat { axis } } else { Op::Stack { axis } }
    }

    fn product(&mut self, x: usize, y: usize) -> Option<(Op, Vec<usize>)> {
        let conv = Conv { axes: vec![ConvAxis { stride: 1, lo: 1, hi: 0, dilation: 1 }], groups: 1 };
        let kernel =
            (0..self.known.len()).find(|&i| self.known[i].ty == Type::new(DType::Num, &[2, 4, 3]))?;
        let dims = |i: usize| self.known[i].ty.shape.dims();
        let (of_one, of_two) =
            (einsums::of(&[dims(x)], &mut self.dice), einsums::of(&[dims(x), dims(y)], &mut self.dice));
        let fits = |k: &Known| k.ty.dtype == DType::Num && k.ty.shape.dims().ends_with(&[4]);
        let rows: Vec<usize> = (0..self.known.len()).filter(|&i| fits(&self.known[i])).collect();
        let row = self.one(&rows)?;
        let square = (0..self.known.len()).find(|&i| self.known[i].ty == Type::new(DType::Num, &[4, 4]))?;
        self.one(&[
            (Op::MatMul, vec![x, y]),
            (Op::MatMul, vec![row, square]),
            (of_one, vec![x]),
            (of_two.clone(), vec![x, y]),
            (of_two.clone(), vec![x, y]),
            (of_two, vec![x, y]),
            (Op::Conv(conv), vec![row, kernel]),
        ])
    }

    fn positions(&mut self, x: usize, axis: usize) -> Option<(Op, Vec<usize>)> {
        let i = self.of(DType::Int)?;
        self.one(&[
            (Op::Gather { axis }, vec![x, i]),
            (Op::Pick, vec![x, i]),
            (Op::ScatterAdd { shape: Shape::new(&[4, 3]), axis: 0 }, vec![i, x]),
            (Op::ScatterAdd { shape: Shape::new(&[4]), axis: 0 }, vec![i, x]),
            (Op::OneHot { classes: 5 }, vec![i]),
        ])
    }

    fn window(&mut self, dims: &[usize]) -> Option<Op> {
        if dims.len() < 2 {
            return None;
        }
        let pool = Pool { axes: vec![PoolAxis { size: 2, stride: 1, lo: 1, hi: 0 }] };
        self.one(&[Op::MaxPool(pool.clone()), Op::AvgPool(pool.clone()), Op::Patches(pool)])
    }
}

/// Whether the result is a discontinuous function of the operands; these must then be exact.
fn jumps(op: &Op) -> bool {
    matches!(
        op,
        Op::Unary(Unary::Sign | Unary::Floor | Unary::Ceil | Unary::Round)
            | Op::Convert(DType::Int)
            | Op::Convert(DType::Bool)
    ) || matches!(op, Op::Compare(_) | Op::ArgSort { .. } | Op::SortBy { .. })
        || matches!(op, Op::Binary(Binary::Atan2 | Binary::Mod))
        || matches!(op, Op::Reduce(Reduction::ArgMax | Reduction::ArgMin, _))
}

/// Whether a number in the result may be rounded; ints never are.
fn rounds(op: &Op) -> bool {
    let moves = matches!(
        op,
        Op::Copy
            | Op::Unary(Unary::Neg | Unary::Abs | Unary::Relu)
            | Op::Binary(Binary::Minimum | Binary::Maximum)
            | Op::Clip
    ) || matches!(op, Op::Unary(Unary::Flush))
        || matches!(op, Op::Transpose { .. } | Op::Reshape { .. } | Op::Broadcast { .. } | Op::Where)
        || matches!(op, Op::Concat { .. } | Op::Stack { .. } | Op::Index { .. } | Op::Unindex { .. })
        || matches!(
            op,
            Op::Gather { .. } | Op::Pick | Op::Reduce(Reduction::Max | Reduction::Min, _) | Op::MaxPool(_)
        )
        || matches!(
            op,
            Op::Not | Op::And | Op::Or | Op::Reduce(Reduction::Any | Reduction::All, _) | Op::OneHot { .. }
        )
        || matches!(op, Op::Sort { .. } | Op::Convert(DType::Num));
    !moves && (!jumps(op) || *op == Op::Binary(Binary::Atan2))
}

/// Whether the results are finite, small, and nearly the same in both precisions.
fn tame(single: &Value, double: &Value) -> bool {
    match single.to_data() {
        Data::Bool(_) => single.same(double),
        Data::Int(v) => single.same(double) && v.iter().all(|x| x.unsigned_abs() < 1 << 20),
        Data::F32(_) | Data::F64(_) => {
            numbers(double).iter().all(|x| x.is_finite() && x.abs() < 50.0) && distance(single, double) < 1e-4
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_valid_and_use_most_operators() {
        let (mut used, mut read) = (Vec::new(), 0);
        for n in 0..super::super::EACH * super::super::CHECKS {
            let sample = sample(n);
            assert_eq!(crate::verify(&sample.function), Ok(()));
            let applied = sample.function.values.iter().filter_map(|d| match &d.kind {
                crate::DefKind::Apply { op, .. } => Some(op.name()),
                _ => None,
            });
            let names: Vec<&str> = applied.collect();
            read += reads_of_contractions(&sample.function);
            assert!(names.len() >= 20, "function {n} has only {} operators", names.len());
            used.extend(names);
        }
        assert!(read >= 10, "operators read the products of a vector and a tensor {read} times");
        let never: Vec<&str> =
            crate::suite::instances::names().into_iter().filter(|name| !used.contains(name)).collect();
        assert!(never.len() < 18, "never used: {never:?}");
    }

    /// The number of operands that are contractions of a vector with a tensor of three or more axes.
    fn reads_of_contractions(function: &Function) -> usize {
        let operands = |x: &Val| match &function.values[*x].kind {
            crate::DefKind::Apply { op, args } => Some((op, args)),
            _ => None,
        };
        let rank = |x: &Val| function.values[*x].ty.shape.rank();
        let is_one = |x: &&Val| {
            operands(x).is_some_and(|(op, args)| {
                let ranks = args.iter().map(rank);
                let (least, most) = (ranks.clone().min(), ranks.max());
                matches!(op, Op::Einsum(_)) && args.len() == 2 && least == Some(1) && most >= Some(3)
            })
        };
        let all: Vec<Val> = function.values.ids().collect();
        all.iter().filter_map(operands).map(|(_, args)| args.iter().filter(is_one).count()).sum()
    }
}
