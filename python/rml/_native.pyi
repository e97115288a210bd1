"""The compiled part of the package."""

import os
from typing import Any

import numpy as np

_Array = np.ndarray[Any, Any]
_Port = tuple[str, str, list[int], tuple[str, bool] | None, bool, list[str]]
_Rows = list[tuple[int, dict[str, _Array | None]]]
_Path = str | os.PathLike[str]

def compile(
    name: _Path,
    text: str | None,
    node: str | None,
    set: dict[str, Any],
    batch: int | None,
    precision: str,
    seed: int,
) -> Program: ...
def backends() -> list[tuple[str, bool, tuple[list[str], str | None]]]: ...
def grad(
    program: Program,
    inputs: list[Any],
    loss: str | None,
    params: Any,
    cycles: int | None,
    allow_nan: bool,
    computing: Any,
) -> tuple[str, _Array, dict[str, _Array], dict[str, _Array]]: ...
def infer(
    data: list[Any], asked: Any
) -> tuple[
    str,
    int,
    list[tuple[str, float]],
    dict[str, _Array] | None,
    list[tuple[str, list[str]]],
    tuple[str, str, list[list[int]], list[str], int, str] | None,
]: ...
def train(data: list[Any] | None, asked: Any, batches: bool) -> Training: ...
def sweep(
    data: list[Any] | None, asked: Any, runs: Any, told: Any
) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]], list[tuple[int, int, int]], str, bool]: ...
def read_checkpoint(path: _Path) -> Any: ...
def write_checkpoint(path: _Path, given: dict[str, Any]) -> None: ...
def import_weights(program: Program, weights: Any, mapping: Any) -> dict[str, _Array]: ...
def import_onnx(
    path: _Path,
    node: str,
    dims: list[tuple[str, int]],
    set: list[tuple[str, list[float]]],
    pairs: list[tuple[str, str]] | None,
    precision: str,
    out: tuple[_Path, str | None] | None,
) -> tuple[
    str, str, dict[str, _Array], list[tuple[str, str]], list[tuple[str, str]], list[tuple[str, str]]
]: ...
def export_weights(program: Program, params: Any, mapping: Any, like: Any) -> dict[str, _Array]: ...

class Program:
    node: str
    inputs: list[_Port]
    outputs: list[_Port]
    parameters: list[tuple[str, list[int]]]
    def text(self) -> str: ...
    def check(self) -> tuple[str, str, str]: ...
    def diff(self, node: str) -> str: ...
    def run(
        self, inputs: list[Any], params: Any, cycles: int | None, closed: bool, allow_nan: bool, computing: Any
    ) -> dict[str, _Array]: ...
    def trace(
        self, inputs: list[Any], params: Any, cycles: int | None, closed: bool, rows: str
    ) -> tuple[str, str]: ...
    def session(self, seed: int | None, computing: Any) -> Session: ...

class Session:
    cycles: tuple[int, int]
    def feed(self, inputs: dict[str, Any]) -> _Rows: ...
    def run(self, inputs: list[Any], allow_nan: bool) -> tuple[dict[str, _Array] | None, _Rows]: ...
    def finish(self, closed: bool) -> _Rows: ...
    def states(self, parameters: bool) -> dict[str, _Array]: ...
    def set_states(self, states: dict[str, Any]) -> None: ...
    def save(self, path: _Path) -> None: ...
    def load(self, params: Any) -> None: ...

class Training:
    def event(self) -> dict[str, Any] | None: ...
    def close(self) -> None: ...
