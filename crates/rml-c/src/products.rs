//! Matrix products and contractions.

use rml_ir::op::{Around, Einsum};

use crate::function::Function;
use crate::operand::{Operand, linear, strides};

/// An axis of a product: its length, and its strides in the result and in the operands.
struct Axis {
    n: usize,
    out: usize,
    of: Vec<usize>,
}

/// Up to this many sums are kept in variables, since a processor has registers for them.
const FEW: usize = 16;

/// Adds up the products of two operands, or one operand; with `add`, to the values in the result. The axes are those of
/// the result without the last one, then those summed over, then the last one.
fn products(f: &mut Function<'_>, mut axes: Vec<Axis>, args: &[Operand], out: &Operand, add: bool) {
    if let Some(last) = axes.pop() {
        // Chains run side by side along the last axis, unless no operand has contiguous rows; then they run one after
        // the other.
        let is_row = last.out == 0 || last.of.contains(&1);
        let at = if is_row { axes.len() } else { axes.iter().take_while(|axis| axis.out != 0).count() };
        axes.insert(at, last);
    }
    let at = |axes: &[Axis], from: usize, stride: &dyn Fn(&Axis) -> usize| {
        let terms = axes.iter().enumerate().filter(|(_, axis)| axis.n != 1);
        linear(&terms.map(|(i, axis)| (format!("i{}", from + i), stride(axis))).collect::<Vec<_>>(), 0)
    };
    let is_last = axes.last().is_some_and(|axis| axis.out != 0 && axis.n != 1);
    let (before, last) = axes.split_at(axes.len() - usize::from(is_last));
    let outer = before.iter().take_while(|axis| axis.out != 0 || axis.n == 1).count();
    let columns = last.first().map_or(1, |axis| axis.n);
    let (to, column) = (out.at(&at(&axes, 0, &|axis| axis.out)), at(last, before.len(), &|_| 1));
    let is_few = columns <= FEW && outer < before.len();
    let sum = match (is_few, is_last) {
        (false, _) => to.clone(),
        (true, true) => format!("chain[{column}]"),
        (true, false) => "chain".to_owned(),
    };
    let factors: Vec<String> =
        args.iter().enumerate().map(|(k, arg)| arg.at(&at(&axes, 0, &|axis| axis.of[k]))).collect();
    let line = match &factors[..] {
        [a, b] => format!("{sum} = {};", f.scope.scalars.added([a, b], &sum)),
        _ => f.plus(out.dtype, &sum, &factors.concat()),
    };
    if !is_few {
        if !add {
            f.fill_all("0", out);
        }
        return f.each(&axes.iter().map(|axis| axis.n).collect::<Vec<_>>(), &line);
    }
    in_variables(f, (&before[..outer], &before[outer..], last), (&to, &sum), &line, add);
}

/// Adds up in variables: loops over rows, then over the summed axes, then over columns.
fn in_variables(
    f: &mut Function<'_>,
    (rows, inner, last): (&[Axis], &[Axis], &[Axis]),
    (to, sum): (&str, &str),
    line: &str,
    add: bool,
) {
    let named = |from: usize, axes: &[Axis]| -> Vec<(String, usize)> {
        axes.iter().enumerate().map(|(i, axis)| (format!("i{}", from + i), axis.n)).collect()
    };
    let columns = named(rows.len() + inner.len(), last);
    let depth = f.lines.nest(&named(0, rows));
    f.lines.open("");
    let variable = columns.first().map_or_else(|| "chain".to_owned(), |(_, n)| format!("chain[{n}]"));
    let start = match (add, columns.is_empty()) {
        (false, false) => " = {0}".to_owned(),
        (false, true) => " = 0".to_owned(),
        (true, true) => format!(" = {to}"),
        (true, false) => String::new(),
    };
    f.lines.line(format!("num {variable}{start};"));
    if start.is_empty() {
        each(f, &columns, &format!("{sum} = {to};"));
    }
    let inner = [named(rows.len(), inner), columns.clone()].concat();
    each(f, &inner, line);
    each(f, &columns, &format!("{to} = {sum};"));
    f.lines.close_all(depth + 1);
}

fn each(f: &mut Function<'_>, sizes: &[(String, usize)], line: &str) {
    let depth = f.lines.nest(sizes);
    f.lines.line(line);
    f.lines.close_all(depth);
}

/// NumPy's product; with `add`, added to the values in the result.
pub(crate) fn matmul(f: &mut Function<'_>, args: &[Operand], out: &Operand, add: bool) {
    products(f, of_matmul(&args[0], &args[1], out), args, out, add);
}

/// The axes of NumPy's product: the stack, the rows, the summed axis, the columns.
fn of_matmul(a: &Operand, b: &Operand, out: &Operand) -> Vec<Axis> {
    let (sa, sb, so) = (&a.strides, &b.strides, strides(out.dims()));
    let (ra, rb) = (a.dims().len(), b.dims().len());
    let mut axes = Vec::new();
    let stack = out.dims().len() - usize::from(ra > 1) - usize::from(rb > 1);
    let along = |dims: &[usize], strides: &[usize], i: usize| {
        let own = dims.len().saturating_sub(2);
        (i + own).checked_sub(stack).filter(|k| dims[*k] != 1).map_or(0, |k| strides[k])
    };
    for (i, out_stride) in so.iter().enumerate().take(stack) {
        axes.push(Axis {
            n: out.dims()[i],
            out: *out_stride,
            of: vec![along(a.dims(), sa, i), along(b.dims(), sb, i)],
        });
    }
    if ra > 1 {
        axes.push(Axis { n: a.dims()[ra - 2], out: so[stack], of: vec![sa[ra - 2], 0] });
    }
    let of_b = if rb > 1 { sb[rb - 2] } else { sb[0] };
    axes.push(Axis { n: a.dims()[ra - 1], out: 0, of: vec![sa[ra - 1], of_b] });
    if rb > 1 {
        axes.push(Axis { n: b.dims()[rb - 1], out: 1, of: vec![0, sb[rb - 1]] });
    }
    axes
}

/// A contraction; with `add`, added to the values in the result. Axes that only one operand has and the result lacks
/// are summed first.
pub(crate) fn einsum(f: &mut Function<'_>, labels: &Einsum, args: &[Operand], out: &Operand, add: bool) {
    let operands = labels.operands();
    let mut summed = Vec::new();
    for (k, arg) in args.iter().enumerate() {
        let others =
            |label: &char| operands.iter().enumerate().any(|(i, other)| i != k && other.contains(label));
        let is_lost = |label: &char| !labels.result().contains(label) && !others(label);
        let axes: Vec<usize> = (0..arg.dims().len()).filter(|axis| is_lost(&operands[k][*axis])).collect();
        summed.push(along(f, arg, &axes, ["left", "right"][k.min(1)]));
    }
    let axes = of_einsum(operands, labels.result(), &summed, out);
    products(f, axes, &summed, out, add);
}

/// Sums axes of an operand one after the other. The result has one element along each summed axis.
fn along(f: &mut Function<'_>, x: &Operand, axes: &[usize], name: &str) -> Operand {
    let mut from = x.clone();
    if x.is_alike() && !axes.is_empty() {
        from = f.beside(name, x.shape.clone());
        f.copy_all(x, &from);
    }
    for axis in axes {
        let mut dims = from.dims().to_vec();
        let Around { outer, n, inner } = Around::axis(&dims, Some(*axis));
        dims[*axis] = 1;
        let to = f.beside(&format!("{name}_{axis}"), dims.iter().copied().collect());
        let at = |far: usize| {
            let block = ("i0".to_owned(), if outer == 1 { 0 } else { far });
            linear(&[block, ("i1".to_owned(), usize::from(inner != 1))], 0)
        };
        if n == 0 {
            f.fill_all("0", &to);
        } else {
            let sum = f.scope.scalars.function("rml_sum");
            let line = format!("{} = {sum}(&{}, {n}, {inner});", to.at(&at(inner)), from.at(&at(n * inner)));
            f.each(&[outer, inner], &line);
        }
        from = to;
    }
    from
}

/// The axes of a contraction: those of the result without the last one, the summed axes, the last one.
fn of_einsum(operands: &[Vec<char>], result: &[char], args: &[Operand], out: &Operand) -> Vec<Axis> {
    let far = |labels: &[char], strides: &[usize], label: char| {
        labels.iter().position(|l| *l == label).map_or(0, |k| strides[k])
    };
    let size = |label: char| {
        let of = |(labels, arg): (&Vec<char>, &Operand)| {
            Some(arg.dims()[labels.iter().position(|l| *l == label)?])
        };
        operands.iter().zip(args).find_map(of).unwrap_or(1)
    };
    let mut order: Vec<char> = result.to_vec();
    let last = order.pop();
    for label in operands.iter().flatten() {
        if !result.contains(label) && !order.contains(label) {
            order.push(*label);
        }
    }
    order.extend(last);
    let axis = |label: char| Axis {
        n: size(label),
        out: far(result, &out.strides, label),
        of: operands.iter().zip(args).map(|(labels, arg)| far(labels, &arg.strides, label)).collect(),
    };
    order.into_iter().map(axis).collect()
}
