from parts_jax import cross_entropy, dense, lstm_cell, recur, unrolled


def loss(p, d, s, unroll):
    h = d["x"].swapaxes(0, 1)
    for layer in ("layers_0.lstm_0.lstm_cell_0", "layers_0.lstm_1.lstm_cell_0"):
        h = recur(lstm_cell, 2, p, layer, h, unroll)
    return cross_entropy(dense(p, "dense_0", h[-1]), d["y"])


losses = unrolled(loss)
