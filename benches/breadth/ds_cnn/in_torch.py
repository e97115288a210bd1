from parts_torch import batch_norm, dense, images
from torch.nn import functional as F


def prepare(p, s):
    p = images(p)
    return {name: value.T[..., None, None] if name.endswith("points") else value for name, value in p.items()}


def loss(p, d, s):
    h = F.conv2d(F.pad(d["x"].unsqueeze(1), (1, 1, 4, 5)), p["first_0.kernel"], stride=2)
    h = batch_norm(p, "first_0.batch_norm_rows_0", h).relu()
    for i in range(4):
        name = f"separable_{i}"
        h = F.conv2d(h, p[f"{name}.depth"], padding=1, groups=h.shape[1])
        h = batch_norm(p, f"{name}.batch_norm_rows_0", h).relu()
        h = batch_norm(p, f"{name}.batch_norm_rows_1", F.conv2d(h, p[f"{name}.points"])).relu()
    return F.cross_entropy(dense(p, "dense_0", h.mean((2, 3))), d["y"])
