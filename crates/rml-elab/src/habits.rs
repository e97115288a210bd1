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
        "pre" => "write `0.0 fby x`: what `x` was in the cycle before, and the value of the first cycle",
        "current" => {
            "write `merge c x held` with `held = 0.0 fby ..` for the value of the last cycle in which `x` was present"
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
        "full" => "write `broadcast(shape, x)`",
        "floor_divide" => "write `floor(a / b)`; `/` of two ints is whole",
        "logical_and" => "write `a and b`",
        "logical_or" => "write `a or b`",
        "logical_not" => "write `not a`",
        _ => return None,
    })
}

/// What an import of a module of that name stands for.
pub(crate) fn module(name: &str) -> Option<&'static str> {
    let foreign = ["numpy", "math", "torch", "jax", "tensorflow", "keras", "flax", "scipy"];
    let first = name.split('.').next().unwrap_or_default();
    foreign.contains(&first).then_some(
        "operators such as `exp` and `matmul` need no import; layers are in `std.layers`, losses in `std.losses`",
    )
}
