# /// script
# requires-python = ">=3.11"
# dependencies = ["jax==0.10.2", "numpy==2.4.6"]
# ///
"""Writes gradients.json: for each node of networks.rml random inputs and parameters, the sum of its loss over the trace, and the
gradients that JAX finds in double precision. The networks are written here a second time, as loops over cycles.

    uv run make.py        (or: pip install jax==0.10.2 numpy==2.4.6; python make.py)
"""
import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)
END = [False, False, True, False, False, False, True]
T = len(END)
random = np.random.default_rng(20)


def windows():
    start = 0
    for t, end in enumerate(END):
        if end:
            yield range(start, t + 1)
            start = t + 1


def dense(p, name, x):
    return x @ p[f"{name}.kernel"] + p[f"{name}.bias"]


def cross_entropy(logits, y):
    return -jax.nn.log_softmax(logits)[y]


def mse(o, gt):
    return jnp.mean((o - gt) ** 2)


def lstm(p, path, xs, units):
    h = c = jnp.zeros(units)
    hs = []
    for x in xs:
        z = x @ p[f"{path}.kernel"] + h @ p[f"{path}.recurrent"] + p[f"{path}.bias"]
        f, i, o = (jax.nn.sigmoid(z[k * units:(k + 1) * units]) for k in range(3))
        c = f * c + i * jnp.tanh(z[3 * units:])
        h = o * jnp.tanh(c)
        hs.append(h)
    return hs


def gru(p, path, xs, units):
    h = jnp.zeros(units)
    hs = []
    for x in xs:
        a = x @ p[f"{path}.kernel"] + p[f"{path}.bias"]
        b = h @ p[f"{path}.recurrent"] + p[f"{path}.recurrent_bias"]
        u, r = (jax.nn.sigmoid(a[k * units:(k + 1) * units] + b[k * units:(k + 1) * units]) for k in range(2))
        h = (1 - u) * jnp.tanh(a[2 * units:] + r * b[2 * units:]) + u * h
        hs.append(h)
    return hs


def lstm_classifier(p, i):
    return sum(cross_entropy(dense(p, "dense_0", lstm(p, "lstm_0.lstm_cell_0", [i["x"][t] for t in w], 4)[-1]), i["y"][w[-1]])
               for w in windows())


def gru_regression(p, i):
    return sum(mse(dense(p, "dense_0", h), i["gt"][t])
               for w in windows() for t, h in zip(w, gru(p, "gru_0", [i["x"][t] for t in w], 4)))


def bilstm_tagger(p, i):
    total = 0.0
    for w in windows():
        xs = [i["x"][t] for t in w]
        forward = lstm(p, "lstm_0.lstm_cell_0", xs, 3)
        backward = lstm(p, "lstm_back_0.lstm_cell_0", xs[::-1], 3)[::-1]
        for t, f, b in zip(w, forward, backward):
            total += cross_entropy(dense(p, "dense_0", jnp.concatenate([f, b])), i["y"][t])
    return total


def batch_norm(p, i):
    total = 0.0
    for w in windows():
        x = jnp.stack([dense(p, "dense_0", i["x"][t]) for t in w])
        centred = x - x.mean(0)
        o = p["normalise_0.gamma"] * centred / jnp.sqrt((centred ** 2).mean(0) + 0.001) + p["normalise_0.beta"]
        total += sum(mse(dense(p, "dense_1", jnp.tanh(o[k])), i["gt"][t]) for k, t in enumerate(w))
    return total


def convolution(p, i):
    total = 0.0
    for w in windows():
        for t in w:
            taps = zip(("now", "before", "long"), range(3))
            image = sum(p[f"taps_0.{name}"] * i["x"][t - back] for name, back in taps if t - back >= w[0])
            o = jax.lax.conv(image[None, None], p["taps_0.kernel"][None, None], (1, 1), "VALID")
            total += jnp.sum(jnp.tanh(o) ** 2)
    return total


def attention(p, i):
    total = 0.0
    for w in windows():
        for t in w:
            seen = jnp.stack([i["x"][t - k] if t - k >= w[0] else jnp.zeros(3) for k in range(4)])
            q, k, v = i["x"][t] @ p["attend_0.q"], seen @ p["attend_0.k"], seen @ p["attend_0.v"]
            total += mse(jax.nn.softmax(k @ q / jnp.sqrt(2.0)) @ v, i["gt"][t])
    return total


def experts(p, i):
    total, state = 0.0, [jnp.zeros(2), jnp.zeros(2)]
    for t in range(T):
        gate = jax.nn.softmax(dense(p, "dense_0", i["x"][t]))
        e = 0 if gate[0] > gate[1] else 1
        state[e] = jnp.tanh(i["x"][t] @ p[f"expert_{e}.w"] + p[f"expert_{e}.keep"] * state[e])
        total += mse(gate[e] * state[e], i["gt"][t])
    return total


def cell(path, d, units):
    return {f"{path}.kernel": (d, 4 * units), f"{path}.recurrent": (units, 4 * units), f"{path}.bias": (4 * units,)}


def layer(name, d, units):
    return {f"{name}.kernel": (d, units), f"{name}.bias": (units,)}


X, GT = {"x": (T, 3)}, {"gt": (T, 2)}
NETWORKS = {
    lstm_classifier: (cell("lstm_0.lstm_cell_0", 3, 4) | layer("dense_0", 4, 2), X),
    gru_regression: ({"gru_0.kernel": (3, 12), "gru_0.recurrent": (4, 12), "gru_0.bias": (12,),
                      "gru_0.recurrent_bias": (12,)} | layer("dense_0", 4, 2), X | GT),
    bilstm_tagger: (cell("lstm_0.lstm_cell_0", 3, 3) | cell("lstm_back_0.lstm_cell_0", 3, 3) | layer("dense_0", 6, 3), X),
    batch_norm: (layer("dense_0", 3, 4) | {"normalise_0.gamma": (4,), "normalise_0.beta": (4,)} | layer("dense_1", 4, 2), X | GT),
    convolution: ({"taps_0.now": (), "taps_0.before": (), "taps_0.long": (), "taps_0.kernel": (2, 2)}, {"x": (T, 4, 4)}),
    attention: ({f"attend_0.{n}": (3, 2) for n in "qkv"}, X | GT),
    experts: (layer("dense_0", 3, 2) | {"expert_0.w": (3, 2), "expert_0.keep": (), "expert_1.w": (3, 2), "expert_1.keep": ()}, X | GT),
}
LABELS = {lstm_classifier: 2, bilstm_tagger: 3}


def rounded(shape):
    return jnp.asarray(np.round(random.normal(size=shape), 3))


def plain(tree):
    return {name: np.asarray(value).tolist() for name, value in tree.items()}


def case(network, shapes, given):
    params = {name: rounded(shape) for name, shape in shapes.items()}
    inputs = {name: rounded(shape) for name, shape in given.items()}
    labels = {"y": random.integers(0, LABELS[network], T).tolist()} if network in LABELS else {}
    loss, (dp, di) = jax.value_and_grad(lambda p, i: network(p, i | labels), argnums=(0, 1))(params, inputs)
    if network is lstm_classifier:
        labels["y"] = [y if end else None for y, end in zip(labels["y"], END)]
    ends = {} if network is experts else {"end": END}
    return {
        "node": network.__name__,
        "inputs": plain(inputs) | labels | ends,
        "params": plain(params),
        "loss": float(loss),
        "gradients": {"params": plain(dp), "inputs": plain(di)},
    }


if __name__ == "__main__":
    cases = [json.dumps(case(network, *shapes)) for network, shapes in NETWORKS.items()]
    Path(__file__).with_name("gradients.json").write_text("[" + ",\n".join(cases) + "]\n")
