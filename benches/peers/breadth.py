"""Trains the families in `benches/breadth` by gradient descent, in JAX or PyTorch.

A family has a module for each library, `in_jax.py` and `in_torch.py`, with the loss as a pure function: `loss(p, d, s)` of parameters,
data and sizes, each by its name. `losses` in its place is a list of forms of the same loss, of which the fastest is measured. With
`update(p, d, s)` a module says itself how parameters change, and gives them with the loss; in PyTorch it changes them in place, and gives
the loss. `compiled = True` in a module for PyTorch adds
what `torch.compile` makes of each loss. `prepare(p, s)` is given the parameters as arrays before the first step, and gives those that the
module has: others in number, or in another order.
"""

import importlib.util
import json
import os
import sys
import time

import numpy as np

FOLDER = os.path.join(os.path.dirname(__file__), "../breadth")


class Family:
    def __init__(self, share, name, size, library):
        folder = os.path.join(FOLDER, name)
        with open(os.path.join(folder, "family.json")) as file:
            self.table = json.load(file)
        self.sizes = {**self.table, **self.table["sizes"][size]}
        spec = importlib.util.spec_from_file_location(f"{name}_{library}", os.path.join(folder, f"in_{library}.py"))
        self.module = importlib.util.module_from_spec(spec)
        sys.path.insert(0, FOLDER)
        spec.loader.exec_module(self.module)
        self.losses = getattr(self.module, "losses", None) or [getattr(self.module, "loss", None)]
        # The rate counts for the loss of a cycle, the loss here is the mean.
        self.rate = self.sizes["rate"] * self.sizes.get(self.table.get("each"), 1)
        self.parameters, self.data = self.read(share)

    def number(self, entry):
        return self.sizes[entry] if isinstance(entry, str) else entry

    def read(self, share):
        from safetensors.numpy import load_file

        p = load_file(share.stem + ".safetensors")
        p = {name.removeprefix("net_0."): value for name, value in p.items() if value.dtype == np.float32}
        if hasattr(self.module, "prepare"):
            p = self.module.prepare(p, self.sizes)
        d = {}
        for name, column in self.table["columns"].items():
            values = share.numbers(name, *map(self.number, column["shape"]))
            d[name] = values.astype("i4") if "below" in column else values
        return p, d


def fastest(candidates):
    """The step that is the fastest, when all have been warmed up. A candidate is a step, and what has it start again."""
    if len(candidates) == 1:
        return candidates[0][0]
    times = []
    for step, _ in candidates:
        for _ in range(3):
            step()
        start, n = time.process_time(), 0
        while n < 3 or time.process_time() - start < 0.1:
            step()
            n += 1
        times.append((time.process_time() - start) / n)
    step, restart = candidates[times.index(min(times))]
    restart()
    return step


def in_jax(family):
    import jax
    import jax.numpy as jnp

    # Numbers that a program knows when it is compiled.
    sizes = family.sizes

    def descent(loss):
        def update(p, d):
            value, gradient = jax.value_and_grad(loss)(p, d, sizes)
            return jax.tree.map(lambda p, g: p - family.rate * g, p, gradient), value

        return update

    def candidate(update):
        step = jax.jit(update, donate_argnums=0)
        d, state = jax.tree.map(jnp.asarray, family.data), [None]

        def restart():
            state[0] = jax.tree.map(jnp.array, family.parameters)

        def run():
            state[0], value = step(state[0], d)
            jax.block_until_ready(state[0])
            return value

        restart()
        return run, restart

    if hasattr(family.module, "update"):
        return candidate(lambda p, d: family.module.update(p, d, sizes))[0]
    return fastest([candidate(descent(loss)) for loss in family.losses])


def in_torch(family):
    import torch

    tensor = lambda x: torch.from_numpy(np.array(x, order="C"))
    d = {name: tensor(value).long() if value.dtype == np.int32 else tensor(value) for name, value in family.data.items()}

    def candidate(loss):
        p = {name: tensor(value).requires_grad_() for name, value in family.parameters.items()}
        optimiser = torch.optim.SGD(p.values(), lr=family.rate)

        def restart():
            with torch.no_grad():
                for name, value in family.parameters.items():
                    p[name].copy_(tensor(value))

        def run():
            optimiser.zero_grad(set_to_none=True)
            value = loss(p, d, family.sizes)
            value.backward()
            optimiser.step()
            return value.detach()

        def update():
            return family.module.update(p, d, family.sizes)

        return update if hasattr(family.module, "update") else run, restart

    losses = list(family.losses)
    if getattr(family.module, "compiled", False):
        losses += [torch.compile(loss, dynamic=False) for loss in losses]
    return fastest([candidate(loss) for loss in losses])


def step(library, share, name, size):
    """A step, and how many come before the first turn."""
    family = Family(share, name, size, library)
    run = in_jax(family) if library == "jax" else in_torch(family)
    return run, family.sizes.get("warm", 8)
