"""Parameters in files, and in the layouts of other libraries."""

from __future__ import annotations

import os
from typing import Any, Mapping

import numpy as np

from . import _native
from ._data import Params, Path, States, _states
from ._program import Program

__all__ = ["export_weights", "import_weights", "load", "save"]


def load(path: Path) -> States:
    """The states in a checkpoint by path, as `rml train --save` writes it."""
    states: States = _native.read_checkpoint(path)
    return states


def save(path: Path, states: Mapping[str, Any]) -> None:
    """Writes states to a checkpoint, a safetensors file, in one step. Arrays keep their precision: programs require
    `float32` unless they run in double precision.

    >>> import numpy as np, tempfile, os
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(os.path.join(folder, "net.safetensors"), {"k": np.float32(2)})
    ...     load(os.path.join(folder, "net.safetensors"))
    {'k': array(2., dtype=float32)}
    """
    _native.write_checkpoint(path, _states(states))


def import_weights(
    program: Program, weights: Mapping[str, Any] | Path, mapping: str | os.PathLike[str]
) -> dict[str, np.ndarray[Any, Any]]:
    """The parameters of a program, by path, made from the tensors of another library.

    `weights` is a dict of arrays, such as the `state_dict()` of a PyTorch module, or a file of tensors (`.safetensors`,
    `.npz`). `mapping` maps tensors to parameters, as `docs/weights.md` describes: a `pathlib.Path`, a
    `str` that ends with `.toml`, or the text itself.

    >>> import numpy as np, rml
    >>> program = rml.compile("import std.layers;  node net(x: num [3]) -> (y)  y = dense(2, x);")
    >>> weights = {"fc.weight": np.zeros((2, 3), "f4"), "fc.bias": np.array([1, 2], "f4")}
    >>> params = import_weights(program, weights, '[[use]]\\nlayout = "torch.linear"\\nat = "dense_0"\\nfrom = "fc"\\n')
    >>> program.session(params=params).step(x=[0, 0, 0])["y"]
    array([1., 2.], dtype=float32)
    """
    return _native.import_weights(program._native, _tensors(weights), _mapping(mapping))


def export_weights(
    program: Program,
    params: Params,
    mapping: str | os.PathLike[str],
    *,
    like: Mapping[str, Any] | Path | None = None,
) -> dict[str, np.ndarray[Any, Any]]:
    """The inverse of `import_weights`: the tensors of another library by name. Tensors that are no parameters are taken
    from `like`, tensors of the same network in that library; without it, they are left out."""
    given = _states(params)
    return _native.export_weights(program._native, given, _mapping(mapping), None if like is None else _tensors(like))


def _tensors(weights: Mapping[str, Any] | Path) -> Any:
    return dict(weights) if isinstance(weights, Mapping) else weights


def _mapping(mapping: str | os.PathLike[str]) -> Any:
    is_text = isinstance(mapping, str) and not (mapping.endswith(".toml") and "\n" not in mapping)
    return ("<mapping>", mapping) if is_text else os.fspath(mapping)
