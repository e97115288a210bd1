import jax
import jax.numpy as jnp
from jax import lax

relu, still = jax.nn.relu, lax.stop_gradient


def prepare(p, s):
    w = {name: p[name] for name in ("w1", "b1", "w2", "b2", "w3")}
    for i in (0, 1):
        w[f"q{i}"] = w[f"t{i}"] = p[f"weights_{i}.w"]
    return w


def critic(w, seen, action):
    h = relu(jnp.concatenate([seen, action], -1) @ w[:640].reshape(10, 64) + w[640:704])
    h = relu(h @ w[704:4800].reshape(64, 64) + w[4800:4864])
    return h @ w[4864:4928] + w[4928]


def drawn(p, seen, noise):
    h = relu(relu(seen @ p["w1"] + p["b1"]) @ p["w2"] + p["b2"]) @ p["w3"]
    log_std = jnp.clip(h[:, 2:], -5, 2)
    action = jnp.tanh(h[:, :2] + jnp.exp(log_std) * noise)
    density = 0.5 * noise * noise + log_std + 0.9189385332046727 + jnp.log(1 - action * action + 1e-6)
    return action, -density.sum(-1)


def loss(p, d):
    action, lp = drawn(p, d["after"], d["noise_after"])
    best = jnp.minimum(critic(p["t0"], d["after"], action), critic(p["t1"], d["after"], action))
    target = still(d["reward"] + 0.99 * (best - 0.2 * lp))
    errors = sum(((critic(p[q], d["seen"], d["action"]) - target) ** 2).mean() for q in ("q0", "q1"))
    action, lp = drawn(p, d["seen"], d["noise"])
    worth = jnp.minimum(*(critic(still(p[q]), d["seen"], action) for q in ("q0", "q1")))
    return errors + (0.2 * lp - worth).mean()


def update(p, d, s):
    value, gradient = jax.value_and_grad(loss)(p, d)
    new = jax.tree.map(lambda p, g: p - s["rate"] * g, p, gradient)
    for i in (0, 1):
        new[f"t{i}"] = 0.995 * p[f"t{i}"] + 0.005 * p[f"q{i}"]
    return new, value
