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
    """What is about to be trained."""

    train_windows: int
    """Windows to train on in an epoch, or in a report."""
    test_windows: int
    """Windows kept for testing, or run to evaluate a report."""
    validation_windows: int
    """Windows kept to compare epochs by."""
    batch: int
    """Windows stacked at a time."""
    epochs: int | None
    """Epochs in all; `None` for a node that makes its data itself."""
    epochs_done: int
    """Epochs or reports of the run that is resumed."""
    parameters: int
    """How many numbers are trained."""


@dataclass(frozen=True)
class Batch:
    """How far an epoch or report is."""

    epoch: int
    """The epoch or report, from 1."""
    windows: int
    """Windows done in it."""
    of: int
    """Windows that it has."""
    metrics: dict[str, float]
    """Averages since it began."""


@dataclass(frozen=True)
class Best:
    """The best epoch or report so far."""

    metric: str
    """By what, such as `validation.loss`."""
    value: float
    """Its value."""
    epoch: int
    """The epoch or report, from 1."""


@dataclass(frozen=True)
class Epoch:
    """What an epoch gave, or for a node that makes its data itself, a report."""

    epoch: int
    """Its number, from 1."""
    train: dict[str, float]
    """Averages of the scalar outputs over the training windows."""
    test: dict[str, float]
    """Averages of the evaluation; empty if there is none."""
    validation: dict[str, float]
    """Averages over the windows kept to compare epochs by."""
    seconds: float
    """How long it took."""
    states: dict[str, np.ndarray[Any, Any]] = field(repr=False)
    """All states at its end by path, parameters included: what a checkpoint holds. `infer`, `grad` and sessions take
    them as `params`. The epochs of a `Report` have none, so that a training takes no more memory the longer it
    continues."""
    parameters: tuple[str, ...] = field(repr=False)
    """The paths of the parameters among them."""
    best: Best | None = None
    """The best one so far, if that is searched for."""
    windows: int | None = None
    """Of a report, how many windows were trained in all."""
    cycles: int | None = None
    """Of a report, how many cycles were trained in all."""

    @property
    def loss(self) -> float:
        """The training loss, if an output is called that."""
        return self.train["loss"]

    @property
    def params(self) -> dict[str, np.ndarray[Any, Any]]:
        """The parameters by path."""
        return {path: self.states[path] for path in self.parameters}


@dataclass(frozen=True)
class Report:
    """How a training ended."""

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
    """The best epoch or report, if that was searched for."""
    saved: bool
    """Whether a checkpoint was written."""

    @property
    def params(self) -> dict[str, np.ndarray[Any, Any]]:
        """The parameters at the end by path."""
        return {path: self.states[path] for path in self.parameters}


def _best(of: tuple[str, float, int] | None) -> Best | None:
    return None if of is None else Best(*of)


class Training(Iterator[Epoch]):
    """A training run: an iterator of `Epoch`s, which trains one epoch for each that is asked for. `train` starts it.

    It computes on a thread of its own with the lock of the interpreter released. Ctrl-C ends it after the current
    window, as `close` does; what is to be saved is saved. A run that nobody holds any more ends, too.
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
        """What is trained; known when the first epoch is."""
        return self._begun

    @property
    def report(self) -> Report | None:
        """How it ended, once it has."""
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
        """Trains to the end. A run that was closed before has no report, which is a `RuntimeError`."""
        for _ in self:
            pass
        if self._report is None:
            raise RuntimeError("the training was closed")
        return self._report

    def close(self) -> None:
        """Ends the training after the current window. If a checkpoint was asked for, it is written; `resume`
        continues from there."""
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
    epochs: int = 10,
    windows: int | None = None,
    cycles: int | None = None,
    until: str | None = None,
    report: int | None = None,
    seed: int | None = None,
    test: int | float | str | None = None,
    validate: int | float | Data | None = None,
    shuffle: bool | None = None,
    precision: str = "f32",
    allow_nan: bool = False,
    on_disk: bool = False,
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
    of arrays of shape `[N, T, ..]`, `N` windows of `T` cycles, or `[N, ..]`, one value a window; or the path of a data
    file or folder, or a list of them. Windows may differ in length: lists of `N` arrays `[T, ..]`, or a column
    `lengths`. Without data the node has no inputs and makes its data itself, for `windows` or `cycles` in all, or
    `until` a condition such as `"length >= 475 for 5"` holds; each `report` windows are a report, in place of an epoch.

    `node` is the node to train (`train`), `evaluate` the one that is run after each epoch (`infer`, if the program has
    it; `False`: none), `set` its static parameters, `batch` how many windows are stacked (32 where the node has a
    dimension `batch`), `epochs` how many epochs in all, `seed` that of initial values, split and shuffling. `test` and
    `validate` are windows to keep apart, a share below 1.0 or a count, drawn by the seed, or `"last:0.2"` and
    `"last:297"`, the last ones in the order of the data; `validate` may be other data. `save` names a checkpoint to
    write, each `save_every` epochs and at the end; `resume` one to continue from; `best` one for the best epoch by
    `metric`, such as `"accuracy:max"`; `patience` ends the training after that many epochs without a better one; `log`
    names a folder for the metrics. `engine`, `backend`, `device` and `threads` are as for `Program.session`. With
    `on_disk`, data in files that is larger than the memory is read in pieces, with the same bits.

    `columns` says which columns of files feed an input: `{"x": ["open", "close"], "y": "label"}`, or `"p0..p63"` for
    those from one to another; `"hour(date),load"` reads what dates say. `table` says how tables in text are written: `separator`, `decimal`, `thousands`,
    `missing`, `header`, `comment`, and `format` the format of all files. A column of texts names the classes of an
    integer input, sorted, or as `classes` says: `{"y": ["cat", "dog"]}`. `fill` puts a value where there is none, or
    NaN: `{"x": "mean"}` or `{"x": 0}`. `standardise` names inputs that are brought to the mean 0 and the standard
    deviation 1. Means and deviations are those of the windows that are trained on. States and checkpoints hold all of
    this, and `infer` does the same with its data.

    The rows of a long table are cycles, and become windows: `window` rows each, one every `stride` rows; `group` names a
    column whose groups share no window, `time` the column of times (dates or numbers), in which a larger gap than `gap`
    (`"1h"`, or a number) ends a series; `end` names a column that is true in the last row of each window. `rest` is
    `"keep"` or `"drop"`: what happens to the rows after the last whole window. With `group`, `test` and `validate` keep
    whole groups, or `"last:.."` windows of each. `shuffle` is `True` by default, unless such windows are trained on and
    states continue from one to the next.

    `on_epoch` is called with each `Epoch`, `on_batch` with a `Batch` after each batch of windows; an exception in them
    ends the loop that asks for epochs, and `close` the training. Failures are raised as `Error` where the next epoch is
    asked for.

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
        precision=precision,
        allow_nan=allow_nan,
        on_disk=on_disk,
        reading=_reading(
            data, columns=columns, table=table, classes=classes, fill=fill, standardise=standardise,
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
    """How often one class was taken for another."""

    label: str
    """The input or output that says which class is right."""
    found: str
    """The output that has the class that was found, or a score for each."""
    counts: np.ndarray[Any, Any] = field(repr=False)
    """For each class that is right (rows), how often each class was found (columns)."""
    names: tuple[str, ...]
    """The names of the classes in the order of their numbers, if the data has names."""
    others: int
    """How often one of both was no class that is counted."""
    _text: str = field(default="", repr=False)

    @property
    def accuracy(self) -> float:
        """The share of classes that were found right."""
        return float(np.trace(self.counts)) / max(int(self.counts.sum()) + self.others, 1)

    def __str__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        return _html.table(str(self))


@dataclass(frozen=True)
class Inferred:
    """What inference gave."""

    split: str
    """Which windows were run: `test`, `train`, `validation` or `all`."""
    windows: int
    """How many."""
    metrics: dict[str, float]
    """Averages of the scalar outputs."""
    outputs: dict[str, np.ndarray[Any, Any]] | None = field(repr=False)
    """The outputs, one row a window: `[windows, ..]`, or `[windows, cycles, ..]` where there are several a window;
    masked where absent. `window` has the numbers of the windows in the data, and `row` the rows of windows that were cut
    from a table, by cycle; -1 after the end of a shorter window. Integers stay integers; `names` has their names."""
    names: dict[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    """The names of the values of inputs and outputs, in the order of their numbers: the cases of an enumeration, or the
    classes of texts in the data. `np.array(found.names["y"])[found.outputs["y"]]` is an array of them."""
    confusion: Confusion | None = field(default=None, repr=False)
    """The confusion matrix, if one was asked for."""


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
    allow_nan: bool = False,
    on_disk: bool = False,
    confusion: bool | tuple[str, str] = False,
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
    """Runs a node over windows of data with what was learned, as `rml infer` does.

    `params` are states by path, such as those of `Epoch.states`, or the path of a checkpoint, which also knows the
    settings and windows of its training. `split` says which windows: `"test"`, `"train"`, `"validation"`, `"all"`; by
    default the test windows if the data is that of the checkpoint, else all. With `outputs`, the outputs are kept.
    With `confusion`, the classes are counted that were found and that are right: of an integer input and its scores,
    or of a pair of names, `("y", "logits")`.
    States other than parameters continue from where training stopped, unless `fresh`. `data` and the other keywords are
    as for `train`; what a window is, the checkpoint says as far as they do not.
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
        allow_nan=allow_nan,
        on_disk=on_disk,
        confusion=None if confusion is False else [] if confusion is True else list(confusion),
        reading=_reading(
            data, columns=columns, table=table,
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
