//! Products of matrices.

use std::ops::Range;

use rml_ir::Position;
use rml_ir::op::Number;
use rml_kernels::Packed;
use rml_nest::{Access, Call, Contraction, Home, NestProgram, Order, Tick, dense};

use super::super::view::{At, View, is_dense, scatter, strided};
use super::{Ready, Runner, is_kept, piece};
use crate::ffi::Lent;
use crate::layout::Room;
use crate::parts::Rows;

/// How the matrices of an operand are stored.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Form {
    Rows,
    /// Column by column.
    Columns,
    /// In any other way: the operand is copied first.
    Other,
}

/// Products of `stack` pairs of matrices.
#[derive(Debug)]
pub(in super::super) struct Products {
    stack: usize,
    size: [usize; 3],
    left: View,
    right: View,
    forms: [Form; 2],
    /// The values at which the chains of the elements start.
    start: Option<View>,
    /// The lengths and strides of the axes of the result, if the products are not stored row by row.
    result: Option<(Vec<usize>, Vec<isize>)>,
    /// Some if the right matrix does not change while the window runs; inside, its register, if it is one.
    kept: Option<Option<usize>>,
    /// The order of the ticks.
    order: Order,
}

/// A matrix laid out for products.
#[derive(Debug)]
pub(in super::super) struct Pack<N: Number> {
    packed: Option<Packed<N>>,
    /// The version of the matrix that was used last, and whether it is laid out.
    version: Option<(u64, bool)>,
}

impl<N: Number> Default for Pack<N> {
    fn default() -> Self {
        Self { packed: None, version: None }
    }
}

/// With at least this many rows, it pays off to lay out the right matrix.
const WORTH: usize = 8;

impl Products {
    pub(super) fn new(
        program: &NestProgram,
        call: &Call,
        operands: &[View],
        order: Order,
    ) -> Option<Products> {
        let [a, b] = operands else { return None };
        let product = Contraction::of(&call.op, [&a.dims, &b.dims])?;
        let [stack, inner] = [true, false].map(|kept| product.shared(kept));
        let (rows, columns) = (product.rows(), product.columns());
        let Contraction { left, right, out } = &product;
        let size = |l: &char| match left.iter().position(|own| own == l) {
            Some(axis) => a.dims[axis],
            None => b.dims[place(right, l)],
        };
        let count = |labels: &[char]| labels.iter().map(size).product::<usize>();
        let axes = |own: &[char], wanted: [&[char]; 3]| -> Vec<usize> {
            wanted.concat().iter().map(|l| place(own, l)).collect()
        };
        let left_view = a.permuted(&axes(left, [&stack, &rows, &inner]));
        let right_view = b.permuted(&axes(right, [&stack, &inner, &columns]));
        let made = [&stack[..], &rows, &columns].concat();
        let result = (made != *out).then(|| {
            let own = dense(&out.iter().map(size).collect::<Vec<_>>());
            let strides = made.iter().map(|l| own[place(out, l)]).collect();
            (made.iter().map(size).collect(), strides)
        });
        Some(Products {
            stack: count(&stack),
            size: [count(&rows), count(&inner), count(&columns)],
            forms: [
                form(&left_view, [stack.len(), rows.len(), inner.len()]),
                form(&right_view, [stack.len(), inner.len(), columns.len()]),
            ],
            kept: kept(program, &right_view),
            left: left_view,
            right: right_view,
            start: call.start.as_ref().map(|operand| View::new(program, operand)),
            result,
            order,
        })
    }
}

impl Products {
    /// The largest number of threads that can share the products, the rows of the result, and those of the operands.
    pub(super) fn rows<'v>(&'v self, start: Option<&'v View>) -> Option<Shares<'v>> {
        let [m, k, n] = self.size;
        if self.result.is_some() || m * k * n == 0 {
            return None;
        }
        let rows = |n: usize, step: usize| Some(Rows { n, step });
        let (most, out, left, right) = match (self.stack, self.forms) {
            (1, [Form::Rows, _]) if m > 1 => (m / LEAST, rows(m, n), rows(m, k), None),
            (1, [Form::Columns, Form::Rows]) => (m / LEAST, rows(m, n), None, None),
            (1, _) => return None,
            (stack, _) => (stack, rows(stack, m * n), rows(stack, m * k), rows(stack, k * n)),
        };
        let stored = |form: Form, rows: Option<Rows>| rows.filter(|_| form == Form::Rows);
        let mut operands =
            vec![(&self.left, stored(self.forms[0], left)), (&self.right, stored(self.forms[1], right))];
        operands.extend(start.map(|start| (start, out)));
        Some((most, out, operands))
    }

    /// How many products of two numbers are added.
    pub(super) fn terms(&self) -> f64 {
        self.size.iter().map(|n| *n as f64).product::<f64>() * self.stack as f64
    }
}

/// The largest number of threads that can share the work, the rows of its result, and those of its operands.
type Shares<'v> = (usize, Option<Rows>, Vec<(&'v View, Option<Rows>)>);

/// The fewest rows of a product per thread: with fewer it becomes slow.
const LEAST: usize = 4;

/// The index of the axis with a label.
fn place(labels: &[char], label: &char) -> usize {
    labels.iter().position(|own| own == label).expect("it is the label of an axis")
}

/// How the matrices of an operand with the axes stack, rows and columns are stored.
fn form(view: &View, [stack, rows, columns]: [usize; 3]) -> Form {
    if view.is_dense {
        return Form::Rows;
    }
    let dims = &view.dims;
    let turned = [&dims[..stack], &dims[stack + rows..], &dims[stack..stack + rows]].concat();
    let own = dense(&turned);
    let strides = [&own[..stack], &own[stack + columns..], &own[stack..stack + columns]].concat();
    if view.lies(&strides) { Form::Columns } else { Form::Other }
}

/// Whether an operand is the same matrix while the window runs; inside, its register, if it is one.
fn kept(program: &NestProgram, view: &View) -> Option<Option<usize>> {
    let [variant] = &view.source[..] else { return None };
    let Access { slot, tick, .. } = variant.access;
    match program.slots[slot].home {
        Home::Const(_) => Some(None),
        Home::Register { .. } if is_kept(program, slot) => {
            Some(program.registers().position(|own| own == slot))
        }
        Home::Tick { .. } if matches!(tick, Tick::First | Tick::Last) => Some(Some(usize::MAX)),
        Home::Register { .. } | Home::Input | Home::Tick { .. } => None,
    }
}

/// Runs the products of a call at consecutive ticks.
pub(super) fn all<N: Number>(
    runner: &mut Runner<'_, N>,
    memory: Lent<'_, N>,
    (id, ready, products): (usize, &Ready, &Products),
    at: At,
    ticks: usize,
) {
    let end = at.t + ticks;
    let here = |t: usize| At { t, ..at };
    let single = [&products.left, &products.right].iter().all(|view| view.source.len() == 1);
    if single && products.start.is_none() {
        return run(runner, memory, (id, ready, products), at, ticks);
    }
    // The tick at which a sum begins, and the first and the last of the other ticks.
    let (edge, others) = match products.order {
        Order::Backward => (end - 1, [at.t, end.saturating_sub(2)]),
        Order::Forward | Order::Over => (at.t, [at.t + 1, end - 1]),
    };
    if single && ticks > 1 && others.iter().all(|t| is_summed(runner, ready, products, here(*t))) {
        if let Some(start) = &products.start {
            let [m, _, n] = products.size;
            let out = runner.slots.base(memory, ready.out, Tick::Now, at);
            let rows = runner.rows(m);
            begin(runner, memory, start, (out, rows.start * n..rows.end * n), here(edge));
        }
        return summed(runner, memory, ready, products, at, ticks);
    }
    // Ticks with the same position are computed in the same way.
    let mut runs = Vec::new();
    let mut t = at.t;
    while t < end {
        let next = match Position::of(t, at.ticks) {
            Position::Middle => end.min(at.ticks - 1),
            Position::Only | Position::First | Position::Last => t + 1,
        };
        runs.push((t, next - t));
        t = next;
    }
    if products.order == Order::Backward {
        runs.reverse();
    }
    for (t, ticks) in runs {
        run(runner, memory, (id, ready, products), here(t), ticks);
    }
}

/// Runs the products of a call at ticks that are computed in the same way.
fn run<N: Number>(
    runner: &mut Runner<'_, N>,
    memory: Lent<'_, N>,
    (id, ready, products): (usize, &Ready, &Products),
    at: At,
    ticks: usize,
) {
    if ticks > 1 && is_summed(runner, ready, products, at) {
        return summed(runner, memory, ready, products, at, ticks);
    }
    let is_joined = ticks > 1 && runner.part.1 == 1 && is_joined(runner, ready, products, at);
    let (rows, times) = if is_joined { (products.size[0] * ticks, 1) } else { (products.size[0], ticks) };
    for i in 0..times {
        let t = if products.order == Order::Backward && !is_joined { at.t + ticks - 1 - i } else { at.t + i };
        one(runner, memory, (id, ready, products), At { t, ..at }, rows);
    }
}

/// Runs the products of a call at some ticks. If they share the right matrix, or add to one sum in place, their
/// operands are copied next to each other for a single product.
pub(super) fn some<N: Number>(
    runner: &mut Runner<'_, N>,
    memory: Lent<'_, N>,
    (id, ready, products): (usize, &Ready, &Products),
    at: At,
    ticks: &[usize],
) {
    let is_middle = |t: &usize| Position::of(*t, at.ticks) == Position::Middle;
    let from = ticks.partition_point(|t| *t == 0);
    let to = from + ticks[from..].partition_point(is_middle);
    let way = if to - from > 1 && runner.part.1 == 1 {
        way(runner, ready, products, At { t: ticks[from], ..at })
    } else {
        None
    };
    let Some(way) = way else {
        return singly(runner, memory, (id, ready, products), at, ticks);
    };
    let [mut before, mut after] = [&ticks[..from], &ticks[to..]];
    if products.order == Order::Backward {
        (before, after) = (after, before);
    }
    singly(runner, memory, (id, ready, products), at, before);
    together(runner, memory, (ready, products, way), at, &ticks[from..to]);
    singly(runner, memory, (id, ready, products), at, after);
}

/// Runs the products of a call at some ticks, one after the other.
fn singly<N: Number>(
    runner: &mut Runner<'_, N>,
    memory: Lent<'_, N>,
    call: (usize, &Ready, &Products),
    at: At,
    ticks: &[usize],
) {
    let rows = call.2.size[0];
    for i in 0..ticks.len() {
        let i = if call.2.order == Order::Backward { ticks.len() - 1 - i } else { i };
        one(runner, memory, call, At { t: ticks[i], ..at }, rows);
    }
}

/// A way to compute the products of several ticks as one product.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    /// The left matrices are joined to one matrix, and so are the results.
    Joined,
    /// The products are added up.
    Summed,
}

/// The way to compute the products of several ticks as one, if their operands are copied next to each other.
fn way<N: Number>(runner: &Runner<'_, N>, ready: &Ready, products: &Products, at: At) -> Option<Way> {
    let is_as_it_is = products.start.is_none() && products.forms[1] != Form::Other;
    if is_as_it_is && is_joined(runner, ready, products, at) {
        return Some(Way::Joined);
    }
    is_summed(runner, ready, products, at).then_some(Way::Summed)
}

/// Computes one product for some ticks, on copies of their operands.
fn together<N: Number>(
    runner: &mut Runner<'_, N>,
    memory: Lent<'_, N>,
    (ready, products, way): (&Ready, &Products, Way),
    at: At,
    ticks: &[usize],
) {
    let [m, k, n] = products.size;
    let here = |t: usize| At { t, ..at };
    let mut scratch = std::mem::take(&mut runner.state.scratch);
    let gather = |copies: &mut Vec<N>, view: &View, len: usize| {
        copies.clear();
        for t in ticks {
            let from = runner.slots.find(memory, &view.source, here(*t)).0;
            copies.extend_from_slice(memory.nums(from, len));
        }
    };
    let [left, right, made] = &mut scratch;
    gather(left, &products.left, m * k);
    match way {
        Way::Joined => {
            made.clear();
            made.resize(ticks.len() * m * n, N::default());
            let first = runner.slots.find(memory, &products.right.source, here(ticks[0])).0;
            let turned = [false, products.forms[1] == Form::Columns];
            N::product((ticks.len() * m, k, n), left, memory.nums(first, k * n), turned, false, made);
            for (t, result) in ticks.iter().zip(made.chunks_exact(m * n)) {
                let out = runner.slots.base(memory, ready.out, Tick::Now, here(*t));
                memory.nums_mut(out, m * n).copy_from_slice(result);
            }
        }
        Way::Summed => {
            gather(right, &products.right, k * n);
            let out = runner.slots.base(memory, ready.out, Tick::Now, here(ticks[0]));
            let back = if products.order == Order::Backward { k } else { 0 };
            N::add_outer([m, ticks.len() * k, n], 0..m, left, right, back, memory.nums_mut(out, m * n));
        }
    }
    runner.state.scratch = scratch;
}

/// The only access of an operand at a tick of this position; none if conditions choose between several.
fn only(view: &View, at: At) -> Option<&Access> {
    let variant = view.source.iter().find(|v| v.at.contains(at.position()))?;
    variant.any.is_empty().then_some(&variant.access)
}

/// Whether the products of these ticks add to one sum in place, and the rows of their operands are contiguous.
fn is_summed<N: Number>(runner: &Runner<'_, N>, ready: &Ready, products: &Products, at: At) -> bool {
    let Some(start) = &products.start else { return false };
    let [m, k, n] = products.size;
    let layout = runner.slots.layout;
    let steps = |view: &View, len: usize| {
        only(view, at).is_some_and(|access| layout.far(access.slot, access.tick) == Some(len.cast_signed()))
    };
    // A matrix of one row or one column is its own transpose.
    let is_turned =
        products.forms[0] == Form::Columns || products.forms[0] == Form::Rows && (m == 1 || k == 1);
    let is_own = only(start, at)
        .is_some_and(|own| own.slot == ready.out && own.offset == 0 && is_dense(&own.strides, &start.dims));
    is_own
        && layout.rooms[ready.out] == Room::One
        && products.stack == 1
        && products.result.is_none()
        && is_turned
        && products.forms[1] == Form::Rows
        && steps(&products.left, m * k)
        && steps(&products.right, k * n)
}

/// Adds up the products of several ticks.
fn summed<N: Number>(
    runner: &mut Runner<'_, N>,
    memory: Lent<'_, N>,
    ready: &Ready,
    products: &Products,
    at: At,
    ticks: usize,
) {
    let [m, k, n] = products.size;
    let out = runner.slots.base(memory, ready.out, Tick::Now, at);
    let first = |view: &View| Some(runner.slots.find(memory, &view.source, at).0);
    let (left, right) = (first(&products.left), first(&products.right));
    let back = if products.order == Order::Backward { k } else { 0 };
    let rows = k * ticks;
    let own = runner.rows(m);
    let to = memory.nums_mut(out + own.start * n, own.len() * n);
    let (a, b) = (piece(memory, left, 0..m * rows, &[]), piece(memory, right, 0..rows * n, &[]));
    N::add_outer([m, rows, n], own, a, b, back, to);
}

/// Whether the left matrices of these ticks form one matrix in memory, and so do their results.
fn is_joined<N: Number>(runner: &Runner<'_, N>, ready: &Ready, products: &Products, at: At) -> bool {
    let [m, k, n] = products.size;
    let layout = runner.slots.layout;
    let (Some(left), Some(right)) = (only(&products.left, at), only(&products.right, at)) else {
        return false;
    };
    let step = |access: &Access| layout.far(access.slot, access.tick);
    let is = |n: usize| Some(n.cast_signed());
    let starts = match &products.start {
        None => true,
        Some(view) => view.is_dense && only(view, at).is_some_and(|access| step(access) == is(m * n)),
    };
    products.stack == 1
        && products.result.is_none()
        && products.forms[0] == Form::Rows
        && step(left) == is(m * k)
        && step(right) == is(0)
        && layout.far(ready.out, Tick::Now) == is(m * n)
        && starts
}

/// Runs products of `rows` rows at a tick, or the part of them that belongs to this thread.
fn one<N: Number>(
    runner: &mut Runner<'_, N>,
    memory: Lent<'_, N>,
    (id, ready, products): (usize, &Ready, &Products),
    at: At,
    rows: usize,
) {
    let [_, k, n] = products.size;
    let out = runner.slots.base(memory, ready.out, Tick::Now, at);
    // The products, and the rows of each, that are this thread's.
    let (stack, own) = match products.stack {
        1 => (0..1, runner.rows(rows)),
        stack => (runner.rows(stack), 0..rows),
    };
    let (mk, kn, mn) = (rows * k, k * n, rows * n);
    let made_at = stack.start * mn + own.start * n;
    let made_len = stack.len() * own.len() * n;
    if let Some(start) = &products.start {
        begin(runner, memory, start, (out, made_at..made_at + made_len), at);
    }
    let left = match products.forms[0] {
        Form::Rows | Form::Columns => Some(runner.slots.find(memory, &products.left.source, at).0),
        Form::Other => runner.operand(memory, &products.left, at, 0),
    };
    let is_packed = products.stack == 1 && pack(runner, memory, id, products, at, rows);
    let right = match products.forms[1] {
        Form::Rows | Form::Columns => Some(runner.slots.find(memory, &products.right.source, at).0),
        Form::Other => runner.operand(memory, &products.right, at, 1),
    };
    let scratch = &mut runner.state.scratch;
    let mut made = std::mem::take(&mut scratch[2]);
    if products.result.is_some() {
        made.clear();
        made.resize(stack.len() * mn, N::default());
    }
    let own_memory = memory.nums_mut(out + made_at, made_len);
    let to: &mut [N] = if products.result.is_some() { &mut made } else { own_memory };
    let is_some = own.len() < rows;
    let columns = products.forms.map(|form| form == Form::Columns);
    for (i, to) in stack.zip(to.chunks_exact_mut((own.len() * n).max(1))) {
        let a = |from: usize, to: usize| piece(memory, left, i * mk + from..i * mk + to, &scratch[0]);
        let b = || piece(memory, right, i * kn..(i + 1) * kn, &scratch[1]);
        let add = products.start.is_some();
        match runner.state.packs[id].packed.as_ref().filter(|_| is_packed) {
            Some(packed) => {
                N::product_packed(own.len(), a(own.start * k, own.end * k), packed, add, to);
            }
            None if is_some && columns[0] => {
                if !add {
                    to.fill(N::default());
                }
                N::add_outer([rows, k, n], own.clone(), a(0, mk), b(), 0, to);
            }
            None => {
                let a = if columns[0] { a(0, mk) } else { a(own.start * k, own.end * k) };
                N::product((own.len(), k, n), a, b(), columns, add, to);
            }
        }
    }
    if let Some((dims, strides)) = &products.result {
        scatter(memory.nums_mut(out, made.len()), 0, strides, dims, &made);
    }
    runner.state.scratch[2] = made;
}

/// Copies the start values of chains to the result: those of the elements `some`, from `out` on.
pub(super) fn begin<N: Number>(
    runner: &Runner<'_, N>,
    memory: Lent<'_, N>,
    start: &View,
    (out, some): (usize, Range<usize>),
    at: At,
) {
    let (first, strides) = runner.slots.find(memory, &start.source, at);
    let to = out + some.start;
    if is_dense(strides, &start.dims) {
        if first != out {
            memory.nums_mut(to, some.len()).copy_from_slice(memory.nums(first + some.start, some.len()));
        }
        return;
    }
    let elements = strided(|at, len| memory.nums(at, len), first, strides, &start.dims);
    memory.nums_mut(to, some.len()).copy_from_slice(&elements[some]);
}

/// Lays out the right matrix if this pays off for this many rows. Returns whether it is laid out.
fn pack<N: Number>(
    runner: &mut Runner<'_, N>,
    memory: Lent<'_, N>,
    id: usize,
    products: &Products,
    at: At,
    rows: usize,
) -> bool {
    // The kernel for laid-out matrices needs a left matrix that is stored row by row.
    let Some(register) = products.kept.filter(|_| products.forms[0] != Form::Columns) else { return false };
    if products.forms[1] == Form::Other {
        return false;
    }
    let turned = products.forms[1] == Form::Columns;
    // A product that uses the matrix only once lays it out itself, piece by piece.
    let is_once = at.ticks == 1 || rows > products.size[0];
    let version = match register {
        None => 0,
        Some(usize::MAX) => runner.versions.windows,
        Some(register) => runner.versions.registers[register],
    };
    let pack = &mut runner.state.packs[id];
    match pack.version {
        Some((known, true)) if known == version => return true,
        Some((known, false)) if known == version => {}
        _ if !is_once && (products.size[0] * at.ticks >= WORTH || turned) => {}
        _ => {
            pack.version = Some((version, false));
            return false;
        }
    }
    let [_, k, n] = products.size;
    let first = runner.slots.find(memory, &products.right.source, at).0;
    N::pack((k, n), turned, memory.nums(first, k * n), &mut pack.packed);
    pack.version = Some((version, true));
    true
}
