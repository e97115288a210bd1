//! Recurrent layers: a node of the program for each layer and direction, called along the axis of time.

use rml_ir::op::{Op, Unary};
use rml_ir::{Shape, Value};

use super::Table;
use super::formula::formula;
use super::functions;
use crate::build::{Builder, Call, Held, Val};
use crate::elem::Elem;
use crate::refuse::{Refusal, Res, refuse};

pub(super) const TABLE: Table = &[
    ("LSTM", |b, c| layers(b, c, Kind::Lstm)),
    ("GRU", |b, c| layers(b, c, Kind::Gru)),
    ("RNN", |b, c| layers(b, c, Kind::Rnn)),
];

/// The most steps: `along` has as many.
const ENTRIES: usize = 4096;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Lstm,
    Gru,
    Rnn,
}

impl Kind {
    fn gates(self) -> usize {
        match self {
            Kind::Lstm => 4,
            Kind::Gru => 3,
            Kind::Rnn => 1,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Kind::Lstm => "lstm",
            Kind::Gru => "gru",
            Kind::Rnn => "rnn",
        }
    }

    fn activations(self) -> &'static [&'static str] {
        match self {
            Kind::Lstm => &["Sigmoid", "Tanh", "Tanh"],
            Kind::Gru => &["Sigmoid", "Tanh"],
            Kind::Rnn => &["Tanh"],
        }
    }

    /// The states: `h`, and of an LSTM `c`.
    fn states(self) -> usize {
        if self == Kind::Lstm { 2 } else { 1 }
    }
}

/// A function with its numbers.
#[derive(Clone)]
struct Activation {
    name: String,
    alpha: Option<f64>,
    beta: Option<f64>,
}

/// One direction of a layer.
struct Layer {
    kind: Kind,
    units: usize,
    activations: Vec<Activation>,
    clip: Option<f64>,
    reset_after: bool,
    coupled: bool,
}

/// The weights of a direction, in the node that is open.
struct Weights {
    kernel: Val,
    recurrent: Val,
    bias: Option<Val>,
    peepholes: Option<Val>,
}

fn layers(b: &mut Builder<'_>, call: &Call<'_>, kind: Kind) -> Res<Vec<Val>> {
    let batch_first = call.flag("layout", false);
    let x = if batch_first { b.transpose(call.arg(0)?, &[1, 0, 2])? } else { call.arg(0)?.clone() };
    let (x_dims, w_dims) = (x.dims(), call.arg(1)?.dims());
    let (&[time, batch, _], &[directions, rows, _]) = (x_dims.as_slice(), w_dims.as_slice()) else {
        return Err(Refusal::malformed("its operands are no sequence and no weights of a layer"));
    };
    if time == 0 || time > ENTRIES {
        return refuse(format!("it goes over {time} steps; 1 to {ENTRIES} can be imported")).map_err(
            |r: Refusal| r.help("import a shorter chunk, and carry the state from one to the next"),
        );
    }
    let units = rows / kind.gates();
    let direction = call.text("direction", "forward").to_ascii_lowercase();
    if directions != if direction == "bidirectional" { 2 } else { 1 } || units == 0 {
        return Err(Refusal::malformed(format!(
            "weights of {directions} directions for one that is {direction}"
        )));
    }
    let lengths = lengths(b, call, time, batch)?;
    let mut sequences = Vec::new();
    let mut finals: Vec<Vec<Val>> = vec![Vec::new(); kind.states()];
    for d in 0..directions {
        let back = direction == "reverse" || d == 1;
        let layer = layer(call, kind, units, d)?;
        let mut initial = Vec::new();
        for state in 0..kind.states() {
            initial.push(start(b, call.opt(5 + state), (d, batch, units), batch_first)?);
        }
        let run = Run { d, directions, back, time };
        let mut made = run_layer(b, call, &layer, &run, &x, initial, lengths.as_ref())?;
        let last = if back { 0 } else { time - 1 };
        for (state, finals) in finals.iter_mut().enumerate() {
            finals.push(b.at(&made[state], 0, last)?);
        }
        sequences.push(if lengths.is_some() { made.remove(kind.states()) } else { made.remove(0) });
    }
    gathered(b, (sequences, finals), batch_first)
}

/// The results of all directions.
fn gathered(
    b: &mut Builder<'_>,
    (sequences, finals): (Vec<Val>, Vec<Vec<Val>>),
    batch_first: bool,
) -> Res<Vec<Val>> {
    let stack = |b: &mut Builder<'_>, vals: &[Val], axis: usize| -> Res<Val> {
        let wide: Vec<Val> = vals
            .iter()
            .map(|v| {
                let mut dims = v.dims();
                dims.insert(axis, 1);
                b.reshape(v, &dims)
            })
            .collect::<Res<_>>()?;
        b.concat(&wide, axis)
    };
    let whole = stack(b, &sequences, 1)?;
    let mut results = vec![if batch_first { b.transpose(&whole, &[2, 0, 1, 3])? } else { whole }];
    for state in finals {
        let all = stack(b, &state, 0)?;
        results.push(if batch_first { b.transpose(&all, &[1, 0, 2])? } else { all });
    }
    Ok(results)
}

/// The lengths of the sequences, as a column; `None` if all are whole.
fn lengths(b: &mut Builder<'_>, call: &Call<'_>, time: usize, batch: usize) -> Res<Option<Val>> {
    let Some(lengths) = call.opt(4) else { return Ok(None) };
    let whole = i64::try_from(time).unwrap_or(i64::MAX);
    if lengths.known().and_then(crate::tensor::ints).is_some_and(|v| v.iter().all(|n| *n == whole)) {
        return Ok(None);
    }
    b.reshape(lengths, &[batch, 1]).map(Some)
}

/// The first value of a state.
fn start(
    b: &mut Builder<'_>,
    given: Option<&Val>,
    (d, batch, units): (usize, usize, usize),
    batch_first: bool,
) -> Res<Val> {
    match given {
        Some(given) if batch_first => b.at(given, 1, d),
        Some(given) => b.at(given, 0, d),
        None => {
            let zero = b.num(0.0);
            b.broadcast(&zero, &[batch, units])
        }
    }
}

fn layer(call: &Call<'_>, kind: Kind, units: usize, d: usize) -> Res<Layer> {
    let each = kind.activations();
    let names = call.texts("activations").unwrap_or_default();
    let (alphas, betas) = (
        call.floats("activation_alpha").unwrap_or_default(),
        call.floats("activation_beta").unwrap_or_default(),
    );
    let (mut alphas, mut betas) = (alphas.into_iter(), betas.into_iter());
    let mut activations = Vec::new();
    for k in 0..each.len() * (d + 1) {
        let name = names.get(k).map_or(each[k % each.len()], String::as_str).to_owned();
        // The numbers are those of the functions that have some, one after the other.
        let word = name.to_ascii_lowercase();
        let has_alpha = matches!(
            word.as_str(),
            "affine" | "leakyrelu" | "thresholdedrelu" | "scaledtanh" | "hardsigmoid" | "elu"
        );
        let has_beta = matches!(word.as_str(), "affine" | "scaledtanh" | "hardsigmoid");
        let alpha = if has_alpha { alphas.next() } else { None };
        let beta = if has_beta { betas.next() } else { None };
        activations.push(Activation { name: word, alpha, beta });
    }
    Ok(Layer {
        kind,
        units,
        activations: activations.split_off(each.len() * d),
        clip: call.attr("clip").map(|_| call.float("clip", 0.0)).filter(|c| *c > 0.0),
        reset_after: call.flag("linear_before_reset", false),
        coupled: call.flag("input_forget", false),
    })
}

/// Which direction of how many, and how it goes over time.
struct Run {
    d: usize,
    directions: usize,
    back: bool,
    time: usize,
}

/// The node of a direction, and its call: the states at all times, and with lengths the outputs too.
fn run_layer(
    b: &mut Builder<'_>,
    call: &Call<'_>,
    layer: &Layer,
    run: &Run,
    x: &Val,
    initial: Vec<Val>,
    lengths: Option<&Val>,
) -> Res<Vec<Val>> {
    let along = run.time > 1 || lengths.is_some();
    let name = format!("{}{}", layer.kind.name(), if run.back { "_back" } else { "" });
    let name = crate::names::identifier(&call.node.name)
        .filter(|n| n.len() < 20 && !n.contains("node"))
        .map_or(name, |n| if run.back { format!("{n}_back") } else { n });
    b.open(&name);
    let made = inside(b, call, layer, run, (x, &initial, lengths), along);
    let outputs = match made {
        Ok(outputs) => outputs,
        Err(refusal) => {
            b.abandon();
            return Err(refusal);
        }
    };
    let elems = vec![x.elem; outputs.len()];
    let node = b.close(&outputs)?;
    let x = if along { x.clone() } else { b.at(x, 0, 0)? };
    let mut args = vec![x];
    args.extend(initial);
    let mut axes = vec![None; args.len()];
    axes[0] = Some(0);
    if lengths.is_some() {
        args.push(b.ticks(run.time)?);
        axes.push(Some(0));
    }
    let results = b.call(node, &args, along.then_some((axes, run.back)), &elems)?;
    if along {
        return Ok(results);
    }
    results.iter().map(|r| b.reshape(r, &[&[1], r.dims().as_slice()].concat())).collect()
}

/// The equations of the node of a direction.
fn inside(
    b: &mut Builder<'_>,
    call: &Call<'_>,
    layer: &Layer,
    run: &Run,
    (x, initial, lengths): (&Val, &[Val], Option<&Val>),
    along: bool,
) -> Res<Vec<Val>> {
    let names: [[&str; 3]; 2] = [["h0", "h", "h_next"], ["c0", "c", "c_next"]];
    let x = b.input(x, &x.dims()[1..], "x");
    let mut first = Vec::new();
    for (state, names) in initial.iter().zip(names) {
        first.push(b.input(state, &state.dims(), names[usize::from(!along)]));
    }
    let tick = lengths.map(|_| b.input(&Val::constant(Elem::I64, Value::Int(0)), &[], "t"));
    let weights = weights(b, call, layer, run)?;
    let before: Vec<Val> = if along {
        first.iter().zip(names).map(|(v, n)| b.declared(v, n[1])).collect()
    } else {
        first.clone()
    };
    let mut next = step(b, layer, &weights, &x, &before)?;
    let mut output = None;
    if let (Some(tick), Some(lengths)) = (tick, lengths) {
        let lengths = b.captured(lengths);
        let runs = b.compare(rml_ir::op::Compare::Lt, &tick, &lengths)?;
        let zero = b.num(0.0);
        output = Some(b.choose(&runs, &next[0], &zero)?);
        next = next.iter().zip(&before).map(|(n, o)| b.choose(&runs, n, o)).collect::<Res<_>>()?;
    }
    for (val, names) in next.iter().zip(names) {
        b.named(val, names[2]);
    }
    if along {
        for ((declared, init), next) in before.iter().zip(&first).zip(&next) {
            b.delayed(declared, init, next)?;
        }
    }
    next.extend(output);
    Ok(next)
}

/// The weights of a direction: parameters if they are known, else what the call gives.
fn weights(b: &mut Builder<'_>, call: &Call<'_>, layer: &Layer, run: &Run) -> Res<Weights> {
    let rows = layer.kind.gates() * layer.units;
    let columns = call.arg(1)?.dims()[2];
    let cut = if run.directions > 1 {
        format!(", cut = {{ axis = 0, block = {}, of = 2 }}", run.d)
    } else {
        String::new()
    };
    let of = |b: &mut Builder<'_>, i: usize, name: &str, dims: &[usize], by: &str| {
        let Some(val) = call.opt(i) else { return Ok(None) };
        let made = weight(b, val, run.d, dims, &format!("{cut}, rearrange = {by}"), name == "bias")?;
        b.named(&made, name);
        Ok(Some(made))
    };
    let kernel = of(b, 1, "kernel", &[columns, rows], "\"1 g i -> i g\"")?;
    let recurrent = of(b, 2, "recurrent", &[layer.units, rows], "\"1 g i -> i g\"")?;
    let (Some(kernel), Some(recurrent)) = (kernel, recurrent) else {
        return Err(Refusal::malformed("the weights of the layer are missing"));
    };
    let bias = of(b, 3, "bias", &[2, rows], "{ axes = \"1 (k g) -> k g\", k = 2 }")?;
    let peepholes = of(b, 7, "peepholes", &[3 * layer.units], "\"1 p -> p\"")?;
    let peepholes = peepholes.filter(|_| layer.kind == Kind::Lstm);
    Ok(Weights { kernel, recurrent, bias, peepholes })
}

/// A weight of direction `d` in the node that is open, with dimensions `dims`.
fn weight(b: &mut Builder<'_>, val: &Val, d: usize, dims: &[usize], how: &str, halves: bool) -> Res<Val> {
    if let Held::Const(k) = &val.held {
        let origin = b.origin(k, val.elem);
        let source = format!("{{ tensor = {:?}{how} }}", b.weight_name(origin.weight));
        let shape = Shape::new(dims);
        let plain = origin.axes.iter().copied().eq((0..val.rank()).map(Some));
        if plain && shape.len() * val.dims()[0] == val.len() {
            let var = b.parameter(&shape, origin.weight, source)?;
            return Ok(Val::variable(val.elem, var, rml_ir::Type::new(rml_ir::DType::Num, dims)));
        }
    }
    let val = b.captured(val);
    let one = b.at(&val, 0, d)?;
    if halves {
        b.reshape(&one, dims)
    } else if one.rank() == 2 {
        b.transpose(&one, &[1, 0])
    } else {
        Ok(one)
    }
}

/// The columns of a gate.
fn gate(b: &mut Builder<'_>, z: &Val, k: usize, units: usize) -> Res<Val> {
    b.range(z, z.rank() - 1, k * units, units)
}

fn step(b: &mut Builder<'_>, layer: &Layer, w: &Weights, x: &Val, before: &[Val]) -> Res<Vec<Val>> {
    let mut inputs = b.apply(Op::MatMul, &[x, &w.kernel], x.elem)?;
    if let Some(bias) = &w.bias {
        let part = b.at(bias, 0, 0)?;
        inputs = b.add(&inputs, &part)?;
    }
    let h = &before[0];
    if layer.kind == Kind::Gru {
        return gru(b, layer, w, &inputs, h).map(|h| vec![h]);
    }
    let product = b.apply(Op::MatMul, &[h, &w.recurrent], x.elem)?;
    let mut z = b.add(&inputs, &product)?;
    if let Some(bias) = &w.bias {
        let part = b.at(bias, 0, 1)?;
        z = b.add(&z, &part)?;
    }
    if layer.kind == Kind::Rnn {
        return activated(b, layer, 0, &z).map(|h| vec![h]);
    }
    b.named(&z, "z");
    lstm(b, layer, w, &z, &before[1])
}

fn lstm(b: &mut Builder<'_>, layer: &Layer, w: &Weights, z: &Val, c: &Val) -> Res<Vec<Val>> {
    let units = layer.units;
    let peep = |b: &mut Builder<'_>, z: Val, k: usize, state: &Val| match &w.peepholes {
        None => Ok(z),
        Some(p) => {
            let part = gate(b, p, k, units)?;
            let seen = b.mul(&part, state)?;
            b.add(&z, &seen)
        }
    };
    let input = gate(b, z, 0, units)?;
    let input = peep(b, input, 0, c)?;
    let input = activated(b, layer, 0, &input)?;
    b.named(&input, "input");
    let forget = if layer.coupled {
        let one = b.num(1.0);
        b.sub(&one, &input)?
    } else {
        let z = gate(b, z, 2, units)?;
        let z = peep(b, z, 2, c)?;
        activated(b, layer, 0, &z)?
    };
    b.named(&forget, "forget");
    let candidate = gate(b, z, 3, units)?;
    let candidate = activated(b, layer, 1, &candidate)?;
    b.named(&candidate, "candidate");
    let (kept, new) = (b.mul(&forget, c)?, b.mul(&input, &candidate)?);
    let c_next = b.add(&kept, &new)?;
    let output = gate(b, z, 1, units)?;
    let output = peep(b, output, 1, &c_next)?;
    let output = activated(b, layer, 0, &output)?;
    b.named(&output, "output");
    let shown = activation(b, &layer.activations[2], &c_next)?;
    Ok(vec![b.mul(&output, &shown)?, c_next])
}

fn gru(b: &mut Builder<'_>, layer: &Layer, w: &Weights, a: &Val, h: &Val) -> Res<Val> {
    let units = layer.units;
    let with_bias = |b: &mut Builder<'_>, x: Val, from: usize, len: usize| match &w.bias {
        None => Ok(x),
        Some(bias) => {
            let part = b.at(bias, 0, 1)?;
            let part = b.range(&part, 0, from, len)?;
            b.add(&x, &part)
        }
    };
    b.named(a, "a");
    let gates = b.range(&w.recurrent, 1, 0, 2 * units)?;
    let both = b.apply(Op::MatMul, &[h, &gates], h.elem)?;
    let both = with_bias(b, both, 0, 2 * units)?;
    let inputs = b.range(a, a.rank() - 1, 0, 2 * units)?;
    let z = b.add(&inputs, &both)?;
    let z = activated(b, layer, 0, &z)?;
    b.named(&z, "gates");
    let (update, reset) = (gate(b, &z, 0, units)?, gate(b, &z, 1, units)?);
    b.named(&update, "update");
    b.named(&reset, "reset");
    let kernel = b.range(&w.recurrent, 1, 2 * units, units)?;
    let state = if layer.reset_after {
        let product = b.apply(Op::MatMul, &[h, &kernel], h.elem)?;
        let product = with_bias(b, product, 2 * units, units)?;
        b.mul(&reset, &product)?
    } else {
        let kept = b.mul(&reset, h)?;
        let product = b.apply(Op::MatMul, &[&kept, &kernel], h.elem)?;
        with_bias(b, product, 2 * units, units)?
    };
    let inputs = gate(b, a, 2, units)?;
    let candidate = b.add(&inputs, &state)?;
    let candidate = activated(b, layer, 1, &candidate)?;
    b.named(&candidate, "candidate");
    let one = b.num(1.0);
    let rest = b.sub(&one, &update)?;
    let (new, kept) = (b.mul(&rest, &candidate)?, b.mul(&update, h)?);
    b.add(&new, &kept)
}

/// An activation of what the layer limits first.
fn activated(b: &mut Builder<'_>, layer: &Layer, k: usize, x: &Val) -> Res<Val> {
    let x = match layer.clip {
        None => x.clone(),
        Some(clip) => {
            let (lo, hi) = (b.num(-clip), b.num(clip));
            b.pointwise(Op::Clip, &[x, &lo, &hi], x.elem)?
        }
    };
    activation(b, &layer.activations[k], &x)
}

fn activation(b: &mut Builder<'_>, f: &Activation, x: &Val) -> Res<Val> {
    let (alpha, beta) = (|default: f64| f.alpha.unwrap_or(default), |default: f64| f.beta.unwrap_or(default));
    formula(b, [x], |[x]| match f.name.as_str() {
        "tanh" => x.to(Unary::Tanh),
        "sigmoid" => x.to(Unary::Sigmoid),
        "relu" => x.to(Unary::Relu),
        "softplus" => x.to(Unary::Softplus),
        "softsign" => functions::softsign(x),
        "hardsigmoid" => functions::hard(x, alpha(0.2), beta(0.5)),
        "affine" => alpha(1.0) * x + beta(0.0),
        "scaledtanh" => alpha(1.0) * (beta(1.0) * x).to(Unary::Tanh),
        "leakyrelu" => functions::leaky(x, alpha(0.01)),
        "elu" => functions::elu(x, alpha(1.0)),
        "thresholdedrelu" => functions::thresholded(x, alpha(1.0)),
        other => x.refused(&format!("its activation is `{other}`")),
    })
}
