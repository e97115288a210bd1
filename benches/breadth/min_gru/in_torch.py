import torch
from parts_torch import dense
from torch.nn import functional as F


def loss(p, d, s):
    x = d["x"].swapaxes(0, 1)
    update = dense(p, "min_gru_0.dense_0", x).sigmoid()
    h, out = torch.zeros_like(update[0]), []
    for keep, new in zip(1 - update, update * dense(p, "min_gru_0.dense_1", x)):
        h = keep * h + new
        out.append(h)
    return F.cross_entropy(dense(p, "dense_0", torch.stack(out)).flatten(0, 1), d["y"].T.reshape(-1))
