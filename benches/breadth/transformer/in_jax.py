import jax
import jax.numpy as jnp
from parts_jax import cross_entropy, dense, layer_norm


def attention(p, name, x, heads):
    kernel = lambda i: p[f"{name}.project_{i}.kernel"]
    query, key, value = ((x @ kernel(i)).reshape(*x.shape[:2], heads, -1) for i in range(3))
    scores = jnp.einsum("bthk,bshk->bhts", query, key) / jnp.sqrt(x.shape[-1] // heads)
    return jnp.einsum("bhts,bshv->bthv", jax.nn.softmax(scores), value).reshape(x.shape) @ kernel(3)


def block(p, name, x, heads):
    x = x + attention(p, f"{name}.self_attention_0", layer_norm(p, f"{name}.layer_norm_0", x), heads)
    h = jax.nn.gelu(dense(p, f"{name}.dense_0", layer_norm(p, f"{name}.layer_norm_1", x)), approximate=False)
    return x + dense(p, f"{name}.dense_1", h)


def loss(p, d, s):
    h = dense(p, "encoder_0.dense_0", d["x"]) + p["encoder_0.position"]
    for i in range(4):
        h = block(p, f"encoder_0.block_{i}", h, s["heads"])
    h = layer_norm(p, "encoder_0.layer_norm_0", h)
    return cross_entropy(dense(p, "dense_0", h.mean(1)), d["y"])
