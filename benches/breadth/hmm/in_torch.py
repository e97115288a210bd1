import torch


def model(p, d):
    x = d["x"].swapaxes(0, 1)
    return p["moves"].log_softmax(-1), p["begin"].log_softmax(-1), -0.5 * ((x[:, :, None] - p["mean"]) ** 2).sum(-1)


def in_logarithms(p, d, s):
    moves, begin, emission = model(p, d)
    message = begin + emission[0]
    for tick in emission[1:]:
        message = (message[:, :, None] + moves).logsumexp(1) + tick
    return -message.logsumexp(-1).mean() / s["t"]


def by_products(p, d, s):
    moves, begin, emission = model(p, d)
    moves = moves.exp()
    top = emission.amax(-1, keepdim=True)
    likely = (emission - top).exp()
    joint, totals = begin.exp() * likely[0], []
    for tick in likely[1:]:
        total = joint.sum(-1, keepdim=True)
        totals.append(total)
        joint = (joint / total @ moves) * tick
    totals.append(joint.sum(-1, keepdim=True))
    return -(torch.stack(totals).log().mean(1).sum() + top.mean(1).sum()) / s["t"]


losses = [in_logarithms, by_products]
