import jax
from parts_jax import dense


def mlp(p, name, x):
    for i in range(3):
        x = dense(p, f"{name}.dense_{i}", x)
        x = jax.nn.relu(x) if i < 2 else x
    return x


def loss(p, d, s):
    return ((mlp(p, "mlp_1", mlp(p, "mlp_0", d["x"])) - d["x"]) ** 2).mean()
