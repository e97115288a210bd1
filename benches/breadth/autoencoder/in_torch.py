import torch
from torch.nn import functional as F


def mlp(p, name, x):
    for i in range(3):
        x = torch.addmm(p[f"{name}.dense_{i}.bias"], x, p[f"{name}.dense_{i}.kernel"])
        x = x.relu() if i < 2 else x
    return x


def loss(p, d, s):
    return F.mse_loss(mlp(p, "mlp_1", mlp(p, "mlp_0", d["x"])), d["x"])
