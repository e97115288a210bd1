"""Several trainings: their folders, tables and pages."""

import json
import pickle

import numpy as np
import pytest

import rml

LINE = """
import std.losses;

const rate = 0.1;

node line(x: num []) -> (o)  k = param(0.0);  o = k * x;

node train(x: num [], y: num []) -> (loss)
  o, _ = diff_line(x, true, do);
  loss, do, _ = diff_mse(o, y, true, -rate);

node infer(x: num [], y: num []) -> (loss)
  loss = mse(line(x), y);
"""
X = np.linspace(-1, 1, 20)
DATA = {"x": X, "y": 3 * X}


def texts(settings):
    """Settings as the command prints them."""
    return {name: str(value) for name, value in settings.items()}


def test_a_sweep_has_the_runs_of_the_command(command, tmp_path):
    (tmp_path / "line.rml").write_text(LINE)
    np.savez(tmp_path / "data.npz", **DATA)
    flags = "train line.rml --data data.npz --epochs 2 --runs theirs --seeds 0..2 --sweep rate=0.01,0.1 --message-format json"
    told = [json.loads(line) for line in command(*flags.split()).splitlines()]
    seen = []
    found = rml.sweep(
        tmp_path / "line.rml", tmp_path / "data.npz", runs=tmp_path / "ours", seeds=range(2), rate=[0.01, 0.1],
        epochs=2, on_run=seen.append,
    )
    assert [run.name for run in found.runs] == ["rate=0.01,seed=0", "rate=0.01,seed=1", "rate=0.1,seed=0", "rate=0.1,seed=1"]
    assert sorted(run.name for run in seen) == [run.name for run in found.runs]
    for run in found.runs:
        theirs = next(line for line in told if line.get("run") == run.name)
        assert (run.metrics, texts(run.set), run.seed) == (theirs["metrics"], theirs["set"], theirs["seed"])
        assert run.state == "finished" and run.epoch == 2 and run.error is None
        files = [tmp_path / folder / run.name / "checkpoint.safetensors" for folder in ("ours", "theirs")]
        assert files[0].read_bytes() == files[1].read_bytes()
    rows = [line for line in told if "mean" in line]
    assert [(texts(row.set), row.metric, row.mean, row.deviation, row.of) for row in found.table] == [
        (row["set"], row["metric"], row["mean"], row["std"], row["of"]) for row in rows
    ]
    # what has ended is not trained again, and more seeds are added
    again = rml.sweep(
        tmp_path / "line.rml", tmp_path / "data.npz", runs=tmp_path / "theirs", seeds=range(3), rate=[0.01, 0.1],
        epochs=2, on_run=seen.append,
    )
    assert [run.seed for run in seen[4:]] == [2, 2] and len(again.runs) == 6
    assert again.table[0].of == 3


def test_a_sweep_is_shown(tmp_path):
    found = rml.sweep(
        LINE, DATA, runs=tmp_path / "runs", seeds=[3, 4], sweep={"rate": np.array([0.01, 0.1])}, epochs=2,
        plot=tmp_path / "curves.svg", report=tmp_path / "runs.html",
    )
    heading, *rows = str(found).splitlines()
    assert heading.split() == ["rate", "metric", "runs", "mean", "std", "min", "max", "iqm", "95", "%", "from", "to"]
    assert [row.split()[:4] for row in rows] == [["0.01", "test", "loss", "2"], ["0.1", "test", "loss", "2"]]
    for row in found.table:
        low, high = row.iqm_interval
        assert row.min <= low <= row.iqm <= high <= row.max and row.iqm == pytest.approx(row.mean)  # of two runs
    html = found._repr_html_()
    assert "<th>rate</th><th>metric</th>" in html and f"{found.table[1].mean:.4g}" in html
    assert (tmp_path / "curves.svg").read_text().startswith("<svg")
    page = (tmp_path / "runs.html").read_text()
    assert "rate=0.1,seed=4" in page and "rml.sweep(source, data, epochs=2" in page
    assert pickle.loads(pickle.dumps(found)) == found


def test_a_run_that_fails_does_not_stop_the_others(tmp_path):
    found = rml.sweep(LINE, DATA, runs=tmp_path / "runs", rate=[0.1, 1e30], epochs=2, test=0)
    good, bad = found.runs
    assert (good.state, bad.state) == ("finished", "failed")
    assert isinstance(bad.error, rml.Error) and bad.error.code == "diverged"
    assert "rate=1" in found._repr_html_() and "failed" in found._repr_html_()


def test_ranges_are_drawn_as_by_the_command(command, tmp_path):
    (tmp_path / "line.rml").write_text(LINE)
    np.savez(tmp_path / "data.npz", **DATA)
    flags = (
        "train line.rml --data data.npz --epochs 4 --validate 0.25 --runs theirs --sweep rate=1e-3..1e-1:log"
        " --samples 6:3 --prune halving:2 --message-format json"
    )
    told = [json.loads(line) for line in command(*flags.split()).splitlines()]
    found = rml.sweep(
        tmp_path / "line.rml", tmp_path / "data.npz", runs=tmp_path / "ours", rate="1e-3..1e-1:log", samples=(6, 3),
        prune="halving:2", validate=0.25, epochs=4,
    )
    assert len(found.runs) == 6 and all(1e-3 <= run.set["rate"] <= 1e-1 for run in found.runs)
    theirs = {line["run"]: line["metrics"] for line in told if "run" in line}
    assert {run.name: run.metrics for run in found.runs} == theirs
    assert [(stage.length, stage.kept, stage.of) for stage in found.stages] == [(1, 3, 6), (2, 1, 3)]
    assert sum(run.state == "pruned" for run in found.runs) == 5
    # more samples continue the same sequence
    more = rml.sweep(
        tmp_path / "line.rml", tmp_path / "data.npz", runs=tmp_path / "more", sweep={"rate": "1e-3..1e-1:log"},
        samples=(7, 3), validate=0.25, epochs=1,
    )
    assert [run.name for run in more.runs[:6]] == [run.name for run in found.runs]


def test_what_a_sweep_refuses(tmp_path):
    runs = tmp_path / "runs"
    for keywords, message in [
        ({"save": "c.safetensors"}, "save is for one training"),
        ({"confusion": True}, "confusion is for one training"),
        ({"seed": 1, "seeds": [1, 2]}, "seed is the seed of all runs"),
        ({"rate": [0.1], "sweep": {"rate": [0.2]}}, "values of rate are given twice"),
        ({"report": "runs.htm"}, "ends with .html"),
        ({"samples": 3}, "no static parameter has values"),
        ({"rate": [0.1], "samples": 0}, "samples is a number, at least 1"),
        ({"rate": [0.1], "prune_from": 2}, "prune_from says when runs are compared first"),
    ]:
        with pytest.raises(ValueError, match=message):
            rml.sweep(LINE, DATA, runs=runs, **keywords)
    for keywords, message in [({"rates": 0.1}, "rates is no keyword of train"), ({"rate": ["a"]}, "a value of `rate`")]:
        with pytest.raises(TypeError, match=message):
            rml.sweep(LINE, DATA, runs=runs, **keywords)
    for keywords, message in [
        ({"rate": "0.1..0.5"}, "has no list of values"),
        ({"rate": "0.5..0.1", "samples": 2}, "from a number to a greater one"),
        ({"rate": [0.1, 0.2], "prune": "best"}, "expected halving"),
        ({"rate": [0.1, 0.2], "samples": 3}, "fewer than 3 combinations"),
    ]:
        with pytest.raises(rml.Error, match=message):
            rml.sweep(LINE, DATA, runs=runs, **keywords)
    with pytest.raises(rml.Error, match="rates"):
        rml.sweep(LINE, DATA, runs=runs, rates=[0.1])
    assert not runs.exists()


def test_an_exception_of_a_callback_ends_a_sweep(tmp_path):
    def stop(run):
        raise RuntimeError("enough")

    options = {"runs": tmp_path / "runs", "seeds": range(6), "epochs": 50, "jobs": 1}
    with pytest.raises(RuntimeError, match="enough"):
        rml.sweep(LINE, DATA, on_run=stop, **options)
    again = rml.sweep(LINE, DATA, **options)
    assert [run.state for run in again.runs] == ["finished"] * 6
