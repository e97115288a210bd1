import torch
from parts_torch import dense
from torch.nn import functional as F


def loss(p, d, s):
    x = d["x"].swapaxes(0, 1)
    u = dense(p, "mamba_0.dense_0", x)
    last = [F.pad(u, (0, 0, 0, 0, i, 0))[: s["t"]] for i in range(4)]
    u = F.silu(dense(p, "mamba_0.causal_conv1d_0", torch.cat(last, -1)))
    step, enter, leave = (dense(p, f"mamba_0.selective_0.dense_{i}", u) for i in range(3))
    step = F.softplus(step)
    keep = (step.unsqueeze(-1) * -p["mamba_0.selective_0.logs"].exp()).exp()
    new = (step * u).unsqueeze(-1) * enter.unsqueeze(2)
    h, all = torch.zeros_like(new[0]), []
    for k, n in zip(keep, new):
        h = k * h + n
        all.append(h)
    y = (torch.stack(all) @ leave.unsqueeze(-1)).squeeze(-1) + p["mamba_0.selective_0.through"] * u
    y = dense(p, "mamba_0.dense_2", y * F.silu(dense(p, "mamba_0.dense_1", x)))
    return F.cross_entropy(dense(p, "dense_0", y).flatten(0, 1), d["y"].T.reshape(-1))
