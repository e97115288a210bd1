import jax
import jax.numpy as jnp
from jax import lax
from parts_jax import cross_entropy, dense, unrolled


def spike(v):
    soft = jax.nn.sigmoid(4 * (v - 1))
    return soft + lax.stop_gradient((v > 1) - soft)


def loss(p, d, s, unroll):
    name = "readout_0.neurons_0."

    def tick(state, z):
        v, fired = state
        v = 0.9 * v * (1 - fired) + 2 * z + fired @ p[name + "recurrent"]
        fired = spike(v)
        return (v, fired), fired

    start = (jnp.zeros((s["batch"], s["units"])),) * 2
    _, spikes = lax.scan(tick, start, dense(p, name + "dense_0", d["x"].swapaxes(0, 1)), unroll=unroll)
    weight = 0.9 ** jnp.arange(s["t"] - 1, -1, -1.0)
    o = jnp.einsum("t,tbk->bk", weight, dense(p, "readout_0.dense_0", spikes))
    return cross_entropy(0.1 * o, d["y"])


losses = unrolled(loss)
