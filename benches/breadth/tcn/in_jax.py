import jax
import jax.numpy as jnp
from jax import lax
from parts_jax import cross_entropy, dense


def by_convolution(x, kernel, dilation):
    order = ("NWC", "WIO", "NWC")
    return lax.conv_general_dilated(x, kernel, (1,), [(2 * dilation, 0)], rhs_dilation=(dilation,), dimension_numbers=order)


def by_products(x, kernel, dilation):
    padded = jnp.pad(x, ((0, 0), (2 * dilation, 0), (0, 0)))
    return sum(padded[:, i * dilation : i * dilation + x.shape[1]] @ kernel[i] for i in range(3))


def loss(p, d, s, convolution):
    causal = lambda name, x, dilation: convolution(x, p[name + ".kernel"], dilation) + p[name + ".bias"]
    h = dense(p, "dense_0", d["x"])
    for i in range(4):
        inside = jax.nn.relu(causal(f"block_{i}.causal_0", h, 2**i))
        h = jax.nn.relu(h + causal(f"block_{i}.causal_1", inside, 2**i))
    return cross_entropy(dense(p, "dense_1", h[:, -1]), d["y"])


losses = [lambda p, d, s: loss(p, d, s, by_convolution), lambda p, d, s: loss(p, d, s, by_products)]
