"""HTML for notebooks."""

from __future__ import annotations

from html import escape
from math import isfinite
from typing import TYPE_CHECKING, Any, Iterable, Mapping, Sequence

import numpy as np

if TYPE_CHECKING:
    from ._check import Check
    from ._infer import Inferred
    from ._program import Gradients, Program
    from ._sweep import Sweep
    from ._train import Best, Epoch

_PRE = '<pre style="white-space: pre-wrap; margin: 0 0 0.5em 0">{}</pre>'


def check(found: Check) -> str:
    """The verdicts in words, and the findings as formatted text."""
    return _PRE.format(escape(str(found).rstrip()))


def table(text: str) -> str:
    """A table that is given as text."""
    return _PRE.format(escape(text.rstrip()))


def program(of: Program) -> str:
    """The text of a program, and the verdict on it."""
    return _PRE.format(escape(of.text.strip())) + check(of.check())


def rows(headings: Sequence[str], body: Iterable[Sequence[str]]) -> str:
    """A table with a heading for each column."""
    head = "".join(f"<th>{escape(cell)}</th>" for cell in headings)
    lines = ("".join(f"<td>{escape(cell)}</td>" for cell in line) for line in body)
    return f"<table><tr>{head}</tr>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


LAST = 10
"""How many epochs a table has at most."""
PARTS = (("", "train", "#0072b2"), ("validation ", "validation", "#d55e00"), ("test ", "test", "#009e73"))
"""The parts of the data: how their metrics begin, the attribute of an epoch, the colour of a curve."""


def epochs(of: Sequence[Epoch], best: Best | None) -> str:
    """The curves of a training, and the metrics of its last epochs."""
    found = ((prefix, part, name) for e in of for prefix, part, _ in PARTS for name in getattr(e, part))
    columns = list(dict.fromkeys(found))

    def line(epoch: Epoch) -> list[str]:
        mark = " (best)" if best is not None and best.epoch == epoch.epoch else ""
        values = (getattr(epoch, part).get(name) for _, part, name in columns)
        cells = ("" if value is None else f"{value:.4g}" for value in values)
        return [f"{epoch.epoch}{mark}", *cells, f"{epoch.seconds:.1f} s"]

    names = list(dict.fromkeys(name for _, _, name in columns))
    curves = "".join(curve(name, of) for name in names) if len(of) > 1 else ""
    headings = ["epoch", *(prefix + name for prefix, _, name in columns), "time"]
    left_out = f"<p>{len(of) - LAST} epochs before these are left out</p>" if len(of) > LAST else ""
    shown = [(part, colour) for _, part, colour in PARTS if curves and any(getattr(e, part) for e in of)]
    legend = " ".join(f'<span style="color: {colour}">— {part}</span>' for part, colour in shown)
    return f"<div>{curves} {legend}</div>{left_out}{rows(headings, map(line, of[-LAST:]))}"


def curve(name: str, of: Sequence[Epoch]) -> str:
    """The curves of one metric, as SVG."""
    series = [(part, colour, [getattr(e, part).get(name, np.nan) for e in of]) for _, part, colour in PARTS]
    finite = [value for _, _, values in series for value in values if isfinite(value)]
    if not finite:
        return ""
    low, high = min(finite), max(finite)
    width, height = 240, 80

    def points(values: list[float]) -> str:
        right, up = width / (len(of) - 1), height / (high - low or 1.0)
        at = ((n * right, 20 + height - (value - low) * up) for n, value in enumerate(values) if isfinite(value))
        return " ".join(f"{x:.1f},{y:.1f}" for x, y in at)

    lines = "".join(
        f'<polyline fill="none" stroke="{colour}" points="{points(values)}"><title>{part}</title></polyline>'
        for part, colour, values in series
        if any(map(isfinite, values))
    )
    text = f'<text y="12" fill="currentColor" font-size="12">{escape(name)}: {low:.4g} to {high:.4g}</text>'
    label = escape(name)
    return f'<svg width="{width + 20}" height="{height + 30}" role="img" aria-label="{label}">{text}{lines}</svg>'


def _arrays(kind: str, of: Mapping[str, np.ndarray[Any, Any]]) -> list[tuple[str, str, str, str]]:
    """A line for each array: its kind, name, shape and norm."""
    norms = {name: float(np.sqrt(np.square(array, dtype=float).sum())) for name, array in of.items()}
    return [(kind, name, str(list(of[name].shape)), f"{norm:.4g}") for name, norm in norms.items()]


def gradients(of: Gradients) -> str:
    """The norms of the derivatives."""
    lines = [*_arrays("parameter", of.params), *_arrays("input", of.inputs)]
    return f"<p>sum of {escape(of.output)}: {float(of.loss):.6g}</p>{rows(('by', '', 'shape', 'norm'), lines)}"


def sweep(of: Sweep) -> str:
    """The mean and the spread of each metric for each combination of values: those of an evaluation if there are any."""
    evaluated = any("." in row.metric for row in of.table)
    shown = [row for row in of.table if "." in row.metric or not evaluated]
    names = list(dict.fromkeys(name for row in shown for name in row.set))

    def line(row: Any) -> list[str]:
        runs = str(row.runs) if row.runs == row.of else f"{row.runs} of {row.of}"
        numbers = (row.mean, row.deviation, row.min, row.max, row.iqm)
        cells = ("" if value is None else f"{value:.4g}" for value in numbers)
        return [*(str(row.set.get(name, "")) for name in names), row.metric.replace(".", " "), runs, *cells]

    failed = "".join(f"<p>{escape(run.name)} failed</p>{table(str(run.error))}" for run in of.runs if run.error)
    interrupted = "<p>interrupted; the same call continues</p>" if of.interrupted else ""
    return f"{rows([*names, 'metric', 'runs', 'mean', 'std', 'min', 'max', 'iqm'], map(line, shown))}{failed}{interrupted}"


def inferred(of: Inferred) -> str:
    """The metrics of an inference, and its confusion matrix."""
    lines = [(name, f"{value:.4g}") for name, value in of.metrics.items()]
    counted = "" if of.confusion is None else of.confusion._repr_html_()
    return f"<p>{of.windows} windows ({escape(of.split)})</p>{rows(('metric', 'average'), lines)}{counted}"
