"""Inference over windows of data."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Mapping, Sequence

import numpy as np

from . import _html, _native
from ._data import Data, Params, Path, _from_files, _present, _reading, _states, _windows
from ._program import _Computing, _where

__all__ = ["Confusion", "Inferred", "infer"]


@dataclass(frozen=True)
class Confusion:
    """A confusion matrix: how often one class was taken for another."""

    label: str
    """The input or output with the correct class."""
    found: str
    """The output with the predicted class, or a score for each class."""
    counts: np.ndarray[Any, Any] = field(repr=False)
    """For each correct class (rows), how often each class was predicted (columns)."""
    names: tuple[str, ...]
    """The names of the classes in the order of their numbers, if the data has names."""
    others: int
    """How often the correct or the predicted class was not counted."""
    _text: str = field(default="", repr=False)

    @property
    def accuracy(self) -> float:
        """The share of correct predictions."""
        return float(np.trace(self.counts)) / max(int(self.counts.sum()) + self.others, 1)

    def __str__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        return _html.table(str(self))


@dataclass(frozen=True)
class Inferred:
    """The result of inference."""

    split: str
    """The windows that were run: `test`, `train`, `validation` or `all`."""
    windows: int
    """The number of windows."""
    metrics: dict[str, float]
    """Averages of the scalar outputs."""
    outputs: dict[str, np.ndarray[Any, Any]] | None = field(repr=False)
    """The outputs, one row per window: `[windows, ..]`, or `[windows, cycles, ..]` if there are several values per
    window; masked where absent. `window` has the numbers of the windows in the data. For windows that were cut from a
    table, `row` has the row of each cycle, and -1 after the end of a shorter window. Integers stay integers; `names`
    has their names."""
    names: dict[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    """The names of the values of inputs and outputs, in the order of their numbers: the cases of an enumeration, or the
    classes of texts in the data. `np.array(found.names["y"])[found.outputs["y"]]` is an array of them."""
    confusion: Confusion | None = field(default=None, repr=False)
    """The confusion matrix, if it was requested."""

    def _repr_html_(self) -> str:
        return _html.inferred(self)


def infer(
    source: str | os.PathLike[str],
    data: Data,
    *,
    params: Params | None = None,
    node: str = "infer",
    set: Mapping[str, Any] | None = None,
    batch: int | None = None,
    precision: str | None = None,
    split: str = "auto",
    outputs: bool = True,
    fresh: bool = False,
    unscale: bool = False,
    allow_nan: bool = False,
    on_disk: bool = False,
    confusion: bool | tuple[str, str] = False,
    mapping: Path | None = None,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    table: Mapping[str, Any] | None = None,
    window: int | None = None,
    stride: int | None = None,
    group: str | None = None,
    time: str | None = None,
    gap: int | float | str | None = None,
    end: str | None = None,
    rest: str | None = None,
    engine: str = "auto",
    backend: str = "cpu",
    device: str = "cpu",
    threads: int | None = None,
    name: str | None = None,
) -> Inferred:
    """Runs a node over windows of data with learned parameters, as `rml infer` does.

    `params` are states by path, such as those of `Epoch.states`, or the path of a checkpoint, which also has the
    settings and windows of its training. `split` selects the windows: `"test"`, `"train"`, `"validation"`, `"all"`; by
    default the test windows if the data is that of the checkpoint, or else all. With `outputs`, the outputs are kept.
    With `confusion`, a confusion matrix is computed: of the only integer input with scores, or of a pair of names,
    `("y", "logits")`. With `unscale`, outputs and metrics that are on the scale of a standardised input are in the units
    of the data. States other than parameters continue from the end of the training, unless `fresh` is set. `data`
    and the other keywords are as for `train`; without keywords for windows, the settings of the checkpoint apply.
    """
    where, text = _where(source, name)
    if on_disk:
        _from_files(data)
    asked = SimpleNamespace(
        name=where,
        text=text,
        node=node,
        params=_states(params),
        set=dict(set or {}),
        batch=batch,
        precision=precision,
        split=split,
        outputs=outputs,
        fresh=fresh,
        unscale=unscale,
        allow_nan=allow_nan,
        on_disk=on_disk,
        confusion=_pair(confusion),
        reading=_reading(
            data, mapping=mapping, columns=columns, table=table,
            window=window, stride=stride, group=group, time=time, gap=gap, end=end, rest=rest,
        ),
        computing=_Computing(engine, backend, device, threads),
    )
    with ExitStack() as files:
        which, windows, metrics, kept, names, matrix = _native.infer(_windows(data, files), asked)
    arrays = None if kept is None else _present(kept)
    counted = None if matrix is None else _confusion(matrix)
    texts = {port: tuple(texts) for port, texts in names}
    return Inferred(which, windows, dict(metrics), arrays, texts, counted)


def _pair(confusion: bool | tuple[str, str]) -> list[str] | None:
    """The label and the prediction of a confusion matrix; an empty list for the usual pair."""
    return None if confusion is False else [] if confusion is True else list(confusion)


def _confusion(matrix: Any) -> Confusion:
    label, found, counts, names, others, text = matrix
    return Confusion(label, found, np.array(counts, dtype=np.int64), tuple(names), others, text)
