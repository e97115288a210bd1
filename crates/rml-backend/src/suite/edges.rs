//! Every operator on special numbers, extreme ints and positions outside their axis: it must give the same result as
//! the reference, or the same error.

use rml_ir::op::{Op, eval, result_type};
use rml_ir::{DType, Data, Precision, Shape, Type, Value};

use super::Check;
use super::dice::Dice;
use super::group::{Ask, Group, has_nums};
use super::instances::{self, Instance};
use super::operands::operands;
use super::report::Report;
use super::specials;
use crate::contract::Backend;

pub(super) fn checks() -> Vec<Check> {
    instances::names().into_iter().map(|name| Check::new("edges", name, move |b| run(b, name))).collect()
}

fn run(backend: &dyn Backend, name: &'static str) -> Report {
    let mut report = Report::default();
    for precision in [Precision::F32, Precision::F64] {
        let samples: Vec<Instance> = instances::small(name)
            .into_iter()
            .filter(|i| precision == Precision::F32 || has_nums(i))
            .collect();
        if let Some((op, _)) = samples.first().filter(|(op, _)| is_pointwise(op)) {
            for table in tables(op, precision) {
                check_table(backend, op, precision, table, &mut report);
            }
        } else if !samples.is_empty() {
            planted(backend, name, precision, samples, &mut report);
        }
    }
    report
}

/// Whether the operator works element by element on operands of one shape.
fn is_pointwise(op: &Op) -> bool {
    let x = |dtype| Type::new(dtype, &[5]);
    let all = [DType::Bool, DType::Int, DType::Num];
    let fits = |types: &[Type]| result_type(op, types).is_ok_and(|ty| ty.shape == Shape::new(&[5]));
    let one = all.iter().any(|&d| fits(&[x(d)]) && result_type(op, &[Type::scalar(d)]).is_ok());
    let two = all.iter().any(|&d| fits(&[x(d), x(d)]) && fits(&[x(d), Type::scalar(d)]));
    let three = all
        .iter()
        .any(|&d| all.iter().any(|&c| fits(&[x(c), x(d), x(d)]) && fits(&[x(c), x(d), Type::scalar(d)])));
    one || two || three
}

/// All combinations of special elements, as operands of one shape; one entry for each combination of element types.
fn tables(op: &Op, precision: Precision) -> Vec<Vec<Value>> {
    let all = [DType::Bool, DType::Int, DType::Num];
    let mut found = Vec::new();
    for arity in 1..=3_u32 {
        for code in 0..3_usize.pow(arity) {
            let dtypes: Vec<DType> = (0..arity).map(|i| all[code / 3_usize.pow(i) % 3]).collect();
            let scalars: Vec<Type> = dtypes.iter().map(|&d| Type::scalar(d)).collect();
            if result_type(op, &scalars).is_ok() {
                found.push(crossed(&dtypes, precision));
            }
        }
    }
    found
}

/// The operands of all combinations.
fn crossed(dtypes: &[DType], precision: Precision) -> Vec<Value> {
    let specials: Vec<Data> = dtypes.iter().map(|&d| specials::vector(d, precision).to_data()).collect();
    let few = dtypes.len() > 2;
    let places: Vec<Vec<usize>> = specials.iter().map(|s| places(s.len(), few)).collect();
    let sizes: Vec<usize> = places.iter().map(Vec::len).collect();
    let rows: usize = sizes.iter().product();
    let operand = |k: usize| {
        let before: usize = sizes[..k].iter().product();
        let at: Vec<usize> = (0..rows).map(|row| places[k][row / before % sizes[k]]).collect();
        pick(&specials[k], &at)
    };
    (0..dtypes.len()).map(operand).collect()
}

/// The positions of the special values in use: all, or, if `few`, the first and last ones and some between.
fn places(len: usize, few: bool) -> Vec<usize> {
    (0..len).filter(|&i| !few || i < 4 || i + 3 >= len || i % 7 == 0).collect()
}

/// A vector of the elements at the given positions.
fn pick(data: &Data, at: &[usize]) -> Value {
    let data = match data {
        Data::Bool(v) => Data::Bool(at.iter().map(|&i| v[i]).collect()),
        Data::Int(v) => Data::Int(at.iter().map(|&i| v[i]).collect()),
        Data::F32(v) => Data::F32(at.iter().map(|&i| v[i]).collect()),
        Data::F64(v) => Data::F64(at.iter().map(|&i| v[i]).collect()),
    };
    Value::new(Shape::new(&[at.len()]), data)
}

/// Checks all rows that have a result in one call. Checks each of the other rows by itself: once as the only row, and
/// once among harmless rows.
fn check_table(backend: &dyn Backend, op: &Op, precision: Precision, table: Vec<Value>, report: &mut Report) {
    let columns: Vec<Data> = table.iter().map(Value::to_data).collect();
    let rows = columns.first().map_or(0, Data::len);
    let stops = |row: &usize| {
        let scalars: Vec<Value> = columns.iter().map(|c| c.get(*row)).collect();
        eval(op, &scalars.iter().collect::<Vec<_>>(), precision).is_err()
    };
    let (bad, good): (Vec<usize>, Vec<usize>) = (0..rows).partition(stops);
    one(backend, op, precision, vec![columns.iter().map(|c| pick(c, &good)).collect()], report);
    if bad.is_empty() {
        return;
    }
    let alone = |&row: &usize| columns.iter().map(|c| c.get(row)).collect();
    one(backend, op, precision, bad.iter().map(alone).collect(), report);
    let among = |&row: &usize| {
        let mut at: Vec<usize> = good.iter().copied().take(9).collect();
        at.insert(row % 9, row);
        columns.iter().map(|c| pick(c, &at)).collect()
    };
    one(backend, op, precision, bad.iter().map(among).collect(), report);
}

/// Checks calls of one operator; the operands of all calls have the same types.
fn one(backend: &dyn Backend, op: &Op, precision: Precision, calls: Vec<Vec<Value>>, report: &mut Report) {
    let Some(first) = calls.first() else { return };
    let types = first.iter().map(Value::ty).collect();
    let group = Group::new(&format!("edges of {}", op.name()), precision, vec![(op.clone(), types)]);
    match group.prepare(backend, Ask::WithReference) {
        Ok(ready) => calls.into_iter().for_each(|args| ready.check(&[args], report)),
        Err(refused) => report.record(Err(refused)),
    }
}

/// Checks operators of whole tensors: special numbers among harmless ones, and extreme ints and positions.
fn planted(
    backend: &dyn Backend,
    name: &str,
    precision: Precision,
    samples: Vec<Instance>,
    report: &mut Report,
) {
    let mut dice = Dice::new(&format!("edges {name} {precision}"));
    for (op, types) in &samples {
        one(backend, op, precision, extremes(op, types, precision, &mut dice), report);
    }
    let group = Group::new(&format!("edges of {name}"), precision, samples);
    let ready = match group.prepare(backend, Ask::WithReference) {
        Ok(ready) => ready,
        Err(refused) => return report.record(Err(refused)),
    };
    let specials = special_sets(name, precision);
    for operand in 0..=1 {
        for set in &specials {
            let args = |(op, types): &Instance| {
                let mut args = operands(op, types, precision, &mut dice);
                if let Some(arg) = args.get_mut(operand).filter(|_| takes_specials(op, operand)) {
                    *arg = plant(arg, set, &mut dice);
                }
                args
            };
            let args: Vec<Vec<Value>> = group.instances().iter().map(args).collect();
            ready.check(&args, report);
        }
    }
}

/// The sets of special numbers that are put into one operand together. Huge numbers are excluded for operators that add
/// or multiply them, because the order of operations then matters.
fn special_sets(name: &str, precision: Precision) -> Vec<Vec<f64>> {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let tiny = super::compare::limits(precision).1;
    let mut sets = vec![
        vec![nan],
        vec![inf],
        vec![-inf],
        vec![inf, -inf],
        vec![nan, inf],
        vec![-0.0],
        vec![-0.0; 64],
        vec![0.0; 64],
        vec![-inf; 64],
        vec![inf; 64],
        vec![nan; 64],
        vec![tiny / 4.0, tiny, -tiny / 2.0],
    ];
    if !matches!(name, "matmul" | "einsum" | "sum" | "mean" | "prod" | "sum_to" | "cumsum" | "scatter_add")
        && !["conv", "avg_pool", "unpatches"].iter().any(|stem| name.starts_with(stem))
    {
        let max = specials::nums(precision).into_iter().filter(|x| x.is_finite()).fold(0.0, f64::max);
        sets.extend([vec![max], vec![-max], vec![max, -max], vec![1e4, -1e4]]);
    }
    sets
}

/// Whether an operand may contain special numbers. A backend may or may not multiply the zeros that pad a convolution
/// by the numbers of the other operand, and 0 times infinity is NaN. Steps of an elimination or a transform differ in
/// the same way.
fn takes_specials(op: &Op, operand: usize) -> bool {
    let is_convolution = matches!(op, Op::Conv(_) | Op::ConvTranspose { .. } | Op::ConvKernel { .. });
    let is_solved = matches!(op, Op::Cholesky | Op::Solve | Op::Rfft | Op::Irfft { .. });
    (operand == 0 || !is_convolution) && !is_solved
}

/// The value with the given numbers at random positions.
fn plant(value: &Value, set: &[f64], dice: &mut Dice) -> Value {
    let n = value.shape().len();
    if n == 0 || value.dtype() != DType::Num {
        return value.clone();
    }
    let mut numbers = super::compare::numbers(value);
    for (k, &x) in set.iter().enumerate().take(n) {
        let at = if set.len() > 3 { k } else { dice.below(n) };
        numbers[at] = x;
    }
    let precision = if matches!(value.to_data(), Data::F32(_)) { Precision::F32 } else { Precision::F64 };
    Value::new(value.shape(), Data::F64(numbers)).to_precision(precision)
}

/// Calls with one extreme int or position each, at each place of each int operand, and calls with a few of them
/// together.
fn extremes(op: &Op, types: &[Type], precision: Precision, dice: &mut Dice) -> Vec<Vec<Value>> {
    const SETS: [&[i64]; 8] = [
        &[i64::MAX],
        &[i64::MIN],
        &[i64::MAX, 1],
        &[i64::MAX, i64::MAX],
        &[i64::MIN, -1],
        &[-1],
        &[1 << 40],
        &[3, -4, 2],
    ];
    let mut calls = Vec::new();
    for (k, ty) in types.iter().enumerate().filter(|(_, ty)| ty.dtype == DType::Int && !ty.shape.is_empty()) {
        for set in SETS {
            let mut args = operands(op, types, precision, dice);
            let Data::Int(mut ints) = args[k].to_data() else { continue };
            for (at, &x) in set.iter().enumerate().take(ints.len()) {
                ints[at] = x;
            }
            ints.rotate_right(dice.below(ty.shape.len()));
            args[k] = Value::new(ty.shape.clone(), Data::Int(ints));
            calls.push(args);
        }
        let mut args = operands(op, types, precision, dice);
        let outside = outside(op, types);
        args[k] = Value::filled(ty, outside, precision);
        calls.push(args);
    }
    calls
}

/// The first position after the axis for operators that take positions; 0 for other operators.
#[allow(clippy::cast_precision_loss, reason = "samples are small")]
fn outside(op: &Op, types: &[Type]) -> f64 {
    let size = match op {
        Op::Gather { axis } => Some(types[0].shape.dims()[*axis]),
        Op::ScatterAdd { shape, axis } => Some(shape.dims()[*axis]),
        Op::Pick => types[0].shape.dims().last().copied(),
        _ => None,
    };
    size.unwrap_or(0) as f64
}

#[cfg(test)]
mod tests {
    use rml_ir::op::EvalError;

    use super::*;

    #[test]
    fn errors_are_among_the_edges() {
        let stops = |name: &str, wanted: fn(&EvalError) -> bool| {
            let mut dice = Dice::new("test");
            let (op, types) = instances::small(name).pop().expect("a sample");
            let calls = extremes(&op, &types, Precision::F32, &mut dice);
            let error = |args: &Vec<Value>| eval(&op, &args.iter().collect::<Vec<_>>(), Precision::F32).err();
            calls.iter().filter_map(error).any(|e| wanted(&e))
        };
        let outside = |e: &EvalError| matches!(e, EvalError::PositionOutside { .. });
        assert!(stops("pick", outside) && stops("scatter_add", outside));
    }
}
