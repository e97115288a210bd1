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


CLASSES = """
import std.layers;
import std.losses;

node net(x: num [batch, 1]) -> (logits: num [batch, 2])
  logits = dense(2, x);

node train(x: num [batch, 1], y: int [batch]) -> (loss: num [])
  logits, _ = diff_net(x, true, d);
  loss, d = diff_cross_entropy(logits, y, true, -0.5);

node infer(x: num [batch, 1], y: int [batch]) -> (logits: num [batch, 2], loss: num [])
  logits = net(x);
  loss = cross_entropy(logits, y);
"""
SIGNS = {"x": X[:, None], "y": np.where(X > 0, "up", "down")}


def test_a_training_has_a_page_and_curves(tmp_path):
    page, plot, data = tmp_path / "page.html", tmp_path / "curves.svg", tmp_path / "data.npz"
    np.savez(data, x=X[:, None], y=(X > 0).astype(int))
    report = rml.train(CLASSES, data, epochs=4, best=tmp_path / "best", report=page, plot=plot, seed=2).run()
    text = page.read_text()
    for part in [
        "Training of &lt;text&gt;",
        "It ended after 4 epochs.",
        f"The metrics of epoch {report.best.epoch}, the best one",
        '<table class="confusion">',
        "rml.train(source, ",
        "epochs=4, ",
        "seed=2, best=",
        "SHA-256 ",
        "engine</th>",
        ">compilation<",
    ]:
        assert part in text, part
    assert plot.read_text().startswith("<svg") and "test" in plot.read_text()
    # the parameters are the same as without a page
    plain = rml.train(CLASSES, data, epochs=4, seed=2).run()
    assert all(value.tobytes() == plain.states[path].tobytes() for path, value in report.states.items())


def test_a_training_that_is_closed_or_fails_has_a_page(tmp_path):
    page = tmp_path / "page.html"
    with rml.train(LINE, DATA, epochs=100, report=page) as training:
        next(training)
    assert "It was interrupted after " in page.read_text()
    wild = LINE.replace("-0.1", "-1e30")
    with pytest.raises(rml.Error, match="diverged"):
        rml.train(wild, DATA, epochs=5, report=page).run()
    assert "It failed after" in page.read_text() and "error[diverged]" in page.read_text()


def test_epochs_have_statistics_and_confusion_matrices(tmp_path):
    training = rml.train(CLASSES, SIGNS, epochs=3, stats=True, confusion=True, log=tmp_path / "log")
    report = training.run()
    for epoch in report.epochs:
        assert epoch.stats.keys() == {"net_0.dense_0.kernel", "net_0.dense_0.bias"}
        assert all(stats.norm >= 0 and stats.gradient > 0 for stats in epoch.stats.values())
        assert epoch.confusion.counts.sum() == training.info.test_windows and epoch.confusion.names == ("down", "up")
    assert "gradient" in (tmp_path / "log" / "metrics.jsonl").read_text()
    named = rml.train(CLASSES, SIGNS, epochs=1, confusion=("y", "logits")).run().epochs[0]
    assert named.confusion.label == "y" and named.stats == {}
    kernel = report.params["net_0.dense_0.kernel"]
    assert report.epochs[-1].stats["net_0.dense_0.kernel"].mean == pytest.approx(kernel.mean())
    assert rml.train(CLASSES, SIGNS, epochs=1).run().epochs[0].confusion is None


def test_both_meanings_of_report(tmp_path):
    walk = "node train() -> (k)\n  k = 0.0 fby k + 1.0;\n"
    report = rml.train(walk, windows=6, report=[2, tmp_path / "page.html"]).run()
    assert len(report.epochs) == 3 and "It ended after 3 reports." in (tmp_path / "page.html").read_text()


def test_files_that_are_refused(tmp_path):
    for keywords, message in [
        ({"report": "page.htm"}, "report is a file whose name ends with .html"),
        ({"report": ["a.html", "b.html"]}, "report is a number, a file or both"),
        ({"plot": "curves.png"}, "plot is a file whose name ends with .svg"),
    ]:
        with pytest.raises(ValueError, match=message):
            rml.train(LINE, DATA, **keywords)
    for keywords in [{"report": tmp_path / "x.html", "save": tmp_path / "x.html"}, {"report": tmp_path / "no" / "x.html"}]:
        with pytest.raises(rml.Error):
            rml.train(LINE, DATA, **keywords)
