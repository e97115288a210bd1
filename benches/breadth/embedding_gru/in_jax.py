from parts_jax import cross_entropy, dense, gru_cell, recur, unrolled


def loss(p, d, s, unroll):
    h = recur(gru_cell, 1, p, "gru_0", p["embedding_0.table"][d["word"].T], unroll)
    return cross_entropy(dense(p, "dense_0", h), d["next"].T)


losses = unrolled(loss)
