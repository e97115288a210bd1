//! Names of other languages and libraries, mostly of Python, and what to write instead.

/// What a variable of that name stands for.
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
        "self" => "there are no objects; a node keeps its state in streams: `s = 0 fby ..;`",
        _ => return None,
    })
}

/// What a call of that name stands for.
pub(crate) fn call(name: &str) -> Option<&'static str> {
    Some(match name {
        "float" | "double" => "write `to_num(x)`",
        "int" | "long" => "write `to_int(x)`",
        "bool" => "write `to_bool(x)`",
        "pre" | "prev" | "previous" | "last" | "delay" | "lag" => {
            "write `0.0 fby x` for a num, `0 fby x` for an int, `false fby x` for a bool: what `x` was in the cycle before, after the value of the first cycle"
        }
        "next" => "write `post x`: what `x` is in the next cycle",
        "current" => {
            "for `x` of the last cycle in which `c` was true, write `o = merge c x ((0.0 fby o) when not c);`"
        }
        "reset" | "restart" => {
            "the delays of a node restart in the cycle in which `r` is true where it is called with `f(x) restart r`"
        }
        "assert" => "there are no assertions: make the condition an output, `ok = x > 0.0;`",
        "len" => "the length of the first dimension is `shape(x)[0]`",
        "size" | "numel" => "the shape is `shape(x)`",
        "print" => "a program cannot print: `rml run` shows the outputs, `rml trace` all variables",
        "power" => "write `pow(a, b)`",
        "fabs" | "absolute" => "write `abs(x)`",
        "square" => "write `x * x`",
        "ln" => "write `log(x)`",
        "dot" | "mm" | "bmm" => "write `matmul(a, b)`",
        "arange" => "write `range(n)`",
        "cat" | "concatenate" | "hstack" | "vstack" => "write `concat(a, b, axis)`",
        "view" => "write `reshape(shape, x)`",
        "permute" | "swapaxes" => "write `transpose(x, perm)`",
        "expand" | "broadcast_to" => "write `broadcast(shape, x)`",
        "clamp" => "write `clip(x, lo, hi)`",
        "randn" => "write `random_normal(shape)`, or `normal(shape, mean, std)` for an initial value",
        "rand" => "write `random_uniform(shape)`, or `uniform(shape, lo, hi)` for an initial value",
        "full" | "tile" => "write `broadcast(shape, x)`",
        "zeros_like" => "write `zeros(shape(x))`",
        "ones_like" => "write `ones(shape(x))`",
        "reduce_sum" => "write `sum(x)`, or `sum(x, axes)`",
        "reduce_mean" | "average" => "write `mean(x)`, or `mean(x, axes)`",
        "reduce_max" | "amax" => "write `max(x)`, or `max(x, axes)`",
        "reduce_min" | "amin" => "write `min(x)`, or `min(x, axes)`",
        "flatten" | "ravel" => "write `reshape([n], x)`, with as many elements as `x` has",
        "squeeze" => "write `reshape(shape, x)` without the dimension of size 1, or take its element, `x[0]`",
        "unsqueeze" => "write `expand_dims(x, axis)`",
        "astype" | "cast" => "write `to_num(x)`, `to_int(x)` or `to_bool(x)`",
        "select" | "ifelse" | "cond" => {
            "write `where(c, a, b)`, or `if c then a else b` for a scalar condition"
        }
        "linear" | "Linear" | "Dense" | "fully_connected" => {
            "write `dense(units, x)`, with `import std.layers;`"
        }
        "LSTM" | "LSTMCell" => "write `lstm(units, x)`, with `import std.layers;`",
        "GRU" | "GRUCell" => "write `gru(units, x)`, with `import std.layers;`",
        "Conv2d" | "Conv2D" => {
            "write `convolution(filters, size, stride, padding, x)`, with `import std.layers;`"
        }
        "MaxPool2d" | "MaxPooling2D" => "write `max_pool2d(x, size)`",
        "mse_loss" | "MSELoss" | "mean_squared_error" => "write `mse(o, gt)`, with `import std.losses;`",
        "CrossEntropyLoss"
        | "crossentropy"
        | "categorical_crossentropy"
        | "sparse_categorical_crossentropy" => {
            "write `cross_entropy(logits, label)`, with `import std.losses;`"
        }
        "floor_divide" => "write `floor(a / b)`; `/` of two ints is whole",
        "logical_and" => "write `a and b`",
        "logical_or" => "write `a or b`",
        "logical_not" => "write `not a`",
        _ => return None,
    })
}

/// What a field of that name of a value stands for.
pub(crate) fn field(name: &str) -> Option<&'static str> {
    match name {
        "T" | "mT" => Some("the transpose is written `transpose(x)`"),
        "shape" | "size" | "ndim" => Some("a shape is written `shape(x)`, its first dimension `shape(x)[0]`"),
        _ => call(name),
    }
}

/// What an import of a module of that name stands for.
pub(crate) fn module(name: &str) -> Option<&'static str> {
    let foreign = ["numpy", "math", "torch", "jax", "tensorflow", "keras", "flax", "scipy"];
    let first = name.split('.').next().unwrap_or_default();
    foreign.contains(&first).then_some(
        "operators such as `exp` and `matmul` need no import; layers are in `std.layers`, losses in `std.losses`",
    )
}
