from parts_torch import dense, layer_norm
from torch.nn import functional as F


def attention(p, name, x, heads):
    query, key, value = (dense(p, f"{name}.dense_{i}", x).unflatten(-1, (heads, -1)).transpose(1, 2) for i in range(3))
    y = F.scaled_dot_product_attention(query, key, value, is_causal=True)
    return dense(p, f"{name}.dense_3", y.transpose(1, 2).flatten(2))


def loss(p, d, s):
    h = dense(p, "dense_0", d["x"])
    h = h + attention(p, "causal_attention_0", layer_norm(p, "layer_norm_0", h), s["heads"])
    return F.cross_entropy(dense(p, "dense_1", h).flatten(0, 1), d["y"].reshape(-1))
