"""What several families have in common, in JAX; sequences have their ticks first."""

import jax
import jax.numpy as jnp
from jax import lax


def dense(p, name, x):
    return x @ p[name + ".kernel"] + p[name + ".bias"]


def cross_entropy(logits, y):
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), y[..., None], -1).mean()


def layer_norm(p, name, x):
    centred = x - x.mean(-1, keepdims=True)
    return p[name + ".gamma"] * centred / jnp.sqrt((centred**2).mean(-1, keepdims=True) + 0.001) + p[name + ".beta"]


def batch_norm(p, name, x):
    """By mean and variance over all axes but the last."""
    axes = tuple(range(x.ndim - 1))
    mean = x.mean(axes)
    var = ((x - mean) ** 2).mean(axes)
    part = f"{name}.scale_shift_0."
    return p[part + "gamma"] * (x - mean) / jnp.sqrt(var + 0.001) + p[part + "beta"]


def conv2d(x, kernel, stride=1, padding=0, groups=1):
    stride = (stride, stride) if isinstance(stride, int) else stride
    padding = [(padding, padding)] * 2 if isinstance(padding, int) else padding
    order = ("NHWC", "HWIO", "NHWC")
    return lax.conv_general_dilated(x, kernel, stride, padding, dimension_numbers=order, feature_group_count=groups)


def lstm_cell(p, z, state):
    h, c = state
    f, i, o, g = jnp.split(z + h @ p["recurrent"], 4, axis=-1)
    c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
    h = jax.nn.sigmoid(o) * jnp.tanh(c)
    return (h, c)


def gru_cell(p, z, state):
    (h,) = state
    zu, zr, zc = jnp.split(z, 3, axis=-1)
    ru, rr, rc = jnp.split(h @ p["recurrent"] + p["recurrent_bias"], 3, axis=-1)
    update = jax.nn.sigmoid(zu + ru)
    return ((1 - update) * jnp.tanh(zc + jax.nn.sigmoid(zr + rr) * rc) + update * h,)


def rnn_cell(p, z, state):
    (h,) = state
    return (jnp.tanh(z + h @ p["recurrent"]),)


def recur(cell, states, p, name, x, unroll, reverse=False):
    """The outputs of a recurrent layer for x [t, b, d], at all ticks."""
    p = {part: p[f"{name}.{part}"] for part in ("kernel", "recurrent", "bias", "recurrent_bias") if f"{name}.{part}" in p}
    start = (jnp.zeros((x.shape[1], p["recurrent"].shape[0])),) * states

    def tick(state, z):
        state = cell(p, z, state)
        return state, state[0]

    return lax.scan(tick, start, x @ p["kernel"] + p["bias"], reverse=reverse, unroll=unroll)[1]


def unrolled(loss):
    """A loss with the ticks of its loop one by one, and eight at a time."""
    return [lambda p, d, s, n=n: loss(p, d, s, n) for n in (1, 8)]
