"""Whole columns, gradients, chronograms."""

import os
import signal
import sys
import threading

import numpy as np
import pytest

import rml

SAMPLED = "node f(c: bool [], x: num [2] when c) -> (o)  o = 2.0 * x;"


def test_columns_are_what_steps_are():
    x = np.random.default_rng(1).normal(size=(300, 3)).astype(np.float32)
    program = rml.compile("import std.layers;  node net(x: num [3]) -> (h)  h = lstm(4, reshape([1, 3], x));")
    session = program.session()
    steps = np.stack([session.step(x=row)["h"] for row in x])
    assert program.run({"x": x})["h"].tobytes() == steps.tobytes()
    session = program.session()
    parts = [session.run({"x": x[part]})["h"] for part in (slice(0, 100), slice(100, 101), slice(101, 300))]
    assert np.concatenate(parts).tobytes() == steps.tobytes() and session.cycles == 300
    params = program.session(seed=9).params
    assert program.run({"x": x}, params=params)["h"].tobytes() != steps.tobytes()


def test_absent_rows_are_masked():
    c = [True, False, True]
    program = rml.compile(SAMPLED)
    masked = np.ma.MaskedArray(np.arange(6.0).reshape(3, 2), mask=[[False] * 2, [True] * 2, [False] * 2])
    for x in ([[0, 1], None, [4, 5]], masked, np.arange(6).reshape(3, 2)):
        o = program.run({"c": c, "x": x})["o"]
        assert o.shape == (3, 2) and o.mask.tolist() == [[False] * 2, [True] * 2, [False] * 2]
        assert o.compressed().tolist() == [0, 2, 8, 10]
        # and back in
        again = program.run({"c": c, "x": o})["o"]
        assert again.compressed().tolist() == [0, 4, 16, 20]
    o = program.run({"c": [False], "x": [None]})["o"]
    assert o.mask.all() and o.shape == (1, 2)


def test_traces_that_do_not_end():
    program = rml.compile("node next(x: num []) -> (o)  o = post x;")
    with pytest.warns(rml.Warning):
        o = program.run({"x": [1, 2]}, closed=False)["o"]
    assert o.mask.tolist() == [False, True] and o[0] == 2
    with pytest.raises(rml.Waiting) as found:
        program.session().run({"x": [1, 2]})
    assert [row.cycle for row in found.value.known] == [0]


def test_programs_without_inputs():
    program = rml.compile("node count() -> (n)  n = 0.0 fby n + 1.0;")
    assert program.run(cycles=3)["n"].tolist() == [0, 1, 2]
    with pytest.raises(rml.Error):
        program.run()


@pytest.mark.parametrize(
    "inputs, code",
    [
        ({}, "missing-column"),
        ({"c": [True, True], "x": [[1, 2], [3]]}, "input-type"),
        ({"c": [True], "x": [[1, 2, 3]]}, "data-shape"),
        ({"c": True, "x": [1, 2]}, "input-type"),
        ({"c": [1.0], "x": [[1, 2]]}, "data-type"),
        ({"c": [True], "x": [None]}, "input-clock"),
        ({"c": [True], "x": [["a", "b"]]}, "data-type"),
        ({"c": [True], "x": [[np.nan, 0]]}, "nan-in-data"),
        ({"c": [True], "x": np.ma.MaskedArray([[1, 2]], mask=[[True, False]])}, "input-type"),
        ("none.npz", "unreadable-file"),
        (["none.npz", "other.csv"], "unreadable-file"),
    ],
)
def test_wrong_columns(inputs, code):
    with pytest.raises(rml.Error) as found:
        rml.compile(SAMPLED).run(inputs)
    assert found.value.code == code


def test_other_columns_are_ignored():
    assert rml.compile(SAMPLED).run({"c": [True], "x": [[1, 2]], "y": ["a"]})["o"].tolist() == [[2, 4]]


def test_gradients_are_those_of_numpy():
    x, y = np.random.default_rng(3).normal(size=(2, 20, 3))
    program = rml.compile(
        "node f(x: num [3], y: num [3]) -> (loss)  k = param(ones([3]));  d = k * x - y;  loss = sum(d * d);",
        precision="f64",
    )
    found = program.grad({"x": x, "y": y})
    d = x - y
    assert found.output == "loss"
    np.testing.assert_allclose(found.loss, (d * d).sum(), rtol=1e-12)
    np.testing.assert_allclose(found.params["k"], (2 * d * x).sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(found.inputs["y"], -2 * d, rtol=1e-12)
    at = program.grad({"x": x, "y": y}, params={"k": [2, 2, 2]})
    np.testing.assert_allclose(at.params["k"], (2 * (2 * x - y) * x).sum(axis=0), rtol=1e-12)
    with pytest.raises(rml.Error):
        program.grad({"x": x, "y": y}, loss="nothing")
    with pytest.raises(rml.Error):
        program.grad({"x": x, "y": y}, params={})


def test_chronograms():
    program = rml.compile("node back(x: num []) -> (o)  o = x + (0.0 fby back o);")
    drawn = program.chronogram({"x": [1, 2, 3]})
    assert "6" in drawn.text and drawn._repr_html_().startswith("<svg")
    assert len(program.chronogram({"x": [1, 2]}, rows="outputs").text) < len(program.chronogram({"x": [1, 2]}).text)
    with pytest.raises(ValueError, match="the rows are"):
        program.chronogram({"x": [1]}, rows="some")


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
def test_other_threads_run_while_a_program_computes():
    """A thread ends a computation that would take minutes. It runs only if the computation releases the interpreter's lock."""
    program = rml.compile("import std.layers;  node net(x: num [1, 8]) -> (o)  o = sum(lstm(256, x));")
    x, begins = np.ones((500_000, 1, 8), np.float32), threading.Event()

    def end():
        begins.wait()
        signal.raise_signal(signal.SIGINT)

    handler, interval = signal.getsignal(signal.SIGINT), sys.getswitchinterval()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    thread = threading.Thread(target=end)
    thread.start()
    try:
        # Threads do not take the lock from each other.
        sys.setswitchinterval(1000.0)
        with pytest.raises(KeyboardInterrupt):
            begins.set()
            program.run({"x": x})
    finally:
        sys.setswitchinterval(interval)
        thread.join()
        signal.signal(signal.SIGINT, handler)
