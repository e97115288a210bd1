from parts_torch import dense, layer_norm
from torch.nn import functional as F

compiled = True


def attention(p, name, x, heads):
    kernel = lambda i: p[f"{name}.project_{i}.kernel"]
    query, key, value = ((x @ kernel(i)).unflatten(-1, (heads, -1)).transpose(1, 2) for i in range(3))
    return F.scaled_dot_product_attention(query, key, value).transpose(1, 2).flatten(2) @ kernel(3)


def block(p, name, x, heads):
    x = x + attention(p, f"{name}.self_attention_0", layer_norm(p, f"{name}.layer_norm_0", x), heads)
    h = F.gelu(dense(p, f"{name}.dense_0", layer_norm(p, f"{name}.layer_norm_1", x)))
    return x + dense(p, f"{name}.dense_1", h)


def loss(p, d, s):
    h = dense(p, "encoder_0.dense_0", d["x"]) + p["encoder_0.position"]
    for i in range(4):
        h = block(p, f"encoder_0.block_{i}", h, s["heads"])
    h = layer_norm(p, "encoder_0.layer_norm_0", h)
    return F.cross_entropy(dense(p, "dense_0", h.mean(1)), d["y"])
