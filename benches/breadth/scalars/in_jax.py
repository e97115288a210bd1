import jax.numpy as jnp
from jax import lax


def one_by_one(p, d, s):
    w = lambda name, i: p[f"chain_0.{name}{i}"]

    def tick(state, cycle):
        u, y = cycle
        before = (u, *state[:-1])
        state = tuple(jnp.tanh(w("a", i) * x + w("b", i) * b) + 0.1 * u for i, (x, b) in enumerate(zip(state, before)))
        return state, 0.5 * (state[-1] - y) ** 2

    return lax.scan(tick, (jnp.float32(0),) * 60, (d["u"], d["y"]))[1].mean()


def as_a_vector(p, d, s):
    a, b = (jnp.stack([p[f"chain_0.{name}{i}"] for i in range(60)]) for name in "ab")

    def tick(state, cycle):
        u, y = cycle
        state = jnp.tanh(a * state + b * jnp.concatenate([u[None], state[:-1]])) + 0.1 * u
        return state, 0.5 * (state[-1] - y) ** 2

    return lax.scan(tick, jnp.zeros(60), (d["u"], d["y"]))[1].mean()


losses = [one_by_one, as_a_vector]
