"""The compiled part of the package."""

import os
from typing import Any

import numpy as np

_Port = tuple[str, str, list[int], tuple[str, bool] | None, bool]
_Rows = list[tuple[int, dict[str, np.ndarray | None]]]
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

class Program:
    node: str
    inputs: list[_Port]
    outputs: list[_Port]
    parameters: list[tuple[str, list[int]]]
    def text(self) -> str: ...
    def check(self) -> tuple[str, str, str]: ...
    def diff(self, node: str) -> str: ...
    def session(self, seed: int | None, computing: Any) -> Session: ...

class Session:
    cycles: tuple[int, int]
    def feed(self, inputs: dict[str, Any]) -> _Rows: ...
    def finish(self, closed: bool) -> _Rows: ...
    def states(self, parameters: bool) -> dict[str, np.ndarray]: ...
    def set_states(self, states: dict[str, Any]) -> None: ...
    def save(self, path: _Path) -> None: ...
    def load(self, path: _Path) -> None: ...
