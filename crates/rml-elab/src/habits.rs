//! Names of other languages and libraries, mostly of Python, and their equivalents.

/// The help for a variable with that name, if the name comes from another language.
pub(crate) fn variable(name: &str) -> Option<&'static str> {
    Some(match name {
        "True" => "write `true`",
        "False" => "write `false`",
        "None" | "null" | "nil" => {
            "there is no such value: a stream is absent in the cycles of another clock, `x when c`"
        }
        "pi" => "write the number, `3.141592653589793`",
        "nan" | "NaN" => "write `0.0 / 0.0`",
        "inf" | "Infinity" => "write `1.0 / 0.0`",
        "num" | "int" | "bool" | "float" => {
            "a type is no value: `zeros([4])` has four nums, and `param(zeros([4]))` is a parameter of that shape"
        }
        "self" => "there are no objects; a node keeps its state in streams: `s = 0 fby ..;`",
        _ => return None,
    })
}

/// Names of functions in other languages, and the help for a call of them.
const CALLS: &[(&[&str], &str)] = &[
    (&["float", "double"], "write `to_num(x)`"),
    (&["int", "long"], "write `to_int(x)`"),
    (&["bool"], "write `to_bool(x)`"),
    (
        &["pre", "prev", "previous", "last", "delay", "lag"],
        "write `0.0 fby x` for a num, `0 fby x` for an int, `false fby x` for a bool: what `x` was in the cycle before, after the value of the first cycle; `delay(n, x)` of `import std.time;` is the one of `n` cycles before",
    ),
    (&["next"], "write `post x`: what `x` is in the next cycle"),
    (
        &["current", "hold", "zoh"],
        "for `x` of the last cycle in which `c` was true, write `o = merge c (x when c) ((0.0 fby o) when not c);`; if `x` is present only where `c` is true, `x` in place of `x when c`",
    ),
    (
        &["reset", "restart"],
        "the delays of a node restart in the cycle in which `r` is true where it is called with `f(x) restart r`",
    ),
    (&["assert"], "an assertion is an equation of its own: `assert \"positive\" x > 0.0;`"),
    (&["len"], "the length of the first dimension is `shape(x)[0]`"),
    (&["size", "numel"], "the shape is `shape(x)`"),
    (&["print"], "a program cannot print: `rml run` shows the outputs, `rml trace` all variables"),
    (&["power"], "write `pow(a, b)`"),
    (&["fabs", "absolute"], "write `abs(x)`"),
    (&["square"], "write `x * x`"),
    (&["ln"], "write `log(x)`"),
    (&["dot", "mm", "bmm"], "write `matmul(a, b)`"),
    (&["arange"], "write `range(n)`"),
    (&["cat", "concatenate", "hstack", "vstack"], "write `concat(a, b, axis)`"),
    (&["view"], "write `reshape(shape, x)`"),
    (&["permute", "swapaxes"], "write `transpose(x, perm)`"),
    (&["expand", "broadcast_to"], "write `broadcast(shape, x)`"),
    (&["clamp"], "write `clip(x, lo, hi)`"),
    (&["randn"], "write `random_normal(shape)`, or `normal(shape, mean, std)` for an initial value"),
    (&["rand"], "write `random_uniform(shape)`, or `uniform(shape, lo, hi)` for an initial value"),
    (&["full", "tile"], "write `broadcast(shape, x)`"),
    (&["ones_like"], "write `ones(shape(x))`"),
    (&["reduce_sum"], "write `sum(x)`, or `sum(x, axes)`"),
    (&["reduce_mean", "average"], "write `mean(x)`, or `mean(x, axes)`"),
    (&["reduce_max", "amax"], "write `max(x)`, or `max(x, axes)`"),
    (&["reduce_min", "amin"], "write `min(x)`, or `min(x, axes)`"),
    (
        &["flatten", "ravel"],
        "write `reshape([n], x)`, or `reshape([batch, n], x)` of stacked windows, where `n` is the product of the other sizes",
    ),
    (&["squeeze"], "write `reshape(shape, x)` without the dimension of size 1, or take its element, `x[0]`"),
    (&["unsqueeze"], "write `expand_dims(x, axis)`"),
    (&["astype", "cast"], "write `to_num(x)`, `to_int(x)` or `to_bool(x)`"),
    (&["select", "ifelse", "cond"], "write `where(c, a, b)`, or `if c then a else b` for a scalar condition"),
    (&["linear", "Linear", "Dense", "fully_connected"], "write `dense(units, x)`, with `import std.layers;`"),
    (&["LSTM", "LSTMCell"], "write `lstm(units, x)`, with `import std.layers;`"),
    (&["GRU", "GRUCell"], "write `gru(units, x)`, with `import std.layers;`"),
    (
        &["Conv2d", "Conv2D"],
        "write `convolution(filters, size, stride, padding, x)`, with `import std.layers;`",
    ),
    (&["MaxPool2d", "MaxPooling2D"], "write `max_pool2d(x, size)`"),
    (&["mse_loss", "MSELoss", "mean_squared_error"], "write `mse(o, gt)`, with `import std.losses;`"),
    (
        &["CrossEntropyLoss", "crossentropy", "categorical_crossentropy", "sparse_categorical_crossentropy"],
        "write `cross_entropy(logits, label)`, with `import std.losses;`",
    ),
    (&["floor_divide"], "write `floor(a / b)`; `/` of two ints is whole"),
    (&["logical_and"], "write `a and b`"),
    (&["logical_or"], "write `a or b`"),
    (&["logical_not"], "write `not a`"),
    (&["take", "index_select"], "write `gather(x, i)`, or `gather(x, i, axis)`"),
    (&["chunk"], "write `a, b = split(x);`, or `a, b = split(x, axis);`"),
    (&["roll"], "write `concat(x[-1:], x[:-1])`"),
    (&["flip", "reverse", "flipud"], "write `x[::-1]`"),
    (&["pad"], "write `concat(zeros(shape), x, axis)`"),
    (&["norm"], "write `sqrt(sum(x * x))`"),
    (&["var"], "write `mean(x * x) - mean(x) * mean(x)`"),
    (&["std"], "write `sqrt(mean(d * d) + 0.00001)` with the equation `d = x - mean(x);`"),
    (&["isnan"], "write `x != x`, which is true for NaN alone"),
    (&["isfinite"], "write `x - x == 0.0`, which is false for NaN and infinite numbers"),
    (&["exp2"], "write `pow(2.0, x)`"),
    (&["log2"], "write `log(x) / log(2.0)`"),
    (&["log10"], "write `log(x) / log(10.0)`"),
    (&["tan"], "write `sin(x) / cos(x)`"),
    (&["sinh"], "write `0.5 * (exp(x) - exp(-x))`"),
    (&["cosh"], "write `0.5 * (exp(x) + exp(-x))`"),
    (&["asin", "arcsin"], "write `atan2(x, sqrt(1.0 - x * x))`"),
    (&["acos", "arccos"], "write `atan2(sqrt(1.0 - x * x), x)`"),
    (&["atan", "arctan"], "write `atan2(x, 1.0)`"),
    (&["arctan2"], "write `atan2(y, x)`"),
    (&["cbrt"], "write `sign(x) * pow(abs(x), 1.0 / 3.0)`"),
    (&["rsqrt"], "write `1.0 / sqrt(x)`"),
    (&["reciprocal"], "write `1.0 / x`"),
    (&["hypot"], "write `sqrt(a * a + b * b)`"),
    (&["add"], "write `a + b`"),
    (&["sub", "subtract"], "write `a - b`"),
    (&["mul", "multiply"], "write `a * b`"),
    (&["div", "divide", "true_divide"], "write `a / b`"),
    (&["neg", "negative"], "write `-x`"),
    (&["less", "lt"], "write `a < b`"),
    (&["less_equal", "le"], "write `a <= b`"),
    (&["greater", "gt"], "write `a > b`"),
    (&["greater_equal", "ge"], "write `a >= b`"),
    (&["equal", "eq"], "write `a == b`"),
    (&["not_equal", "ne"], "write `a != b`"),
    (&["xor", "logical_xor"], "write `a != b`, of two bools"),
    (&["rem", "remainder", "fmod"], "write `mod(a, b)`"),
    (&["idiv", "floor_div", "floordiv"], "write `a / b`, which is whole for two ints"),
    (&["outer"], "write `einsum(\"i,j->ij\", a, b)`"),
    (&["inner", "vdot"], "write `sum(a * b)`"),
    (&["tensordot"], "write `einsum(\"ij,jk->ik\", a, b)` with the labels of the axes"),
    (&["matvec", "mv"], "write `matmul(a, b)`"),
    (&["eye", "identity"], "write `one_hot(n, range(n))`"),
    (&["inv", "inverse"], "write `solve(a, b)` for the inverse of `a` times `b`"),
    (&["linspace"], "write `lo + (hi - lo) * to_num(range(n)) / to_num(n - 1)`"),
    (&["randint"], "write `to_int(floor(to_num(n) * random_uniform(shape)))`"),
    (&["silu", "swish", "SiLU"], "write `x * sigmoid(x)`"),
    (&["leaky_relu", "LeakyReLU"], "write `maximum(x, 0.01 * x)`"),
    (&["elu", "ELU"], "write `where(x > 0.0, x, expm1(x))`"),
    (&["relu6", "ReLU6"], "write `clip(x, 0.0, 6.0)`"),
    (&["hardtanh"], "write `clip(x, -1.0, 1.0)`"),
    (&["softsign"], "write `x / (1.0 + abs(x))`"),
    (&["mish"], "write `x * tanh(softplus(x))`"),
    (
        &["backward", "grad", "gradient", "vjp", "value_and_grad"],
        "for each node `f` there is `diff_f`, which gives the gradient: `o, dx = diff_f(x, true, do);`; `grad_f` in its place does not update the parameters of `f`",
    ),
    (&["jit"], "a program is compiled as a whole: call the node itself"),
    (
        &["vmap"],
        "declare inputs with another dimension in front, as in `x: num [batch, 8]`: operators and layers take any number of them",
    ),
    (&["scan", "fori_loop"], "a recurrence over cycles is a delay: `s = step(0.0 fby s, x);`"),
    (&["map", "reduce", "fold", "foldl"], "write equations with an index: `y[k] = f(x[k]) for k < n;`"),
    (&["detach", "no_grad"], "write `stop_gradient(x)`"),
    (
        &["clone", "copy", "deepcopy", "item"],
        "values never change, and a scalar is a value as any other: write `x`",
    ),
    (&["dim", "ndim"], "the shape is `shape(x)`"),
    (&["rmse"], "write `sqrt(mse(o, gt))`, with `import std.losses;`"),
    (&["mean_absolute_error", "L1Loss", "l1_loss"], "write `mae(o, gt)`, with `import std.losses;`"),
    (&["nll_loss", "NLLLoss"], "write `cross_entropy(logits, label)`, with `import std.losses;`"),
    (
        &["BCELoss", "binary_crossentropy", "binary_cross_entropy", "BCEWithLogitsLoss"],
        "write `bce_with_logits(logits, label)` with a bool label, with `import std.losses;`",
    ),
    (
        &["huber_loss", "smooth_l1_loss", "SmoothL1Loss"],
        "write `huber(1.0, o, gt)`, with `import std.losses;`",
    ),
    (&["to_categorical"], "write `one_hot(classes, i)`"),
    (&["Sequential"], "call a layer on the result of another one: `dense(10, relu(dense(64, x)))`"),
    (
        &["BatchNorm1d", "BatchNorm2d", "BatchNormalization"],
        "write `batch_norm(0.9, x, end)`, with `import std.normalisation;`",
    ),
    (&["LayerNormalization"], "write `layer_norm(x)`, with `import std.normalisation;`"),
    (
        &["Conv1d", "Conv1D", "convolve", "correlate"],
        "write `conv1d(x, kernel)`, or `causal_conv1d(filters, size, dilation, x)` with `import std.layers;`",
    ),
    (&["GlobalAveragePooling2D", "AdaptiveAvgPool2d"], "write `mean(x, [-3, -2])`"),
    (
        &["MultiheadAttention", "MultiHeadAttention", "attention"],
        "write `self_attention(units, heads, x)`, with `import std.attention;`",
    ),
    (
        &["Variable", "Parameter"],
        "write `param(init)`, where `init` is its first value: `w = param(zeros([4]));`",
    ),
    (&["tensor", "array", "constant"], "write the values themselves, `[1.0, 2.0]`"),
    (&["rising_edge", "edge"], "write `x and not (true fby x)`"),
    (&["falling_edge"], "write `not x and (false fby x)`"),
    (&["counter", "count"], "write `n = 0 fby n + 1;`"),
    (&["integr", "integral", "integrate"], "write `s = (0.0 fby s) + dt * x;`"),
    (&["der", "derivative"], "write `(x - (x fby x)) / dt`"),
    (
        &["switch", "case"],
        "write `if c then a else b`, or `match p (Idle -> a, Heat -> b)` over the cases of an enumeration",
    ),
];

/// The help for a call of a function with that name.
pub(crate) fn call(name: &str) -> Option<&'static str> {
    CALLS.iter().find(|(names, _)| names.contains(&name)).map(|(_, help)| *help)
}

/// The help for a field with that name.
pub(crate) fn field(name: &str) -> Option<&'static str> {
    match name {
        "T" | "mT" => Some("the transpose is written `transpose(x)`"),
        "shape" | "size" | "ndim" => Some("a shape is written `shape(x)`, its first dimension `shape(x)[0]`"),
        _ => call(name),
    }
}

/// The help for an import of a module with that name.
pub(crate) fn module(name: &str) -> Option<&'static str> {
    let foreign = ["numpy", "math", "torch", "jax", "tensorflow", "keras", "flax", "scipy"];
    let first = name.split('.').next().unwrap_or_default();
    foreign.contains(&first).then_some(
        "operators such as `exp` and `matmul` need no import; layers are in `std.layers`, losses in `std.losses`",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtins;

    #[test]
    fn no_operator_is_called_foreign() {
        let known: Vec<&str> = builtins::names().filter(|name| call(name).is_some()).collect();
        assert!(known.is_empty(), "these are operators now; take them out of `CALLS`: {known:?}");
    }
}
