"""How trainings and results are shown: as text, in notebooks, and as a progress bar."""

import io
import xml.etree.ElementTree as ElementTree
from contextlib import redirect_stderr

import numpy as np
import pytest

import rml

LINE = """
import std.losses;

node line(x: num []) -> (o)  k = param(0.0);  o = k * x;

node train(x: num [], y: num []) -> (loss)
  o, _ = diff_line(x, true, do);
  loss, do, _ = diff_mse(o, y, true, -0.1);

node infer(x: num [], y: num []) -> (loss)
  loss = mse(line(x), y);
"""
X = np.linspace(-1, 1, 50)
DATA = {"x": X, "y": 3 * X}


def test_a_training_says_how_far_it_is():
    training = rml.train(LINE, DATA, epochs=3)
    assert repr(training).startswith("<rml.Training, not begun: each step of an iteration trains an epoch")
    first = next(training)
    loss = f"loss {first.loss:.4g}, test loss {first.test['loss']:.4g}"
    assert repr(training) == f"<rml.Training, after epoch 1 of 3: {loss}>"
    report = training.run()
    last = report.epochs[-1]
    loss = f"3 epochs, loss {last.loss:.4g}, test loss {last.test['loss']:.4g}"
    assert (repr(report), repr(training)) == (f"<rml.Report: {loss}>", f"<rml.Training, ended: {loss}>")
    best = rml.train(LINE, DATA, epochs=9, patience=2, validate=0.2).run()
    assert f"best validation.loss {best.best.value:.4g} in epoch {best.best.epoch}" in repr(best)


def cells(html):
    """The cells of the tables of well-formed HTML."""
    return [["".join(cell.itertext()) for cell in row] for row in ElementTree.fromstring(f"<a>{html}</a>").iter("tr")]


def test_notebooks_show_tables():
    training = rml.train(LINE, DATA, epochs=12, patience=30, validate=0.2)
    assert "not begun" in training._repr_html_()
    epoch = next(training)
    heading, row = cells(epoch._repr_html_())
    assert heading == ["epoch", "loss", "validation loss", "test loss", "time"]
    assert row[:2] == ["1 (best)", f"{epoch.loss:.4g}"] and row[-1].endswith(" s")
    report = training.run()
    html = report._repr_html_()
    assert html == training._repr_html_()
    assert [row[0].split()[0] for row in cells(html)[1:]] == [str(n) for n in range(3, 13)]
    assert "2 epochs before" in html
    lines = list(ElementTree.fromstring(f"<a>{html}</a>").iter("polyline"))
    assert [len(line.get("points").split()) for line in lines] == [12, 12, 12]
    found = rml.infer(LINE, DATA, params=report.states)
    assert cells(found._repr_html_())[1] == ["loss", f"{found.metrics['loss']:.4g}"]
    gradients = rml.compile("node f(x: num [2]) -> (o)  k = param(2.0);  o = sum(k * x);").grad({"x": [[3, 4]]})
    assert cells(gradients._repr_html_())[1:] == [["parameter", "k", "[]", "7"], ["input", "x", "[1, 2]", "2.828"]]


def test_curves_leave_out_what_is_not_finite():
    report = rml.train(LINE, {"x": X, "y": np.where(X > 0.9, np.nan, X)}, epochs=3, test=0, allow_nan=True).run()
    html = report._repr_html_()
    assert [row[1] for row in cells(html)] == ["loss", "nan", "nan", "nan"] and "<polyline" not in html


def test_a_bar_shows_progress():
    pytest.importorskip("tqdm")
    called = []
    with redirect_stderr(io.StringIO()) as shown:
        rml.train(LINE, DATA, epochs=3, progress=True, on_batch=called.append).run()
    assert "3/3" in shown.getvalue() and "test loss" in shown.getvalue() and called
    with redirect_stderr(io.StringIO()) as shown, pytest.raises(rml.Error):
        rml.train(LINE, {"x": X}, epochs=3, progress=True).run()
