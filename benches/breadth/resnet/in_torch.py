from parts_torch import batch_norm, dense, images
from torch.nn import functional as F


def prepare(p, s):
    return images(p)


def loss(p, d, s):
    def normalised(name, x, stride=1, padding=1):
        x = F.conv2d(x, p[f"{name}.kernel"], stride=stride, padding=padding)
        return batch_norm(p, f"{name}.batch_norm_rows_0", x)

    def smaller(name, x):
        inside = normalised(f"{name}.normalised_0", x, 2).relu()
        return (normalised(f"{name}.normalised_1", x, 2, 0) + normalised(f"{name}.normalised_2", inside)).relu()

    h = normalised("normalised_0", d["x"].permute(0, 3, 1, 2)).relu()
    h = (h + normalised("same_0.normalised_1", normalised("same_0.normalised_0", h).relu())).relu()
    h = smaller("smaller_1", smaller("smaller_0", h))
    return F.cross_entropy(dense(p, "dense_0", h.mean((2, 3))), d["y"])
