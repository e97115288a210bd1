import jax
import jax.numpy as jnp
from jax import lax


def loss(p, d, s):
    x, motion, seen = d["x"].swapaxes(0, 1), p["motion"], p["seen"]
    q, r = jnp.diag(jnp.exp(p["log_q"])), jnp.diag(jnp.exp(p["log_r"]))

    def tick(state, x):
        mean, spread = state
        mean = mean @ motion.T
        before = motion @ spread @ motion.T + q
        root = jnp.linalg.cholesky(seen @ before @ seen.T + r)
        gain = jax.scipy.linalg.cho_solve((root, True), seen @ before).T
        error = x - mean @ seen.T
        white = jax.scipy.linalg.solve_triangular(root, error.T, lower=True)
        lost = 0.5 * (white**2).sum() / x.shape[0] + jnp.log(jnp.diag(root)).sum()
        return (mean + error @ gain.T, before - gain @ seen @ before), lost

    start = (jnp.zeros((x.shape[1], s["states"])), jnp.eye(s["states"]))
    return lax.scan(tick, start, x)[1].mean() + 0.9189385332046727 * s["d"]


losses = [loss]
