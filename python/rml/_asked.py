"""The options of trainings, in the form for the compiled part."""

from __future__ import annotations

import inspect
import os
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any, Callable, Mapping, Sequence

from ._data import Data, Path, _from_files, _reading, _states, _windows
from ._infer import _pair
from ._program import _Computing, _where


def asked(given: Mapping[str, Any], again: str, files: ExitStack) -> tuple[list[Any] | None, SimpleNamespace]:
    """The table and the options of a training, from the keywords of `train`. `again` is the text of that call of
    `train`, which the page of the training shows."""
    of = SimpleNamespace(**given)
    where, text = _where(of.source, of.name)
    if of.on_disk:
        _from_files(of.data)
    validate = of.validate
    is_part = isinstance(validate, (int, float)) or (isinstance(validate, str) and validate.startswith("last:"))
    has_other = validate is not None and not is_part
    every, page = _reports(of.report)
    cut = {name: given[name] for name in ("window", "stride", "group", "time", "gap", "end", "rest")}
    shown = SimpleNamespace(
        page=page,
        plot=_ending("plot", of.plot, ".svg"),
        files=[*_paths(of.data), *(_paths(validate) if has_other else [])],
        call=again,
    )
    same = (
        "node", "batch", "shards", "epochs", "windows", "cycles", "until", "seed", "test", "shuffle", "precision",
        "allow_nan", "on_disk", "save", "best", "patience", "log", "resume", "stats",
        "keep_states", "episodes_of",
    )
    table = None if of.data is None else _windows(of.data, files)
    return table, SimpleNamespace(
        **{name: given[name] for name in same},
        name=where,
        text=text,
        evaluate=of.evaluate if isinstance(of.evaluate, str) else None,
        evaluates=bool(of.evaluate),
        set=dict(of.set or {}),
        save_every=str(given["save_every"]),
        report=every,
        validate=validate if is_part else None,
        validate_data=_windows(validate, files) if has_other else None,
        reading=_reading(
            of.data, mapping=of.mapping, columns=of.columns, table=of.table, classes=of.classes, fill=of.fill,
            standardise=of.standardise, **cut,
        ),
        metric=_metric(of.metric),
        init=_states(of.init),
        collects_episodes=of.episodes is not False,
        episodes=None if isinstance(of.episodes, bool) else os.fspath(of.episodes),
        confusion=_pair(of.confusion),
        shown=shown,
        computing=_Computing(of.engine, of.backend, of.device, of.threads),
        ranks=SimpleNamespace(
            launched=given.get("distributed", False),
            patience=float(given.get("exchange_timeout", 300.0)),
            group=given.get("ranks"),
        ),
    )


def _paths(data: Data | None) -> list[str]:
    """The files of data that the caller names."""
    if isinstance(data, (str, os.PathLike)):
        return [os.fspath(data)]
    is_list = isinstance(data, (list, tuple)) and all(isinstance(path, (str, os.PathLike)) for path in data)
    return [os.fspath(path) for path in data] if is_list else []  # type: ignore[union-attr]


def _reports(report: int | Path | Sequence[int | Path] | None) -> tuple[int | None, str | None]:
    """How many windows or cycles a report has, and the file of the page."""
    given = [report] if report is None or isinstance(report, (int, str, os.PathLike)) else list(report)
    counts = [each for each in given if isinstance(each, int)]
    pages = [_ending("report", each, ".html") for each in given if each is not None and not isinstance(each, int)]
    if len(counts) > 1 or len(pages) > 1:
        raise ValueError(f"report is a number, a file or both, not {report!r}")
    return next(iter(counts), None), next(iter(pages), None)


def _ending(keyword: str, path: Any, ending: str) -> str | None:
    """The path of a file whose format its name says."""
    if path is None:
        return None
    found: str = os.fspath(path)
    if not found.lower().endswith(ending):
        raise ValueError(f"{keyword} is a file whose name ends with {ending}, not {found!r}")
    return found


def call(name: str, function: Callable[..., Any], given: Mapping[str, Any]) -> str:
    """A call in Python, without arguments that have their default. Large values are shown by their names."""
    shown = []
    for keyword, parameter in inspect.signature(function).parameters.items():
        value = given[keyword]
        is_first = parameter.kind is not inspect.Parameter.KEYWORD_ONLY
        if value is parameter.default or (is_small(value) and value == parameter.default):
            continue
        is_text = keyword == "source" and isinstance(value, str) and "\n" in value
        text = _repr(value) if is_small(value) and not is_text else keyword
        shown.append(text if is_first else f"{keyword}={text}")
    return f"{name}({', '.join(shown)})"


def is_small(value: Any) -> bool:
    """Whether a value is one that its text can stand for."""
    if isinstance(value, Mapping):
        return len(value) <= 100 and all(is_small(each) for pair in value.items() for each in pair)
    if isinstance(value, (list, tuple)):
        return len(value) <= 100 and all(map(is_small, value))
    return value is None or isinstance(value, (bool, int, float, str, range, os.PathLike))


def _repr(value: Any) -> str:
    return repr(os.fspath(value)) if isinstance(value, os.PathLike) else repr(value)


def _metric(text: str | None) -> tuple[str, bool] | None:
    if text is None:
        return None
    name, colon, direction = text.rpartition(":")
    if not colon and text.endswith(("loss", "error", "accuracy")):
        return text, text.endswith("accuracy")
    if not name or direction not in ("min", "max"):
        raise ValueError(f"expected a metric and whether smaller or larger is better, such as loss:min or accuracy:max, not {text!r}")
    return name, direction == "max"
