import jax
from parts_jax import batch_norm, conv2d, cross_entropy, dense

relu = jax.nn.relu


def loss(p, d, s):
    def normalised(name, x, stride=1, padding=1):
        return batch_norm(p, f"{name}.batch_norm_rows_0", conv2d(x, p[f"{name}.kernel"], stride, padding))

    def smaller(name, x):
        # Instances are numbered in the order of the program.
        inside = relu(normalised(f"{name}.normalised_0", x, 2))
        return relu(normalised(f"{name}.normalised_1", x, 2, 0) + normalised(f"{name}.normalised_2", inside))

    h = relu(normalised("normalised_0", d["x"]))
    h = relu(h + normalised("same_0.normalised_1", relu(normalised("same_0.normalised_0", h))))
    h = smaller("smaller_1", smaller("smaller_0", h))
    return cross_entropy(dense(p, "dense_0", h.mean((1, 2))), d["y"])
