import torch


def loss(p, d, s):
    x, grown, half = d["x"], 0, s["d"] // 2
    for i in range(4):
        h = rest = x[:, :half]
        for j in range(3):
            name = f"coupling_{i}.mlp_0.dense_{j}"
            h = torch.addmm(p[name + ".bias"], h, p[name + ".kernel"])
            h = h.relu() if j < 2 else h
        scale = h[:, :half].tanh()
        x = torch.cat([x[:, half:] * scale.exp() + h[:, half:], rest], -1)
        grown = grown + scale.sum(-1)
    return -(grown - (0.5 * x * x + 0.9189385332046727).sum(-1)).mean()
