import torch
from parts_torch import dense, fused, recur
from torch.nn import functional as F


def prepare(p, s):
    return fused(p, 3)


def loss(p, d, s):
    lp = dense(p, "dense_0", recur(torch.gru, p, ["gru_0"], d["x"].swapaxes(0, 1))).log_softmax(-1)
    lengths = (torch.full((s["batch"],), n) for n in (s["t"], s["length"]))
    return F.ctc_loss(lp, d["y"] + 1, *lengths, reduction="sum") / s["batch"]
