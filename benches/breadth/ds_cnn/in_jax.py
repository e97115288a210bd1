import jax
import jax.numpy as jnp
from parts_jax import batch_norm, conv2d, cross_entropy, dense


def by_groups(x, kernel):
    return conv2d(x, kernel, 1, 1, x.shape[-1])


def by_shifts(x, kernel):
    """A convolution of every channel by itself as a sum of products of shifted images; XLA has no fast one for processors."""
    padded = jnp.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    h, w = x.shape[1:3]
    return sum(padded[:, i : i + h, j : j + w] * kernel[i, j, 0] for i in range(3) for j in range(3))


def loss(p, d, s, depthwise):
    h = conv2d(d["x"][..., None], p["first_0.kernel"], 2, [(4, 5), (1, 1)])
    h = jax.nn.relu(batch_norm(p, "first_0.batch_norm_rows_0", h))
    for i in range(4):
        name = f"separable_{i}"
        h = jax.nn.relu(batch_norm(p, f"{name}.batch_norm_rows_0", depthwise(h, p[f"{name}.depth"])))
        h = jax.nn.relu(batch_norm(p, f"{name}.batch_norm_rows_1", h @ p[f"{name}.points"]))
    return cross_entropy(dense(p, "dense_0", h.mean((1, 2))), d["y"])


losses = [lambda p, d, s: loss(p, d, s, by_groups), lambda p, d, s: loss(p, d, s, by_shifts)]
