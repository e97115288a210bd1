import torch


def tower(p, name, x):
    layer = lambda i, x: torch.addmm(p[f"{name}.dense_{i}.bias"], x, p[f"{name}.dense_{i}.kernel"])
    return layer(2, layer(1, layer(0, x).tanh()).tanh())


def loss(p, d, s):
    lp = tower(p, "tower_0", d["seen"]).log_softmax(-1)
    value = tower(p, "tower_1", d["seen"]).squeeze(-1)
    ratio = (lp.gather(1, d["action"][:, None]).squeeze(1) - (0.2 * d["noise"] - 1.4)).exp()
    advantage = d["advantage"]
    gained = torch.minimum(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
    entropy = -(lp.exp() * lp).sum(-1).mean()
    return 0.5 * ((value - d["gain"]) ** 2).mean() - gained - 0.01 * entropy
