"""Programs: compiled, checked, differentiated."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Mapping

import numpy as np

from . import _native
from ._check import Check, _check
from ._data import Data, Params, _states, _table
from ._session import Session

__all__ = ["Chronogram", "Gradients", "Port", "Program", "backends", "compile", "grad"]


@dataclass(frozen=True)
class Port:
    """An input or output of a program."""

    name: str
    """Its name."""
    dtype: str
    """`num`, `int` or `bool`."""
    shape: tuple[int, ...]
    """The shape of its value in one cycle; `()` for a scalar."""
    clock: tuple[str, bool] | None
    """For an input that is not present in every cycle: the input that decides when it is present, and the value that
    this input then has. `None` for other inputs, and for outputs."""
    batched: bool
    """Whether its leading dimension stacks windows."""
    cases: tuple[str, ...] = ()
    """The cases of its enumeration, in the order of their numbers; empty for other types."""

    def __str__(self) -> str:
        clock = "" if self.clock is None else f" when {'' if self.clock[1] else 'not '}{self.clock[0]}"
        return f"{self.name}: {self.dtype} {list(self.shape)}{clock}"


def _port(
    name: str, dtype: str, shape: list[int], clock: tuple[str, bool] | None, batched: bool, cases: list[str]
) -> Port:
    return Port(name, dtype, tuple(shape), clock, batched, tuple(cases))


def _where(source: str | os.PathLike[str], name: str | None) -> tuple[str, str | None]:
    """The name of a source, and its text unless it is a file."""
    if isinstance(source, os.PathLike):
        return os.fspath(source), None
    if isinstance(source, Program):
        raise TypeError(
            "a program is a text or a path here, not a compiled Program: give the text or path that was compiled, "
            "or call a method of the Program, such as `program.grad(..)` or `program.run(..)`"
        )
    if not isinstance(source, str):
        raise TypeError(f"a program is a text or a path, not {type(source).__name__}")
    is_path = source.endswith(".rml") and "\n" not in source
    return (source, None) if is_path else (name or "<text>", source)


def compile(
    source: str | os.PathLike[str],
    *,
    node: str | None = None,
    set: Mapping[str, Any] | None = None,
    batch: int | None = None,
    precision: str = "f32",
    seed: int = 0,
    name: str | None = None,
) -> Program:
    """Compiles a node of a program.

    `source` is a program's text, or the path of its file: a `pathlib.Path`, or a `str` that ends with `.rml` (no text
    does). Imports of files are relative to the file; a text can import only the library.

    `node` is the node to run, by default the only one that no other node calls. `set` gives its static parameters and
    named dimensions: `bool`, `int`, `float` and lists of them; `batch` is the dimension of that name. `precision` is
    that of `num`, `"f32"` or `"f64"`. `seed` determines random numbers. `name` is the name of a text in messages.

    Raises `Error` if the program has errors; warnings are passed to `warnings.warn`.

    >>> program = compile("node sum(x: num [n]) -> (o)  o = x + (0.0 fby o);", set={"n": 3})
    >>> print(program.inputs[0])
    x: num [3]
    """
    where, text = _where(source, name)
    settings = dict(set or {})
    native = _native.compile(where, text, node, settings, batch, precision, seed)
    options = {"node": node, "set": settings, "batch": batch, "precision": precision, "seed": seed, "name": name}
    return Program(native, source, options)


def _again(source: str | os.PathLike[str], options: dict[str, Any]) -> Program:
    return compile(source, **options)


@dataclass(frozen=True)
class Gradients:
    """A sum and its gradient."""

    output: str
    """The output that was summed."""
    loss: np.ndarray[Any, Any]
    """The sum, of shape `()`."""
    params: dict[str, np.ndarray[Any, Any]] = field(repr=False)
    """The derivative by each parameter, by path, in the parameter's shape."""
    inputs: dict[str, np.ndarray[Any, Any]] = field(repr=False)
    """The derivative by each `num` input, of shape `[cycles, *shape]`; masked where the input is absent."""

    def _repr_html_(self) -> str:
        from ._html import gradients

        return gradients(self)


@dataclass(frozen=True)
class Chronogram:
    """A drawn trace, which notebooks display."""

    text: str = field(repr=False)
    """As text."""
    svg: str = field(repr=False)
    """As SVG."""

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return self.svg


class Program:
    """A compiled node. `compile` returns it.

    It can be pickled. Unpickling compiles it again, from its text or from its file.
    """

    def __init__(self, native: _native.Program, source: str | os.PathLike[str], options: dict[str, Any]) -> None:
        self._native = native
        self._source = source
        self._options = options

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self._source, self._options)

    def __copy__(self) -> Program:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Program:
        # a program never changes
        return self

    @property
    def node(self) -> str:
        """The name of the node."""
        return self._native.node

    @property
    def inputs(self) -> tuple[Port, ...]:
        """The inputs, in order."""
        return tuple(_port(*port) for port in self._native.inputs)

    @property
    def outputs(self) -> tuple[Port, ...]:
        """The outputs, in order."""
        return tuple(_port(*port) for port in self._native.outputs)

    @property
    def parameters(self) -> dict[str, tuple[int, ...]]:
        """The shapes of the parameters by path.

        >>> compile("import std.layers;  node f(x: num [3]) -> (o)  o = dense(2, x);").parameters
        {'dense_0.bias': (2,), 'dense_0.kernel': (3, 2)}
        """
        return {key: tuple(shape) for key, shape in sorted(self._native.parameters)}

    @property
    def text(self) -> str:
        """The text that was compiled."""
        return self._native.text()

    def check(self) -> Check:
        """The facts that are known before the program runs: its verdict, and all findings.

        >>> check = compile("node next(x: num []) -> (o)  o = post x;").check()
        >>> check.verdicts[0].causality.kind, check.verdicts[0].causality.lookahead
        ('bounded', 1)
        """
        return _check(*self._native.check())

    def diff(self, node: str) -> str:
        """The adjoint of a node as source text: the definition of `diff_node`, with all nodes that it needs.

        >>> print(compile("node f(x: num []) -> (o)  o = 2.0 * x;").diff("f").splitlines()[0])
        node diff_f(x: num [], bp: bool [], do: num [] when bp) -> (o, dx)
        """
        return self._native.diff(node)

    def run(
        self,
        inputs: Data | None = None,
        *,
        params: Params | None = None,
        cycles: int | None = None,
        closed: bool = True,
        allow_nan: bool = False,
        engine: str = "auto",
        backend: str = "cpu",
        device: str = "cpu",
        threads: int | None = None,
    ) -> dict[str, np.ndarray[Any, Any]]:
        """Runs a whole trace from the initial state, and returns a column for each output: an array of shape `[cycles,
        *shape]`, masked in the cycles where the output is absent.

        `inputs` has a column for each input, with one row per cycle: a dict of arrays, a frame of pandas or polars, or
        the path of a data file. A row is absent if it is `None` in a list, masked in a masked array, or absent
        according to the input's declared clock. `cycles` is the number of cycles to run; it is required if there are no
        inputs. With the checkpoint of a training that cut a long table, the rows are cut in the same way, and the
        windows run one after the other, unless the table has a column for the input `end`. If the trace is `closed`, it ends after the last cycle; otherwise values that depend on later cycles are
        masked, too. The other keywords are as for `session`, but `params` must contain all parameters.

        >>> compile("node all(x: num []) -> (o)  o = x + (0.0 fby back o);").run({"x": [1, 2, 3]})["o"]
        array([6., 5., 3.], dtype=float32)
        """
        computing = _Computing(engine, backend, device, threads)
        with ExitStack() as files:
            given = _table({} if inputs is None else inputs, files)
            return self._native.run(given, _params(params), cycles, closed, allow_nan, computing)

    def grad(
        self,
        inputs: Data,
        *,
        loss: str | None = None,
        params: Params | None = None,
        cycles: int | None = None,
        allow_nan: bool = False,
        engine: str = "auto",
        backend: str = "cpu",
        device: str = "cpu",
        threads: int | None = None,
    ) -> Gradients:
        """The gradient of the sum of an output over a closed trace, by every parameter and every `num` input.

        `loss` is the output, by default the only one that is `num`; it is summed over the cycles where it is present,
        and over its elements. All parameters are constant while the trace runs, also those that the node trains. The
        other arguments are as for `run`.

        >>> program = compile("node line(x: num []) -> (o)  k = param(2.0);  o = k * x * x;")
        >>> found = program.grad({"x": [1, 3]})
        >>> float(found.loss), float(found.params["k"]), found.inputs["x"].tolist()
        (20.0, 10.0, [4.0, 12.0])
        """
        computing = _Computing(engine, backend, device, threads)
        with ExitStack() as files:
            given = _table(inputs, files), loss, _params(params), cycles, allow_nan, computing
            return Gradients(*_native.grad(self._native, *given))

    def chronogram(
        self,
        inputs: Data | None = None,
        *,
        params: Params | None = None,
        cycles: int | None = None,
        closed: bool = True,
        rows: str = "node",
    ) -> Chronogram:
        """Runs a whole trace as `run` does, and draws it: a table of variables over cycles, with the dependences
        between cells in time as arrows.

        `rows` selects variables: those of the `"node"`, `"all"`, the `"outputs"`, or with `"expressions"` also the
        expressions in the equations. With `params`, the program runs with these parameters.

        >>> print(compile("node sum(x: num []) -> (o)  o = x + (0.0 fby o);").chronogram({"x": [1, 2]}).text.splitlines()[0].split())
        ['cycle', '0', '1']
        """
        with ExitStack() as files:
            given = _table({} if inputs is None else inputs, files), _params(params), cycles, closed, rows
            return Chronogram(*self._native.trace(*given))

    def session(
        self,
        *,
        params: Params | None = None,
        seed: int | None = None,
        engine: str = "auto",
        backend: str = "cpu",
        device: str = "cpu",
        threads: int | None = None,
    ) -> Session:
        """Starts the program in its initial state.

        `params` are parameters and other states to start with: a dict of arrays by path, or the path of a checkpoint.
        It must contain all parameters; other states are used if they are present and fit. With another `seed` than that
        of `compile`, the program is compiled again, and draws other initial values. `engine` is `"auto"` (a plan if the
        program has one, or else the simulator), `"plan"` or `"sim"`. `backend` (`"cpu"`, `"reference"`, `"xla"`,
        `"torch"`) computes tensors on `device` (`"cpu"`, `"cuda:0"`), with at most `threads` threads.
        """
        native = self._native.session(seed, _Computing(engine, backend, device, threads))
        options = {"seed": seed, "engine": engine, "backend": backend, "device": device, "threads": threads}
        session = Session(native, self, options)
        if params is not None:
            native.load(_params(params))
        return session

    def __repr__(self) -> str:
        ports = [", ".join(map(str, ports)) for ports in (self.inputs, self.outputs)]
        return f"<rml.Program {self.node}({ports[0]}) -> ({ports[1]})>"

    def _repr_html_(self) -> str:
        from ._html import program

        return program(self)


def grad(
    source: str | os.PathLike[str],
    inputs: Data,
    *,
    node: str | None = None,
    set: Mapping[str, Any] | None = None,
    batch: int | None = None,
    precision: str = "f32",
    seed: int = 0,
    name: str | None = None,
    **options: Any,
) -> Gradients:
    """Compiles a node and differentiates it over a trace: `compile(source, ..).grad(inputs, **options)`."""
    program = compile(source, node=node, set=set, batch=batch, precision=precision, seed=seed, name=name)
    return program.grad(inputs, **options)


def backends() -> dict[str, list[str] | str]:
    """The backends by name: the devices of each, or why it does not open on this machine.

    >>> backends()["cpu"]
    ['cpu']
    """
    return {name: devices if why is None else why for name, _, (devices, why) in _native.backends()}


def _params(params: Params | None) -> Any:
    return _states(params)


@dataclass(frozen=True)
class _Computing:
    """The engine, the backend and their settings, by name."""

    engine: str
    backend: str
    device: str
    threads: int | None
