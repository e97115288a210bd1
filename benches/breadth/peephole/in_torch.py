import torch
from parts_torch import dense, layer_norm
from torch.nn import functional as F


def loss(p, d, s):
    w = lambda name: p["peephole_0." + name]
    pf, pi, po = w("peep").chunk(3)
    h = c = torch.zeros(s["batch"], s["units"])
    for z in d["x"].swapaxes(0, 1) @ w("kernel"):
        z = layer_norm(p, "peephole_0.layer_norm_0", z + h @ w("recurrent"))
        f, i, o, g = z.chunk(4, -1)
        c = torch.sigmoid(f + pf * c) * c + torch.sigmoid(i + pi * c) * torch.tanh(g)
        h = torch.sigmoid(o + po * c) * torch.tanh(c)
    return F.cross_entropy(dense(p, "dense_0", h), d["y"])
