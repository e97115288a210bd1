import torch

NAME = "mixture_of_experts_0."


def gated(p, x):
    g = (x @ p[NAME + "gate_0.kernel"]).softmax(-1)
    open = g >= 0.2
    chosen = g * open
    return open, chosen / chosen.sum(-1, keepdim=True)


def expert(p, i, x):
    w = lambda part: p[f"{NAME}expert_{i}.{part}"]
    return torch.relu(x @ w("kernel") + w("bias")) @ w("out")


def all_experts(p, d, s):
    x = 4 * d["x"]
    _, share = gated(p, x)
    o = sum(share[:, i, None] * expert(p, i, x) for i in range(4))
    return ((o - d["y"]) ** 2).mean()


def those_needed(p, d, s):
    x = 4 * d["x"]
    open, share = gated(p, x)
    o = torch.zeros_like(d["y"])
    for i in range(4):
        (rows,) = open[:, i].nonzero(as_tuple=True)
        o = o.index_add(0, rows, share[rows, i, None] * expert(p, i, x[rows]))
    return ((o - d["y"]) ** 2).mean()


losses = [all_experts, those_needed]
