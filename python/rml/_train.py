"""Training and inference over windows of data."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, Callable, Iterator, Mapping, Sequence

import numpy as np

from . import _html, _native
from ._data import Data, Params, Path, _from_files, _present, _reading, _states, _windows
from ._program import _Computing, _where

__all__ = ["Batch", "Best", "Epoch", "Inferred", "Report", "Training", "TrainInfo", "infer", "train"]


@dataclass(frozen=True)
class TrainInfo:
    """The description of a training that begins."""

    train_windows: int
    """Windows to train on in an epoch or report."""
    test_windows: int
    """Windows kept for testing, or run to evaluate a report."""
    validation_windows: int
    """Windows kept to compare epochs by."""
    batch: int
    """Windows stacked at a time."""
    epochs: int | None
    """The total number of epochs; `None` for a node that makes its own data."""
    epochs_done: int
    """Epochs or reports of earlier runs, if this run is resumed."""
    parameters: int
    """The number of trained elements."""


@dataclass(frozen=True)
class Batch:
    """The progress of an epoch or report."""

    epoch: int
    """The epoch or report, from 1."""
    windows: int
    """Windows trained in it so far."""
    of: int
    """All windows in it."""
    metrics: dict[str, float]
    """Averages since it began."""


@dataclass(frozen=True)
class Best:
    """The best epoch or report so far."""

    metric: str
    """The metric that decides, such as `validation.loss`."""
    value: float
    """Its value."""
    epoch: int
    """The epoch or report, from 1."""


@dataclass(frozen=True)
class Epoch:
    """The results of an epoch, or for a node that makes its own data, of a report."""

    epoch: int
    """Its number, from 1."""
    train: dict[str, float]
    """Averages of the scalar outputs over the training windows."""
    test: dict[str, float]
    """Averages of the evaluation; empty if there is none."""
    validation: dict[str, float]
    """Averages over the windows kept to compare epochs by."""
    seconds: float
    """Its duration."""
    states: dict[str, np.ndarray[Any, Any]] = field(repr=False)
    """All states at its end by path, parameters included, as in a checkpoint. `infer`, `grad` and sessions accept them
    as `params`. The epochs of a `Report` have no states, so that the memory of a training does not grow with its
    length."""
    parameters: tuple[str, ...] = field(repr=False)
    """The paths of the parameters among them."""
    best: Best | None = None
    """The best epoch or report so far, if the training searches for it."""
    windows: int | None = None
    """For a report, the total number of windows trained by its end."""
    cycles: int | None = None
    """For a report, the total number of cycles trained by its end."""

    @property
    def loss(self) -> float:
        """The training loss, if the node has an output `loss`."""
        return self.train["loss"]

    @property
    def params(self) -> dict[str, np.ndarray[Any, Any]]:
        """The parameters by path."""
        return {path: self.states[path] for path in self.parameters}


@dataclass(frozen=True)
class Report:
    """The result of a training."""

    epochs: tuple[Epoch, ...] = field(repr=False)
    """The epochs or reports, without their states."""
    states: dict[str, np.ndarray[Any, Any]] = field(repr=False)
    """All states at the end, parameters included."""
    parameters: tuple[str, ...] = field(repr=False)
    """The paths of the parameters among them."""
    interrupted: bool
    """Whether `Training.close` ended it."""
    is_met: bool | None
    """Whether the condition `until` holds, if there is one."""
    out_of_patience: bool
    """Whether it ended because the best epoch was too long ago."""
    best: Best | None
    """The best epoch or report, if the training searched for it."""
    saved: bool
    """Whether a checkpoint was written."""

    @property
    def params(self) -> dict[str, np.ndarray[Any, Any]]:
        """The parameters at the end by path."""
        return {path: self.states[path] for path in self.parameters}


def _best(of: tuple[str, float, int] | None) -> Best | None:
    return None if of is None else Best(*of)


class Training(Iterator[Epoch]):
    """A training run: an iterator that trains and returns the next `Epoch` whenever it is asked for. `train` starts it.

    It computes in a separate thread with the lock of the interpreter released. Ctrl-C ends it after the current
    window, as `close` does; requested files are saved. A run also ends when no reference to it remains.
    """

    def __init__(
        self,
        native: _native.Training,
        on_epoch: Callable[[Epoch], object] | None,
        on_batch: Callable[[Batch], object] | None,
    ) -> None:
        self._native = native
        self._on_epoch = on_epoch
        self._on_batch = on_batch
        self._epochs: list[Epoch] = []
        self._report: Report | None = None
        self._begun: TrainInfo | None = None

    @property
    def info(self) -> TrainInfo | None:
        """The description of the training; known from the first epoch on."""
        return self._begun

    @property
    def report(self) -> Report | None:
        """The result, once the training has ended."""
        return self._report

    def __iter__(self) -> Training:
        return self

    def __next__(self) -> Epoch:
        while (event := self._native.event()) is not None:
            kind = event.pop("kind")
            if "parameters" in event and "states" in event:
                event["parameters"] = tuple(event["parameters"])
            if kind == "start":
                self._begun = TrainInfo(**event)
            elif kind == "batch" and self._on_batch:
                event["metrics"] = dict(event["metrics"])
                self._on_batch(Batch(**event))
            elif kind == "epoch":
                return self._epoch(event)
            elif kind == "end":
                self._report = Report(tuple(self._epochs), best=_best(event.pop("best")), **event)
        raise StopIteration

    def _epoch(self, event: dict[str, Any]) -> Epoch:
        windows, cycles = event.pop("ran") or (None, None)
        for part in ("train", "test", "validation"):
            event[part] = dict(event[part])
        epoch = Epoch(best=_best(event.pop("best")), windows=windows, cycles=cycles, **event)
        self._epochs.append(replace(epoch, states={}, parameters=()))
        if self._on_epoch:
            self._on_epoch(epoch)
        return epoch

    def run(self) -> Report:
        """Trains to the end. Raises `RuntimeError` for a run that was closed before, since it has no report."""
        for _ in self:
            pass
        if self._report is None:
            raise RuntimeError("the training was closed")
        return self._report

    def close(self) -> None:
        """Ends the training after the current window. If a checkpoint was requested, it is written; `resume` continues
        from it."""
        self._native.close()

    def __enter__(self) -> Training:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _metric(text: str | None) -> tuple[str, bool] | None:
    if text is None:
        return None
    name, colon, direction = text.rpartition(":")
    if not colon and text.endswith(("loss", "error", "accuracy")):
        return text, text.endswith("accuracy")
    if not name or direction not in ("min", "max"):
        raise ValueError(f"expected a metric and whether smaller or larger is better, such as loss:min or accuracy:max, not {text!r}")
    return name, direction == "max"


def train(
    source: str | os.PathLike[str],
    data: Data | None = None,
    *,
    node: str | None = None,
    evaluate: str | bool = True,
    set: Mapping[str, Any] | None = None,
    batch: int | None = None,
    shards: int | None = None,
    epochs: int = 10,
    windows: int | None = None,
    cycles: int | None = None,
    until: str | None = None,
    report: int | None = None,
    seed: int | None = None,
    test: int | float | str | None = None,
    validate: int | float | Data | None = None,
    shuffle: bool | None = None,
    keep_states: bool = False,
    precision: str = "f32",
    allow_nan: bool = False,
    on_disk: bool = False,
    mapping: Path | None = None,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    table: Mapping[str, Any] | None = None,
    classes: Mapping[str, Sequence[str]] | None = None,
    fill: Mapping[str, Any] | None = None,
    standardise: str | Sequence[str] = (),
    window: int | None = None,
    stride: int | None = None,
    group: str | None = None,
    time: str | None = None,
    gap: int | float | str | None = None,
    end: str | None = None,
    rest: str | None = None,
    save: Path | None = None,
    save_every: int = 1,
    best: Path | None = None,
    patience: int | None = None,
    metric: str | None = None,
    log: Path | None = None,
    resume: Path | None = None,
    engine: str = "auto",
    backend: str = "cpu",
    device: str = "cpu",
    threads: int | None = None,
    on_epoch: Callable[[Epoch], object] | None = None,
    on_batch: Callable[[Batch], object] | None = None,
    name: str | None = None,
) -> Training:
    """Trains a node, epoch after epoch, as `rml train` does, with the same bits. Returns an iterator of epochs; `run()`
    trains all of them.

    `source` is a program's text or the path of its file, as for `compile`. `data` has a column for each input: a dict
    of arrays of shape `[N, T, ..]`, `N` windows of `T` cycles, or `[N, ..]`, one value per window; or the path of a
    data file or folder, or a list of them. Windows may differ in length: lists of `N` arrays `[T, ..]`, or a column
    `lengths`. Without data, the node has no inputs and makes its own data, for a total of `windows` or `cycles`, or
    `until` a condition such as `"length >= 475 for 5"` holds; every `report` windows make a report instead of an epoch.

    `node` is the node to train (by default `train`), and `evaluate` the node that runs after each epoch (by default
    `infer`, if the program has it; `False`: none). `set` has its static parameters, `batch` is the number of
    stacked windows (by default 32 if the node has a dimension `batch`), `shards` the number of parts in which a
    batch is computed, one after the other, `epochs` the total number of epochs, `seed` the seed of initial values,
    split and shuffling. `test` and `validate` are the windows to keep: a share below 1.0 or a count, drawn by the
    seed, or `"last:0.2"` and `"last:297"` for the last ones in the order of the data; `validate` may be other data.
    `save` names a checkpoint, which is written every `save_every` epochs and at the end; `resume` names a
    checkpoint to continue from, and `best` one for the best epoch by `metric`, such as `"accuracy:max"`. `patience`
    ends the training after this many epochs without a better one. `log` names a folder for the metrics. `engine`,
    `backend`, `device` and `threads` are as for `Program.session`. With `on_disk`, data in files larger than memory
    is read in pieces, with the same bits.

    `columns` has the columns of files for each input: `{"x": ["open", "close"], "y": "label"}`, or `"p0..p63"` for a
    range of columns; `"hour(date),load"` reads the hour of dates. `table` describes tables in text: `separator`,
    `decimal`, `thousands`, `missing`, `header`, `comment`; and `format` is the format of all files. A column of texts
    names the classes of an integer input, sorted, or in the order of `classes`: `{"y": ["cat", "dog"]}`. `fill` has the
    values for gaps and NaN: `{"x": "mean"}` or `{"x": 0}`. `standardise` names inputs that are scaled to mean 0 and
    standard deviation 1. Means and deviations are those of the windows that are trained on. States and checkpoints
    record all of this, and `infer` prepares its data in the same way. `mapping` is a TOML file with these settings, and
    with those of windows below; keywords have priority.

    The rows of a long table are cycles, and become windows: a window of `window` rows starts every `stride` rows.
    `group` names a column whose groups share no window. `time` names the column of times (dates or numbers), in which a
    gap larger than `gap` (`"1h"`, or a number) ends a series. `end` names a column that is true in the last row of each
    window. `rest` decides whether to `"keep"` the rows after the last whole window as a shorter window, or to `"drop"`
    them. With `group`, `test` and `validate` keep whole groups, or `"last:.."` windows of each group. `shuffle` is
    `True` by default, unless such windows are trained on and states continue from one to the next. With `keep_states`,
    such states also continue from epoch to epoch; otherwise they restart in each epoch.

    `on_epoch` is called with each `Epoch`, `on_batch` with a `Batch` after each batch of windows. An exception in them
    ends the loop over the epochs; `close` ends the training. Failures are raised as `Error` when the next epoch is
    requested.

    >>> import numpy as np
    >>> program = '''
    ... import std.losses;
    ... node line(x: num []) -> (o)  k = param(0.0);  o = k * x;
    ... node train(x: num [], y: num []) -> (loss)
    ...   o, _ = diff_line(x, true, do);
    ...   loss, do, _ = diff_mse(o, y, true, -0.5);
    ... '''
    >>> x = np.linspace(-1, 1, 50)
    >>> training = train(program, {"x": x, "y": 3 * x}, epochs=20, test=0)
    >>> report = training.run()
    >>> report.epochs[-1].loss < 1e-3, bool(abs(report.states["line_0.k"] - 3) < 0.01)
    (True, True)
    """
    where, text = _where(source, name)
    if on_disk:
        _from_files(data)
    given = None if data is None else _windows(data)
    is_part = isinstance(validate, (int, float)) or (isinstance(validate, str) and validate.startswith("last:"))
    asked = SimpleNamespace(
        name=where,
        text=text,
        node=node,
        evaluate=evaluate if isinstance(evaluate, str) else None,
        evaluates=bool(evaluate),
        set=dict(set or {}),
        batch=batch,
        shards=shards,
        epochs=epochs,
        windows=windows,
        cycles=cycles,
        until=until,
        report=report,
        seed=seed,
        test=test,
        validate=validate if is_part else None,
        validate_data=None if is_part or validate is None else _windows(validate),  # type: ignore[arg-type]
        shuffle=shuffle,
        keep_states=keep_states,
        precision=precision,
        allow_nan=allow_nan,
        on_disk=on_disk,
        reading=_reading(
            data, mapping=mapping, columns=columns, table=table, classes=classes, fill=fill, standardise=standardise,
            window=window, stride=stride, group=group, time=time, gap=gap, end=end, rest=rest,
        ),
        save=save,
        save_every=save_every,
        best=best,
        patience=patience,
        metric=_metric(metric),
        log=log,
        resume=resume,
        computing=_Computing(engine, backend, device, threads),
    )
    return Training(_native.train(given, asked, on_batch is not None), on_epoch, on_batch)


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
        confusion=None if confusion is False else [] if confusion is True else list(confusion),
        reading=_reading(
            data, mapping=mapping, columns=columns, table=table,
            window=window, stride=stride, group=group, time=time, gap=gap, end=end, rest=rest,
        ),
        computing=_Computing(engine, backend, device, threads),
    )
    which, windows, metrics, kept, names, matrix = _native.infer(_windows(data), asked)
    arrays = None if kept is None else _present(kept)
    counted = None if matrix is None else _confusion(matrix)
    texts = {port: tuple(texts) for port, texts in names}
    return Inferred(which, windows, dict(metrics), arrays, texts, counted)


def _confusion(matrix: Any) -> Confusion:
    label, found, counts, names, others, text = matrix
    return Confusion(label, found, np.array(counts, dtype=np.int64), tuple(names), others, text)
