import jax
import jax.numpy as jnp
from jax import lax


def emissions(p, x):
    """The logarithms of the densities of x [t, b, d] in each state."""
    return -0.5 * ((x[:, :, None] - p["mean"]) ** 2).sum(-1)


def model(p, d):
    moves, begin = jax.nn.log_softmax(p["moves"]), jax.nn.log_softmax(p["begin"])
    return moves, begin, emissions(p, d["x"].swapaxes(0, 1))


def in_logarithms(p, d, s):
    moves, begin, emission = model(p, d)

    def tick(message, emission):
        return jax.nn.logsumexp(message[:, :, None] + moves, 1) + emission, None

    last, _ = lax.scan(tick, begin + emission[0], emission[1:])
    return -jax.nn.logsumexp(last, -1).mean() / s["t"]


def by_products(p, d, s):
    """Messages that are brought to a sum of 1, so that a tick is a product of matrices."""
    moves, begin, emission = model(p, d)
    moves = jnp.exp(moves)
    top = emission.max(-1, keepdims=True)
    likely = jnp.exp(emission - top)

    def tick(message, likely):
        joint = (message @ moves) * likely
        total = joint.sum(-1, keepdims=True)
        return joint / total, jnp.log(total)

    first = jnp.exp(begin) * likely[0]
    total = first.sum(-1, keepdims=True)
    _, totals = lax.scan(tick, first / total, likely[1:])
    return -(jnp.log(total).mean() + totals.mean(1).sum() + top.mean(1).sum()) / s["t"]


losses = [in_logarithms, by_products]
