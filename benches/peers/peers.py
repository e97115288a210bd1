#!/usr/bin/env python3
"""The jobs of `crates/rml/benches/peers.rs` in JAX and PyTorch: one JSON line for each job, as there.

    peers.py jax|torch [--threads N] JOB..

JAX traces the whole step once and compiles it, with the recurrence as `lax.scan`; PyTorch runs `nn.LSTM`. Both keep data and weights where
they compute; what they take to compile is not counted.
"""

import argparse
import json
import os
import statistics
import sys
import time

SECONDS = 1.5
WARM = 5
CLASSES = 10


def measured(step):
    """The times of `step`, in milliseconds."""
    for _ in range(WARM):
        step()
    times, until = [], time.perf_counter() + SECONDS
    while len(times) < 10 or time.perf_counter() < until:
        start = time.perf_counter()
        step()
        times.append(1e3 * (time.perf_counter() - start))
    return times


def numpy_data(b, t, d, h):
    import numpy as np

    r = np.random.default_rng(0)
    limit = (6 / (d + h + 4 * h)) ** 0.5
    weights = [r.uniform(-limit, limit, (d, 4 * h)), r.uniform(-limit, limit, (h, 4 * h)), np.zeros(4 * h)]
    weights += [r.uniform(-0.2, 0.2, (h, CLASSES)), np.zeros(CLASSES)]
    x = r.standard_normal((t, b, d)).astype("f4")
    return [w.astype("f4") for w in weights], x, r.integers(0, CLASSES, b)


def jax_train(b, t, d, h):
    import jax
    import jax.numpy as jnp
    from jax import lax

    weights, x, y = numpy_data(b, t, d, h)
    x, y = jnp.asarray(x), jnp.asarray(y)

    def loss(w, x, y):
        kernel, recurrent, bias, dense, offset = w

        def cell(state, z):
            hidden, c = state
            i, f, o, g = jnp.split(z + hidden @ recurrent, 4, axis=-1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            return (jax.nn.sigmoid(o) * jnp.tanh(c), c), None

        start = (jnp.zeros((b, h)), jnp.zeros((b, h)))
        (hidden, _), _ = lax.scan(cell, start, x @ kernel + bias)
        logits = jax.nn.log_softmax(hidden @ dense + offset)
        return -jnp.mean(jnp.take_along_axis(logits, y[:, None], 1))

    def update(w, x, y):
        gradient = jax.grad(loss)(w, x, y)
        return jax.tree.map(lambda w, g: w - 0.05 * g, w, gradient)

    step = jax.jit(update, donate_argnums=0)
    state = [[jnp.asarray(w) for w in weights]]

    def run():
        state[0] = step(state[0], x, y)
        jax.block_until_ready(state[0])

    return run


def jax_scalars(n, t):
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax import lax

    r = np.random.default_rng(0)
    u, y = (jnp.asarray(r.uniform(-1, 1, t).astype("f4")) for _ in range(2))
    names = [str(i) for i in range(n)]
    w = {"a": {k: jnp.float32(0.5) for k in names}, "b": {k: jnp.float32(0.5) for k in names}}

    def cell(w, s, uy):
        u, y = uy
        fresh, previous = {}, u
        for k in names:
            fresh[k] = jnp.tanh(w["a"][k] * s[k] + w["b"][k] * previous) + 0.1 * u
            previous = s[k]
        return fresh, (fresh[names[-1]] - y) ** 2

    start = {k: jnp.float32(0) for k in names}
    loss = lambda w, u, y: lax.scan(lambda s, uy: cell(w, s, uy), start, (u, y))[1].sum()
    step = jax.jit(jax.value_and_grad(loss))
    return lambda: jax.block_until_ready(step(w, u, y))


def torch_train(b, t, d, h):
    import torch

    weights, x, y = numpy_data(b, t, d, h)
    x, y = torch.tensor(x), torch.tensor(y)
    lstm, dense = torch.nn.LSTM(d, h), torch.nn.Linear(h, CLASSES)
    optimiser = torch.optim.SGD([*lstm.parameters(), *dense.parameters()], lr=0.05)

    def run():
        optimiser.zero_grad(set_to_none=True)
        out, _ = lstm(x)
        torch.nn.functional.cross_entropy(dense(out[-1]), y).backward()
        optimiser.step()

    return run


JOBS = {("jax", "train"): jax_train, ("jax", "scalars"): jax_scalars, ("torch", "train"): torch_train}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library", choices=["jax", "torch"])
    parser.add_argument("jobs", nargs="*")
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_intermixed_args()
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
    # JAX takes as many threads as the process may use processors.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: args.threads])
    if args.library == "torch":
        # The environment leaves libraries for GPUs out: their symbols are looked up where they are called, which is nowhere.
        sys.setdlopenflags(os.RTLD_LAZY)
        import torch

        torch.set_num_threads(args.threads)
    for job in args.jobs:
        name, sizes = job.split(":")
        make = JOBS.get((args.library, name))
        if make is None:
            continue
        times = measured(make(*map(int, sizes.split(","))))
        line = {"job": job, "median_ms": statistics.median(times), "least_ms": min(times), "steps": len(times)}
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    sys.exit(main())
