"""The program of `examples/cartpole.rml` in JAX, as public code for reinforcement learning has it: rollout and update in one compiled step."""

import jax
import jax.numpy as jnp
from jax import lax


def glorot(key, rows, columns):
    return jax.random.uniform(key, (rows, columns), minval=-1, maxval=1) * jnp.sqrt(6 / (rows + columns))


def parameters(key):
    sizes = {"actor": [(4, 64), (64, 2)], "critic": [(4, 64), (64, 1)]}
    keys = iter(jax.random.split(key, 4))
    return {name: [(glorot(next(keys), *s), jnp.zeros(s[1])) for s in layers] for name, layers in sizes.items()}


def mlp(layers, x):
    (a, b), (c, d) = layers
    return jnp.tanh(x @ a + b) @ c + d


def push_carts(state, count, push, key):
    """The carts one step later, those whose episode ended restarted; their steps, what was seen after them, which fell, which ended."""
    x, v, angle, w = state.T
    force = (20.0 * push - 10.0 + 0.05 * w * w * jnp.sin(angle)) / 1.1
    turn = (9.8 * jnp.sin(angle) - jnp.cos(angle) * force) / (0.5 * (4 / 3 - 0.1 * jnp.cos(angle) ** 2 / 1.1))
    speed = force - 0.05 * turn * jnp.cos(angle) / 1.1
    moved = jnp.stack([x + 0.02 * v, v + 0.02 * speed, angle + 0.02 * w, w + 0.02 * turn], 1)
    steps = count + 1
    fell = (jnp.abs(moved[:, 0]) > 2.4) | (jnp.abs(moved[:, 2]) > 0.20943951)
    ended = fell | (steps >= 500)
    fresh = jax.random.uniform(key, moved.shape, minval=-0.05, maxval=0.05)
    return jnp.where(ended[:, None], fresh, moved), jnp.where(ended, 0, steps), steps, moved, fell, ended


def loss(p, seen, push, after, fell, ended):
    logits, value = mlp(p["actor"], seen), mlp(p["critic"], seen)[..., 0]
    beyond = lax.stop_gradient(mlp(p["critic"], after)[..., 0])

    def back(g, cycle):
        fell, ended, beyond = cycle
        return (1.0 + 0.98 * jnp.where(fell, 0.0, jnp.where(ended, beyond, g)),) * 2

    g = lax.scan(back, beyond[-1], (fell, ended, beyond), reverse=True)[1]
    lp = jax.nn.log_softmax(logits)
    chosen = jnp.take_along_axis(lp, push[..., None].astype(int), -1)[..., 0]
    advantage = lax.stop_gradient(g - value)
    entropy = -jnp.mean(jnp.sum(jnp.exp(lp) * lp, -1), 1)
    return jnp.sum(0.5 * jnp.mean((g - value) ** 2, 1) - jnp.mean(advantage * chosen, 1) - 0.01 * entropy)


def adam(p, gradient, m, v, t):
    both = jax.tree.map
    m = both(lambda m, g: 0.9 * m + 0.1 * g, m, gradient)
    v = both(lambda v, g: 0.999 * v + 0.001 * g * g, v, gradient)
    move = lambda p, m, v: p - 0.01 * (m / (1 - 0.9**t)) / (jnp.sqrt(v / (1 - 0.999**t)) + 1e-8)
    return both(move, p, m, v), m, v


def update(carry, horizon):
    p, m, v, t, carts, count, length, key = carry

    def tick(state, key):
        carts, count = state
        draw, fresh = jax.random.split(key)
        chance = jax.nn.softmax(mlp(p["actor"], carts))[:, 1]
        push = (jax.random.uniform(draw, count.shape) < chance).astype(jnp.float32)
        carts_next, left, steps, after, fell, ended = push_carts(carts, count, push, fresh)
        return (carts_next, left), (carts, push, after, fell, ended, steps)

    key, ticks = jax.random.split(key)
    (carts, count), (seen, push, after, fell, ended, steps) = lax.scan(tick, (carts, count), jax.random.split(ticks, horizon))
    p, m, v = adam(p, jax.grad(loss)(p, seen, push, after, fell, ended), m, v, t + 1)
    ends = jnp.sum(ended)
    mean = jnp.sum(jnp.where(ended, steps, 0)) / jnp.maximum(ends, 1)
    length = length + jnp.minimum(0.02 * ends, 1.0) * (mean - length)
    return p, m, v, t + 1, carts, count, length, key


def step(carts, horizon, updates):
    """A step of that many updates; it gives the decaying mean of the steps until a pole falls."""
    key = jax.random.PRNGKey(0)
    p = parameters(key)
    zero = jax.tree.map(jnp.zeros_like, p)
    state = [(p, zero, zero, jnp.float32(0), jnp.zeros((carts, 4)), jnp.zeros(carts), jnp.float32(20), key)]
    many = jax.jit(lambda c: lax.scan(lambda c, _: (update(c, horizon), None), c, None, length=updates)[0], donate_argnums=0)
    # Arrays that stand twice in the state cannot be given away.
    state[0] = jax.tree.map(jnp.array, state[0])

    def run():
        state[0] = jax.block_until_ready(many(state[0]))
        return float(state[0][6])

    return run
