import jax
import jax.numpy as jnp
from jax import lax
from parts_jax import dense, gru_cell, recur, unrolled

LOW = -1e9


def loss(p, d, s, unroll):
    h = recur(gru_cell, 1, p, "gru_0", d["x"].swapaxes(0, 1), unroll)
    lp = jax.nn.log_softmax(dense(p, "dense_0", h))
    b, n = s["batch"], 2 * s["length"] + 1
    place = jnp.zeros((b, n), int).at[:, 1::2].set(d["y"] + 1)
    skips = (jnp.arange(n) % 2 == 1) & (place != jnp.pad(place, ((0, 0), (2, 0)), constant_values=-1)[:, :n])
    emissions = jnp.take_along_axis(lp, jnp.broadcast_to(place, (s["t"], b, n)), -1)
    behind = lambda x, k: jnp.pad(x, ((0, 0), (k, 0)), constant_values=LOW)[:, :n]

    def tick(alpha, emission):
        ways = jnp.stack([alpha, behind(alpha, 1), jnp.where(skips, behind(alpha, 2), LOW)])
        return emission + jax.nn.logsumexp(ways, 0), None

    start = jnp.broadcast_to(jnp.where(jnp.arange(n) == 0, 0.0, LOW), (b, n))
    alpha, _ = lax.scan(tick, start, emissions, unroll=unroll)
    return -jnp.logaddexp(alpha[:, -1], alpha[:, -2]).mean()


losses = unrolled(loss)
