import jax
import jax.numpy as jnp
from parts_jax import cross_entropy, dense, layer_norm


def attention(p, name, x, heads):
    query, key, value = (dense(p, f"{name}.dense_{i}", x).reshape(*x.shape[:2], heads, -1) for i in range(3))
    scores = jnp.einsum("bthk,bshk->bhts", query, key) / jnp.sqrt(x.shape[-1] // heads)
    scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -1e9)
    y = jnp.einsum("bhts,bshv->bthv", jax.nn.softmax(scores), value)
    return dense(p, f"{name}.dense_3", y.reshape(x.shape))


def loss(p, d, s):
    h = dense(p, "dense_0", d["x"])
    h = h + attention(p, "causal_attention_0", layer_norm(p, "layer_norm_0", h), s["heads"])
    return cross_entropy(dense(p, "dense_1", h), d["y"])
