"""Small convolutions, poolings and contractions by JAX in double precision, as the table that the tests of the operators read.

Run with the JAX and NumPy of your choice: `python operators.py > operators.json`.
"""
import json
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

jax.config.update("jax_enable_x64", True)
rng = np.random.default_rng(7)


def draw(*shape):
    return np.round(rng.uniform(-1, 1, shape), 3)


def entry(op, f, *args):
    """The value, and the gradients of its sum weighted by `d`."""
    args = [jnp.asarray(a) for a in args]
    o, pull = jax.vjp(f, *args)
    d = jnp.asarray(draw(*o.shape))
    tensor = lambda x: {"shape": list(x.shape), "data": np.asarray(x).ravel().tolist()}
    return {
        "op": op,
        "args": [tensor(a) for a in args],
        "o": tensor(o),
        "do": tensor(d),
        "grads": [tensor(g) for g in pull(d)],
    }


def conv(strides, paddings, dilations, groups=1):
    names = ("NWC", "WIO", "NWC") if len(strides) == 1 else ("NHWC", "HWIO", "NHWC")
    return lambda x, k: lax.conv_general_dilated(
        x, k, strides, paddings, rhs_dilation=dilations, dimension_numbers=names, feature_group_count=groups
    )


def pool(sizes, strides, paddings, mean):
    window, steps = (1, *sizes, 1), (1, *strides, 1)
    pads = ((0, 0), *paddings, (0, 0))
    if mean:
        return lambda x: lax.reduce_window(x, 0.0, lax.add, window, steps, pads) / np.prod(sizes)
    return lambda x: lax.reduce_window(x, -jnp.inf, lax.max, window, steps, pads)


TABLE = [
    entry("conv1d{1 0:0 1; 1}", conv([1], [(0, 0)], [1]), draw(2, 6, 2), draw(3, 2, 3)),
    entry("conv1d{2 2:1 2; 2}", conv([2], [(2, 1)], [2], 2), draw(1, 7, 4), draw(3, 2, 6)),
    entry("conv2d{1 0:0 1, 1 0:0 1; 1}", conv([1, 1], [(0, 0)] * 2, [1, 1]), draw(2, 4, 4, 1), draw(2, 3, 1, 2)),
    entry("conv2d{2 1:0 1, 1 1:2 2; 3}", conv([2, 1], [(1, 0), (1, 2)], [1, 2], 3), draw(1, 5, 4, 3), draw(2, 2, 1, 3)),
    entry("max_pool1d{3 2 1:1}", pool([3], [2], [(1, 1)], False), draw(2, 6, 2)),
    entry("max_pool2d{2 2 0:0, 3 1 1:0}", pool([2, 3], [2, 1], [(0, 0), (1, 0)], False), draw(1, 4, 5, 2)),
    entry("avg_pool1d{3 2 1:1}", pool([3], [2], [(1, 1)], True), draw(2, 6, 2)),
    entry("avg_pool2d{2 2 0:0, 3 1 1:0}", pool([2, 3], [2, 1], [(0, 0), (1, 0)], True), draw(1, 4, 5, 2)),
    entry("einsum{bij,bjk->bik}", lambda a, b: jnp.einsum("bij,bjk->bik", a, b), draw(2, 3, 2), draw(2, 2, 4)),
    entry("einsum{xqhd,xkhd->xhqk}", lambda a, b: jnp.einsum("xqhd,xkhd->xhqk", a, b), draw(1, 3, 2, 2), draw(1, 2, 2, 2)),
    entry("einsum{aib,bjc->jc}", lambda a, b: jnp.einsum("aib,bjc->jc", a, b), draw(2, 3, 2), draw(2, 2, 3)),
    entry("matmul", jnp.matmul, draw(2, 1, 3, 2), draw(4, 2, 3)),
    entry("matmul", jnp.matmul, draw(3), draw(2, 3, 2)),
    entry("gelu", lambda x: jax.nn.gelu(x, approximate=False), 4 * draw(6)),
    entry("softplus", jax.nn.softplus, 20 * draw(6)),
    entry("erf", lax.erf, 3 * draw(6)),
    entry("log1p", jnp.log1p, draw(6)),
    entry("expm1", jnp.expm1, draw(6)),
    entry("pow", jnp.power, 1.5 + draw(2, 3), draw(3)),
    entry("softmax", jax.nn.softmax, draw(2, 4)),
    entry("log_softmax", jax.nn.log_softmax, draw(2, 4)),
    entry("cumsum{axis=1}", lambda x: jnp.cumsum(x, 1), draw(2, 3, 2)),
    entry("cumsum{reverse, axis=0}", lambda x: lax.cumsum(x, 0, reverse=True), draw(4)),
]
print("[")
print(",\n".join(json.dumps(e) for e in TABLE))
print("]")
