"""Frames of other libraries (pandas, polars, Arrow) as data: a frame has the meaning of its table in a file."""

from __future__ import annotations

import json
import os
import re
import tempfile
from contextlib import contextmanager
from datetime import timedelta
from decimal import Decimal
from typing import Any, Iterable, Iterator, Mapping, Protocol

import numpy as np

from ._errors import FRAME


class Frame(Protocol):
    """A table of pandas (2.2 or later), polars or pyarrow."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


def is_frame(data: object) -> bool:
    """Whether this is a table of another library; a single column of one is none."""
    is_arrow = hasattr(data, "__arrow_c_stream__") or hasattr(data, "__dataframe__")
    return is_arrow and (hasattr(data, "columns") or hasattr(data, "column_names"))


@contextmanager
def written(frame: Any) -> Iterator[str]:
    """The path of a file with the table, as long as the context lasts."""
    with tempfile.TemporaryDirectory(prefix=FRAME, ignore_cleanup_errors=True) as folder:
        path = os.path.join(folder, "frame.json")
        with open(path, "w", encoding="utf-8") as file:
            before = "{"
            columns = list(_columns(frame))
            for name, values in [*columns, *_tensors(columns)]:
                file.write(f"{before}{json.dumps(name)}: {_array(values)}")
                before = ",\n"
            file.write("{}" if before == "{" else "}")
        yield path


def _columns(frame: Any) -> Iterator[tuple[str, list[Any]]]:
    """Each column: its name, and its values as objects of Python."""
    if hasattr(frame, "reset_index"):
        # the index of pandas, which its CSV files contain, too
        levels = [name for name in frame.index.names if name is not None]
        frame = frame.reset_index(level=levels, allow_duplicates=True) if levels else frame
    for name, column in _series(frame):
        if hasattr(column, "to_pylist"):
            values = column.to_pylist()
        elif hasattr(column, "to_list"):
            values = column.to_list()
        else:
            found = type(frame).__name__
            raise TypeError(f"a {found} has no columns that can be read: pass a table of pandas, polars or pyarrow")
        if hasattr(column, "isna"):
            values = [None if is_gap else value for value, is_gap in zip(values, column.isna())]
        yield str(name), values


def _tensors(columns: list[tuple[str, list[Any]]]) -> Iterator[tuple[str, list[Any]]]:
    """The columns whose elements are columns of their own, `x[0]` and `x[1]`, as in CSV files."""
    elements: dict[str, dict[tuple[int, ...], list[Any]]] = {}
    for name, values in columns:
        if found := re.fullmatch(r"(.+)\[(\d+(?:,\d+)*)\]", name):
            at = tuple(map(int, found[2].split(",")))
            elements.setdefault(found[1], {})[at] = values
    for name in elements.keys() - dict(columns).keys():
        places = elements[name]
        shape = tuple(max(at) + 1 for at in zip(*places))
        if places.keys() == set(np.ndindex(shape)):
            rows = zip(*(places[at] for at in np.ndindex(shape)))
            yield name, [None if row.count(None) == len(row) else _nested(list(row), shape) for row in rows]


def _nested(elements: list[Any], shape: tuple[int, ...]) -> list[Any]:
    for n in reversed(shape[1:]):
        elements = [elements[at : at + n] for at in range(0, len(elements), n)]
    return elements


def _series(frame: Any) -> Iterable[tuple[Any, Any]]:
    if hasattr(frame, "items"):
        # in pandas, several columns may have one name
        return frame.items()  # type: ignore[no-any-return]
    names = getattr(frame, "column_names", None) or frame.columns
    return ((name, frame[name]) for name in names)


def _array(values: list[Any]) -> str:
    """The values of a column as JSON."""
    if set(map(type, values)) <= {bool, float, int, str, type(None)}:
        try:
            return json.dumps(values, allow_nan=False)
        except ValueError:
            # numbers that JSON does not have
            pass
    return json.dumps([_cell(value) for value in values])


def _cell(value: Any) -> Any:
    """A value as JSON has it: dates as texts, durations as seconds."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (float, Decimal)):
        number = float(value)
        if number != number:
            return "NaN"
        return number if abs(number) != float("inf") else "Infinity" if number > 0 else "-Infinity"
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, (np.ndarray, np.generic)):
        return _cell(value.tolist())
    if isinstance(value, Mapping):
        return {str(name): _cell(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_cell(part) for part in value]
    if hasattr(value, "to_list"):
        # polars has lists as columns inside of a column
        return _cell(value.to_list())
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
