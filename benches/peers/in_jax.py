"""The jobs in JAX: each step is traced once and compiled, with the recurrence as `lax.scan`."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

sigmoid, tanh = jax.nn.sigmoid, jnp.tanh


def lstm_cell(p, z, state):
    h, c = state
    f, i, o, g = jnp.split(z + h @ p["recurrent"], 4, axis=-1)
    c = sigmoid(f) * c + sigmoid(i) * tanh(g)
    h = sigmoid(o) * tanh(c)
    return (h, c)


def gru_cell(p, z, state):
    (h,) = state
    r = h @ p["recurrent"] + p["recurrent_bias"]
    zu, zr, zc = jnp.split(z, 3, axis=-1)
    ru, rr, rc = jnp.split(r, 3, axis=-1)
    update = sigmoid(zu + ru)
    candidate = tanh(zc + sigmoid(zr + rr) * rc)
    return ((1 - update) * candidate + update * h,)


def peephole_cell(p, z, state):
    h, c = state
    z = z + h @ p["recurrent"]
    centred = z - z.mean(-1, keepdims=True)
    z = p["gamma"] * centred / jnp.sqrt((centred**2).mean(-1, keepdims=True) + 0.001) + p["beta"]
    f, i, o, g = jnp.split(z, 4, axis=-1)
    pf, pi, po = jnp.split(p["peep"], 3)
    c = sigmoid(f + pf * c) * c + sigmoid(i + pi * c) * tanh(g)
    return (sigmoid(o + po * c) * tanh(c), c)


CELLS = {"lstm": (lstm_cell, 2), "bi_lstm": (lstm_cell, 2), "gru": (gru_cell, 1), "peephole": (peephole_cell, 2)}


def recur(name, p, x, h, reverse=False):
    """The outputs of a layer for x [t, b, d]: those of all ticks."""
    cell, states = CELLS[name]
    start = (jnp.zeros((x.shape[1], h)),) * states
    z = x @ p["kernel"] + p.get("bias", 0)

    def tick(state, z):
        state = cell(p, z, state)
        return state, state[0]

    return lax.scan(tick, start, z, reverse=reverse)[1]


def network(name, h, parameters, x, y):
    x, y = jnp.asarray(x.swapaxes(0, 1)), jnp.asarray(y)

    def loss(w, x, y):
        layers, dense = w
        if name == "bi_lstm":
            out = jnp.concatenate([recur(name, layers[0], x, h), recur(name, layers[1], x, h, reverse=True)], -1)
            y = y.swapaxes(0, 1)
        else:
            out = recur(name, layers[0], x, h)[-1]
        logits = jax.nn.log_softmax(out @ dense["kernel"] + dense["bias"])
        return -jnp.mean(jnp.take_along_axis(logits, y[..., None], -1))

    # The loss of the tagger is a sum over the ticks.
    rate = 0.05 * x.shape[0] / 32 if name == "bi_lstm" else 0.05

    def update(w, x, y):
        value, gradient = jax.value_and_grad(loss)(w, x, y)
        return jax.tree.map(lambda w, g: w - rate * g, w, gradient), value

    step = jax.jit(update, donate_argnums=0)
    state = [jax.tree.map(jnp.asarray, parameters)]

    def run():
        state[0], value = step(state[0], x, y)
        jax.block_until_ready(state[0])
        return value

    return run


def scalars(share, n, t):
    u, y = (jnp.asarray(share.numbers(name, t)) for name in "uy")
    names = [str(i) for i in range(n)]
    w = {"a": {k: jnp.float32(0.5) for k in names}, "b": {k: jnp.float32(0.5) for k in names}}

    def cell(w, s, uy):
        u, y = uy
        fresh, previous = {}, u
        for k in names:
            fresh[k] = jnp.tanh(w["a"][k] * s[k] + w["b"][k] * previous) + 0.1 * u
            previous = s[k]
        return fresh, (fresh[names[-1]] - y) ** 2

    start = {k: jnp.float32(0) for k in names}
    loss = lambda w, u, y: lax.scan(lambda s, uy: cell(w, s, uy), start, (u, y))[1].sum()

    def update(w, u, y):
        value, gradient = jax.value_and_grad(loss)(w, u, y)
        # Half of the gradient of the square, as there.
        return jax.tree.map(lambda w, g: w - 0.000005 * g, w, gradient), value / t

    step = jax.jit(update)
    state = [w]

    def run():
        state[0], value = step(state[0], u, y)
        jax.block_until_ready(state[0])
        return value

    return run, 8


def product(_, m, k, n):
    a, b = (jnp.asarray(np.random.default_rng(0).uniform(-1, 1, s).astype("f4")) for s in [(m, k), (k, n)])
    step = jax.jit(jnp.matmul)

    def run():
        step(a, b).block_until_ready()

    return run, 1


def stream(share, d, h):
    net = share.numbers("net", -1)
    sizes = [(d, 4 * h), (h, 4 * h), (4 * h,), (h, 4), (4,)]
    ends = np.cumsum([np.prod(s) for s in sizes])
    parts = [jnp.asarray(part.reshape(s)) for part, s in zip(np.split(net, ends[:-1]), sizes)]
    x, y = share.numbers("x", -1, d), share.numbers("y", -1, 4)

    def tick(w, state, x):
        kernel, recurrent, bias, dense, offset = w
        state = lstm_cell({"recurrent": recurrent}, x @ kernel + bias, state)
        return state, state[0] @ dense + offset

    step = jax.jit(tick, donate_argnums=1)
    state = [(jnp.zeros(h), jnp.zeros(h))]
    for i in range(100):
        state[0], out = step(parts, state[0], x[i])
        assert np.abs(np.asarray(out) - y[i]).max() < 1e-4, "the outputs differ"
    at = [0]

    def run():
        at[0] = (at[0] + 1) % len(x)
        state[0], out = step(parts, state[0], x[at[0]])
        out.block_until_ready()

    return run, 1


def replay(_, n, d, k):
    def tick(memory, count, row):
        memory = memory.at[count % n].set(row)
        count += 1
        drawn = jax.random.randint(jax.random.fold_in(jax.random.key(0), count), (k,), 0, jnp.minimum(count, n))
        return memory, count, memory[drawn]

    step = jax.jit(tick, donate_argnums=(0, 1))
    rows = np.random.default_rng(0).standard_normal((4096, d)).astype("f4")
    state, at = [jnp.zeros((n, d)), jnp.zeros((), "i4")], [0]

    def run():
        at[0] = (at[0] + 1) % len(rows)
        *state[:], out = step(*state, rows[at[0]])
        out.block_until_ready()

    return run, 1


def cartpole(_, carts):
    import cartpole as program

    return program.step(carts, 32, 100), 10


def digits(seed):
    import digits as data

    train, test, r = data.split(seed)
    h = 64
    w = jax.tree.map(jnp.asarray, ([data.lstm(r, h)], data.dense(r, h)))

    def logits(w, x):
        layers, dense = w
        out = recur("lstm", layers[0], x.swapaxes(0, 1), h)[-1]
        return out @ dense["kernel"] + dense["bias"]

    def loss(w, x, y):
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits(w, x)), y[:, None], 1))

    def batch(w, xy):
        gradient = jax.grad(loss)(w, *xy)
        return jax.tree.map(lambda w, g: w - 0.5 * g, w, gradient), None

    # An epoch is one call; the last batch, which is smaller, another.
    @jax.jit
    def epoch(w, x, y, last_x, last_y, test_x, test_y):
        w, _ = lax.scan(batch, w, (x, y))
        w, _ = batch(w, (last_x, last_y))
        return w, jnp.mean(jnp.argmax(logits(w, test_x), -1) == test_y)

    for n in range(1, 61):
        x, y, last_x, last_y = data.batches(train, r)
        w, accuracy = epoch(w, x, y, last_x, last_y, *test)
        if accuracy >= 0.95:
            break
    data.report(n, accuracy)
