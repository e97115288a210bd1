"""What several families have in common, in PyTorch; sequences have their ticks first."""

import numpy as np
import torch
from torch.nn import functional as F

# Where the gates of PyTorch stand in the columns here.
GATES = {4: [1, 0, 3, 2], 3: [1, 0, 2], 1: [0]}


def dense(p, name, x):
    return x @ p[name + ".kernel"] + p[name + ".bias"]


def layer_norm(p, name, x):
    return F.layer_norm(x, x.shape[-1:], p[name + ".gamma"], p[name + ".beta"], 0.001)


def batch_norm(p, name, x):
    """Of images whose channels come first."""
    part = f"{name}.scale_shift_0."
    return F.batch_norm(x, None, None, p[part + "gamma"], p[part + "beta"], True, 0.0, 0.001)


def images(p):
    """Parameters whose kernels of convolutions have the order of PyTorch."""
    turned = lambda value: value.transpose(value.ndim - 1, value.ndim - 2, *range(value.ndim - 2))
    return {name: turned(value) if value.ndim in (3, 4) else value for name, value in p.items()}


def rows(value, gates):
    """The columns of the gates as rows, in the order of PyTorch."""
    parts = np.split(value, gates, -1)
    return np.ascontiguousarray(np.concatenate([parts[i] for i in GATES[gates]], -1).T)


def fused(p, gates):
    """Parameters as PyTorch's recurrent layers take them."""
    layers = [name.removesuffix("recurrent") for name in p if name.endswith(".recurrent")]
    prepared = dict(p)
    for layer in layers:
        for part in ("kernel", "recurrent", "bias", "recurrent_bias"):
            if layer + part in p:
                prepared[layer + part] = rows(p[layer + part], gates)
    return prepared


def weights(p, name):
    bias = p[name + ".bias"]
    other = p[name + ".recurrent_bias"] if name + ".recurrent_bias" in p else torch.zeros_like(bias)
    return [p[name + ".kernel"], p[name + ".recurrent"], bias, other]


def recur(kind, p, names, x, layers=1):
    """The outputs of fused layers for x [t, b, d]; with two names for a layer, of one in both directions."""
    flat = [w for name in names for w in weights(p, name)]
    start = torch.zeros(len(names), x.shape[1], flat[1].shape[1])
    start = (start, start) if kind is torch.lstm else start
    return kind(x, start, flat, True, layers, 0.0, True, len(names) > layers, False)[0]
