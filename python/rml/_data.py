"""Converts values to arrays, and data to columns."""

from __future__ import annotations

import os
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any, Dict, Mapping, Sequence, Union

import numpy as np

from ._errors import Error, Finding
from ._frames import Frame, is_frame, written

Path = Union[str, "os.PathLike[str]"]
Data = Union[Mapping[str, Any], Frame, Path, Sequence[Path]]
"""Columns by name, a frame of another library, or files and folders of data."""
Params = Union[Mapping[str, Any], Path]
"""States by path, or a checkpoint file."""

_Column = "tuple[str, np.ndarray[Any, Any], int, list[int] | None, list[str] | None]"


class States(Dict[str, Any]):
    """States by path. `preparation` records how the data of their training was prepared, in a form for `infer` and
    `save`."""

    preparation: str = ""

    def __init__(self, states: Mapping[str, Any] = {}, preparation: str = "") -> None:
        super().__init__(states)
        self.preparation = preparation


def _states(params: Any) -> Any:
    """A dict of states, or the path of a checkpoint."""
    if isinstance(params, Mapping):
        return params if isinstance(params, dict) else dict(params)
    return params if params is None else os.fspath(params)


def _reading(
    data: Data | None,
    *,
    mapping: Path | None,
    columns: Mapping[str, str | Sequence[str]] | None,
    table: Mapping[str, Any] | None,
    classes: Mapping[str, Sequence[str]] | None = None,
    fill: Mapping[str, Any] | None = None,
    standardise: str | Sequence[str] = (),
    **cut: Any,
) -> SimpleNamespace:
    """How columns become inputs; `cut` has the options for cutting rows into windows."""
    if (columns or table or mapping) and (data is None or isinstance(data, Mapping)):
        raise ValueError(
            "mapping, columns and table say how files of data are read: give the path of a file, or leave them out"
        )
    if table and is_frame(data):
        raise ValueError("table says how texts are read, and a frame has values: leave it out")
    names = ("separator", "decimal", "thousands", "missing", "header", "comment", "format")
    known: dict[str, Any] = dict.fromkeys(names)
    for name, value in dict(table or {}).items():
        if name not in known:
            raise ValueError(f"expected one of {', '.join(known)}, found {name!r}")
        known[name] = [value] if name == "missing" and isinstance(value, str) else value

    def quoted(names: Sequence[str]) -> str:
        return ",".join(f'"{name}"' for name in names)

    return SimpleNamespace(
        mapping=mapping,
        columns=[f"{key}={of if isinstance(of, str) else quoted(of)}" for key, of in dict(columns or {}).items()],
        classes=[f"{key}={quoted(names)}" for key, names in dict(classes or {}).items()],
        fill=[f"{key}={value}" for key, value in dict(fill or {}).items()],
        standardise=[standardise] if isinstance(standardise, str) else list(standardise),
        **known,
        **_cut(**cut),
    )


def _cut(
    window: int | None = None,
    stride: int | None = None,
    group: str | None = None,
    time: str | None = None,
    gap: int | float | str | None = None,
    end: str | None = None,
    rest: str | None = None,
) -> dict[str, Any]:
    """How the rows of a long table become windows."""
    for name, value in (("window", window), ("stride", stride)):
        if value is not None and value < 0:
            raise ValueError(f"{name} is a number of rows, at least 1, not {value}")
    return {
        "window": window,
        "stride": stride,
        "group": group,
        "time": time,
        "gap": None if gap is None else str(gap),
        "end": end,
        "rest": rest,
    }


def _refused(code: str, message: str, *notes: str) -> Error:
    """The error of a value that this package refuses, formatted like other errors."""
    finding = Finding(code, "error", message, (), notes, ())
    picture = "\n".join([f"error[{code}]: {message}", *(f"  note: {note}" for note in notes)])
    return Error((finding,), picture, picture)


def _array(what: str, value: Any) -> np.ndarray[Any, Any]:
    """The NumPy array of a value; an array of another library is shared if it supports DLPack."""
    try:
        if isinstance(value, np.ma.MaskedArray):
            if np.ma.is_masked(value):
                raise _refused("input-type", f"{what} is masked", "a value is present as a whole; `None` is an absent one")
            return np.ma.getdata(value)
        if hasattr(value, "__dlpack__") and not hasattr(value, "__array__"):
            return np.from_dlpack(value)
        return np.asarray(value)
    except (TypeError, ValueError, RuntimeError, BufferError) as why:
        raise _refused("input-type", f"{what} is no array", str(why)) from why


def _table(data: Data, files: ExitStack) -> list[Any]:
    """Columns, or paths; those of temporary files last as long as `files`."""
    if isinstance(data, Mapping):
        return [_column(name, values) for name, values in data.items()]
    if is_frame(data):
        return [files.enter_context(written(data))]
    if isinstance(data, (str, os.PathLike)):
        return [os.fspath(data)]
    if isinstance(data, Sequence):
        return [os.fspath(path) for path in data]
    raise TypeError(f"data is a dict of arrays, a frame, a path or a list of paths, not {type(data).__name__}")


def _windows(data: Data, files: ExitStack) -> list[Any]:
    """The same for windows of data, which may differ in length: lists with one array per window are concatenated, with
    a column `lengths` beside them."""
    if not isinstance(data, Mapping) or "lengths" in data:
        return _table(data, files)
    columns: dict[str, Any] = {}
    lengths: list[int] | None = None
    for name, values in data.items():
        found = _lengths(values)
        if found is None:
            columns[name] = values
            continue
        if lengths not in (None, found):
            raise _refused("data-shape", f"column `{name}` has windows of other lengths than a column before it")
        lengths = found
        columns[name] = np.concatenate([_array(f"column `{name}`", window) for window in values])
    return _table(columns if lengths is None else {**columns, "lengths": lengths}, files)


def _from_files(data: Data | None) -> None:
    """Refuses data that is in memory already."""
    if data is None or isinstance(data, Mapping) or is_frame(data):
        found = "no data" if data is None else "a dict of arrays" if isinstance(data, Mapping) else "a frame"
        raise ValueError(f"on_disk reads data from files, and this is {found}: give the path of a file or folder, or leave on_disk out")


def _lengths(values: Any) -> list[int] | None:
    """The lengths of windows in a list, if they differ."""
    if not isinstance(values, (list, tuple)) or not all(hasattr(window, "__len__") for window in values):
        return None
    lengths = [len(window) for window in values]
    return lengths if len(set(lengths)) > 1 and not any(isinstance(window, str) for window in values) else None


def _present(outputs: dict[str, Any]) -> dict[str, Any]:
    """The outputs, with those that are absent in some cycles as masked arrays."""
    masked = {}
    for name, values in outputs.items():
        present = outputs.get(f"{name}.present")
        if present is not None:
            shape = present.shape + (1,) * (values.ndim - present.ndim)
            mask = np.broadcast_to(~present.reshape(shape), values.shape)
            masked[name] = np.ma.MaskedArray(values, mask)
        elif not (name.endswith(".present") and name[: -len(".present")] in outputs):
            masked[name] = values
    return masked


def _column(name: str, values: Any) -> tuple[str, np.ndarray[Any, Any], int, list[int] | None, list[str] | None]:
    """A column: its name, the present rows, the number of all rows, the numbers of the present rows unless all are
    present, and the texts that the rows number, if any."""
    what = f"column `{name}`"
    if isinstance(values, np.ma.MaskedArray):
        return _masked_column(name, what, values)
    if isinstance(values, (list, tuple)) and any(row is None for row in values):
        present = [n for n, row in enumerate(values) if row is not None]
        rows, names = _numbered(_array(what, [values[n] for n in present]))
        return name, rows, len(values), present, names
    array, names = _numbered(_array(what, values))
    if array.dtype.kind == "M":
        if np.isnat(array).any():
            raise _refused("input-type", f"{what} has a date that is none (NaT)", "a date is present in each row")
        array = array.astype("datetime64[us]").astype(np.int64) / 1e6
    if array.ndim == 0:
        raise _refused("input-type", f"{what} has no rows", "expected one row a cycle or window, found a single value")
    return name, array, len(array), None, names


def _numbered(array: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], list[str] | None]:
    """Numbers in place of texts, and the texts."""
    if array.dtype.kind not in "UO" or not array.size or not all(isinstance(x, str) for x in array.flat):
        return array, None
    texts, numbers = np.unique(array.astype(str), return_inverse=True)
    return numbers.reshape(array.shape).astype(np.int64), texts.tolist()


def _masked_column(
    name: str, what: str, values: Any
) -> tuple[str, np.ndarray[Any, Any], int, list[int] | None, list[str] | None]:
    mask = np.ma.getmaskarray(values).reshape(len(values), -1)
    absent = mask.all(axis=1) if mask.shape[1] else np.zeros(len(values), bool)
    if (mask.any(axis=1) != absent).any():
        raise _refused("input-type", f"{what} has a row that is masked in part", "a row is present or absent as a whole")
    present = np.flatnonzero(~absent)
    rows, names = _numbered(np.ma.getdata(values)[present])
    return name, rows, len(values), None if len(present) == len(values) else present.tolist(), names


def _masked(values: np.ndarray[Any, Any], rows: int, present: list[int]) -> Any:
    """All rows, with the absent ones masked."""
    full = np.zeros((rows, *values.shape[1:]), values.dtype)
    full[present] = values
    mask = np.ones(full.shape, bool)
    mask[present] = False
    return np.ma.MaskedArray(full, mask)
