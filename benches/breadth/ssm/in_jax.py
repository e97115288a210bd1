import jax
import jax.numpy as jnp
from jax import lax
from parts_jax import cross_entropy, dense


def mixed(p, x):
    """The last four values of x [t, b, d], newest first, against a kernel."""
    last = [jnp.pad(x, ((i, 0), (0, 0), (0, 0)))[: x.shape[0]] for i in range(4)]
    return dense(p, "mamba_0.causal_conv1d_0", jnp.concatenate(last, -1))


def model(p, d):
    x = d["x"].swapaxes(0, 1)
    u = jax.nn.silu(mixed(p, dense(p, "mamba_0.dense_0", x)))
    part = lambda i: dense(p, f"mamba_0.selective_0.dense_{i}", u)
    return u, jax.nn.softplus(part(0)), part(1), part(2), jax.nn.silu(dense(p, "mamba_0.dense_1", x))


def finished(p, d, u, y, gate):
    y = dense(p, "mamba_0.dense_2", (y + p["mamba_0.selective_0.through"] * u) * gate)
    return cross_entropy(dense(p, "dense_0", y), d["y"].T)


def by_ticks(p, d, s):
    u, step, enter, leave, gate = model(p, d)
    decay = -jnp.exp(p["mamba_0.selective_0.logs"])

    def tick(h, cycle):
        u, step, enter, leave = cycle
        h = jnp.exp(step[..., None] * decay) * h + (step * u)[..., None] * enter[:, None]
        return h, (h * leave[:, None]).sum(-1)

    _, y = lax.scan(tick, jnp.zeros((*u.shape[1:], s["states"])), (u, step, enter, leave))
    return finished(p, d, u, y, gate)


def in_parallel(p, d, s):
    u, step, enter, leave, gate = model(p, d)
    keep = jnp.exp(step[..., None] * -jnp.exp(p["mamba_0.selective_0.logs"]))
    new = (step * u)[..., None] * enter[:, :, None]
    _, h = lax.associative_scan(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (keep, new))
    return finished(p, d, u, (h * leave[:, :, None]).sum(-1), gate)


losses = [by_ticks, in_parallel]
