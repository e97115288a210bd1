"""Running programs, cycle by cycle."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Iterable, Mapping

import numpy as np

from . import _native
from ._data import Data, Params, _states, _table

if TYPE_CHECKING:
    from ._program import Program

__all__ = ["Outputs", "Session", "Waiting"]


class Outputs(dict[str, "np.ndarray[Any, Any] | None"]):
    """The outputs of one cycle by name: arrays of the outputs' shapes, scalars with shape `()`; `None` if an output is
    absent."""

    cycle: int
    """The cycle, from 0."""

    def __init__(self, cycle: int, values: Mapping[str, np.ndarray[Any, Any] | None]) -> None:
        super().__init__(values)
        self.cycle = cycle


class Waiting(RuntimeError):
    """Raised by `Session.step` if outputs wait for later cycles. No output is lost: `known` has those that became
    known."""

    known: list[Outputs]
    """The outputs that became known with this cycle: those of earlier cycles, possibly none."""

    def __init__(self, cycle: int, known: list[Outputs]) -> None:
        super().__init__(f"the outputs from cycle {cycle} on are not known alone and at once; `Session.feed` returns outputs as they become known")
        self.known = known


class Session:
    """A running program. `Program.session` starts it.

    The lock of the interpreter is released while it computes; calls from several threads run one after the other.

    A session can be copied and pickled where its states can be saved: at the beginning or between windows, if no cycle
    waits for later ones. The copy continues with the same bits, and counts its cycles from 0.

    >>> import rml
    >>> session = rml.compile("node sum(x: num [2]) -> (o)  o = x + (0.0 fby o);").session()
    >>> session.step(x=[1, 2])["o"]
    array([1., 2.], dtype=float32)
    >>> session.step(x=[10, 20])["o"]
    array([11., 22.], dtype=float32)
    """

    def __init__(self, native: _native.Session, program: Program, options: dict[str, Any]) -> None:
        self._native = native
        self._program = program
        self._options = options

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self._program, self._options, self.states)

    def __copy__(self) -> Session:
        return _again(self._program, self._options, self.states)

    def __deepcopy__(self, memo: dict[int, Any]) -> Session:
        return self.__copy__()

    def __repr__(self) -> str:
        try:
            cycles, waiting = self._native.cycles
        except RuntimeError:
            return f"<rml.Session of {self._program.node}, ended>"
        waits = f", {waiting} of them wait for later ones" if waiting else ""
        return f"<rml.Session of {self._program.node}, after {cycles} cycles{waits}>"

    def step(self, **inputs: Any) -> Outputs:
        """Runs one cycle of a program without look-ahead, and returns its outputs.

        Each input is anything that NumPy converts to an array of the input's shape (arrays of other libraries by
        DLPack): floats and integers for `num`, integers for `int`, booleans for `bool`. `None` means that an input is
        absent; an omitted input is absent, which its declared clock must allow. Numbers are rounded to the program's
        precision. The values are copied: an array may be modified afterwards.

        Outputs are arrays of `float32` or `float64`, `int64` and `bool`, which the caller may modify.

        Raises `Error` for inputs that do not fit, and for errors during the run; `Waiting` if outputs wait for later
        cycles.
        """
        cycle = self.cycles
        known = self.feed(**inputs)
        if len(known) == 1 and known[0].cycle == cycle:
            return known[0]
        raise Waiting(cycle, known)

    def feed(self, **inputs: Any) -> list[Outputs]:
        """Runs one cycle, and returns the outputs of all cycles that became known, in order. Inputs as for `step`.

        >>> import rml
        >>> session = rml.compile("node next(x: num []) -> (o)  o = post x;").session()
        >>> session.feed(x=1)
        []
        >>> [(outputs.cycle, float(outputs["o"])) for outputs in session.feed(x=2)]
        [(0, 2.0)]
        """
        return _rows(self._native.feed(inputs))

    def run(self, inputs: Data, *, allow_nan: bool = False) -> dict[str, np.ndarray[Any, Any]]:
        """Runs the cycles of a table from the current state of the session, and returns a column for each output.
        Inputs and outputs are as for `Program.run`, but the trace does not end.

        Raises `Waiting` if outputs of these cycles wait for later ones, or outputs of earlier ones became known.

        >>> import rml
        >>> session = rml.compile("node sum(x: num []) -> (o)  o = x + (0.0 fby o);").session()
        >>> session.run({"x": [1, 2]})["o"], session.run({"x": [3]})["o"]
        (array([1., 3.], dtype=float32), array([6.], dtype=float32))
        """
        cycle = self.cycles
        with ExitStack() as files:
            columns, rows = self._native.run(_table(inputs, files), allow_nan)
        if columns is None:
            raise Waiting(cycle, _rows(rows))
        return columns

    def finish(self, *, closed: bool = True) -> list[Outputs]:
        """Ends the trace and the session, and returns the outputs of the remaining cycles. With `closed`, the program
        learns that the trace ends, which determines all waiting values; otherwise only the outputs that do not depend
        on the end are returned."""
        return _rows(self._native.finish(closed))

    @property
    def cycles(self) -> int:
        """The number of cycles fed so far."""
        return self._native.cycles[0]

    @property
    def open_cycles(self) -> int:
        """How many of the cycles fed so far wait for later ones."""
        return self._native.cycles[1]

    @property
    def params(self) -> dict[str, np.ndarray[Any, Any]]:
        """Copies of the parameters by path, such as `dense_0.kernel`. Assign a dict to set the parameters in it; if one
        is refused, none is set.

        >>> import rml
        >>> session = rml.compile("node f(x: num []) -> (o)  k = param(2.0);  o = k * x;").session()
        >>> session.params
        {'k': array(2., dtype=float32)}
        >>> session.params = {"k": 3}
        >>> float(session.step(x=2)["o"])
        6.0
        """
        return self._native.states(True)

    @params.setter
    def params(self, values: Mapping[str, Any]) -> None:
        self._native.set_states(dict(values))

    @property
    def states(self) -> dict[str, np.ndarray[Any, Any]]:
        """Copies of all states by path, parameters included, as in a checkpoint. They can be assigned like `params`."""
        return self._native.states(False)

    @states.setter
    def states(self, values: Mapping[str, Any]) -> None:
        self._native.set_states(dict(values))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes all states to a checkpoint, a safetensors file, in one step."""
        self._native.save(path)

    def load(self, params: Params) -> None:
        """Loads states from a checkpoint, or from a dict such as `states` of another session. It must contain all
        parameters; other states are used if they are present and fit."""
        self._native.load(_states(params))


def _rows(rows: Iterable[tuple[int, dict[str, np.ndarray[Any, Any] | None]]]) -> list[Outputs]:
    return [Outputs(cycle, values) for cycle, values in rows]


def _again(program: Program, options: dict[str, Any], states: Mapping[str, Any]) -> Session:
    """A session that continues from these states."""
    session = program.session(**options)
    session.states = dict(states)
    return session
