from parts_jax import cross_entropy, dense, rnn_cell, recur, unrolled


def loss(p, d, s, unroll):
    h = recur(rnn_cell, 1, p, "rnn_0", d["x"].swapaxes(0, 1), unroll)
    return cross_entropy(dense(p, "dense_0", h[-1]), d["y"])


losses = unrolled(loss)
