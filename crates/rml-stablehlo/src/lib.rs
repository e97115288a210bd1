//! Writes tensor functions as text of StableHLO.
//!
//! [`lower()`] writes one module with the function `main`. Its parameters are the [`FunctionModule::args`]. Its results
//! are the computed values with elements ([`FunctionResult::Computed`]), followed by a truth value for a suspected
//! error, if an operator may fail. Values without elements are never parameters or results: they are constants in the
//! module, and host values outside.
//!
//! [`lower_routine`] writes a whole routine as one module, and [`export()`] one with names, for other tools.
//!
//! Every operator has an entry in `operator`; the match is exhaustive, so a new operator does not compile without an
//! entry.

use rml_backend::{DefKind, Function, Val};
use rml_base::IndexVec;
use rml_ir::op::Op;
use rml_ir::{Type, Value};

mod convolution;
mod export;
mod fourier;
mod gather;
mod host;
mod integer;
mod layout;
mod matrices;
mod pointwise;
mod product;
mod random;
mod reduce;
mod routine;
mod shape;
mod sort;
mod text;
mod windows;

pub use export::export;
pub use host::NormalDraws;
pub use routine::{RoutineModule, RoutineResult, lower_routine};
use text::{Elem, Ssa, Text, Ty, list};

/// The message of a panic that only an invalid function can cause.
const CHECKED: &str = "functions satisfy B1 to B3";

/// The most elements of a constant in the text; larger constants are parameters, which are uploaded once.
const INLINE: usize = 256;

/// The value of a parameter of the module.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arg {
    /// An argument of the call.
    Input(Val),
    /// A large constant.
    Constant(Val),
    /// A value that the host draws.
    Drawn(Val),
}

/// The origin of a result of the function.
#[derive(Clone, Debug)]
pub enum FunctionResult {
    /// This result of the module.
    Computed(usize),
    /// This argument.
    Input(Val),
    /// A constant of the function, or a value without elements.
    Known(Value),
}

/// A function as a module.
#[derive(Clone, Debug)]
pub struct FunctionModule {
    /// The text.
    pub text: String,
    /// The values of its parameters.
    pub args: Vec<Arg>,
    /// The results of the function.
    pub outputs: Vec<FunctionResult>,
    /// The number of the function's results that the module computes.
    pub computed: usize,
    /// Whether the module has another result that tells whether an error is suspected.
    pub tested: bool,
    /// The random numbers that the host draws before the call.
    pub drawn: NormalDraws,
}

/// Writes a function that satisfies B1 to B3.
pub fn lower(function: &Function) -> FunctionModule {
    let drawn = NormalDraws::of(function);
    let args = parameters(function, &drawn);
    let (outputs, computed) = outputs(function);
    let mut t = Text::default();
    let mut values: IndexVec<Val, Option<Ssa>> = IndexVec::filled(None, function.values.len());
    let mut head = Vec::new();
    for arg in &args {
        let (Arg::Input(x) | Arg::Constant(x) | Arg::Drawn(x)) = *arg;
        let parameter = t.fresh(Ty::of(&function.values[x].ty, function.precision));
        head.push(format!("{parameter}: {}", parameter.ty));
        values[x] = Some(parameter);
    }
    let tests = body(&mut t, function, &mut values);
    let mut results: Vec<Ssa> = computed.iter().map(|&x| values[x].clone().expect(CHECKED)).collect();
    results.extend(tests);
    let tested = results.len() > computed.len();
    t.ret(&results.iter().collect::<Vec<_>>());
    let types = list(results.iter().map(|r| &r.ty));
    let text = format!(
        "module @rml {{\nfunc.func public @main({}) -> ({types}) {{\n{}}}\n}}\n",
        list(head),
        t.finish()
    );
    FunctionModule { text, args, outputs, computed: computed.len(), tested, drawn }
}

/// The parameters: inputs that are used and have elements, large constants, and values that the host draws.
fn parameters(function: &Function, drawn: &NormalDraws) -> Vec<Arg> {
    let mut used = IndexVec::filled(false, function.values.len());
    for def in &function.values {
        if let DefKind::Apply { args, .. } = &def.kind {
            args.iter().for_each(|&x| used[x] = true);
        }
    }
    let live = function.values.iter_enumerated().filter(|(x, def)| used[*x] && !def.ty.shape.is_empty());
    let mut args: Vec<Arg> = live
        .filter_map(|(x, def)| match &def.kind {
            DefKind::Input => Some(Arg::Input(x)),
            DefKind::Const(_) if def.ty.shape.len() > INLINE => Some(Arg::Constant(x)),
            DefKind::Const(_) | DefKind::Apply { .. } => None,
        })
        .collect();
    args.extend(drawn.values().iter().map(|&x| Arg::Drawn(x)));
    args
}

/// The origin of each result, and the values that the module returns.
fn outputs(function: &Function) -> (Vec<FunctionResult>, Vec<Val>) {
    let mut computed: Vec<Val> = Vec::new();
    let output = |&x: &Val| {
        let def = &function.values[x];
        match &def.kind {
            _ if def.ty.shape.is_empty() => FunctionResult::Known(Value::zeros(&def.ty, function.precision)),
            DefKind::Const(value) => FunctionResult::Known(value.clone()),
            DefKind::Input => FunctionResult::Input(x),
            DefKind::Apply { .. } => {
                let at = computed.iter().position(|&c| c == x).unwrap_or_else(|| {
                    computed.push(x);
                    computed.len() - 1
                });
                FunctionResult::Computed(at)
            }
        }
    };
    (function.results.iter().map(output).collect(), computed)
}

/// Writes all values. Returns the test of all operators that may fail, if there is one.
fn body(t: &mut Text, function: &Function, values: &mut IndexVec<Val, Option<Ssa>>) -> Option<Ssa> {
    let mut tests = Vec::new();
    for (x, def) in function.values.iter_enumerated() {
        if values[x].is_some() && !matches!(def.kind, DefKind::Apply { .. }) {
            continue;
        }
        let ty = Ty::of(&def.ty, function.precision);
        let value = match &def.kind {
            DefKind::Input => t.splat(0.0, &ty),
            DefKind::Const(value) => t.constant(value, function.precision),
            DefKind::Apply { op, args } => {
                let args: Vec<&Ssa> = args.iter().map(|&a| values[a].as_ref().expect(CHECKED)).collect();
                tests.extend(integer::suspicion(t, op, &args, &def.ty));
                match &values[x] {
                    Some(drawn) => drawn.clone(),
                    None if ty.shape.is_empty() => t.splat(0.0, &ty),
                    None => operator(t, op, &args, &def.ty, Elem::num(function.precision)),
                }
            }
        };
        values[x] = Some(value);
    }
    tests.into_iter().reduce(|a, b| t.zip("or", &a, &b))
}

/// An operator whose result has elements; `num` is the element type of numbers.
fn operator(t: &mut Text, op: &Op, args: &[&Ssa], ty: &Type, num: Elem) -> Ssa {
    let (x, shape) = (args[0], &ty.shape);
    match op {
        Op::Copy | Op::StopGradient => x.clone(),
        Op::Not => t.map("not", x),
        Op::Unary(f) => pointwise::unary(t, *f, x),
        Op::Convert(to) => pointwise::convert(t, *to, x, num),
        Op::Binary(_) | Op::Compare(_) | Op::And | Op::Or | Op::Clip | Op::Where => {
            let args: Vec<Ssa> = args.iter().map(|x| t.broadcast(x, shape)).collect();
            broadcast(t, op, &args)
        }
        Op::MatMul => product::matmul(t, x, args[1]),
        Op::Rfft => fourier::rfft(t, x),
        Op::Irfft { n } => fourier::irfft(t, *n, x),
        Op::Cholesky => matrices::cholesky(t, x),
        Op::Solve => matrices::solve(t, x, args[1]),
        Op::Einsum(labels) => product::einsum(t, labels, args, shape),
        Op::Conv(conv) => convolution::conv(t, conv, x, args[1], shape),
        Op::ConvTranspose { shape, conv } => convolution::conv_transpose(t, conv, x, args[1], shape),
        Op::ConvKernel { shape, conv } => convolution::conv_kernel(t, conv, x, args[1], shape),
        Op::MaxPool(pool) => windows::max_pool(t, pool, x, shape),
        Op::AvgPool(pool) => windows::avg_pool(t, pool, x, shape),
        Op::Patches(pool) => windows::patches(t, pool, x, shape),
        Op::Unpatches { shape, pool } => windows::unpatches(t, shape, pool, x),
        Op::Transpose { perm } => t.transpose(x, perm),
        Op::Reshape { shape } => t.reshape(x, shape.dims()),
        Op::Broadcast { shape } => t.broadcast(x, shape),
        Op::SumTo { shape } => reduce::sum_to(t, shape, x),
        Op::Concat { axis } => layout::concat(t, *axis, args),
        Op::Stack { axis } => layout::stack(t, *axis, args),
        Op::Index { items } => layout::index(t, items, x, shape),
        Op::Unindex { shape, items } => layout::unindex(t, shape, items, x),
        Op::Gather { axis } => gather::gather(t, *axis, x, args[1], shape),
        Op::ScatterAdd { shape, axis } => gather::scatter_add(t, shape, *axis, x, args[1]),
        Op::Pick => gather::pick(t, x, args[1]),
        Op::Reduce(by, axis) => reduce::reduce(t, *by, *axis, x),
        Op::CumSum { axis, reverse } => reduce::cumsum(t, *axis, *reverse, x),
        Op::Sort { axis, descending } => sort::by(t, *axis, *descending, &[x]),
        Op::ArgSort { axis, descending } => {
            let positions = t.iota(&x.ty.with(Elem::I64), *axis);
            sort::by(t, *axis, *descending, &[x, &positions])
        }
        Op::SortBy { axis, descending } => sort::by(t, *axis, *descending, args),
        Op::RandomUniform { shape } => random::uniform(t, args, shape, num),
        Op::RandomNormal { .. } => random::normal(t, args, shape, num),
        Op::Softmax => reduce::softmax(t, x, false),
        Op::LogSoftmax => reduce::softmax(t, x, true),
        Op::OneHot { classes } => layout::one_hot(t, *classes, x, num),
    }
}

/// A pointwise operator; its operands are broadcast to one shape.
fn broadcast(t: &mut Text, op: &Op, args: &[Ssa]) -> Ssa {
    match (op, args) {
        (Op::Binary(f), [a, b]) => pointwise::binary(t, *f, a, b),
        (Op::Compare(how), [a, b]) => t.compare(*how, a, b),
        (Op::And, [a, b]) => t.zip("and", a, b),
        (Op::Or, [a, b]) => t.zip("or", a, b),
        (Op::Clip, [x, lo, hi]) => pointwise::clip(t, x, lo, hi),
        (Op::Where, [of, a, b]) => t.select(of, a, b),
        (other, _) => unreachable!("{CHECKED}: {other}"),
    }
}
