import jax.numpy as jnp
from parts_jax import cross_entropy, dense, lstm_cell, recur, unrolled


def loss(p, d, s, unroll):
    x = d["x"].swapaxes(0, 1)
    forward = recur(lstm_cell, 2, p, "bi_lstm_0.lstm_0.lstm_cell_0", x, unroll)
    back = recur(lstm_cell, 2, p, "bi_lstm_0.lstm_back_0.lstm_cell_0", x, unroll, reverse=True)
    return cross_entropy(dense(p, "dense_0", jnp.concatenate([forward, back], -1)), d["y"].T)


losses = unrolled(loss)
