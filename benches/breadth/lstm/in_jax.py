from parts_jax import cross_entropy, dense, lstm_cell, recur, unrolled


def loss(p, d, s, unroll):
    h = recur(lstm_cell, 2, p, "lstm_0.lstm_cell_0", d["x"].swapaxes(0, 1), unroll)
    return cross_entropy(dense(p, "dense_0", h[-1]), d["y"])


losses = unrolled(loss)
