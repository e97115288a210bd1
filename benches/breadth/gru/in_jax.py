from parts_jax import cross_entropy, dense, gru_cell, recur, unrolled


def loss(p, d, s, unroll):
    h = recur(gru_cell, 1, p, "gru_0", d["x"].swapaxes(0, 1), unroll)
    return cross_entropy(dense(p, "dense_0", h[-1]), d["y"])


losses = unrolled(loss)
