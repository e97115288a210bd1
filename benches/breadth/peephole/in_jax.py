import jax
import jax.numpy as jnp
from jax import lax
from parts_jax import cross_entropy, dense, layer_norm, unrolled

sigmoid = jax.nn.sigmoid


def loss(p, d, s, unroll):
    w = lambda name: p["peephole_0." + name]
    pf, pi, po = jnp.split(w("peep"), 3)

    def tick(state, z):
        h, c = state
        z = layer_norm(p, "peephole_0.layer_norm_0", z + h @ w("recurrent"))
        f, i, o, g = jnp.split(z, 4, axis=-1)
        c = sigmoid(f + pf * c) * c + sigmoid(i + pi * c) * jnp.tanh(g)
        return (sigmoid(o + po * c) * jnp.tanh(c), c), None

    start = (jnp.zeros((s["batch"], s["units"])),) * 2
    (h, _), _ = lax.scan(tick, start, d["x"].swapaxes(0, 1) @ w("kernel"), unroll=unroll)
    return cross_entropy(dense(p, "dense_0", h), d["y"])


losses = unrolled(loss)
