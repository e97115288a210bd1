"""Programs: compiled, checked, differentiated."""

from __future__ import annotations

import os
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
    """When an input is present: the input that decides it, and with which value; `None` for every cycle, and for
    outputs."""
    batched: bool
    """Whether its leading dimension stacks windows."""
    cases: tuple[str, ...] = ()
    """The cases of its enumeration, in the order of their numbers; none for other types."""

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
    does). Imports of files are relative to the file; a text can import the library only.

    `node` is the node to run, by default the only one that no other node calls. `set` gives its static parameters and
    named dimensions: `bool`, `int`, `float` and lists of them; `batch` is the dimension of that name. `precision` says
    how `num` is computed, `"f32"` or `"f64"`. `seed` decides what is drawn. `name` is what messages call a text.

    Raises `Error` if the program has errors; warnings are given to `warnings.warn`.

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
    """The derivative by each parameter, by path, of the parameter's shape."""
    inputs: dict[str, np.ndarray[Any, Any]] = field(repr=False)
    """The derivative by each `num` input, of shape `[cycles, *shape]`; masked where the input is absent."""


@dataclass(frozen=True)
class Chronogram:
    """A drawn trace. Notebooks show it."""

    text: str = field(repr=False)
    """As text."""
    svg: str = field(repr=False)
    """As SVG."""

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return self.svg


class Program:
    """A compiled node. `compile` makes it.

    It can be pickled. What is unpickled is compiled again, from its text or from the file that it was compiled from.
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
        """What is known about the program before it runs: its verdict, and all findings.

        >>> check = compile("node next(x: num []) -> (o)  o = post x;").check()
        >>> check.verdicts[0].causality.kind, check.verdicts[0].causality.lookahead
        ('bounded', 1)
        """
        return _check(*self._native.check())

    def diff(self, node: str) -> str:
        """The adjoint of a node as source text: what `diff_node` means, with all nodes that it needs.

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

        `inputs` has a column for each input, one row a cycle: a dict of arrays, or the path of a data file. A row is
        absent where a list has `None`, where a masked array is masked, and where the input's declared clock says so.
        `cycles` is how many to run, needed where there are no inputs. The trace ends after the last cycle if it is
        `closed`; else values that depend on what comes later are masked, too. The other keywords are as for `session`,
        but `params` must hold all parameters.

        >>> compile("node all(x: num []) -> (o)  o = x + (0.0 fby back o);").run({"x": [1, 2, 3]})["o"]
        array([6., 5., 3.], dtype=float32)
        """
        computing = _Computing(engine, backend, device, threads)
        return self._native.run(_table(inputs or {}), _params(params), cycles, closed, allow_nan, computing)

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
        and over its elements. Parameters are held while the trace runs, also those that the node trains. The other
        arguments are as for `run`.

        >>> program = compile("node line(x: num []) -> (o)  k = param(2.0);  o = k * x * x;")
        >>> found = program.grad({"x": [1, 3]})
        >>> float(found.loss), float(found.params["k"]), found.inputs["x"].tolist()
        (20.0, 10.0, [4.0, 12.0])
        """
        computing = _Computing(engine, backend, device, threads)
        given = _table(inputs), loss, _params(params), cycles, allow_nan, computing
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

        `rows` says which variables: those of the `"node"`, `"all"`, the `"outputs"`, or the `"expressions"` in the
        equations, too. With `params`, it is that of a trained program.

        >>> print(compile("node sum(x: num []) -> (o)  o = x + (0.0 fby o);").chronogram({"x": [1, 2]}).text.splitlines()[0].split())
        ['cycle', '0', '1']
        """
        given = _table(inputs or {}), _params(params), cycles, closed, rows
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

        `params` are parameters and other states to begin with: a dict of arrays by path, or the path of a checkpoint.
        All parameters must be there; other states are taken where they are present and fit. With another `seed` than
        that of `compile` the program is recompiled, and draws other initial values. `engine` is `"auto"` (a plan where
        the program has one, else the simulator), `"plan"` or `"sim"`; `backend` (`"cpu"`, `"reference"`, `"xla"`,
        `"torch"`) and `device` (`"cpu"`, `"cuda:0"`) say what computes tensors, and where; `threads` how many threads
        may be used.
        """
        native = self._native.session(seed, _Computing(engine, backend, device, threads))
        session = Session(native)
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
    """The backends by name: the devices of each, or why it does not open here.

    >>> backends()["cpu"]
    ['cpu']
    """
    return {name: devices if why is None else why for name, _, (devices, why) in _native.backends()}


def _params(params: Params | None) -> Any:
    return _states(params)


@dataclass(frozen=True)
class _Computing:
    """What computes, by names."""

    engine: str
    backend: str
    device: str
    threads: int | None
