import jax
import jax.numpy as jnp
from jax import lax
from parts_jax import cross_entropy, dense, unrolled


def loss(p, d, s, unroll):
    def tick(state, z):
        h, c, n, m = state
        i, f, g, o = jnp.split(z + h @ p["slstm_0.recurrent"], 4, axis=-1)
        f = f + m
        m = jnp.maximum(f, i)
        i, f = jnp.exp(i - m), jnp.exp(f - m)
        c, n = f * c + i * jnp.tanh(g), f * n + i
        return (jax.nn.sigmoid(o) * c / n, c, n, m), None

    start = (jnp.zeros((s["batch"], s["units"])),) * 4
    state, _ = lax.scan(tick, start, dense(p, "slstm_0.dense_0", d["x"].swapaxes(0, 1)), unroll=unroll)
    return cross_entropy(dense(p, "dense_0", state[0]), d["y"])


losses = unrolled(loss)
