"""Models of other tools as programs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Mapping

import numpy as np

from . import _native
from ._data import Path
from ._program import Program, compile

__all__ = ["Model", "import_onnx"]


@dataclass(frozen=True)
class Model:
    """A model of another tool as a program. `import_onnx` makes it."""

    text: str = field(repr=False)
    """The text of the program."""
    node: str
    """The node that runs."""
    precision: str
    """How numbers are computed, `"f32"` or `"f64"`."""
    params: dict[str, np.ndarray[Any, Any]] = field(repr=False)
    """The parameters by path."""
    mapping: str = field(repr=False)
    """The mapping between the parameters and the tensors of the model; `export_weights` takes it."""
    inputs: dict[str, str]
    """The inputs of the program, each with its name in the model."""
    outputs: dict[str, str]
    """The outputs, likewise."""
    states: dict[str, str]
    """The inputs of the model that are states, each with the output that it keeps."""

    def compile(self) -> Program:
        """The program, compiled; it runs with `params`."""
        return compile(self.text, node=self.node, precision=self.precision, name="<model>")


def import_onnx(
    path: Path,
    *,
    dims: Mapping[str, int] | None = None,
    set: Mapping[str, Any] | None = None,
    states: Mapping[str, str] | None = None,
    precision: str = "f32",
    node: str = "main",
    out: Path | None = None,
    name: str | None = None,
) -> Model:
    """Makes a program of an ONNX model, as `rml import` does.

    `dims` gives the sizes of dimensions that the model leaves open, by their names or by input and axis:
    `{"batch": 1, "x.0": 1}`. `set` gives inputs a value once and for all; what depends on them alone is computed at
    import. `states` says which output each input that is a state keeps, `{"h": "hn"}`, and `{}` that there are none; by
    default names such as `h` and `hn` are paired. `node` is the name of the node that runs. With `out`, the program,
    its parameters and the mapping are also written to that folder, as `name.rml`, `name.safetensors` and `name.toml`;
    the name is by default that of the model.

    Raises `Error` if the file is no model, or has something that cannot be imported.
    """
    native = _native.import_onnx(
        path,
        node,
        list((dims or {}).items()),
        [(key, np.asarray(value, dtype=np.float64).ravel().tolist()) for key, value in (set or {}).items()],
        None if states is None else list(states.items()),
        precision,
        None if out is None else (out, name),
    )
    text, mapping, params, inputs, outputs, pairs = native
    return Model(text, node, precision, params, mapping, dict(inputs), dict(outputs), dict(pairs))
