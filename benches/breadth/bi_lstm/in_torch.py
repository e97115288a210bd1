import torch
from parts_torch import dense, fused, recur
from torch.nn import functional as F


def prepare(p, s):
    return fused(p, 4)


def loss(p, d, s):
    names = ["bi_lstm_0.lstm_0.lstm_cell_0", "bi_lstm_0.lstm_back_0.lstm_cell_0"]
    h = recur(torch.lstm, p, names, d["x"].swapaxes(0, 1))
    return F.cross_entropy(dense(p, "dense_0", h).flatten(0, 1), d["y"].T.reshape(-1))
