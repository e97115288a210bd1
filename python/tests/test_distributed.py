"""Processes and threads that train one network together."""

import os
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from queue import Queue

import numpy as np
import pytest

import rml

NET = """
import std.layers; import std.losses; import std.optimisers;

node diff_param(init, bp, do) -> (o)
  o = adam(0.01, 0.9, 0.999, 0.00000001, init, bp, do);

node net(x: num [batch, 3]) -> (o: num [batch, 1])
  o = dense(1, tanh(dense(5, x)));

node train(x: num [batch, 3], y: num [batch, 1]) -> (loss)
  o, _ = diff_net(x, true, do);
  loss, do, _ = diff_mse(o, y, true, -1.0);
"""
X = np.random.default_rng(1).normal(size=(50, 3)).astype(np.float32)
DATA = {"x": X, "y": X[:, :1]}
HOW = {"batch": 12, "epochs": 3, "shards": 4, "test": 0}


class Queues:
    """A rank that is a thread of this process."""

    def __init__(self, rank, size, queues):
        self.rank, self.size, self.queues, self.why = rank, size, queues, None

    def exchange(self, rank, data):
        self.queues[self.rank, rank].put(data)
        return self.queues[rank, self.rank].get()

    def abort(self, why):
        self.why = why


def group(size):
    queues = {(a, b): Queue() for a in range(size) for b in range(size)}
    return [Queues(rank, size, queues) for rank in range(size)]


def same(found, alone):
    assert found.keys() == alone.keys()
    for name in alone:
        assert np.array_equal(found[name], alone[name]), name


def test_an_object_connects_ranks(tmp_path):
    alone = rml.train(NET, DATA, **HOW).run()
    for size in (1, 2, 3):
        def run(rank):
            file = tmp_path / f"{size}.safetensors"
            return rml.train(NET, DATA, ranks=rank, save=file, plot=tmp_path / f"{size}.svg", **HOW).run()

        with ThreadPoolExecutor(size) as threads:
            for found in threads.map(run, group(size)):
                same(found.states, alone.states)
                assert [epoch.loss for epoch in found.epochs] == [epoch.loss for epoch in alone.epochs]
        assert (tmp_path / f"{size}.safetensors").exists() and (tmp_path / f"{size}.svg").exists()


def test_an_object_that_fails_ends_the_training():
    class Broken(Queues):
        def exchange(self, rank, data):
            raise ConnectionError("the cable is cut")

    broken = Broken(0, 2, {})
    with pytest.raises(rml.Error, match="(?s)exchange with rank 1 failed.*the cable is cut") as error:
        rml.train(NET, DATA, ranks=broken, **HOW).run()
    assert error.value.code == "peer-lost" and "exchange with rank 1 failed" in broken.why
    with pytest.raises(ValueError, match="a group of 2 has no rank 2"):
        rml.train(NET, DATA, ranks=Queues(2, 2, {}), **HOW)


SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
import test_distributed as t
print(t.rml.train(t.NET, t.DATA, distributed=True, **t.HOW).run().epochs[-1].loss)
"""


def test_processes_of_a_launcher_train_together():
    alone = rml.train(NET, DATA, **HOW).run().epochs[-1].loss
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    started = []
    for rank in range(2):
        where = {"RANK": rank, "WORLD_SIZE": 2, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        env = {**os.environ, **{name: str(value) for name, value in where.items()}}
        command = [sys.executable, "-c", SCRIPT, os.path.dirname(__file__)]
        started.append(subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True))
    for process in started:
        out, _ = process.communicate()
        assert process.returncode == 0 and float(out) == alone


def test_without_a_launcher_nothing_is_distributed(monkeypatch):
    for name in ("RANK", "WORLD_SIZE", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(rml.Error) as error:
        rml.train(NET, DATA, distributed=True, **HOW)
    assert error.value.code == "no-launcher"
