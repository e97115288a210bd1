import torch
from parts_torch import dense
from torch.nn import functional as F


def loss(p, d, s):
    h = c = n = m = torch.zeros(s["batch"], s["units"])
    for z in dense(p, "slstm_0.dense_0", d["x"].swapaxes(0, 1)):
        i, f, g, o = (z + h @ p["slstm_0.recurrent"]).chunk(4, -1)
        f = f + m
        m = torch.maximum(f, i)
        i, f = (i - m).exp(), (f - m).exp()
        c, n = f * c + i * g.tanh(), f * n + i
        h = o.sigmoid() * c / n
    return F.cross_entropy(dense(p, "dense_0", h), d["y"])
