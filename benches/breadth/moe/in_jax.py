import jax
import jax.numpy as jnp
from jax import lax

NAME = "mixture_of_experts_0."


def gated(p, x):
    g = jax.nn.softmax(x @ p[NAME + "gate_0.kernel"])
    open = g >= 0.2
    chosen = g * open
    return open, chosen / chosen.sum(-1, keepdims=True)


def expert(p, i, x):
    w = lambda part: p[f"{NAME}expert_{i}.{part}"]
    return jax.nn.relu(x @ w("kernel") + w("bias")) @ w("out")


def all_experts(p, d, s):
    x = 4 * d["x"]
    _, share = gated(p, x)
    o = sum(share[:, i, None] * expert(p, i, x) for i in range(4))
    return ((o - d["y"]) ** 2).mean()


def those_needed(p, d, s):
    """One cycle after the other, with the experts that it chooses only."""
    x = 4 * d["x"]

    def tick(_, cycle):
        x, open, share = cycle
        nothing = lambda x: jnp.zeros(s["units"])
        o = [lax.cond(open[i], lambda x, i=i: expert(p, i, x), nothing, x) for i in range(4)]
        return None, share @ jnp.stack(o)

    _, o = lax.scan(tick, None, (x, *gated(p, x)))
    return ((o - d["y"]) ** 2).mean()


losses = [all_experts, those_needed]
