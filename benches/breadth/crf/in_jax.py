import jax
import jax.numpy as jnp
from jax import lax
from parts_jax import dense


def in_logarithms(before, moves):
    return jax.nn.logsumexp(before[:, :, None] + moves, 1)


def by_products(before, moves):
    top = before.max(-1, keepdims=True)
    return top + jnp.log(jnp.exp(before - top) @ jnp.exp(moves))


def loss(p, d, s, come):
    scores, y, moves = dense(p, "dense_0", d["x"].swapaxes(0, 1)), d["y"].T, p["moves"]
    alpha, _ = lax.scan(lambda a, s: (s + come(a, moves), None), scores[0], scores[1:])
    right = jnp.take_along_axis(scores, y[..., None], -1).sum(0)[:, 0] + moves[y[:-1], y[1:]].sum(0)
    return (jax.nn.logsumexp(alpha, -1) - right).mean() / s["t"]


losses = [lambda p, d, s: loss(p, d, s, in_logarithms), lambda p, d, s: loss(p, d, s, by_products)]
