"""Handwritten digits for the other libraries: the same images, the same initialisers, batches of 32 in a new order each epoch."""

import json
import os

import numpy as np

BATCH = 32
FILE = os.path.join(os.path.dirname(__file__), "../../examples/data/digits.npz")


def split(seed):
    """Images to train on, images to test with, and where random numbers come from."""
    r = np.random.default_rng(seed)
    data = np.load(FILE)
    x, y = data["x"].astype("f4"), data["y"].astype("i8")
    order = r.permutation(len(x))
    x, y = x[order], y[order]
    return (x[297:], y[297:]), (x[:297], y[:297]), r


def glorot(r, rows, columns):
    return (r.uniform(-1, 1, (rows, columns)) * np.sqrt(6 / (rows + columns))).astype("f4")


def lstm(r, h):
    recurrent = np.concatenate([np.linalg.qr(r.standard_normal((h, h)))[0] for _ in range(4)], 1)
    bias = np.concatenate([np.ones(h), np.zeros(3 * h)])
    return {"kernel": glorot(r, 8, 4 * h), "recurrent": recurrent.astype("f4"), "bias": bias.astype("f4")}


def dense(r, h):
    return {"kernel": glorot(r, h, 10), "bias": np.zeros(10, "f4")}


def batches(train, r):
    """All batches of the full size, and the last."""
    x, y = train
    order = r.permutation(len(x))
    n = len(x) // BATCH * BATCH
    full, last = order[:n], order[n:]
    return x[full].reshape(-1, BATCH, *x.shape[1:]), y[full].reshape(-1, BATCH), x[last], y[last]


def report(epochs, accuracy):
    print(json.dumps({"epochs": epochs, "reached": bool(accuracy >= 0.95)}))
