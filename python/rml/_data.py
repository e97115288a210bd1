"""What becomes an array."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._errors import Error, Finding


def _refused(code: str, message: str, *notes: str) -> Error:
    """The error of a value that Python finds wrong, drawn as the others are."""
    finding = Finding(code, "error", message, (), notes, ())
    picture = "\n".join([f"error[{code}]: {message}", *(f"  note: {note}" for note in notes)])
    return Error((finding,), picture, picture)


def _array(what: str, value: Any) -> np.ndarray:
    """The array that NumPy makes of a value; one of another library is shared where it lets itself be (DLPack)."""
    if hasattr(value, "__dlpack__") and not hasattr(value, "__array__"):
        return np.from_dlpack(value)
    try:
        return np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as why:
        raise _refused("input-type", f"{what} is no array", str(why)) from why
