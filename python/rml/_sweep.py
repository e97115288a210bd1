"""Several trainings of one program: for seeds, and for values of static parameters."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import dataclass, field
from inspect import signature
from types import SimpleNamespace
from typing import Any, Callable, Iterable, Mapping

from . import _html, _native
from ._asked import asked as _asked
from ._asked import call as _call
from ._asked import is_small as _is_small
from ._data import Data, Path
from ._train import train

__all__ = ["Run", "Sweep", "SweepRow", "SweepStage", "sweep"]


@dataclass(frozen=True)
class Run:
    """One of several trainings."""

    name: str
    """The name of its folder, such as `lr=0.1,seed=3`."""
    set: dict[str, Any]
    """The values of the static parameters that the sweep sets."""
    seed: int | None
    """Its seed; `None` if all runs have the same."""
    state: str
    """`finished`, `missed` (it ended before its condition `until` held), `failed`, `pruned` (others were better), or
    `interrupted`."""
    epoch: int | None
    """The epoch or report of the metrics: the best one if `metric` or `patience` is given, else the last one."""
    metrics: dict[str, float]
    """Its metrics, such as `loss`, `validation.loss`, `test.loss`."""
    seconds: float
    """How long its epochs or reports took."""
    error: Exception | None = field(default=None, repr=False)
    """Why it failed: an `rml.Error`."""


@dataclass(frozen=True)
class SweepRow:
    """A metric over the runs with the same values of static parameters."""

    set: dict[str, Any]
    """These values."""
    metric: str
    """The metric, such as `test.loss`."""
    runs: int
    """How many runs have it."""
    of: int
    """How many runs there are."""
    mean: float | None
    """The mean over the runs; `None` if no run has the metric."""
    deviation: float | None
    """The standard deviation, as an estimate from a sample; `None` for fewer than two runs."""
    min: float | None
    """The least value."""
    max: float | None
    """The greatest value."""
    iqm: float | None
    """The interquartile mean: the mean without the lowest and the highest quarter of the values."""
    iqm_interval: tuple[float, float] | None
    """Its 95 % interval, by a bootstrap over the runs; `None` for fewer than two runs."""


@dataclass(frozen=True)
class SweepStage:
    """A comparison of the combinations of a pruned sweep."""

    length: int
    """After how many epochs or reports the combinations were compared."""
    kept: int
    """How many combinations continued."""
    of: int
    """How many combinations were compared."""


@dataclass(frozen=True)
class Sweep:
    """The results of several trainings. `str(sweep)` is the table that the command line prints."""

    folder: str
    """The folder with a folder for each run, `table.csv` and `runs.csv`."""
    runs: tuple[Run, ...] = field(repr=False)
    """The runs: combination by combination, and seed by seed within each."""
    table: tuple[SweepRow, ...] = field(repr=False)
    """A row for each combination and metric."""
    interrupted: bool
    """Whether it was interrupted. The same call continues."""
    stages: tuple[SweepStage, ...] = ()
    """The comparisons that ended worse combinations early, with `prune`."""
    _text: str = field(default="", repr=False)

    def __str__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        return _html.sweep(self)


def sweep(
    source: str | os.PathLike[str],
    data: Data | None = None,
    *,
    runs: Path,
    seeds: Iterable[int] = (),
    sweep: Mapping[str, Iterable[Any]] | None = None,
    samples: int | tuple[int, int] | None = None,
    prune: str | None = None,
    prune_from: int = 1,
    jobs: int | None = None,
    on_run: Callable[[Run], object] | None = None,
    progress: bool = False,
    **keywords: Any,
) -> Sweep:
    """Trains once for each seed and each combination of values, as `rml train --runs` does, and returns the results.

    `runs` is a folder. Each run has a folder in it with its checkpoint and its log. Runs that ended before are not
    trained again, so the same call continues with an interrupted or larger sweep; `rml train --runs` can share the
    folder. `seeds` are the seeds, such as `range(5)`. Keywords of `train` are the same for all runs; each other keyword
    names a static parameter of the program and has a list of its values. `sweep` has such lists for names that are
    keywords, too: `sweep={"batch": [32, 128]}`. `jobs` is the number of runs at once, by default one for each core.

    With `samples`, that number of combinations is drawn instead of training all: a count, or a count and a seed. Values may then be a
    range, in the notation of the command line: `rate="1e-4..1e-1:log"` (even logarithms), `units="16..256"` (whole
    numbers). `prune` ends the worse combinations early: `"halving"`, `"halving:4"` or `"median"`. They are compared by
    the `metric` of the validation windows, for the first time after `prune_from` epochs or reports.

    `plot` draws the mean of each combination's runs, in a band of their standard deviation, and `report` writes a page
    that compares the runs. `on_run` is called with each `Run` that ends. With `progress`, a bar of tqdm shows the runs.
    A run that fails does not stop the others; its `state` is `"failed"`, and its `error` says why. Ctrl-C ends all
    runs after their current windows.

    >>> import tempfile
    >>> program = '''
    ... import std.losses;
    ... const rate = 0.1;
    ... node line(x: num []) -> (o)  k = param(0.0);  o = k * x;
    ... node train(x: num [], y: num []) -> (loss)
    ...   o, _ = diff_line(x, true, do);
    ...   loss, do, _ = diff_mse(o, y, true, -rate);
    ... '''
    >>> data = {"x": [1.0, 2.0, 3.0, 4.0], "y": [2.0, 4.0, 6.0, 8.0]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = sweep(program, data, runs=folder, seeds=range(2), rate=[0.01, 0.05], epochs=2, test=0)
    >>> [(row.set, row.metric, row.runs) for row in found.table]
    [({'rate': 0.01}, 'loss', 2), ({'rate': 0.05}, 'loss', 2)]
    """
    known = {name: each.default for name, each in signature(train).parameters.items()}
    values = {name: _values(name, of) for name, of in dict(sweep or {}).items()}
    for name, of in keywords.items():
        if name in _OF_ONE_RUN:
            raise ValueError(f"{name} is for one training; each run has its own checkpoint and log in the folder")
        if name not in known and name in values:
            raise ValueError(f"the values of {name} are given twice")
        if name not in known:
            values[name] = _values(name, of)
    if keywords.get("seed") is not None and seeds:
        raise ValueError("seed is the seed of all runs, and seeds are those of each: give one of them")
    given = {**known, **{name: of for name, of in keywords.items() if name in known}, "source": source, "data": data}
    folder = os.fspath(runs)
    if samples is not None and not values:
        raise ValueError("samples is the number of combinations of values, and no static parameter has values")
    if prune is None and prune_from != 1:
        raise ValueError("prune_from says when runs are compared first, and prune by which rule: give both")
    asked_runs = SimpleNamespace(
        folder=folder,
        seeds=[int(seed) for seed in seeds],
        values=values,
        samples=_counted(samples),
        prune=None if prune is None else (prune, _positive("prune_from", prune_from)),
        jobs=jobs,
    )
    bar: Any = None

    def told(count: int | None, ended: int, run: Any) -> None:
        nonlocal bar
        if count is not None and progress:
            bar = _bar(count, ended)
        if run is not None:
            if bar is not None:
                bar.update(1)
            if on_run is not None:
                on_run(_run(run))

    own = {
        "runs": folder, "seeds": seeds, "sweep": values or None, "samples": samples, "prune": prune,
        "prune_from": None if prune_from == 1 else prune_from, "jobs": jobs,
    }
    try:
        with ExitStack() as files:
            table, asked = _asked(given, _called(given, own), files)
            found, rows, stages, text, interrupted = _native.sweep(table, asked, asked_runs, told)
    finally:
        if bar is not None:
            bar.close()
    compared = tuple(SweepStage(*stage) for stage in stages)
    return Sweep(folder, tuple(map(_run, found)), tuple(map(_row, rows)), interrupted, compared, text)


_OF_ONE_RUN = ("save", "best", "log", "resume", "confusion", "on_epoch", "on_batch")


def _values(name: str, of: Any) -> Any:
    """The values of a static parameter: a list, or the text of a range."""
    if isinstance(of, str) and ".." in of:
        return of
    if isinstance(of, (str, bytes)) or not isinstance(of, Iterable):
        raise TypeError(
            f"{name} is no keyword of train; the values of a static parameter are a list or a range `LOW..HIGH`, not {of!r}"
        )
    return list(of)


def _counted(samples: int | tuple[int, int] | None) -> tuple[int, int] | None:
    """The number of samples and their seed."""
    if samples is None:
        return None
    count, seed = samples if isinstance(samples, tuple) else (samples, 0)
    if seed < 0:
        raise ValueError(f"the seed of samples is at least 0, not {seed}")
    return _positive("samples", count), seed


def _positive(name: str, count: int) -> int:
    if count < 1:
        raise ValueError(f"{name} is a number, at least 1, not {count}")
    return count


def _bar(total: int, ended: int) -> Any:
    from ._progress import tqdm

    return tqdm()(total=total, initial=ended, unit="run")


def _called(given: Mapping[str, Any], own: Mapping[str, Any]) -> str:
    """The call, for the page."""
    more = ", ".join(f"{name}={of!r}" for name, of in own.items() if _is_small(of) and of not in (None, ()))
    return _call("rml.sweep", train, given)[:-1] + f", {more})"


def _run(of: tuple[Any, ...]) -> Run:
    name, settings, seed, state, epoch, metrics, seconds, error = of
    return Run(name, settings, seed, state, epoch, dict(metrics), seconds, error)


def _row(of: tuple[Any, ...]) -> SweepRow:
    settings, metric, runs, all_runs, spread = of
    mean, deviation, least, greatest, iqm, interval = spread or (None,) * 6
    ends = None if interval is None else (interval[0], interval[1])
    return SweepRow(settings, metric, runs, all_runs, mean, deviation, least, greatest, iqm, ends)
