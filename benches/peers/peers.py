#!/usr/bin/env python3
"""The jobs of `crates/rml/benches/peers.rs` in JAX, PyTorch and Keras.

    peers.py SIDE [--threads N] --folder DIR [--turns] JOB..

SIDE is `jax`, `torch` (its fused layers where there are any), `torch-cells` (loops over cells) or `keras` (on JAX). Data and initial
parameters are those that the Rust side has written to DIR. Lines on standard output, and what `--turns` means, are as there.
"""

import argparse
import json
import os
import resource
import sys
import time

WARM = 3


def peak_memory():
    """The most bytes that were in memory at a time."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak << 10


def requests(turns):
    """When to stop a turn, given its start and the steps done: one turn, or as many as standard input asks for."""
    if not turns:
        yield lambda start, steps: time.perf_counter() - start >= 1.5
        return
    # Not by iteration, which reads ahead.
    for line in iter(sys.stdin.readline, ""):
        if line.strip() == "next":
            return
        unit, value = line.split()
        if unit == "steps":
            yield lambda start, steps: steps >= int(value)
        else:
            yield lambda start, steps: time.perf_counter() - start >= float(value)


def measure(job, step, warm, turns, memory):
    """Does `step` in turns, a line for each. The loss that is said first is the mean of the first `warm` steps; a step gives its loss."""
    losses = [step() for _ in range(warm)]
    loss = None if losses[0] is None else sum(map(float, losses)) / warm
    for _ in range(WARM - warm):
        step()
    print(json.dumps({"job": job, "ready": True, "loss": loss, "memory": memory}), flush=True)
    for over in requests(turns):
        times, begin, processor = [], time.perf_counter(), time.process_time()
        while not times or not over(begin, len(times)):
            start = time.perf_counter()
            step()
            times.append(1e3 * (time.perf_counter() - start))
        processor = 1e3 * (time.process_time() - processor) / len(times)
        times.sort()
        at = lambda part: times[min(len(times) * part // 100, len(times) - 1)]
        line = {"job": job, "median_ms": at(50), "least_ms": times[0], "p99_ms": at(99), "steps": len(times)}
        print(json.dumps({**line, "processor_ms": processor, "memory": peak_memory()}), flush=True)


class Share:
    """What the Rust side has written for a job."""

    def __init__(self, folder, job):
        self.stem = os.path.join(folder, job.replace(":", "-").replace(",", "-"))

    def numbers(self, ending, *shape):
        import numpy

        return numpy.fromfile(f"{self.stem}.{ending}", "f4").reshape(shape)

    def parameters(self):
        """The parameters of the recurrent layers, each with its names, and those of the dense layer."""
        from safetensors.numpy import load_file

        layers = {}
        for name, value in sorted(load_file(f"{self.stem}.safetensors").items()):
            layer, part = name.rsplit(".", 1)
            layers.setdefault(layer.removesuffix(".layer_norm_0"), {})[part] = value
        (dense,) = [layers.pop(layer) for layer in list(layers) if layer.endswith("dense_0")]
        return list(layers.values()), dense


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("side", choices=["jax", "torch", "torch-cells", "keras"])
    parser.add_argument("jobs", nargs="*")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--folder", default=".")
    parser.add_argument("--turns", action="store_true")
    args = parser.parse_intermixed_args()
    os.environ.update(JAX_PLATFORMS="cpu", CUDA_VISIBLE_DEVICES="", KERAS_BACKEND="jax")
    # JAX takes as many threads as the process may use processors.
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: args.threads])
    if args.side.startswith("torch"):
        # The environment leaves libraries for GPUs out: their symbols are looked up where they are called, which is nowhere.
        sys.setdlopenflags(os.RTLD_LAZY)
        import torch

        torch.set_num_threads(args.threads)
        import in_torch as library
    elif args.side == "keras":
        import keras  # noqa: F401, so that its memory counts as that of the library

        import in_keras as library
    else:
        import jax.numpy  # noqa: F401

        import in_jax as library
    for job in args.jobs:
        name, sizes = job.split(":")
        if name == "breadth":
            import breadth

            memory = peak_memory()
            step, warm = breadth.step(args.side, Share(args.folder, job), *sizes.split(","))
            measure(job, step, warm, args.turns, memory)
            continue
        sizes = [int(size) for size in sizes.split(",")]
        if name == "digits":
            library.digits(*sizes)
            continue
        memory = peak_memory()
        share = Share(args.folder, job)
        if name in ("lstm", "gru", "bi_lstm", "peephole"):
            b, t, d, h = sizes
            x = share.numbers("x", b, t, d)
            y = share.numbers("y", *((b, t) if name == "bi_lstm" else (b,))).astype("i8")
            cells = args.side == "torch-cells"
            step = library.network(name, h, share.parameters(), x, y, **({"cells": True} if cells else {}))
            # As `training.rs` counts them.
            warm = 2 if b * t * h > 2_000_000 else 8
        else:
            step, warm = getattr(library, name)(share, *sizes)
        measure(job, step, warm, args.turns, memory)


if __name__ == "__main__":
    sys.exit(main())
