import torch


def loss(p, d, s):
    slope = lambda h: torch.addmm(p["b2"], torch.addmm(p["b1"], h, p["w1"]).tanh(), p["w2"])
    h, path = d["start"], []
    for _ in range(s["t"]):
        k1 = slope(h)
        k2 = slope(h + 0.05 * k1)
        k3 = slope(h + 0.05 * k2)
        k4 = slope(h + 0.1 * k3)
        h = h + 0.1 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        path.append(h)
    return ((torch.stack(path, 1) - d["y"]) ** 2).mean()
