from parts_torch import dense, images
from torch.nn import functional as F


def prepare(p, s):
    return images(p)


def causal(p, name, x, dilation):
    return F.conv1d(F.pad(x, (2 * dilation, 0)), p[name + ".kernel"], p[name + ".bias"], dilation=dilation)


def loss(p, d, s):
    h = dense(p, "dense_0", d["x"]).transpose(1, 2)
    for i in range(4):
        inside = causal(p, f"block_{i}.causal_0", h, 2**i).relu()
        h = (h + causal(p, f"block_{i}.causal_1", inside, 2**i)).relu()
    return F.cross_entropy(dense(p, "dense_1", h[:, :, -1]), d["y"])
