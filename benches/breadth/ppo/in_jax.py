import jax
import jax.numpy as jnp
from parts_jax import dense


def tower(p, name, x):
    x = jnp.tanh(dense(p, f"{name}.dense_0", x))
    return dense(p, f"{name}.dense_2", jnp.tanh(dense(p, f"{name}.dense_1", x)))


def loss(p, d, s):
    lp = jax.nn.log_softmax(tower(p, "tower_0", d["seen"]))
    value = tower(p, "tower_1", d["seen"])[:, 0]
    ratio = jnp.exp(jnp.take_along_axis(lp, d["action"][:, None], 1)[:, 0] - (0.2 * d["noise"] - 1.4))
    advantage = d["advantage"]
    gained = jnp.minimum(ratio * advantage, jnp.clip(ratio, 0.8, 1.2) * advantage).mean()
    entropy = -(jnp.exp(lp) * lp).sum(-1).mean()
    return 0.5 * ((value - d["gain"]) ** 2).mean() - gained - 0.01 * entropy
