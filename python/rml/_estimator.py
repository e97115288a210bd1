"""What the estimators of `rml.sklearn` share."""

from __future__ import annotations

import os
import re
import tempfile
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path as _Path
from typing import Any, Iterable, Iterator, Mapping

import numpy as np

try:
    from sklearn.base import BaseEstimator  # type: ignore[import-untyped]
    from sklearn.utils import check_random_state, check_X_y  # type: ignore[import-untyped]
    from sklearn.utils.validation import (  # type: ignore[import-untyped]
        _check_sample_weight,
        check_is_fitted,
        validate_data,
    )
except ImportError as why:
    raise ImportError('rml.sklearn needs scikit-learn 1.6 or later: pip install "scikit-learn>=1.6"') from why

from ._data import Path, States
from ._errors import Error, Warning
from ._infer import infer
from ._program import Port, Program, compile
from ._train import Report, train
from ._weights import load, save

_Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class _Runs:
    """How what was trained is run."""

    source: str | os.PathLike[str]
    name: str | None
    node: str
    input: Port
    output: str
    set: dict[str, Any]
    precision: str
    batch: int | None


class _Estimator(BaseEstimator):  # type: ignore[misc]
    """What both estimators share: their parameters, training, and inference."""

    _default: str
    """The program where none is given."""
    _output: str
    """The name of the output where none is given."""
    n_iter_: int
    loss_curve_: list[float]

    def __init__(
        self,
        program: str | os.PathLike[str] | Program | None = None,
        *,
        set: Mapping[str, Any] | None = None,
        epochs: int = 100,
        batch: int = 200,
        random_state: Any = None,
        scale: bool = False,
        validate: int | float | str | None = None,
        patience: int | None = None,
        metric: str | None = None,
        shuffle: bool = True,
        precision: str = "f64",
        node: str = "train",
        infer: str = "infer",
        input: str = "x",
        target: str = "y",
        weight: str = "w",
        output: str | None = None,
        backend: str = "cpu",
        device: str = "cpu",
        threads: int | None = None,
    ) -> None:
        self.program = program
        self.set = set
        self.epochs = epochs
        self.batch = batch
        self.random_state = random_state
        self.scale = scale
        self.validate = validate
        self.patience = patience
        self.metric = metric
        self.shuffle = shuffle
        self.precision = precision
        self.node = node
        self.infer = infer
        self.input = input
        self.target = target
        self.weight = weight
        self.output = output
        self.backend = backend
        self.device = device
        self.threads = threads

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; with `deep`, also each setting in `set`, as `set__units`."""
        params: dict[str, Any] = super().get_params(deep=deep)
        if deep and isinstance(self.set, Mapping):
            params.update({f"set__{name}": value for name, value in self.set.items()})
        return params

    def set_params(self, **params: Any) -> Any:
        """Sets parameters by name. `set__units=64` changes one setting in `set`, or adds it."""
        settings = {name[len("set__") :]: params.pop(name) for name in list(params) if name.startswith("set__")}
        super().set_params(**params)
        if settings:
            self.set = {**(self.set or {}), **settings}
        return self

    def save(self, path: Path) -> None:
        """Writes a checkpoint, which `rml infer --params` and `rml.infer(.., params=path)` read."""
        check_is_fitted(self)
        _Path(path).write_bytes(self.checkpoint_)

    def _fit(
        self, x: Any, y: _Array, label: _Array, weights: Any, offers: dict[str, Any], *, parts: bool = False
    ) -> None:
        """Trains. `y` is the targets as numbers, `label` as they were given; `offers` are static parameters for
        programs that have them. With `parts`, one epoch, from what was learned before if there is something."""
        continues = parts and hasattr(self, "checkpoint_")
        for name in ("epochs", "batch"):
            value = getattr(self, name)
            if not isinstance(value, Integral) or value < 1:
                raise ValueError(f"{name} is a number, at least 1, not {value!r}")
        source, given = self._source(), dict(self.set or {})
        if continues:
            # what was set from the first rows stays
            given, offers = {**given, **self.set_}, {}
        offers = {"batch": min(int(self.batch), len(y)), "features": self.n_features_in_, **offers}
        program, settings = self._compiled(source, self.node, given, offers)
        ports = {port.name: port for port in program.inputs}
        data, classes = self._columns(x, y, label, weights, ports)
        inference, inferred = self._compiled(source, self.infer, {}, settings)
        scored = next((port for port in inference.outputs if port.name == self._scored), None)
        if scored is None:
            raise ValueError(f"node `{self.infer}` has no output `{self._scored}`, only {_names(inference.outputs)}")
        self._finds_classes = scored.dtype == "int"
        stacks = inferred.pop("batch", None) is not None
        self._trained(source, data, settings, classes, parts, continues)
        self.program_ = program.text
        self._runs = _Runs(
            # a text is enough, unless it imports other files
            source if re.search(r'^\s*import\s+"', program.text, re.MULTILINE) else program.text,
            self._name,
            self.infer,
            ports[self.input],
            scored.name,
            inferred,
            self.precision,
            int(self.batch) if stacks else None,
        )

    def _columns(
        self, x: Any, y: _Array, label: _Array, weights: Any, ports: dict[str, Port]
    ) -> tuple[dict[str, Any], dict[str, list[str]] | None]:
        """The columns of the data, and the names of classes."""
        for name in (self.input, self.target):
            if name not in ports:
                raise ValueError(f"node `{self.node}` has no input `{name}`, only {_names(ports.values())}")
        data = {self.input: _fed(x, ports[self.input])}
        data[self.target], classes = self._targets(y, label, ports[self.target])
        if self.weight in ports:
            data[self.weight] = np.ones(len(y)) if weights is None else weights / weights.mean()
        elif weights is not None:
            raise ValueError(
                f"node `{self.node}` has no input `{self.weight}`, so sample_weight and class_weight cannot be used: "
                f"its inputs are {_names(ports.values())}"
            )
        return data, classes

    def _trained(
        self, source: Any, data: dict[str, Any], settings: dict[str, Any], classes: Any, parts: bool, continues: bool
    ) -> None:
        """Trains, and keeps what was learned."""
        batch = settings.pop("batch", None)
        if not continues:
            self.set_, self.seed_ = settings, self._seed()
        keeps_best = self.validate is not None or self.patience is not None
        with tempfile.TemporaryDirectory() as folder, _without("missing-column", "bad-option.*: batches of"):
            before, last, best = (os.path.join(folder, f"{name}.safetensors") for name in ("before", "last", "best"))
            if continues:
                save(before, self.states_)
            report = train(
                source,
                data,
                name=self._name,
                node=self.node,
                evaluate=self.infer if self.validate is not None else False,
                set=settings,
                batch=batch,
                epochs=1 if parts else int(self.epochs),
                # each part has an order and random streams of its own
                seed=(self.seed_ + self.n_iter_ if continues else self.seed_) % 2**64,
                test=0,
                validate=self.validate,
                patience=self.patience,
                metric=self.metric,
                shuffle=None if self.shuffle else False,
                precision=self.precision,
                classes=classes,
                standardise=self.input if self.scale else (),
                resume=before if continues else None,
                save=last,
                save_every=0,
                best=best if keeps_best else None,
                backend=self.backend,
                device=self.device,
                threads=self.threads,
            ).run()
            path = best if keeps_best else last
            self.checkpoint_ = _Path(path).read_bytes()
            self.states_: States = load(path)
        self.params_ = {path: self.states_[path] for path in report.parameters}
        self._remember(report, continues)

    def _remember(self, report: Report, continues: bool) -> None:
        losses = [epoch.train["loss"] for epoch in report.epochs if "loss" in epoch.train]
        self.n_iter_ = (self.n_iter_ if continues else 0) + len(report.epochs)
        self.loss_curve_ = [*(self.loss_curve_ if continues else ()), *losses]
        self.best_epoch_ = None if report.best is None else report.best.epoch
        self.validation_curve_ = None
        if self.validate is not None:
            name = (self.metric or "loss").partition(":")[0].rpartition(".")[2]
            self.validation_curve_ = [epoch.validation.get(name, np.nan) for epoch in report.epochs]

    def _check_parts(self) -> None:
        """What needs all data at once cannot be used where parts of it come one after the other."""
        if self.scale:
            raise ValueError(
                "partial_fit sees a part of the data, and scale=True standardises by all of it: "
                "use StandardScaler, whose partial_fit takes parts, too"
            )
        if self.validate is not None or self.patience is not None:
            raise ValueError("validate and patience compare epochs of fit, and partial_fit trains a single one")

    def _infer(self, X: Any) -> _Array:
        """The output for each row or window."""
        check_is_fitted(self)
        x, _ = self._checked(X, reset=False)
        rows, runs = len(x), self._runs
        with _without("missing-column"):
            outputs = infer(
                runs.source,
                {runs.input.name: _fed(x, runs.input)},
                name=runs.name,
                params=self.states_,
                node=runs.node,
                set=runs.set,
                batch=None if runs.batch is None else min(runs.batch, rows),
                precision=runs.precision,
                split="all",
                backend=self.backend,
                device=self.device,
                threads=self.threads,
            ).outputs
        found = None if outputs is None else outputs.get(runs.output)
        if found is None or len(found) != rows or found.ndim > 2 or isinstance(found, np.ma.MaskedArray):
            raise ValueError(
                f"expected one value of `{runs.output}` for each of {rows} rows, such as num [batch, 3] when end; "
                f"found {'none' if found is None else f'shape {found.shape}'}"
            )
        return found

    def _compiled(
        self, source: Any, node: str, settings: dict[str, Any], offers: dict[str, Any]
    ) -> tuple[Program, dict[str, Any]]:
        """A node with its settings, and with the offers that it has static parameters for."""
        if isinstance(self.program, Program) and node == self.node:
            settings = {**self.program._options["set"], **settings}
        offers = {name: value for name, value in offers.items() if name not in settings}
        while True:
            try:
                with _without(".*"):
                    made = {**settings, **offers}
                    program = compile(source, node=node, set=made, precision=self.precision, name=self._name)
                return program, made
            except Error as error:
                messages = [found.message for found in error.findings if found.code == "unused-setting"]
                unused = {name for name in offers if any(f"`{name}`" in message for message in messages)}
                if not unused:
                    raise
                offers = {name: value for name, value in offers.items() if name not in unused}

    def _source(self) -> Any:
        if self.program is None:
            return self._default
        return self.program._source if isinstance(self.program, Program) else self.program

    @property
    def _name(self) -> str | None:
        return f"<rml.sklearn.{type(self).__name__}>" if self.program is None else None

    @property
    def _scored(self) -> str:
        return self._output if self.output is None else self.output

    def _targets(self, y: _Array, label: _Array, port: Port) -> tuple[Any, dict[str, list[str]] | None]:
        """The column of targets, in the type of the input, and the names of its classes."""
        raise NotImplementedError

    def _seed(self) -> int:
        """An integer is the seed itself; a generator draws one."""
        state = check_random_state(self.random_state)
        return int(self.random_state if isinstance(self.random_state, Integral) else state.randint(2**31 - 1))

    def _checked(self, X: Any, y: Any = "no_validation", **options: Any) -> tuple[Any, Any]:
        """Rows, or windows of rows, and the targets."""
        if self.program is None or not _is_windows(X):
            found = validate_data(self, X, y, dtype="numeric", **options)
            return found if isinstance(found, tuple) else (found, None)
        windows = list(X)
        shapes = [np.shape(window) for window in windows]
        if len({(len(shape), shape[-1]) for shape in shapes}) > 1:
            raise ValueError(f"windows have rows of different shapes: {', '.join(map(str, sorted(set(shapes))))}")
        rows = np.concatenate([np.reshape(window, (-1, shape[-1])) for window, shape in zip(windows, shapes)])
        rows = validate_data(self, rows, dtype="numeric", reset=options.pop("reset", True))
        ends = np.cumsum([int(np.prod(shape[:-1])) for shape in shapes])[:-1]
        parts = [part.reshape(shape) for part, shape in zip(np.split(rows, ends), shapes)]
        if not isinstance(y, str):
            _, y = check_X_y(np.zeros((len(parts), 1)), y, estimator=self, **options)
        return (parts if len(set(shapes)) > 1 else np.stack(parts)), y


def _weights(sample_weight: Any, y: _Array) -> _Array | None:
    """One weight for each row, not all zero."""
    if sample_weight is None:
        return None
    rows = np.zeros((len(y), 1))
    weights: _Array = _check_sample_weight(sample_weight, rows, dtype=np.float64, ensure_non_negative=True)
    if not weights.any():
        raise ValueError("all weights in sample_weight are 0")
    return weights


def _is_windows(X: Any) -> bool:
    """Whether X has a sequence of rows in place of each row."""
    if getattr(X, "ndim", None) not in (None, 1):
        return bool(X.ndim > 2)
    ragged = isinstance(X, (list, tuple)) or (isinstance(X, np.ndarray) and X.dtype == object)
    return ragged and len(X) > 0 and all(hasattr(window, "__len__") and np.ndim(window) > 1 for window in X)


def _fed(x: Any, port: Port) -> Any:
    """Rows or windows in the type of an input."""
    if isinstance(x, list):
        return [_fed(window, port) for window in x]
    if port.dtype == "num":
        return x.astype(np.float64)
    numbers = x.astype(np.int64)
    if (numbers != x).any():
        raise ValueError(f"`{port}` takes integers, and X has other numbers")
    return numbers if port.dtype == "int" else numbers.astype(bool)


def _names(ports: Iterable[Port]) -> str:
    return ", ".join(f"`{port.name}`" for port in ports) or "none"


@contextmanager
def _without(*codes: str) -> Iterator[None]:
    """Keeps warnings of these codes to itself."""
    with warnings.catch_warnings():
        for code in codes:
            warnings.filterwarnings("ignore", rf"warning\[{code}", Warning)
        yield
