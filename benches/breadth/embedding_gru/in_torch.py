import torch
from parts_torch import dense, fused, recur
from torch.nn import functional as F


def prepare(p, s):
    return fused(p, 3)


def loss(p, d, s):
    h = recur(torch.gru, p, ["gru_0"], F.embedding(d["word"].T, p["embedding_0.table"]))
    return F.cross_entropy(dense(p, "dense_0", h).flatten(0, 1), d["next"].T.reshape(-1))
