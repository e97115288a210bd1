"""Training over windows of data."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any, Callable, Iterator, Mapping, Protocol, Sequence

import numpy as np

from . import _html, _native
from ._asked import asked as _asked
from ._asked import call as _call
from ._data import Data, Params, Path
from ._infer import Confusion, _confusion
from ._progress import _Bar, metrics

__all__ = ["Batch", "Best", "Epoch", "ParameterStats", "Report", "Training", "TrainInfo", "train"]


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
class ParameterStats:
    """Statistics of a parameter at the end of an epoch or report."""

    mean: float
    """The mean of its elements."""
    deviation: float
    """Their standard deviation."""
    norm: float
    """The root of the sum of their squares."""
    update: float
    """The norm of its change since the previous epoch or report."""
    gradient: float | None
    """The root mean square of the norms of its gradients in the epoch or report; `None` if no gradient is computed."""


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
    stats: dict[str, ParameterStats] = field(default_factory=dict, repr=False)
    """Statistics of the parameters by path, with `stats=True`."""
    confusion: Confusion | None = field(default=None, repr=False)
    """The confusion matrix of the evaluation, with `confusion=..`."""

    @property
    def loss(self) -> float:
        """The training loss, if the node has an output `loss`."""
        return self.train["loss"]

    @property
    def params(self) -> dict[str, np.ndarray[Any, Any]]:
        """The parameters by path."""
        return {path: self.states[path] for path in self.parameters}

    def _repr_html_(self) -> str:
        return _html.epochs([self], self.best)


@dataclass(frozen=True, repr=False)
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

    def _said(self) -> str:
        found = [f"{len(self.epochs)} epochs", *(metrics(epoch) for epoch in self.epochs[-1:])]
        if self.best is not None:
            found.append(f"best {self.best.metric} {self.best.value:.4g} in epoch {self.best.epoch}")
        if self.is_met is not None:
            found.append("the condition holds" if self.is_met else "the condition does not hold")
        return ", ".join([*found, *(["interrupted"] if self.interrupted else [])])

    def __repr__(self) -> str:
        return f"<rml.Report: {self._said()}>"

    def _repr_html_(self) -> str:
        return _html.epochs(self.epochs, self.best)


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
        bar: _Bar | None = None,
    ) -> None:
        self._native = native
        self._on_epoch = on_epoch
        self._on_batch = on_batch
        self._bar = bar
        self._epochs: list[Epoch] = []
        self._episodes: list[tuple[int, int, float, float, str]] = []
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

    @property
    def episodes(self) -> dict[str, np.ndarray[Any, Any]]:
        """The episodes that have ended so far, if `train` was called with `episodes`: arrays by name, which
        `pandas.DataFrame` makes a frame of. `cycle` is that of the last step, `row` the row of the environment,
        `return` the sum of the rewards, `length` the number of steps, and `end` is `terminated`, `truncated` or `ended`.
        """
        types = {"cycle": np.int64, "row": np.int64, "return": np.float64, "length": np.float64, "end": str}
        columns = list(zip(*self._episodes)) if self._episodes else [()] * len(types)
        return {name: np.array(column, dtype=dtype) for (name, dtype), column in zip(types.items(), columns)}

    def __iter__(self) -> Training:
        return self

    def __next__(self) -> Epoch:
        try:
            # warnings name the line that called this method
            while (event := self._native.event()) is not None:
                if (epoch := self._taken(event)) is not None:
                    return epoch
        except BaseException:
            self._end()
            raise
        self._end()
        raise StopIteration

    def _end(self) -> None:
        if self._bar:
            self._bar.end()

    def _taken(self, event: dict[str, Any]) -> Epoch | None:
        """Takes an event; the epoch, if it is the end of one."""
        kind = event.pop("kind")
        self._episodes.extend(event.pop("episodes", ()))
        if "parameters" in event and "states" in event:
            event["parameters"] = tuple(event["parameters"])
        if kind == "start":
            self._begun = TrainInfo(**event)
            if self._bar:
                self._bar.begin(self._begun)
        elif kind == "batch":
            self._batch(Batch(**{**event, "metrics": dict(event["metrics"])}))
        elif kind == "epoch":
            return self._epoch(event)
        elif kind == "end":
            self._report = Report(tuple(self._epochs), best=_best(event.pop("best")), **event)
        return None

    def _batch(self, batch: Batch) -> None:
        if self._bar:
            self._bar.batch(batch)
        if self._on_batch:
            self._on_batch(batch)

    def _epoch(self, event: dict[str, Any]) -> Epoch:
        windows, cycles = event.pop("ran") or (None, None)
        for part in ("train", "test", "validation"):
            event[part] = dict(event[part])
        matrix = event.pop("confusion")
        event["confusion"] = None if matrix is None else _confusion(matrix)
        event["stats"] = {path: ParameterStats(*found) for path, found in event["stats"]}
        epoch = Epoch(best=_best(event.pop("best")), windows=windows, cycles=cycles, **event)
        self._epochs.append(replace(epoch, states={}, parameters=()))
        if self._bar:
            self._bar.epoch(epoch)
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
        self._end()

    def __repr__(self) -> str:
        if self._report is not None:
            return f"<rml.Training, ended: {self._report._said()}>"
        if not self._epochs:
            return "<rml.Training, not begun: each step of an iteration trains an epoch, and run() trains all>"
        last, total = self._epochs[-1], self._begun.epochs if self._begun else None
        where = f"report {last.epoch}" if total is None else f"epoch {last.epoch} of {total}"
        return f"<rml.Training, after {where}: {metrics(last)}>"

    def _repr_html_(self) -> str:
        return _html.epochs(self._epochs, self._epochs[-1].best) if self._epochs else _html.table(repr(self))

    def __enter__(self) -> Training:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Group(Protocol):
    """Processes that train together, for `train(.., ranks=)`: an object with these attributes and this method, on top
    of `torch.distributed`, mpi4py or anything else that sends bytes.

    If it has a method `abort(why)`, this is called when the training fails in this process.
    """

    @property
    def rank(self) -> int:
        """The number of this process, from 0."""

    @property
    def size(self) -> int:
        """How many processes there are."""

    def exchange(self, rank: int, data: bytes) -> bytes:
        """Sends bytes to a process, and returns what it sends here. Both call this at the same time."""


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
    report: int | Path | Sequence[int | Path] | None = None,
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
    save_every: int | str = 1,
    best: Path | None = None,
    patience: int | None = None,
    metric: str | None = None,
    log: Path | None = None,
    plot: Path | None = None,
    stats: bool = False,
    confusion: bool | tuple[str, str] = False,
    resume: Path | None = None,
    init: Params | None = None,
    episodes: bool | Path = False,
    episodes_of: str | None = None,
    engine: str = "auto",
    backend: str = "cpu",
    device: str = "cpu",
    threads: int | None = None,
    distributed: bool = False,
    exchange_timeout: float = 300.0,
    ranks: Group | None = None,
    on_epoch: Callable[[Epoch], object] | None = None,
    on_batch: Callable[[Batch], object] | None = None,
    progress: bool = False,
    name: str | None = None,
) -> Training:
    """Trains a node, epoch after epoch, as `rml train` does, with the same bits. Returns an iterator of epochs; `run()`
    trains all of them.

    `source` is a program's text or the path of its file, as for `compile`. `data` has a column for each input: a dict
    of arrays of shape `[N, T, ..]`, `N` windows of `T` cycles, or `[N, ..]`, one value per window; a frame of pandas,
    polars or pyarrow, with the meaning of its table in a file; or the path of a data file or folder, or a list of them.
    Windows may differ in length: lists of `N` arrays `[T, ..]`, or a column `lengths`. Without data, the node has no
    inputs and makes its own data, for a total of `windows` or `cycles`, or `until` a condition such as
    `"length >= 475 for 5"` holds; every `report` windows make a report instead of an epoch.

    `node` is the node to train (by default `train`), and `evaluate` the node that runs after each epoch (by default
    `infer`, if the program has it; `False`: none). `set` has its static parameters, `batch` is the number of
    stacked windows (by default 32 if the node has a dimension `batch`), `shards` the number of parts in which a
    batch is computed, one after the other, `epochs` the total number of epochs, `seed` the seed of initial values,
    split and shuffling. `test` and `validate` are the windows to keep: a share below 1.0 or a count, drawn by the
    seed, or `"last:0.2"` and `"last:297"` for the last ones in the order of the data; `validate` may be other data.
    `save` names a checkpoint, which is written every `save_every` epochs (or updates: `"200steps"`) and at the end;
    `resume` names a checkpoint to continue from, and `best` one for the best epoch by `metric`, such as
    `"accuracy:max"`. `init` has the parameters to begin a new training with: a checkpoint
    (`"old.safetensors:net_0"`), or arrays by path. `patience` ends the training after this many epochs without a
    better one. `engine`, `backend`, `device` and `threads` are as for `Program.session`. With `on_disk`, data in
    files larger than memory is read in pieces, with the same bits.

    `log` names a folder for the metrics, `plot` a file that ends with `.svg` for the learning curves, and `report` one
    that ends with `.html` for the page of the training: curves, samples, a confusion matrix, parameters, and where time
    went. Page and curves are written at the end, also of a training that fails. With `stats`, each epoch has statistics
    of the parameters, and so has the log. With `confusion`, each epoch has a confusion matrix, as for `infer`. A node
    that makes its own data can have both meanings of `report`: `report=[50, "page.html"]`.

    With `episodes`, a training without data collects its episodes in `Training.episodes`, and writes them to a file
    (`.csv` or `.jsonl`) if it is a path. `episodes_of` is the path of the instance that says where episodes end, if it
    is not the outermost one.

    `columns` has the columns of files and frames for each input: `{"x": ["open", "close"], "y": "label"}`, or
    `"p0..p63"` for a range of columns; `"hour(date),load"` reads the hour of dates. `table` describes tables in text:
    `separator`, `decimal`, `thousands`, `missing`, `header`, `comment`; and `format` is the format of all files. A
    column of texts names the classes of an integer input, sorted, or in the order of `classes`: `{"y": ["cat",
    "dog"]}`. `fill` has the values for gaps and NaN: `{"x": "mean"}` or `{"x": 0}`. `standardise` names inputs that are
    scaled to mean 0 and standard deviation 1. Means and deviations are those of the windows that are trained on. States
    and checkpoints record all of this, and `infer` prepares its data in the same way. `mapping` is a TOML file with
    these settings, and with those of windows below; keywords have priority.

    The rows of a long table are cycles, and become windows: a window of `window` rows starts every `stride` rows.
    `group` names a column whose groups share no window. `time` names the column of times (dates or numbers), in which a
    gap larger than `gap` (`"1h"`, or a number) ends a series. `end` names a column that is true in the last row of each
    window. `rest` decides whether to `"keep"` the rows after the last whole window as a shorter window, or to `"drop"`
    them. With `group`, `test` and `validate` keep whole groups, or `"last:.."` windows of each group. `shuffle` is
    `True` by default, unless such windows are trained on and states continue from one to the next. With `keep_states`,
    such states also continue from epoch to epoch; otherwise they restart in each epoch.

    With `distributed`, processes that a launcher such as torchrun started train together, as `rml train --distributed`
    does; each waits at most `exchange_timeout` seconds for another one. Or `ranks` connects them: an object such as a
    `Group`. All of them call `train` with the same arguments, and the first one writes the files.

    `on_epoch` is called with each `Epoch`, `on_batch` with a `Batch` after each batch of windows. An exception in them
    ends the loop over the epochs; `close` ends the training. With `progress`, a bar of tqdm shows the epochs and the
    metrics, in notebooks, too. Failures are raised as `Error` when the next epoch is
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
    given = dict(locals())
    with ExitStack() as files:
        columns_or_paths, asked = _asked(given, _call("rml.train", train, given), files)
        bar = _Bar() if progress else None
        return Training(_native.train(columns_or_paths, asked, bool(on_batch or bar)), on_epoch, on_batch, bar)
